"""Recall, average precision and nDCG of drawn rankings from a table of known positives: ends, means, refusals."""

import itertools
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from drawn_found import found_by, found_of, told_of
from suite_cases import examples

import streameval
from streameval import InputError, RankingOptions
from streameval.cli import run
from streameval.kernels.tied_items import discounts
from streameval.per_query.positives import METRICS, Pool, Positives, pooled_values

OPTIONS = RankingOptions("score")


def by_definition(labels, beyond, k):
    """Recall, average precision and nDCG at k of one ranking whose every positive is known; 0 without one."""
    positives, top = sum(labels) + beyond, [at for at, one in enumerate(labels[:k], 1) if one]
    if not positives:
        return [0.0, 0.0, 0.0]
    table = discounts(k)
    precision = sum(nth / at for nth, at in enumerate(top, 1))
    gain = sum(table[at - 1] for at in top)
    return [len(top) / positives, precision / positives, gain / table[: min(k, positives)].sum()]


@pytest.mark.parametrize("complete", [True, False])
def test_ends_hold_whatever_the_missing_labels_and_unknown_positives_are(complete):
    rng, cuts = np.random.default_rng(4), (1, 3, 4)
    for _ in range(examples(25, 60)):
        labels, beyond = rng.integers(-1, 2, rng.integers(1, 6)), int(rng.integers(0, 4))
        ends = tuple(Positives(np.zeros(own.size, np.int64), own, 1)
                     for own in (np.flatnonzero(labels == 1) + 1, np.flatnonzero(labels != 0) + 1))  # fmt: skip
        low, high = pooled_values(ends, Pool(np.array([beyond]), complete, beyond), cuts)
        missing = np.flatnonzero(labels < 0)
        values = []
        for answers in itertools.product((0, 1), repeat=missing.size):
            filled = labels.copy()
            filled[missing] = answers
            for unknown in (0,) if complete else (0, 1, 50):
                values.append([by_definition(filled.tolist(), beyond + unknown, k) for k in cuts])
        found = np.array(values).reshape(len(values), -1)
        low, high = np.concatenate(low), np.concatenate(high)
        assert (low <= found.min(axis=0) + 1e-12).all()
        assert (high >= found.max(axis=0) - 1e-12).all()
        assert high[:: len(METRICS)] == pytest.approx(found.max(axis=0)[:: len(METRICS)])
        if complete:
            assert low[:: len(METRICS)] == pytest.approx(found.min(axis=0)[:: len(METRICS)])
            assert missing.size or low == pytest.approx(high, abs=1e-12)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A list of 300 rankings, the labels of all items, and judgements of grade 0 and 1, some of items not returned."""
    monkeypatch.chdir(tmp_path)
    write_lists()
    return tmp_path


def write_lists():
    rng = np.random.default_rng(6)
    query = np.repeat(np.arange(300), rng.integers(2, 30, 300))
    good = (rng.random(query.size) < 0.3) & (query % 4 > 0)
    table = pa.table({"query": [f"q {one}" for one in query], "doc": [f"d{i}" for i in range(query.size)],
                      "score": rng.random(query.size), "truth": good.astype(int)})  # fmt: skip
    pq.write_table(table.take(rng.permutation(query.size)), "runs.parquet")
    never = pa.table({"query": [f"q {one}" for one in range(0, 300, 5)], "doc": [f"n{i}" for i in range(60)],
                      "truth": [1] * 60})  # fmt: skip
    pq.write_table(never, "never.parquet")
    every = pa.concat_tables([table.select(["query", "doc", "truth"]), never])
    pq.write_table(pa.concat_tables([every, never]).rename_columns(["query", "doc", "label"]), "qrels.parquet")


def studied(rankings, *more, blank=0):
    """Plan, and answer the tasks by the truth but for some."""
    plan = ["plan", "runs.parquet", "--study", "st", "--score", "score", "--per", "query", "--seed", "5"]
    assert run([*plan, "--budget", str(5 * rankings), "--for", "precision@2,5", *more]) == 0
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    table = pq.read_table("runs.parquet", columns=["doc", "truth"])
    truth = dict(zip(*table.to_pydict().values(), strict=True))
    tasks = csv.read_csv("tasks.csv")
    answers = [None if i < blank else truth[one] for i, one in enumerate(tasks.column("doc").to_pylist())]
    csv.write_csv(tasks.drop_columns("label").append_column("label", pa.array(answers)), "done.csv")


def bounds(*flags):
    found = found_by("st", "--labels", "done.csv", *flags)
    rows = {(row["metric"].removeprefix("mean_"), int(row["argument"])): row for row in found.metrics.to_pylist()}
    return rows, told_of("st", found)


POOL = ("--positives", "qrels.parquet", "--key", "doc")


def exactly(name, k):
    return means().mean(name, k)


@cache
def means():
    """What is true of the list that every test has."""
    return streameval.exact("runs.parquet", label="truth", per="query", at=[2, 5], key="doc", options=OPTIONS,
                            positives="never.parquet")  # fmt: skip


def test_with_every_ranking_and_a_complete_table_the_means_are_those_of_exact(home, capsys):
    studied(300)
    found, _ = bounds(*POOL, "--assume", "complete")
    for name, k in itertools.product(METRICS, (2, 5)):
        row = found[name, k]
        assert row["coverage"] == "conditional"
        assert row["lower"] == row["estimate"] == row["upper"] == pytest.approx(exactly(name, k), abs=1e-12)


def test_the_journey_with_pooled_positives(home, capsys):
    studied(120, blank=12)
    alone, _ = bounds()
    assert ("recall_at", 5) not in alone
    upper, said = bounds(*POOL)
    assert (
        "If it is right, upper bounds on these three hold whatever else is positive. Lower bounds are 0 unless" in said
    )
    capsys.readouterr()
    assert run(["evaluate", "st", "--labels", "done.csv", *POOL, "--assume", "complete"]) == 0
    rows = pq.read_table("st/metrics.parquet").to_pylist()
    both = {(row["metric"].removeprefix("mean_"), int(row["argument"])): row for row in rows}
    said = " ".join(capsys.readouterr().out.split())
    assert "and those of recall, average precision and nDCG if the table of positives is right and complete. (" in said
    assert "Bounds on these three hold if it is right, and if it and the labels have every positive" in said
    assert "Bounds on these three hold if" in (home / "st" / "report.html").read_text()
    for name, k in itertools.product(METRICS, (2, 5)):
        truth = exactly(name, k)
        assert upper[name, k]["lower"] == 0
        assert upper[name, k]["coverage"] == "conditional"
        assert 0 < both[name, k]["lower"] <= truth <= both[name, k]["upper"]
        assert truth <= upper[name, k]["upper"] <= both[name, k]["upper"] < 0.9
    for key, row in alone.items():  # the confidence is shared by more bounds
        assert both[key]["lower"] < upper[key]["lower"] < row["lower"]


def test_grades_of_any_height_are_positive(home):
    studied(60)
    plain, _ = bounds(*POOL)
    table = pq.read_table("qrels.parquet")
    high = pa.array([500 * one for one in table.column("label").to_pylist()])
    pq.write_table(table.set_column(table.column_names.index("label"), "label", high), "high.parquet")
    assert bounds("--positives", "high.parquet", "--key", "doc")[0] == plain


def test_fewer_positives_bound_less_from_above(home):
    studied(60)
    upper, _ = bounds(*POOL)
    pq.write_table(pq.read_table("qrels.parquet").slice(0, 700), "some.parquet")
    fewer, _ = bounds("--positives", "some.parquet", "--key", "doc")
    assert all(fewer[name, 5]["upper"] >= upper[name, 5]["upper"] for name in METRICS)


def test_a_complete_table_in_memory_is_said_to_be_complete(home):
    studied(20)
    table = pq.read_table("qrels.parquet")
    found = found_of("st", labels="done.csv", positives=table, key="doc", assume="complete")
    assert found.summary["pool"]["complete"]
    assert "every positive of the rankings that were drawn" in found.summary["claim"]["assumes"]


def test_a_judge_narrows_bounds_on_ndcg_too(home):
    studied(100, "--judge", "truth")
    found, _ = bounds(*POOL, "--assume", "complete")
    for name, k in itertools.product(METRICS, (2, 5)):
        row = found[name, k]
        assert row["lower"] <= exactly(name, k) <= row["upper"]
        assert row["upper"] - row["lower"] < (0.85 if name == "ndcg_at" else 1.05) * row["width_without_judge"]


def test_rows_about_labelled_items_and_rows_given_twice_count_once(home):
    studied(300)
    beyond = found_of("st", labels="done.csv", positives="qrels.parquet", key="doc")
    rows = pq.read_table("runs.parquet").to_pylist()
    deeper = sum(row["truth"] for row in rows) + 60
    labelled = sum(one == 1 for one in csv.read_csv("done.csv").column("label").to_pylist())
    assert beyond.summary["pool"]["beyond"] == deeper - labelled
    assert beyond.summary["pool"]["rows"] == deeper + 60
    plain = found_of("st", positives=pq.read_table("never.parquet", columns=["query"]))
    assert plain.summary["pool"]["beyond"] == 60


def test_names_that_match_nothing_are_told_with_numbers(home, capsys):
    """Ten labels of items that the table has as positives are turned to 0."""
    studied(30)
    tasks = csv.read_csv("done.csv")
    answers = tasks.column("label").to_numpy().copy()
    answers[np.flatnonzero(answers == 1)[:10]] = 0
    labels = pa.array(answers)
    csv.write_csv(tasks.drop_columns("label").append_column("label", labels), "done.csv")
    table, positive = pq.read_table("qrels.parquet"), sum(labels.to_pylist())
    _, said = bounds(*POOL)
    assert (
        f"Of {positive} items labelled positive the table names {positive}, and of those labelled negative 10," in said
    )
    drawn = set(tasks.column("query").to_pylist())
    never = sum(one in drawn for one in pq.read_table("never.parquet").column("query").to_pylist())
    assert f", {never} of them there twice." in said
    assert "these bounds are wrong" not in said
    upper = pc.utf8_upper(table.column("doc"))
    pq.write_table(table.set_column(1, "doc", upper), "upper.parquet")
    _, said = bounds("--positives", "upper.parquet", "--key", "doc")
    assert f"Of {positive} items labelled positive the table names 0, and of those labelled negative 0," in said
    assert "If list and table write 'doc' differently, items count twice, and these bounds are wrong." in said
    pq.write_table(table.select(["query", "label"]), "nameless.parquet")
    assert "each once, and none that is an item to label" in bounds("--positives", "nameless.parquet")[1]
    pq.write_table(table.slice(0, 0), "empty.parquet")
    assert "Rows of drawn rankings: 0." in bounds("--positives", "empty.parquet", "--key", "doc")[1]


@pytest.fixture(scope="module")
def unusable(tmp_path_factory):
    """A folder with a study whose tasks are answered, and with tables that cannot be used."""
    folder = tmp_path_factory.mktemp("unusable")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_lists()
        studied(10)
        pq.write_table(pa.table({"query": [1]}), "numbers.parquet")
        pq.write_table(pa.table({"query": ["q 1", None]}), "nulls.parquet")
        pq.write_table(pa.table({"doc": ["d1"]}), "docs.parquet")
        pq.write_table(pq.read_table("qrels.parquet").rename_columns(["query", "doc", "grade"]), "graded.parquet")
        pq.write_table(pa.table({"query": ["q 1"], "label": pa.array([None], pa.int64())}), "blank.parquet")
    return folder


@pytest.mark.parametrize(
    ("given", "said"),
    [("--positives qrels.parquet --key dok", "the selected items have no column 'dok'"),
     ("--positives numbers.parquet", "query is 1 (int64) in the first row, query is "),
     ("--positives nulls.parquet", "1 row without query (null)"), ("--key doc", "key is for a table of positives"),
     ("--key doc", "with --positives, or join labels by it: --on doc"),
     ("--positives qrels.parquet", "has a column 'doc' of unknown meaning"),
     ("--positives runs.parquet --key doc", "has a column 'score' of unknown meaning"),
     ("--positives graded.parquet --key doc", "a column 'grade' of unknown meaning. Hint: name the column of items "
      "with --key, call that of grades 'label', and leave all others out"),
     ("--positives qrels.parquet --key query", "'query' names the ranking, and cannot name the item"),
     ("--positives blank.parquet", "1 label missing. Hint: give every row of the table a grade"),
     ("--label-error 0.1 --assume complete", "does not go with --label-error"),
     ("--positives docs.parquet --key doc", "the table of positives has no column 'query'"),
     ("--positives there.parquet", "there.parquet: no such file"),
     ("--assume complete", "assume complete is for a table of positives"),
     ("--assume a2", "assume a2 is for a curve")],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_one_line(unusable, given, said, capsys, monkeypatch):
    monkeypatch.chdir(unusable)
    capsys.readouterr()
    assert run(["evaluate", "st", "--labels", "done.csv", *given.split()]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told


def test_positives_are_of_many_rankings(home, capsys):
    streameval.plan("runs.parquet", "one", budget=15, seed=1)
    assert run(["evaluate", "one", *POOL]) == 2
    assert "a study of a curve does not go with --positives" in capsys.readouterr().err
    with pytest.raises(InputError, match="assume"):
        streameval.evaluate("one", labels=pa.table({"rank": [1], "label": [1]}), assume="complete")
