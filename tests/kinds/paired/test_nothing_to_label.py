"""Where a comparison needs no label, its study goes the whole way without one, and its bounds are certain."""

import json
import shutil

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from gain_questions import gain_questions, gain_words
from suite_cases import cases, slow

import streameval
from streameval.cli import run
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions

AT = ["100,1000", "5%,50%", "score:1.5,score:0.5"]
FORMS = ["one table", "two tables"]
SEEDS = [[], ["--seed", "4", "--labels-unseen-by-model", "yes"]]


@pytest.fixture(scope="module")
def orders(written, tmp_path_factory):
    """Beside `new`, orders that differ from it nowhere, hardly, and below the first 1,000 only."""
    folder = tmp_path_factory.mktemp("orders")
    both = pl.read_parquet(written / "both.parquet").sort("new", descending=True)
    noise = np.random.default_rng(4).normal(size=both.height)
    below = both["new"].to_numpy() < both["new"][1_000]
    deep = pl.Series(np.where(below, np.minimum(both["new"] + noise, both["new"][1_000]), both["new"]))
    scores = {"same": both["new"], "near": both["new"] + 0.003 * noise, "deep": deep}
    both = both.with_columns(**scores)
    both.write_parquet(folder / "all.parquet")
    for name in ("new", *scores):
        both.select("id", "text", "right", score=name).reverse().write_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture
