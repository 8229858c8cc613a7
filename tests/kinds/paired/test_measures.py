"""DCG and other measures of two rankings, bounded from labels of items that count differently in them."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from suite_cases import cases, examples
from two_rankings import ONE, TWO, evaluated, planned, ranks_of

import streameval
from streameval.errors import InputError
from streameval.kinds.paired.evaluate import LabelledDraw
from streameval.kinds.paired.plan import ReusedLabels, drawn_plan, open_pair
from streameval.kinds.paired.says import text
from streameval.kinds.paired.weighted import WeightedDraw, WeightedMeasure, WeightedNeeds
from streameval.labelling.options import ReuseOptions
from streameval.progress import silent
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from tests.binomial import binomial_tail

NAMES = ["dcg@1000", "dcg", "rbp.99", "log_mean_precision"]
FORMS = {"one": ("both.parquet", ONE), "two": ("new.parquet", TWO)}


def naive(name, right):
    """A measure of a list, from its labels in order."""
    rank = np.arange(1, right.size + 1)
    if name.startswith("dcg"):
        counts = (1 / np.log2(1 + rank)) * (rank <= int(name.partition("@")[2] or right.size))
    elif name.startswith("rbp"):
        counts = 0.01 * 0.99 ** (rank - 1.0)
    else:
        return float((np.cumsum(right) / rank / rank).sum() / (1 / rank).sum())
    return float((counts * right).sum())


@pytest.fixture(scope="session")
def truth(both):
    lists = [both.sort_by([(score, "descending")]).column("right").to_numpy() for score in ("new", "old")]
    return {name: naive(name, lists[0]) - naive(name, lists[1]) for name in NAMES}


def drawn_pair(comparing, **reuse):
    """Two orders of one table as plans open them, and labels that there are."""
    pair = open_pair(comparing.against, comparing, RankingOptions(score="new", key="id"))
    return pair, ReusedLabels.of(KnownLabels.among([ReuseOptions(**reuse)]), pair, Study("none"), None)


def test_the_journey(home, truth):
    plan, other = (planned(name, *FORMS[name], at=["500", *NAMES], within=0.04) for name in FORMS)
    assert plan.table.num_rows < 2_500
    drawn = [one.table.sort_by("u").drop_columns(["rank", "stratum"]) for one in (plan, other)]
    assert drawn[0].equals(drawn[1])
    assert all(plan.notes[name] == other.notes[name] for name in ("measures", "probability", "gains", "losses"))
    found = evaluated("two")
    rows = {row["measure"]: row for row in found.tables["measures"].to_pylist()}
    assert list(rows) == NAMES
    for name, row in rows.items():
        assert row["lower"] <= truth[name] <= row["upper"]
        assert row["upper"] - row["lower"] <= 2 * 0.048 * row["whole"]
        assert row["lower"] <= row["estimate"] <= row["upper"]
    assert streameval.check("two", "dcg_gain@1000 > 0").outcome == "pass"
    assert streameval.check("two", "log_mean_precision_gain < 0").outcome == "fail"
    assert streameval.check("two", "rbp.99_gain > 0.9").outcome == "fail"
    page = (home / "two" / "report.html").read_text()
    assert "dcg@1000 is " in page
    rows = {row[0]: row for row in text(found).table.rows}
    for name, row in zip(NAMES, found.tables["measures"].to_pylist(), strict=True):
        assert rows[name][5:8] == [f"{row[side]:.4g}" for side in ("lower", "estimate", "upper")]
        assert f'<th scope="row">{name}</th>' in page


def test_a_measure_alone_and_before_all_labels_are_there(home, truth):
    tasks = planned("s", at="dcg@1000", within=0.03).table.num_rows
    before = (-np.inf, np.inf)
    for part in (tasks // 3, tasks):
        (row,) = evaluated("s", part).tables["measures"].to_pylist()
        assert before[0] <= row["lower"] <= truth["dcg@1000"] <= row["upper"] <= before[1]
        before = row["lower"], row["upper"]


def test_an_estimate_is_right_on_average_before_all_labels_are_there(written, both, scanned_once):
    """Items near the top come first, as the cutoff draws them more often; here these are the positive ones."""
    (new, old), off = ranks_of(both), []
    right, source = new < 500, str(written / "both.parquet")
    truth = naive("dcg", right[np.argsort(new)]) - naive("dcg", right[np.argsort(old)])
    comparing = Comparing(against=source, against_score="old", at=["500", "dcg"], within=0.02)
    pair, none = drawn_pair(comparing)
    for seed in range(examples(20, 40)):
        plan = drawn_plan(pair, comparing, seed, none, None, silent)
        turn = plan.table.column("turn").to_numpy()
        label = np.where(turn < 0.3 * turn.size, right[plan.ranks - 1], -1).astype(np.int8)
        off.append(next(LabelledDraw(plan, label).weighted())["estimate"] - truth)
    assert np.std(off) > 0
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(len(off)), off


@pytest.mark.parametrize("at", [["rbp"], ["dcgs"], ["score:0.5", "dcg"]])
def test_bad_measures(home, at):
    with pytest.raises(InputError):
        planned("s", at=at)
    assert not (home / "s").exists()


@pytest.mark.parametrize("name", ["dcg", "dcg@1000", "dcg@7", "rbp.5", "rbp.999", "log_mean_precision"])
def test_rounding_is_known(name):
    """Against every rank by itself: levels are within what is said of each bin, and bins are few."""
    draw = WeightedDraw.of([name], 5_000, np.array([10, 200]), WeightedNeeds(0.01, 0.025, 0.25))
    (measure,) = draw.measures
    level, apart = measure.levels(draw.ends)
    rank = np.arange(1, 5_001)
    at = np.searchsorted(draw.ends, rank)
    exact = WeightedMeasure.of(name, 5_000).discount(rank)
    off = np.bincount(at, np.abs(exact - level[at]), minlength=level.size)
    assert draw.ends.size <= 610
    assert (off[:-1] <= apart[:-1] + 1e-12).all()
    assert off[-1] <= apart[-1] + 1e-12
    assert apart.sum() <= 0.004 * draw.whole(measure)


def test_lists_that_are_the_same_where_it_counts(home, both):
    """They differ below rank 1,200 alone: what is asked for at 1,500 is drawn, and the DCG at 500 is the same."""
    ordered = both.sort_by([("new", "descending")])
    other = np.arange(both.num_rows, 0, -1.0)
    other[1_200:] = np.random.default_rng(1).permutation(other[1_200:])
    pq.write_table(ordered.append_column("other", [other]), "both.parquet")
    planned("s", how={**ONE, "against_score": "other"}, at=["1500", "dcg@500"])
    (row,) = evaluated("s").tables["measures"].to_pylist()
    assert row["drawn"] == 0
    assert abs(row["lower"]) + abs(row["upper"]) < 0.002 * row["whole"]
    assert row["better"] == "neither"  # bounds lie within what was asked for


@pytest.mark.parametrize("reuse", cases([None, "gold.parquet"], "gold.parquet"))
def test_coverage(home, both, truth, reuse, scanned_once):
    """At a confidence of one half for both together, of draws that are fresh; with labels that were known, or not."""
    right, names = both.column("right").to_numpy(), ["dcg@1000", "log_mean_precision"]
    pq.write_table(both.slice(0, 1_000).select(["id", "right"]), "gold.parquet")
    comparing = Comparing(against="both.parquet", against_score="old", at=["500", *names], within=0.1, confidence=0.5)
    pair, labels = drawn_pair(comparing, reuse=reuse, label="right")
    misses, runs = 0, examples(25, 40)
    for seed in range(runs):
        plan = drawn_plan(pair, comparing, seed, labels, None, silent)
        label = right[plan.ranks - 1].astype(np.int8)
        label[np.random.default_rng(seed).random(label.size) < 0.02] = -1
        rows = LabelledDraw(plan, label).weighted()
        misses += any(not row["lower"] <= truth[row["measure"]] <= row["upper"] for row in rows)
    assert binomial_tail(runs, misses, 0.5) > 1e-6
