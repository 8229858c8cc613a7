"""Comparing two studies: the truth inside every bound, shared confidence, equal thresholds, what cannot be compared."""

import html
import json
import re
import shlex
import shutil
from contextlib import chdir

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured import exact_tables, with_tables
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds.curve.comparison_page import verdict
from streameval.methods import create
from streameval.verbs.compare import compare

N = 8_000


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    """Items scored by two models, the first the better one, and their truth in either order."""
    rng = np.random.default_rng(11)
    good = rng.permutation(N) / N
    truth = (rng.random(N) < good**1.5).astype(np.int8)
    noisy = good + 1.5 * rng.random(N)
    path = tmp_path_factory.mktemp("items") / "items.parquet"
    pq.write_table(pa.table({"item": np.arange(N), "good": good, "noisy": noisy, "label": truth}), path)
    return path, {name: truth[np.argsort(-score, kind="stable")] for name, score in (("good", good), ("noisy", noisy))}


def study_of(path, folder, score, truth, **parameters):
    """A study of a score column, labelled from the truth in that order: what is compared are its tables."""
    options = streameval.RankingOptions(score=score)
    given = {"method": "loguniform", "alpha": 0.2, "seed": 0, **parameters}
    plan = streameval.plan(str(path), folder, options=options, **given)
    streameval.select(folder, columns=[])
    return with_tables(folder, pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))


@pytest.fixture(scope="module")
def studies(items):
    """A study by either score, for tests that leave them as they are."""
    path, truth = items
    home = path.parent
    for name in ("good", "noisy"):
        study_of(path, home / name, name, truth[name])
    return home / "good", home / "noisy", truth


def test_the_truth_is_inside_every_difference(studies):
    good, noisy, truth = studies
    found = compare(good, noisy)
    rank = found.curves.column("rank").to_numpy()
    p = {name: np.cumsum(labels)[rank - 1] / rank for name, labels in truth.items()}
    low, high = (found.curves.column(f"difference_{side}").to_numpy() for side in ("lower", "upper"))
    assert np.all((low <= p["good"] - p["noisy"] + 1e-12) & (p["good"] - p["noisy"] <= high + 1e-12))
    rows = {(row["metric"], row["argument"]): row for row in found.differences.to_pylist()}
    recall = rows["recall_at", "1000"]
    exact = (truth["good"][:1000].sum() - truth["noisy"][:1000].sum()) / truth["good"].sum()
    assert recall["lower"] <= exact <= recall["upper"]
    assert rows["precision_at", "1000"]["higher"] == "a"
    assert rows["precision_at_recall", "0.2"]["higher"] == "a"
    assert {"average_precision", "roc_auc"} <= {metric for metric, _ in rows}
    assert found.claim.coverage == "simultaneous"
    assert found.claim.confidence == 0.95
    assert found.lists == "two orders of the same items"


def test_two_orders_of_the_same_items_share_their_positives(studies):
    good, noisy, truth = studies
    found = compare(good, noisy)
    (low_a, high_a), (low_b, high_b) = (side.curve.envelope.at([N]) for side in (found.a, found.b))
    assert (low_a, high_a) == (low_b, high_b)
    assert low_a <= truth["good"].sum() <= high_a
    for side, name in ((found.a, "good"), (found.b, "noisy")):
        low, high = side.curve.envelope.at(np.arange(1, N + 1))
        assert np.all((low <= np.cumsum(truth[name])) & (np.cumsum(truth[name]) <= high))


def test_each_side_has_half_of_delta(studies):
    good, noisy, truth = studies
    found = compare(good, noisy, confidence=0.9)
    assert (found.a.curve.claim.confidence, found.b.curve.claim.confidence) == pytest.approx((0.95, 0.95))
    plan = streameval.Study(good).plan()
    method = create("loguniform", {**plan.parameters, "confidence": 0.95})
    own = method.curve(plan, streameval.Labels.of(plan, truth["good"][plan.ranks - 1]))
    narrow, wide = (curve.envelope.at(np.arange(1, N + 1)) for curve in (found.a.curve, own))
    assert np.all((wide[0] <= narrow[0]) & (narrow[1] <= wide[1]))
    assert np.mean(wide[0] == narrow[0]) > 0.5  # all but what the other side knows of the whole


