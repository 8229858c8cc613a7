"""Two rankings at every rank: one study, whose bounds hold at all ranks together."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.kinds.paired.evaluate import LabelledDraw
from streameval.questions import Question
from streameval.study import Study

N = 2_000
HOW = {"score": "new", "against": "list.parquet", "against_score": "old", "key": "id", "at": "every", "within": 0.2}


@pytest.fixture
def truth(tmp_path, monkeypatch):
    """The true difference at ranks 1..N of a list that is written, whose new order is the old one with noise."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    old, ids = np.log(np.arange(1, N + 1)), rng.permutation(10 * N)[:N]
    new, right = old + 0.7 * rng.normal(size=N), (rng.random(N) < 0.5).astype(np.int64)
    pq.write_table(pa.table({"id": ids, "right": right, "old": -old, "new": -new}), "list.parquet", row_group_size=500)
    return np.cumsum(right[np.argsort(new)]) - np.cumsum(right)


def evaluated(part=1.0):
    tasks = streameval.select("s").table.sort_by("se_task")
    tasks = tasks.slice(0, int(part * tasks.num_rows))
    return streameval.evaluate("s", labels=tasks.select(["se_task"]).append_column("label", tasks.column("right")))


def bounds(found, k, metric="gain"):
    return found.bounds(Question.of(f"{metric}@{k}").measure)


def the_error_is_shared_by_the_ranks_that_are_bounded(plan, found, truth):
    right = pq.read_table("list.parquet").column("right").to_numpy()
    rows = found.tables["differences"].to_pylist()
    samples = LabelledDraw(plan, right[plan.ranks - 1].astype(np.int8)).samples()
    count, shared = len(rows), plan.notes["bounded"]
    assert 20 < shared < count - 20
    for at in (0, count - shared - 1):
        assert rows[at]["lower"] == rows[at]["upper"] == truth[int(rows[at]["cutoff"]) - 1]
    for at in range(count - shared, count - 10, 7):
        lower, upper = samples[at].limits(0.05 / (2 * shared))
        assert (rows[at]["lower"], rows[at]["upper"]) == (
            max(lower, -rows[at]["losses"]), min(upper, rows[at]["gains"]))  # fmt: skip


def test_the_journey(truth, capsys):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in HOW.items()]
    assert run(["plan", "list.parquet", *words, "--study", "s", "--seed", "4"]) == 0
    said = capsys.readouterr().out
    assert "at every rank together" in said
    assert "at 1,000:" in said
    assert len(said.splitlines()) < 12
    plan = Study("s").plan()
    assert plan.parameters["look"] == "one"
    assert 100 < plan.table.num_rows < N / 2
    half = evaluated(0.5)
    found = evaluated()
    assert [row["argument"] for row in found.metrics.to_pylist() if row["metric"] == "gain_at"] == [
        "1", "10", "100", "1000", "2000"]  # fmt: skip
    for k in range(1, N + 1, 13):
        lower, estimate, upper = bounds(found, k)
        assert lower <= truth[k - 1] <= upper
        assert np.isnan(estimate) or lower <= estimate <= upper  # where nothing is drawn, nothing is estimated
        assert (upper - lower) / 2 / k <= 1.3 * 0.2
        assert bounds(found, k, "precision_gain") == pytest.approx((lower / k, estimate / k, upper / k), nan_ok=True)
        before = bounds(half, k)
        assert before.lower <= lower <= upper <= before.upper
    assert run(["show", "s"]) == 0
    said = capsys.readouterr().out
    assert "every rank hold together with probability 0.95 (one look: labels that are missing only widen them)" in said
    assert "whenever" not in said  # no bound is planned for looks in between
    assert run(["show", "s", "gain@777", "precision_gain@50%"]) == 0
    assert run(["labels", "s"]) == 0
    assert run(["report", "s", "--out", "r.html"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < 40
    assert run(["check", "s", f"gain@{N} >= 0"]) == 0
    assert run(["check", "s", "gain@777 > 777"]) == 4
    the_error_is_shared_by_the_ranks_that_are_bounded(plan, found, truth)
    watched = streameval.monitor("s", "gain@777").rows[0]
    alone = bounds(found, 777)  # with a larger share of the doubt
    assert watched["lower"] <= alone.lower < alone.upper <= watched["upper"]
    capsys.readouterr()
    for strange in ("gain@2001", "dcg_gain@10", "gain@score:0.5", "gain"):
        assert run(["check", "s", f"{strange} > 0"]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_lists_of_different_lengths(truth):
    whole = pq.read_table("list.parquet")
    shorter = whole.filter(pa.array(np.arange(N) % 5 > 0)).select(["id", "right", "old"])
    how = {**HOW, "against": shorter, "against_score": "old"}
    streameval.plan(whole, "s", seed=4, **how)
    tasks = streameval.select("s", ranking=(whole, shorter)).table
    labels = tasks.select(["se_task"]).append_column("label", tasks.column("right"))
    found = streameval.evaluate("s", labels=labels)
    right_b = whole.sort_by([("new", "descending")]).column("right").to_numpy()
    right_a = shorter.sort_by([("old", "descending")]).column("right").to_numpy()
    for k in (3, 250, 1_600, 1_601, 1_999):
        lower, _, upper = bounds(found, k)
        assert lower <= right_b[:k].sum() - right_a[:k].sum() <= upper
    bounds(found, 1_600, "precision_gain")
    with pytest.raises(InputError, match="one of the lists is shorter"):
        bounds(found, 1_601, "precision_gain")


@pytest.mark.parametrize("other", [{"look": "any"}, {"at": "every,10"}, {"at": "every,dcg"}])
def test_what_does_not_go_with_every_rank(truth, other):
    with pytest.raises(InputError):
        streameval.plan("list.parquet", "s", **{**HOW, **other})
    with pytest.raises(InputError, match="how far items moved"):
        streameval.cost(N, against="80%", at="every")
