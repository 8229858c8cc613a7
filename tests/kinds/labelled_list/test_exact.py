"""Fully labelled lists: every metric, in every order of ties, by every way of reading them."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from suite_cases import cases, examples

import streameval
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import scans as here
from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.kinds.labelled_list.count import curve_cutoffs
from streameval.metrics.bounded import metrics
from streameval.types import Claim

# how a list by score may be read: as it is stored, sorted; or shuffled, and ordered in memory or in a file
WAYS = ("sorted", "in memory", "range by range")
# the rows that span every order of ties, where the first of a metric takes them as one step
SPAN = {
    ("average_precision", "positives"): ("average_precision", "tie_order"),
    ("average_precision", "found"): ("average_precision", "found tie_order"),
    ("roc_auc", ""): ("roc_auc", "tie_order"),
}


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 64)


def value(found, metric, argument="", side="estimate"):
    rows = [r for r in found.metrics.to_pylist() if (r["metric"], r["argument"]) == (metric, argument)]
    assert len(rows) == 1, (metric, argument)
    return rows[0][side]


def evaluate(labels, scores, way, misses=0):
    """Evaluate by one way of reading, and be sure that it was that."""
    order = np.argsort(-scores, kind="stable") if way == "sorted" else np.random.default_rng(1).permutation(scores.size)
    table = pa.table({"score": scores[order], "label": labels[order].astype(np.int8)})
    options = streameval.RankingOptions(score="score", memory=0.05)
    with pytest.MonkeyPatch.context() as patch:
        if way == "range by range":
            patch.setattr(scored, "_WORDS", 0.0)
        found = streameval.exact(table, label="label", misses=misses, options=options)
    assert way.rstrip("s") in found.summary["how"] or "in score order" in found.summary["how"]
    return found


def list_of(seed, n, values, share=0.4):
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < share).astype(np.int8)
    noise = rng.normal(size=n) + labels
    scores = noise if values is None else np.round(noise * values / 4)
    return labels, scores.astype(np.float64)


def over_all_orders(labels, scores, misses):
    """Bounds over all orders of ties, from the envelope that tied groups make: sharp, as test_bounds shows."""
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True)) + 1
    y = np.cumsum(labels[order])[ends - 1].astype(np.float64)
    n = labels.size
    claim = Claim("exact", None, "")
    return metrics(Curve(n, lift(n, Points(ends, y, y)), curve_cutoffs(n), claim, misses=misses)).to_pylist()


@settings(max_examples=examples(6, 25), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 2, 9, 60, 300]),
    values=st.sampled_from([None, 1, 3, 40]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    misses=st.sampled_from([0, 3]),
    way=st.sampled_from(WAYS),
)
def test_every_metric_spans_every_order_of_ties(seed, n, values, share, misses, way):
    labels, scores = list_of(seed, n, values, share)
    found = {(r["metric"], r["argument"]): r for r in evaluate(labels, scores, way, misses).metrics.to_pylist()}
    for row in over_all_orders(labels, scores, misses):
        name = row["metric"], row["argument"]
        if name[0] in ("max_f1_rank", "average_precision_at_found") or name == ("pr_area", "interpolated"):
            continue
        name = SPAN.get(name, name)
        for side in ("lower", "upper"):
            expected = row[side]
            assert found[name][side] == (
                expected if expected is None else pytest.approx(expected, rel=1e-11, abs=1e-13)
            ), (name, side)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("values", cases([None, 1, 2, 50, 3000], None, 1, 50))
@pytest.mark.parametrize("share", cases([0.0, 0.03, 0.5, 1.0], 0.0, 0.03, 0.5))
def test_scikit_learn_agrees(way, values, share, small_blocks):
    labels, scores = list_of(7, 1_000, values, share)
    found = evaluate(labels, scores, way)
    if labels.sum() > 0:
        expected = average_precision_score(labels, scores)
        assert value(found, "average_precision", "positives") == pytest.approx(expected, rel=1e-12)
    if 0 < labels.sum() < labels.size:
        assert value(found, "roc_auc") == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)
    else:
        assert value(found, "roc_auc") is None


def test_small_blocks_change_no_value(small_blocks):
    for values in (None, 5, 300):
        labels, scores = list_of(3, 1_000, values)
        for way in WAYS:
            many = {(r["metric"], r["argument"]): r for r in evaluate(labels, scores, way, 5).metrics.to_pylist()}
            for row in over_all_orders(labels, scores, 5):
                name = row["metric"], row["argument"]
                if name[0] not in ("max_f1_rank", "average_precision_at_found", "pr_area", "dcg_at"):
                    name = SPAN.get(name, name)
                    for side in ("lower", "upper"):
                        assert many[name][side] == pytest.approx(row[side], rel=1e-11), (values, way, name)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int8, np.int32, np.uint16])
@pytest.mark.parametrize("ascending", [False, True])
def test_any_type_of_score_is_counted(kind, ascending):
    labels, scores = list_of(2, 500, 20)
    scores = np.abs(scores).astype(kind)
    sign = 1.0 if not ascending else -1.0
    order = np.random.default_rng(0).permutation(labels.size)
    table = pa.table({"s": pa.array(scores[order]), "y": labels[order] == 1})
    options = streameval.RankingOptions(score="s", ascending=ascending)
    found = streameval.exact(table, label="y", options=options)
    expected = average_precision_score(labels, sign * scores.astype(np.float64))
    assert value(found, "average_precision", "positives") == pytest.approx(expected, rel=1e-12)
    best = value(found, "max_f1_rank")
    at = float(np.sort(scores.astype(np.float64))[:: 1 if ascending else -1][int(best) - 1])
    assert value(found, "max_f1_score") == at


def test_a_counter_that_passes_two_bytes_is_not_lost(tmp_path):
    n = 300_000
    labels = (np.arange(n) % 3 == 0).astype(np.int8)
    scores = np.where(np.arange(n) % 1000 == 0, 1.0, 0.5)
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"score": np.round(2 * scores).astype(np.int16), "label": labels}), path)
    found = streameval.exact(path, label="label", options=streameval.RankingOptions(score="score"))
    assert found.summary["how"] == "a counter for every score"
    assert found.summary["positives"] == labels.sum()
    expected = average_precision_score(labels, scores)
    assert value(found, "average_precision", "positives") == pytest.approx(expected, rel=1e-12)


def test_files_threads_and_row_groups_change_no_byte(tmp_path):
    labels, scores = list_of(5, 6_000, 500)
    order = np.argsort(-scores, kind="stable")
    table = pa.table({"score": scores[order], "label": labels[order]})
    results = []
    for files, rows, threads in ((1, 6_000, 1), (3, 900, 2), (7, 111, 4)):
        folder = tmp_path / str(files)
        folder.mkdir()
        edges = np.linspace(0, 6_000, files + 1).astype(int)
        for i in range(files):
            part = table.slice(edges[i], edges[i + 1] - edges[i])
            pq.write_table(part, folder / f"{i}.parquet", row_group_size=rows)
        for score in ("score", None):
            options = streameval.RankingOptions(score=score, threads=threads)
            found = streameval.exact(str(folder), label="label", options=options)
            results.append((score, found.metrics.to_pylist(), found.curve_table.to_pydict()))
    for score, rows, curve in results[2:]:
        first = results[0] if score else results[1]
        assert rows == first[1]
        assert curve == first[2]


def test_results_are_written_and_read_like_a_study(tmp_path):
    labels, scores = list_of(5, 3_000, 100)
    table = pa.table({"score": scores, "label": labels})
    options = streameval.RankingOptions(score="score")
    found = streameval.exact(table, label="label", out=tmp_path / "out", options=options, misses=4)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {
        "curve.parquet",
        "envelope.parquet",
        "metrics.parquet",
        "evaluation.json",
        "report.html",
        "study.duckdb",
        ".lock",
    }
    asked = streameval.sql(tmp_path / "out", "SELECT recall_at(3000).lower AS r FROM provenance WHERE method = 'exact'")
    assert asked.column("r").to_pylist() == [found.curve.recall_at(3000).lower]
    assert streameval.report(tmp_path / "out", examples="shown").name == "report.html"
    curve = pq.read_table(tmp_path / "out" / "curve.parquet")
    assert curve.column("score").to_numpy()[0] == scores.max()
    assert curve.column("recall").to_numpy()[-1] == pytest.approx(labels.sum() / (labels.sum() + 4))
    assert found.curve.claim.coverage == "exact"
    streameval.plan(table, tmp_path / "study", method="uniform", budget=10, seed=0)
    with pytest.raises(streameval.StudyError, match="a folder of their own"):
        streameval.exact(table, label="label", out=tmp_path / "study")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([0, 1, 2], "row 3: label 2 is not 0 or 1"),
        ([0, -1, 1], "row 2: label -1 is not 0 or 1"),
        ([0, None, 1], "row 2: 1 label missing"),
        ([0.0, 0.5, 1.0], r"row 2: label 0\.5 is not 0 or 1"),
        ([0.0, float("nan"), 1.0], "row 2: 1 label missing"),
        (["a", "b", "c"], "row 1: y is 'a', neither 0/1, yes/no nor a number"),
        ([0, 256, 1], "row 2: label 256 is not 0 or 1"),
    ],
)
def test_labels_that_are_none_are_named(column, message):
    with pytest.raises(streameval.InputError, match=message):
        streameval.exact(pa.table({"y": column}), label="y")


def test_bad_arguments_are_one_line():
    table = pa.table({"y": [0, 1], "s": [1.0, float("nan")]})
    with pytest.raises(streameval.InputError, match="misses is -1"):
        streameval.exact(table, label="y", misses=-1)
    with pytest.raises(streameval.InputError, match="no column 'z'"):
        streameval.exact(table, label="z")
    with pytest.raises(streameval.InputError, match="1 item has no s"):
        streameval.exact(table, label="y", options=streameval.RankingOptions(score="s"))


def test_windows_say_whether_the_assumptions_hold():
    labels = np.repeat([1, 0], [6_000, 4_000])
    windows = [f"paula(window={window}, epsilon={epsilon})" for window in (20, 100) for epsilon in (0.03, 0.1)]
    found = streameval.exact(pa.table({"y": labels}), label="y", method=windows)
    assert all(one["A.1"]["holds"] and one["A.2"]["holds"] for one in found.summary["diagnostics"]["windows"])
    rising = streameval.exact(pa.table({"y": labels[::-1]}), label="y", method=windows)
    assert not any(one["A.2"]["holds"] for one in rising.summary["diagnostics"]["windows"])
    table = pa.table({"y": labels, "s": np.random.default_rng(0).random(10_000)})
    with pytest.raises(streameval.InputError, match="not stored in the order of its scores"):
        streameval.exact(table, label="y", method=windows, options=streameval.RankingOptions(score="s"))


def test_recall_levels_are_those_of_trec_eval():
    """R-precision: precision after R items. Interpolated precision at t: the best from positive ⌈tR⌉ on."""
    rng = np.random.default_rng(9)
    labels = (rng.random(400) < 0.6 - np.arange(400) / 1000).astype(np.int8)
    found = streameval.exact(pa.table({"y": labels}), label="y")
    y, r, total = np.cumsum(labels), np.arange(1, 401), int(labels.sum())
    assert value(found, "r_precision") == pytest.approx(y[total - 1] / total)
    for level in range(11):
        needed = int(level / 10 * total + 0.9)  # as trec_eval rounds
        best = (y / r)[y >= max(1, needed)].max()
        assert value(found, "precision_at_recall", f"{level / 10:g}") == pytest.approx(best)


@pytest.mark.parametrize("name", ["ppdb_human", "clef_tar2017_amc", "skin_logreg"])
def test_real_lists_agree_with_scikit_learn(real, name):
    table = pq.read_table(real(name))
    labels, scores = table.column("label").to_numpy(), table.column("score").to_numpy()
    found = streameval.exact(str(real(name)), label="label", options=streameval.RankingOptions(score="score"))
    expected = average_precision_score(labels, scores)
    assert value(found, "average_precision", "positives") == pytest.approx(expected, rel=1e-12)
    assert value(found, "roc_auc") == pytest.approx(roc_auc_score(labels, scores), rel=1e-12)


@pytest.mark.parametrize("form", cases(["parquet", "csv", "table"], "csv", "table"))
def test_labels_beside_the_list_are_joined_by_rank_or_key(tmp_path, form):
    rng = np.random.default_rng(3)
    labels, scores = list_of(3, 900, 50)
    ids = rng.permutation(900) + 10
    pq.write_table(pa.table({"id": ids, "score": scores}), tmp_path / "list.parquet", row_group_size=200)
    whole = pa.table({"id": ids, "score": scores, "good": labels})
    shuffled = rng.permutation(900)
    table = pa.table({"rank": shuffled + 1, "id": ids[shuffled], "good": labels[shuffled]})
    source = table
    if form == "parquet":
        source = str(tmp_path / "labels.parquet")
        pq.write_table(table, source)
    if form == "csv":
        source = str(tmp_path / "labels.csv")
        pa.csv.write_csv(table, source)
    for score, on in ((None, None), (None, "id"), ("score", "id")):
        options = streameval.RankingOptions(score=score)
        inside = streameval.exact(whole, label="good", options=options)
        for ranking in (str(tmp_path / "list.parquet"), whole.drop_columns(["good"])):
            beside = streameval.exact(ranking, label="good", labels=source, on=on, options=options)
            assert beside.metrics.equals(inside.metrics)


@pytest.mark.parametrize(
    ("table", "on", "message"),
    [
        ({"rank": [1, 2], "y": [1, 0]}, None, "1 of 3 items have no label .first: stored row 3"),
        ({"rank": [1, 2, 3, 3], "y": [1, 0, 1, 0]}, None, "stored row 3 has two labels that differ"),
        ({"rank": [1, 2, 4], "y": [1, 0, 1]}, None, r"rank 4 is outside 1\.\.3"),
        ({"rank": [1, 2, 3], "y": [1, 0, 3]}, None, "stored row 3 has label 3, not 0 or 1"),
        ({"rank": [1, 2, 3], "y": ["1", "0", "maybe"]}, None, "label 'maybe' is not 0 or 1"),
        (
            {"id": [1, 2, 3], "y": [1, 0, 1]},
            "id",
            r"id is 1 \(BIGINT\) in the first row, id is 7 \(BIGINT\) in the list",
        ),
        ({"key": [1, 2, 3], "y": [1, 0, 1]}, "key", "labels come with 'key', which the list does not have"),
    ],
)
def test_a_label_table_that_does_not_fit_is_refused(table, on, message):
    ranking = pa.table({"id": [7, 8, 9]})
    with pytest.raises(streameval.InputError, match=message):
        streameval.exact(ranking, label="y", labels=pa.table(table), on=on)


def test_labels_by_rank_need_ranks_that_are_stored():
    ranking = pa.table({"s": [0.1, 0.5, 0.3]})
    with pytest.raises(streameval.InputError, match="do not lie in the order of their ranks"):
        streameval.exact(
            ranking,
            label="y",
            labels=pa.table({"rank": [1, 2, 3], "y": [1, 0, 1]}),
            options=streameval.RankingOptions(score="s"),
        )


def test_the_rank_of_the_best_f1_is_told_in_each_order_of_tied_items():
    tied = pa.table({"score": [3, 2, 2, 2, 1, 0], "label": [1, 0, 1, 0, 0, 1]})
    rows = {row["metric"]: row for row in streameval.exact(tied, label="label", score="score").metrics.to_pylist()}
    sides = ("lower", "estimate", "upper")
    assert [rows["max_f1_rank"][side] for side in sides] == [2.0, 6.0, 6.0]
    assert [rows["max_f1_score"][side] for side in sides] == [0.0, 0.0, 2.0]