def test_an_exact_side_leaves_all_of_delta_to_the_other(studies, tmp_path):
    plan = streameval.plan(pa.table({"id": np.arange(300)}), tmp_path / "exact", budget=300, seed=0)
    labels = pa.table({"rank": plan.ranks, "label": plan.ranks % 2})
    found = compare(with_tables(tmp_path / "exact", labels), studies[1])
    assert found.a.curve.claim.coverage == "exact"
    assert found.b.curve.claim.confidence == pytest.approx(0.95)
    assert found.claim.coverage == "simultaneous"


def test_two_exact_results_are_not_told_to_be_labelled(items, tmp_path, capsys):
    """Also where items of equal score leave something between the bounds."""
    table = pq.read_table(items[0]).slice(0, 500)
    tied = table.set_column(2, "noisy", pa.array(np.round(table.column("noisy").to_numpy(), 1)))
    pq.write_table(tied, tmp_path / "tied.parquet")
    for name in ("good", "noisy"):
        exact_tables(str(tmp_path / "tied.parquet"), tmp_path / name, label="label", score=name)
    assert run(["compare", str(tmp_path / "good"), str(tmp_path / "noisy")]) == 0
    said = capsys.readouterr().out
    assert "exact" in said
    assert "draws them" not in said


def test_exact_results_are_a_side(studies, tmp_path):
    good, noisy, truth = studies
    streameval.exact(
        str(good.parent / "items.parquet"), label="label", out=tmp_path / "whole",
        options=streameval.RankingOptions(score="noisy"),
    )  # fmt: skip
    found = compare(good, tmp_path / "whole")
    assert found.lists == "two orders of the same items"
    assert found.a.curve.claim.confidence == pytest.approx(0.95)
    rank = found.curves.column("rank").to_numpy()
    exact = (np.cumsum(truth["good"])[rank - 1] - np.cumsum(truth["noisy"])[rank - 1]) / rank
    low, high = (found.curves.column(f"difference_{side}").to_numpy() for side in ("lower", "upper"))
    assert np.all((low <= exact + 1e-12) & (exact <= high + 1e-12))
    (row,) = [r for r in found.differences.to_pylist() if (r["metric"], r["argument"]) == ("roc_auc", "")]
    assert row["higher"] == "a"
    assert found.claim.assumes.endswith("; and the study's labels are those of column label")
    same = compare(noisy, tmp_path / "whole")
    assert same.lists == "the same list"
    assert same.curves.column("higher").null_count == same.curves.num_rows


def test_equal_thresholds(studies):
    good, noisy, truth = studies
    found = compare(good, noisy)
    check_thresholds(found, pq.read_table(good.parent / "items.parquet"), list(truth))


def check_thresholds(found, table, scores):
    """Every difference at a threshold holds what counting says, to the last digit of the threshold."""
    label = table.column("label").to_numpy()
    rows = [row for row in found.differences.to_pylist() if row["metric"] == "precision_at_score"]
    assert rows
    assert len({row["argument"] for row in rows}) == len(rows)
    for row in rows:
        at = [label[table.column(name).to_numpy() >= float(row["argument"])].mean() for name in scores]
        assert row["lower"] - 1e-12 <= at[0] - at[1] <= row["upper"] + 1e-12, row
    return rows


def test_thresholds_that_agree_in_six_digits_are_two(tmp_path):
    n = 2_000
    score = 0.5 + np.linspace(1, 0, n) * 1e-7
    truth = np.r_[np.ones(500, np.int8), np.zeros(n - 500, np.int8)]
    pq.write_table(pa.table({"a": score, "b": score[::-1].copy(), "label": truth}), tmp_path / "items.parquet")
    for name in "ab":
        exact_tables(str(tmp_path / "items.parquet"), tmp_path / name, label="label", score=name)
    rows = check_thresholds(compare(tmp_path / "a", tmp_path / "b"), pq.read_table(tmp_path / "items.parquet"), "ab")
    assert len(rows) == 3