def lists(orders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(orders, tmp_path, dirs_exist_ok=True)


def plan(form, score, *more, at="100,1000", within=0.01, study="s"):
    """Plan the comparison of `new` with another order of the same items."""
    if form == "one table":
        words = ["all.parquet", "--score", "new", "--against", "all.parquet", "--against-score", score]
    else:
        words = ["new.parquet", "--score", "score", "--against", f"{score}.parquet"]
    return run(["plan", *words, "--key", "id", *gain_words(at, within), "--study", study, *more])


def differences(study="s"):
    return streameval.sql(study, "SELECT * FROM differences").to_pylist()


@pytest.mark.parametrize(
    ("form", "at"),
    [(FORMS[i % 2], one) for i, one in enumerate(AT)] + slow(*((FORMS[1 - i % 2], one) for i, one in enumerate(AT))),
)
def test_tops_that_are_the_same(lists, capsys, form, at):
    assert plan(form, "same", at=at) == 0
    said = capsys.readouterr().out
    assert (
        "nothing to label, as both tops hold the same items at every cutoff, so B has exactly as many positives" in said
    )
    assert said.splitlines()[-1] == "Next: streameval evaluate s"
    assert run(["evaluate", "s"]) == 0
    said = capsys.readouterr().out
    first = said.splitlines()[0]
    assert first == (
        "At every cutoff, B has as many positives as A. Exact: every item that changed sides has a label, if every "
        "label is right."
    )
    assert {(row["lower"], row["estimate"], row["upper"], row["better"]) for row in differences()} == {
        (0, 0.0, 0, "neither")}  # fmt: skip
    first = at.partition(",")[0]
    assert run(["check", "s", f"gain@{first} >= 0", f"precision_gain@{first} >= -0.01"]) == 0
    assert run(["check", "s", f"gain@{first} > 0"]) == 4


def test_every_verb_reads_a_study_without_a_label(lists, capsys):
    """Nothing is exported, and the selection has the columns of any other."""
    assert plan("two tables", "near", "--json") == 0
    assert json.loads(capsys.readouterr().out)["labels"] == 0
    for verb in (["show"], ["select", "--dry-run"], ["select"], ["select", "--export", "tasks.csv"], ["labels"]):
        assert run([verb[0], "s", *verb[1:]]) == 0
        said = capsys.readouterr().out
        assert "othing to label" in said or "0 items would be fetched" in said
        assert "none of which" not in said
    assert not (lists / "tasks.csv").exists()
    assert {"se_task", "id", "text"} <= {*streameval.select("s").table.column_names}
    for verb in (["evaluate", "--dry-run"], ["evaluate"], ["show"], ["report"], ["labels"], ["check", "gain@100 <= 9"]):
        assert run([verb[0], "s", *verb[1:]]) == 0
    assert "is B better than A?" in (lists / "s" / "report.html").read_text()
    assert run(["label", "s", "--host", ":0"]) == 2
    assert "s: there is nothing to label. Hint: streameval evaluate s" in capsys.readouterr().err


def test_a_study_without_a_label_of_tables_in_memory(lists):
    new, near = (pl.read_parquet(f"{name}.parquet") for name in ("new", "near"))
    streameval.plan(new, "s", score="score", against=near, key="id", questions="gain@1000", seed=4)
    assert streameval.select("s", ranking=(new, near)).table.num_rows == 0
    (row,) = streameval.evaluate("s").tables["differences"].to_pylist()
    assert (row["lower"], row["upper"], row["better"]) == (-row["losses"], row["gains"], "neither")


@pytest.mark.parametrize("look", cases(["one", "any", "both"], "one", "both"))
def test_bounds_without_a_label_are_certain_and_sharp(lists, look):
    """Whatever labels the items have, the difference is inside; at either end it is reached."""
    streameval.plan("all.parquet", "s", score="new", against="all.parquet", against_score="near", key="id",
                    questions=gain_questions([100, 500, 1_500], 0.02, look), seed=4)  # fmt: skip
    found = streameval.evaluate("s")
    assert found.summary["claim"]["confidence"] == 1
    assert streameval.check("s", "gain@1500 <= 100").promise.startswith("These bounds are certain, ")
    both, rng = pl.read_parquet("all.parquet"), np.random.default_rng(9)
    for row in found.tables["differences"].to_pylist():
        k = int(row["cutoff"])
        new, near = (both.sort(name, descending=True)["id"][:k].to_numpy() for name in ("new", "near"))
        gains, losses = np.setdiff1d(new, near), np.setdiff1d(near, new)
        assert gains.size == row["upper"] <= 0.02 * k
        assert losses.size == -row["lower"] <= 0.02 * k
        for share in (0.0, 0.5, 1.0):
            difference = (rng.random(gains.size) < share).sum() - (rng.random(losses.size) < 1 - share).sum()
            assert row["lower"] <= difference <= row["upper"]
    assert row["upper"] > 0


def test_a_cutoff_without_a_label_among_others(lists):
    """At the first the tops are the same, and at the second they are not: there it is as if it were alone."""
    streameval.plan("all.parquet", "s", score="new", against="all.parquet", against_score="deep", key="id",
                    questions=gain_questions([100, 3_000], 0.05), seed=3)  # fmt: skip
    tasks = streameval.select("s").table
    assert tasks.num_rows > 20
    found = streameval.evaluate("s", labels=tasks.select(["se_task"]).append_column("label", tasks.column("right")))
    first, second = found.tables["differences"].to_pylist()
    assert (first["lower"], first["estimate"], first["upper"], first["better"]) == (0, 0.0, 0, "neither")
    assert second["lower"] < second["upper"]
    assert found.summary["claim"]["confidence"] == 0.95


@pytest.mark.parametrize("seed", cases(SEEDS, []), ids=["drawn", "given"])
@pytest.mark.parametrize("name", cases(["same", "near"], "near"))
def test_labels_that_exist_where_none_is_needed(lists, capsys, name, seed):
    """Taken off or not, they add to a difference that is small anyway."""
    ids = pl.read_parquet("all.parquet")["id"]
    pl.DataFrame({"id": ids, "label": [1] * len(ids)}).write_csv("known.csv")
    assert plan("one table", name, "--reuse", "known.csv", *seed) == 0
    assert run(["evaluate", "s"]) == 0
    assert all(row["lower"] <= 0 <= row["upper"] for row in differences())


def test_labels_given_to_a_study_that_asks_for_none(lists, capsys):
    assert plan("one table", "near") == 0
    assert run(["evaluate", "s", "--labels", "tasks.csv"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "streameval: s: there is nothing to label. Hint: evaluate it without --labels"


def test_tops_of_different_sizes_that_hardly_differ(lists, capsys):
    """At scores the width is that of the larger top."""
    both = pl.read_parquet("all.parquet").with_columns(near=pl.col("new") - 0.003)
    both.write_parquet("all.parquet")
    assert plan("one table", "near", at="score:1", within=0.05) == 0
    assert "so few items changed that every difference is within ±0.05 of the larger top" in capsys.readouterr().out
    assert run(["evaluate", "s"]) == 0
    (row,) = differences()
    assert row["items_b"] > row["items_a"]
    assert (row["lower"], row["upper"], row["better"]) == (0, row["items_b"] - row["items_a"], "neither")
    assert row["upper"] <= 0.05 * row["items_b"]


@pytest.mark.parametrize("order", [["--score", "score"], []], ids=["by score", "as stored"])
def test_lists_at_two_places_are_two_lists(lists, capsys, order):
    """Of the same bytes, or of others with the same footer, which the fingerprint does not tell apart."""
    items = pl.read_parquet("new.parquet").select("id", "score").sort("score", descending=True)
    middle = np.r_[0, np.random.default_rng(1).permutation(np.arange(1, 400)), 400 : items.height]
    for name, rows in (("a", items), ("b", items), ("c", items.with_columns(id=items["id"].gather(middle)))):
        (lists / name).mkdir()
        pq.write_table(rows.to_arrow(), f"{name}/part.parquet", compression="none", use_dictionary=False)
    assert len({open_ranking(name, RankingOptions()).fingerprint for name in "abc"}) == 1
    for other, labels in (("b", False), ("c", True)):
        words = ["plan", "a", *order, "--against", other, "--key", "id", "--for", "gain@100"]
        assert run([*words, "--study", f"s{other}"]) == 0
        assert ("nothing to label" not in capsys.readouterr().out) == labels
        tasks = streameval.select(f"s{other}").table
        assert np.isin(tasks["id"].to_numpy(), items["id"][:400].to_numpy()).all()
        assert (tasks.num_rows > 0) == labels
