"""Two models for one sample: paired differences from what each run of `exact` left, without the lists."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.counting.influence import SEED, bins_of, hashes_of
from streameval.kernels.influence import BINS
from streameval.kernels.order import add_words
from streameval.kinds.labelled_list.comparison import main_rows, raise_by_holm
from streameval.kinds.labelled_list.comparison_page import verdict
from streameval.metrics.paired_samples import classes_of, holm, paired_difference
from streameval.order.scan import key_hashes
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.study import Study

N = 4_000
CLAIM = "approximately 95 %, if these are independent draws: each id"


def scored(seed=3, models=3, n=N):
    """Rows of one test set, and the scores of some models, each a bit better than the one before."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.3).astype(np.int8)
    common = rng.normal(size=n)
    scores = {f"model{one}": common + 0.5 * rng.normal(size=n) + (0.8 + 0.4 * one) * label for one in range(models)}
    return pa.table({"id": np.arange(n), "label": label, **scores})


def evaluated(folder, table, model, **options):
    given = {"sample_of": "id", "score": model, "at": "score:0.5", **options}
    streameval.exact(table, out=folder / model, **{name: value for name, value in given.items() if value is not None})
    return folder / model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Results of three models; the lists of each are in another order."""
    folder, table = tmp_path_factory.mktemp("models"), scored()
    return [evaluated(folder, table.take(np.random.default_rng(one).permutation(N)), f"model{one}") for one in range(3)]


def row_of(found, metric, argument="", pair="ab"):
    wanted = {"metric": metric, "argument": argument, "first": pair[0], "second": pair[1]}
    (row,) = [row for row in found.differences.to_pylist() if wanted.items() <= row.items()]
    return row


def delong(labels, first, second):
    """Difference of two areas under the ROC curve and its standard error, pair by pair (DeLong, 1988)."""
    wins = [(scores[labels == 1][:, None] > scores[labels == 0]).astype(float) for scores in (first, second)]
    gap = wins[0] - wins[1]
    rarer = min(gap.shape)
    sums = [np.sum((gap.mean(axis=axis) - gap.mean()) ** 2) / gap.shape[1 - axis] ** 2 for axis in (0, 1)]
    return gap.mean(), math.sqrt(rarer / (rarer - 1) * sum(sums))


def test_the_difference_of_two_areas_has_the_standard_error_of_delong(tmp_path):
    """Where bins hold one row each, but for its factors n/(n − 1): here that of the smaller class."""
    table = scored(n=600, models=2)
    bins = key_hashes(pa.table({"id": np.arange(20_000)}), SEED) >> np.uint64(52)
    table = table.set_column(0, "id", pa.array(np.unique(bins, return_index=True)[1][:600]))
    a, b = (evaluated(tmp_path, table, f"model{one}") for one in range(2))
    row = row_of(streameval.compare(a, b), "roc_auc")
    label, first, second = (table[name].to_numpy() for name in ("label", "model0", "model1"))
    value, error = delong(label, first, second)
    assert row["difference"] == pytest.approx(value, abs=1e-12)
    assert row["standard_error"] == pytest.approx(error, rel=1e-12)


def test_models_in_other_orders_are_compared_without_their_lists(models, capsys):
    assert run(["compare", *map(str, models[:2])]) == 0
    out = capsys.readouterr().out
    assert "b is higher than a in average_precision, roc_auc" in out
    assert "(p below 0.05, by Holm's rule over all rows of the table)." in out
    assert f"From low to high: {CLAIM}." in out
    found = streameval.compare(*models[:2])
    row = row_of(found, "roc_auc")
    assert row["low"] < row["difference"] < row["high"] < 0
    assert row["higher"] == "b"
    assert row["value_first"] - row["value_second"] == row["difference"]
    assert row_of(streameval.compare(*models[:2], confidence=0.99), "roc_auc")["low"] < row["low"]


def test_rows_without_a_key_are_told_apart_by_their_place(tmp_path):
    table = scored()
    a, b = (evaluated(tmp_path, table, f"model{one}", sample_of="rows") for one in range(2))
    assert row_of(streameval.compare(a, b), "roc_auc")["higher"] == "b"
    mixed = table.take(np.random.default_rng(1).permutation(N))
    with pytest.raises(
        streameval.InputError, match=r"are not of the same labels: 1,\d+ and 1,\d+ positive rows, which"
    ) as refused:
        streameval.compare(a, evaluated(tmp_path, mixed, "model2", sample_of="rows"))
    assert refused.value.hint.startswith("is one stored in another order?")


def test_several_are_compared_in_pairs_with_p_values_that_hold_together(models, tmp_path, capsys):
    page = tmp_path / "all.html"
    assert run(["compare", *map(str, models), "--json", "--plot", str(page), "--out", str(tmp_path / "out")]) == 0
    facts = json.loads(capsys.readouterr().out)
    rows = [row for row in facts["differences"] if (row["metric"], row["argument"]) == ("f1_at_score", "0.5")]
    assert [row["first"] + row["second"] for row in rows] == ["ab", "ac", "bc"]
    main = main_rows(facts["differences"])
    raised = holm([math.nan if row["p_value"] is None else row["p_value"] for row in main])
    assert [row["p_holm"] for row in main] == [None if math.isnan(p) else p for p in raised]
    for row in facts["differences"]:
        above = row["first"] if row["difference"] > 0 else row["second"]
        assert row["higher"] == (above if row["p_holm"] is not None and row["p_holm"] < 0.05 else None)
    assert {row["higher"] for row in main} - {None} == set(re.findall(r"(\w) is higher than", facts["verdict"]))
    assert facts["results"] == dict(zip("abc", map(str, models), strict=True))
    stored = pq.read_table(tmp_path / "out" / "differences.parquet")
    assert stored.to_pylist() == facts["differences"]
    text = page.read_text(encoding="utf-8")
    assert "p (Holm)" in text
    assert CLAIM in text


def test_a_verdict_is_about_all_that_is_shown_at_once(models, tmp_path):
    """One in seven at p = 0.04 is no finding; of results in which nothing has an interval nothing is said."""
    found = streameval.compare(*models[:2])
    rows = [{**row, "p_value": None if row["p_value"] is None else 0.04, "higher": None}
            for row in found.differences.to_pylist()]  # fmt: skip
    raise_by_holm(main_rows(rows), 0.95)
    by_chance = replace(found, differences=pa.Table.from_pylist(rows, schema=found.differences.schema))
    assert verdict(by_chance) == "No difference is larger than chance explains."
    few = [evaluated(tmp_path, scored(n=40), f"model{one}") for one in range(2)]
    assert verdict(streameval.compare(*few)) == "No difference could be judged."
    assert "tie_order" not in str(streameval.compare(*few))


def test_the_same_model_differs_by_nothing(models, tmp_path):
    again = evaluated(tmp_path, scored(), "model1")
    row = row_of(streameval.compare(models[1], again), "average_precision", "positives")
    assert (row["difference"], row["low"], row["high"], row["p_value"]) == (0, 0, 0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_of": "rows"}, "are not of the same draws: sample_of id and rows"),
        ({"n": N - 10}, "are not of the same items: 4,000 and 3,990 rows, which differ in 10 bins of 4,096"),
        ({"seed": 4}, "are not of the same labels"),
    ],
)
def test_results_of_other_draws_are_refused(models, tmp_path, change, message):
    table = scored(change.pop("seed", 3), n=change.pop("n", N))
    other = evaluated(tmp_path, table, "model1", **change)
    with pytest.raises(streameval.InputError, match=message):
        streameval.compare(models[0], other)


def of_users(sample_of="user", key=None, **columns):
    """Evaluate rows of a hundred users, some of whose columns are others."""
    rng = np.random.default_rng(8)
    rows = {"user": np.repeat(np.arange(100), 20), "id": np.arange(2_000), "label": np.tile([1, 0, 0, 1], 500),
            "score": rng.normal(size=2_000)}  # fmt: skip
    return streameval.exact(pa.table({**rows, **columns}), score="score", sample_of=sample_of, key=key or ())


def saved(found, folder):
    found.save(Study(folder), None)
    return folder


@pytest.mark.parametrize("by", [{"key": "id"}, {"sample_of": "id"}])
def test_the_same_counts_of_other_items_or_labels_are_refused(tmp_path, by):
    first = saved(of_users(**by), tmp_path / "first")
    mixed = np.random.default_rng(2).permutation(2_000)
    rows = {"user": np.repeat(np.arange(100), 20), "id": np.arange(2_000), "label": np.tile([1, 0, 0, 1], 500)}
    again = of_users(**by, **{name: values[mixed] for name, values in rows.items()})
    assert streameval.compare(first, saved(again, tmp_path / "again")).unchecked == (
        "" if "key" in by else "Rows of one id were not told apart (--key)."
    )
    bins = bins_of(hashes_of(np.arange(2_000, dtype=np.uint64)))
    label = rows["label"].copy()
    same = [np.flatnonzero((bins == at) & (label == wanted)) for at in np.unique(bins) for wanted in (0, 1)]
    swapped = next([int(a[0]), int(b[0])] for a, b in zip(same[::2], same[1::2], strict=True) if a.size and b.size)
    if "key" in by:
        swapped = [0, 1]  # of one user
    label[swapped] = label[swapped[::-1]]
    with pytest.raises(
        streameval.InputError, match=r"of the same labels: as many positive rows, but others, in 1 bin of 4,096"
    ) as refused:
        streameval.compare(first, saved(of_users(**by, label=label), tmp_path / "labels"))
    assert refused.value.hint == "label both by the same judgements"
    if "key" in by:
        with pytest.raises(streameval.InputError, match=r"of the same items: as many rows, but others, in \d+ bins of"):
            streameval.compare(first, saved(of_users(**by, id=np.arange(2_000) + 7), tmp_path / "items"))


@settings(max_examples=examples(5, 40), deadline=None)
@given(seed=st.integers(0, 2**32), key=st.sampled_from([(), "id"]))
def test_hashes_are_summed_by_bin_whatever_the_order(seed, key):
    rng = np.random.default_rng(seed)
    rows = {"user": rng.integers(0, 9, 200), "id": rng.integers(0, 1_000, 200), "label": rng.integers(0, 2, 200)}
    table = of_users(key=key, **rows, score=rng.normal(size=200)).tables["influence"]
    hashes = key_hashes(pa.table({"user": rows["user"]}), SEED)
    bins = hashes >> np.uint64(52)
    if key:
        add_words(hashes, key_hashes(pa.table({"id": rows["id"]}), ~SEED))
    for name, wanted in (("item_hashes", np.ones(200, bool)), ("label_hashes", rows["label"] == 1)):
        sums = [sum(hashes[wanted & (bins == at)].tolist()) % 2**64 for at in range(BINS)]
        assert table.column(name).to_pylist() == sums
    places = of_users(sample_of="rows", **rows, score=rng.normal(size=200)).tables["influence"]
    assert (
        sum(places.column("item_hashes").to_pylist()) % 2**64
        == sum(hashes_of(np.arange(200, dtype=np.uint64)).tolist()) % 2**64
    )


def test_what_could_not_be_checked_is_said(tmp_path, capsys):
    plain, keyed, other = (saved(of_users(key=key), tmp_path / name)
                           for name, key in (("plain", ()), ("keyed", "id"), ("other", ())))  # fmt: skip
    assert run(["compare", str(plain), str(keyed), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unchecked"] == (
        "Of items and labels only counts by bin were compared: results were made with no --key and --key id."
    )
    assert run(["compare", str(plain), str(other)]) == 0
    assert "Rows of one user were not told apart (--key)." in capsys.readouterr().out
    rows = [saved(of_users(sample_of="rows"), tmp_path / name) for name in ("rows", "more")]
    assert streameval.compare(*rows).unchecked.startswith("Rows were told apart by their place: labels agree")
    table = read_table(plain / "influence.parquet", "")
    without = table.table.drop_columns(["item_hashes", "label_hashes"])
    atomic.write_all({plain / "influence.parquet": atomic.parquet(without, table.facts)})
    assert streameval.compare(plain, other).unchecked == (
        f"Of items and labels only counts by bin were compared: {plain} has no hash sums (exact makes them now)."
    )


def test_a_sample_is_not_compared_with_a_list_that_is_none(models, tmp_path):
    plain = [tmp_path / "plain", tmp_path / "other"]
    for folder in plain:
        streameval.exact(scored(), score="model1", out=folder)
    assert streameval.compare(*plain).claim.coverage == "exact"
    for others in ([], [models[1]]):
        with pytest.raises(streameval.InputError, match=r"plain has no sums of a sample, by which"):
            streameval.compare(models[0], plain[0], *others)
    with pytest.raises(streameval.InputError, match="3 are more than two"):
        streameval.compare(*plain, evaluated(tmp_path, scored(), "model1", sample_of=None, at=None))


def test_what_was_drawn_is_named_by_its_columns(tmp_path):
    table = scored().rename_columns({"id": "a: b"})
    a, b = (evaluated(tmp_path, table, f"model{one}", sample_of="a: b") for one in range(2))
    assert streameval.compare(a, b).drawn == "each a: b"


def test_a_metric_without_an_interval_has_no_difference_either(models):
    row = row_of(streameval.compare(*models[:2]), "precision_at", "10")
    assert row["low"] is None
    assert row["no_interval"].startswith("only 10 draws have an item above the cutoff")


def test_what_is_published_can_be_compared(models, tmp_path):
    streameval.publish(models[0], str(tmp_path / "there"))
    assert row_of(streameval.compare(tmp_path / "there", models[1]), "roc_auc")["higher"] == "b"


def test_few_draws_that_decide_a_difference_leave_it_open():
    sums = np.zeros(BINS)
    sums[:3] = 1.0, -0.5, 0.2
    assert paired_difference(0.1, sums, BINS, 0.95).reason == "the two differ in too few draws"
    assert paired_difference(0.1, np.zeros(BINS), BINS, 0.95).reason == "the two differ in too few draws"


@pytest.mark.parametrize(
    ("metric", "reason"),
    [("roc_auc", " with a positive"), ("f1_at_score", " with a positive"), ("accuracy_at_score", None)],
)
def test_a_rare_class_in_which_the_two_hardly_differ_leaves_it_open(metric, reason):
    """400 bins differ, and the 40 that have a positive by less: it would be a failure of none of them."""
    rng, at = np.random.default_rng(1), np.arange(BINS)
    positives, items = (at < 40).astype(np.int64), np.ones(BINS, np.int64) + (at < 40)
    sums = rng.normal(size=BINS) * ((at < 40) * 0.1 + (at > BINS - 400)) * 1e-4
    found = paired_difference(0.1, sums, BINS, 0.95, classes=classes_of(metric, items, positives))
    assert found.reason == (reason and f"the two differ in too few draws{reason}")
    swapped = paired_difference(0.1, sums, BINS, 0.95, classes=classes_of(metric, items, items - positives))
    assert swapped.reason == (reason and "the two differ in too few draws with a negative")
    evenly = paired_difference(0.1, rng.normal(size=BINS), BINS, 0.95, classes=classes_of(metric, items, positives))
    assert evenly.reason is None


def test_a_missing_file_is_made_by_exact_again(models, tmp_path):
    folder = evaluated(tmp_path, scored(n=60), "model0")
    (folder / "influence.parquet").unlink()
    with pytest.raises(streameval.StudyError, match="a file of the results is missing") as refused:
        streameval.compare(models[0], folder)
    assert refused.value.hint == "run exact again"