def test_rules_that_differ_share_no_number_of_positives(items, tmp_path, capsys):
    """Where three people vote, "any" finds more positives than "all": one side's number says nothing of the other's."""
    path, truth = items
    rng = np.random.default_rng(0)
    said = np.maximum(rng.random((3, N)) < 0.15, 0).astype(np.int8)
    item = np.argsort(-pq.read_table(path).column("good").to_numpy(), kind="stable")
    place = {"good": np.arange(N), "noisy": None}
    noisy = np.argsort(-pq.read_table(path).column("noisy").to_numpy(), kind="stable")
    where = np.empty(N, np.int64)
    where[item] = np.arange(N)
    place["noisy"] = where[noisy]
    for name, rule in (("good", "any"), ("noisy", "all")):
        options = streameval.RankingOptions(score=name)
        plan = streameval.plan(str(path), tmp_path / name, options=options, method="loguniform", alpha=0.4, seed=0)
        mine = place[name][plan.ranks - 1]
        votes = pa.table({"rank": np.tile(plan.ranks, 3), "annotator": np.repeat(["x", "y", "z"], plan.ranks.size),
                          "label": (said[:, mine] | truth["good"][mine]).ravel()})  # fmt: skip
        with_tables(tmp_path / name, votes, vote=rule)
    positives = {"good": (said.max(0) | truth["good"]).sum(), "noisy": (said.min(0) | truth["good"]).sum()}
    found = compare(tmp_path / "good", tmp_path / "noisy")
    for side, name in ((found.a, "good"), (found.b, "noisy")):
        low, high = side.curve.envelope.at([N])
        assert low[0] <= positives[name] <= high[0]
    assert run(["compare", str(tmp_path / "good"), str(tmp_path / "noisy")]) == 0
    assert "The labels of a and b were judged by different rules (a: any; b: all)" in capsys.readouterr().out


def test_it_says_what_labels_of_what_changed_would_take(studies, capsys):
    """Of a cutoff at which items can change sides at all: the whole lists hold the same ones."""
    good, noisy, _ = studies
    assert run(["compare", str(good), str(noisy)]) == 0
    said = re.search(
        r"on the difference in precision at ([\d,]+) take .* --for 'gain@(\d+) within ([\d.]+)%'",
        capsys.readouterr().out,
    )
    assert said is not None
    rank, at = int(said[1].replace(",", "")), int(said[2])
    row = next(row for row in compare(good, noisy).differences.to_pylist()
               if (row["metric"], row["argument"]) == ("precision_at", str(at)))  # fmt: skip
    assert rank == at < N
    assert float(said[3]) / 100 == pytest.approx((row["upper"] - row["lower"]) / 2, rel=0.05)


def test_a_difference_that_rounding_makes_is_none(tmp_path):
    """The same precisions, summed by `exact` and derived from an envelope: nothing is higher, no bound is crossed."""
    n = 1_000
    truth = (np.random.default_rng(0).random(n) < np.linspace(0.9, 0.2, n)).astype(np.int8)
    table = pa.table({"id": np.arange(n), "label": truth})
    pq.write_table(table, tmp_path / "items.parquet")
    pq.write_table(table.append_column("more", table.column("id")), tmp_path / "others.parquet")
    exact_tables(str(tmp_path / "items.parquet"), tmp_path / "a", label="label")
    plan = streameval.plan(str(tmp_path / "others.parquet"), tmp_path / "b", method="loguniform", alpha=1e-6, seed=0)
    assert plan.ranks.size == n
    with_tables(tmp_path / "b", pa.table({"rank": plan.ranks, "label": truth}))
    for found in (compare(tmp_path / "a", tmp_path / "b"), compare(tmp_path / "b", tmp_path / "a")):
        assert found.lists == "two lists"
        assert found.differences.column("higher").null_count == found.differences.num_rows
        low, high = (found.differences.column(end).drop_null().to_numpy() for end in ("lower", "upper"))
        assert not np.any(low > high)


def test_metrics_whose_ends_rounding_crosses_are_put_in_order():
    from streameval.metrics import table

    (row,) = table([("average_precision", "", 0.3 + 2e-16, 0.3, 0.3)], "exact").to_pylist()
    assert row["lower"] <= row["estimate"] <= row["upper"]
    (row,) = table([("precision_at", "10", 0.4, 0.3, 0.2)], "none").to_pylist()  # a picture of bounds that cross
    assert (row["lower"], row["upper"]) == (0.4, 0.2)


@pytest.fixture(scope="module")
def staged(items):
    """A study of the second score that may grow."""
    path, truth = items
    how = {"min_precision": 0.7, "stages": "2:later"}
    return study_of(path, path.parent / "staged", "noisy", truth["noisy"], **how)


@pytest.mark.parametrize("method", cases(["uniform", "stratified", "paula"], "uniform", "paula"))
def test_every_method_can_be_a_side(method, items, staged, tmp_path):
    path, truth = items
    parameters = {"method": "paula(assume=independent)", "alpha": None} if method == "paula" else {"method": method}
    study_of(path, tmp_path / "a", "good", truth["good"], **parameters)
    found = compare(tmp_path / "a", staged)
    assert found.claim.coverage == ("conditional" if method == "paula" else "simultaneous")
    assert found.claim.confidence == 0.95
    assert ("of the first" in found.claim.assumes) == (method == "paula")


def test_a_picture_of_a_bound_establishes_nothing(items, studies, tmp_path, capsys):
    path, truth = items
    study_of(path, tmp_path / "a", "good", np.sort(truth["good"]), method="paula", alpha=None)
    assert run(["compare", str(tmp_path / "a"), str(studies[1])]) == 0
    assert "Nothing is established" in capsys.readouterr().out
    found = compare(tmp_path / "a", studies[1])
    assert found.differences.column("higher").null_count == found.differences.num_rows


def test_a_list_against_itself_differs_nowhere(items, studies, tmp_path, capsys):
    path, truth = items
    other = study_of(path, tmp_path / "b", "good", truth["good"], seed=2)
    found = compare(studies[0], other)
    assert found.lists == "the same list"
    assert found.curves.column("higher").null_count == found.curves.num_rows
    assert run(["compare", str(studies[0]), str(other)]) == 0
    assert "there is no difference to find; their bounds agree" in capsys.readouterr().out


def test_what_differs_where_no_precision_at_a_rank_does(tmp_path, capsys):
    """The longer list has as many positives at every rank of the shorter one, and others behind."""
    label = np.tile([1, 0, 1, 1, 0, 0], 50)
    for name, behind in (("a", []), ("b", [1] * 30)):
        labels = np.concatenate([label, behind]).astype(np.int8)
        exact_tables(pa.table({"label": labels}), tmp_path / name, label="label")
    found = compare(tmp_path / "a", tmp_path / "b")
    assert found.curves.column("higher").null_count == found.curves.num_rows == 300
    said = verdict(found)
    assert said.startswith("No difference in precision is established at any of 300 ranks compared, but roc_auc is hi")
    higher = {row["metric"] for row in found.differences.to_pylist() if row["higher"] == "b"}
    assert "precision_at_recall" in higher
    assert said.endswith("more are higher in b.")


def test_the_command(studies, tmp_path, capsys):
    good, noisy, _ = studies
    arguments = ["compare", str(good), str(noisy), "--out", str(tmp_path / "out"), "--plot", str(tmp_path / "both.svg")]
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "is more precise" in found["verdict"]
    assert "about these two lists of items; it does not say whether the models that made them would" in found["verdict"]
    assert pq.read_table(tmp_path / "out" / "differences.parquet").num_rows == len(found["differences"])
    assert (tmp_path / "both.svg").read_text().startswith("<svg")
    assert run(arguments[:3]) == 0
    said = capsys.readouterr().out
    rows = [line.split()[0] for line in said.splitlines() if line.startswith(("average", "precision@1000", "recall@"))]
    assert rows.count("precision@1000") == rows.count("average_precision") == 1  # found or not is one: no misses
    missed = with_tables(shutil.copytree(good, tmp_path / "missed"), misses=50)
    assert run(["compare", str(missed), str(noisy)]) == 0
    missed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("average")]
    assert ["of found positives" in line for line in missed] == [False, True]
    assert "The bounds hold at every rank at once with 95 % confidence" in said
    assert "(Two orders of the same items.)" in said


def check_ties(path, folder, scores, **parameters):
    """Ties make orders that only the studies know."""
    truths = {}
    for score in scores:
        options = streameval.RankingOptions(score=score)
        opened = streameval.open_ranking(str(path), options)
        truth = opened.fetch(np.arange(1, opened.n_items + 1), ["label"]).table.column("label").to_numpy()
        truths[score] = np.cumsum(truth, dtype=np.int64)
        study_of(path, folder / score, score, truth.astype(np.int8), **parameters)
    found = compare(*(folder / score for score in scores))
    rank = found.curves.column("rank").to_numpy()
    exact = (truths[scores[0]][rank - 1] - truths[scores[1]][rank - 1]) / rank
    low, high = (found.curves.column(f"difference_{side}").to_numpy() for side in ("lower", "upper"))
    assert np.all((low <= exact + 1e-12) & (exact <= high + 1e-12))


def test_two_rankings_whose_items_tie(tmp_path):
    rng = np.random.default_rng(3)
    good = rng.random(2_000)
    table = {"label": (rng.random(2_000) < good).astype(np.int8), "coarse": np.round(good, 1),
             "noisy": np.round(good + rng.random(2_000), 1)}  # fmt: skip
    pq.write_table(pa.table(table), tmp_path / "items.parquet", row_group_size=700)
    check_ties(tmp_path / "items.parquet", tmp_path, ("coarse", "noisy"), alpha=0.3)


@pytest.mark.slow
def test_two_rankings_of_the_same_real_items(real, tmp_path):
    how = {"alpha": None, "min_precision": 0.05, "budget": 6_000}
    check_ties(real("clef_tar2017_amc"), tmp_path, ("score", "score_uwaterloo"), **how)


def test_bad_input(studies, items, tmp_path, capsys):
    good, noisy, _ = studies
    with pytest.raises(InputError, match="compared with itself"):
        compare(good, good)
    with pytest.raises(InputError, match="outside"):
        compare(good, noisy, confidence=95)
    with pytest.raises(StudyError, match="is not a study"):
        compare(good, tmp_path / "nothing")
    streameval.plan(str(items[0]), tmp_path / "planned", seed=0)
    assert run(["compare", str(good), str(tmp_path / "planned")]) == 2
    assert "no results yet" in capsys.readouterr().err
    assert run(["compare", str(good), str(noisy), "--plot", "x.doc"]) == 2


def test_labels_that_disagree_about_one_list_establish_nothing(tmp_path):
    table = pa.table({"id": np.arange(3_000)})
    for name, share in (("a", 0.9), ("b", 0.2)):
        streameval.plan(table, tmp_path / name, method="loguniform", budget=600, seed=0)
        ranks = np.arange(1, 3_001)
        labels = pa.table({"rank": ranks, "label": (np.random.default_rng(1).random(3_000) < share).astype(np.int8)})
        with_tables(tmp_path / name, labels)
    found = compare(tmp_path / "a", tmp_path / "b")
    assert not found.agree
    assert found.excluded
    assert found.curves.column("higher").null_count == found.curves.num_rows
    assert "their labels disagree" in verdict(found)


def test_the_page_of_a_comparison_is_whole_without_scripts(studies, tmp_path, capsys):
    good, noisy, _ = studies
    path = tmp_path / "both.html"
    assert run(["compare", str(good), str(noisy), "--plot", str(path), "--json"]) == 0
    said, page = json.loads(capsys.readouterr().out), path.read_text()
    assert f"<h1>{good.name} and {noisy.name} compared</h1>" in page
    assert html.escape(said["verdict"]) in page
    assert f">a: {good.name}</text>" in page  # the legend of the picture
    assert page.count("<svg") == 1
    assert "<script" not in page
    assert "prefers-color-scheme:dark" in page
    command = re.search("<code>streameval (.*?)</code>", page)[1]
    assert command == f"report {good} {noisy} --out curves.html"
    with chdir(tmp_path):
        assert run(shlex.split(html.unescape(command))) == 0
    shown = [row for row in said["differences"] if row["metric"] == "precision_at"]
    assert f"precision at {int(shown[0]['argument']):,}" in page
