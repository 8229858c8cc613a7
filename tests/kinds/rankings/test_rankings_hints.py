"""What is said of many rankings where something is refused, and in the report of those that were drawn."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A list of 20 rankings, with columns that can name nothing."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pq.write_table(
        pa.table({"query": np.repeat(np.arange(20), 4), "id": np.arange(80), "score": rng.random(80),
                  "label": (rng.random(80) < 0.4).astype(int), "text": ["1"] * 80, "list": [[1]] * 80,
                  "float": [1.0, float("nan"), None, float("nan")] + [2.0] * 76, "half": [None] + [1] * 79}),
        "runs.parquet",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        (
            "--per float",
            "row group 0, row 1 (from 0): 3 rows without float (null or NaN)",
            "every row belongs to a ranking",
        ),
        ("--per half", "row group 0, row 0 (from 0): 1 row without half (null)", "every row belongs to a ranking"),
        ("--per list", "column 'list' is list<element: int64>. Hint", "names and keys are whole numbers, text, UUIDs"),
        ("--per query --key half", "1 row without half (null)", "every row names its item, or leave --key out"),
        ("--per query --key float", "3 rows without float (null or NaN)", "leave --key out"),
        ("--per query,query", "names a column twice", "name each once"),
        ("--per query --key text", "hold an item more than once: at least 1", "one score for each text"),
        ("--per query --positives missing.parquet", "missing.parquet: no such file", "check the spelling"),
        ("--per query --method paula", "does not go with --method", "it is for a labelled list"),
        ("--per query --misses 2", "does not go with --misses", "it is for a labelled list"),
        ("--per query --labels x.csv --on id", "--labels does not go with --per", "exact trec:RUN#QRELS"),
    ],
)
def test_refusals_of_exact_say_what_helps(given, said, hint, capsys):
    told = refused(capsys, "exact", "runs.parquet", "--label", "label", *given.split())
    assert said in told
    assert hint in told.split("Hint: ")[1]


def test_labels_that_cannot_be_used(capsys):
    assert "1 label missing" in refused(capsys, "exact", "runs.parquet", "--label", "half", "--per", "query")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "--per query --stages 2",
            "--stages. Hint: leave it out: it is for a study of a curve\n",
        ),
        ("--per query --judge llm(0.5)", "--judge 'llm(0.5)' has parameters, and here its values count as they are"),
        ("--per query --by text", "a study of drawn rankings does not go with --by"),
        (
            "--per query --stages 2 --method uniform",
            "with --method, --stages. Hint: leave it out: it is for a study of a curve",
        ),
        ("--per float", "3 rows without float (null or NaN)"),
    ],
)
def test_refusals_of_plan_say_why(given, said, capsys):
    assert said in refused(capsys, "plan", "runs.parquet", "--study", "study", *given.split())


@pytest.fixture
def evaluated():
    """Evaluate drawn rankings whose items are all positive; the page and the evaluation."""

    def evaluate(*flags):
        plan = [
            "plan",
            "runs.parquet",
            "--study",
            "study",
            "--per",
            "query",
            "--budget",
            "10",
            "--for",
            "precision@2",
            "--seed",
            "1",
        ]
        assert run([*plan, *flags]) == 0
        assert run(["select", "study", "--export", "tasks.csv"]) == 0
        tasks = csv.read_csv("tasks.csv")
        csv.write_csv(tasks.drop_columns("label").append_column("label", pa.array([1] * len(tasks))), "done.csv")
        assert run(["evaluate", "study", "--labels", "done.csv"]) == 0
        return Path("study/report.html").read_text(), json.loads(Path("study/evaluation.json").read_text())

    return evaluate


@pytest.mark.parametrize(("flags", "order"), [((), "stored"), (("--score", "score"), "score")])
def test_the_order_of_the_rankings_is_told_as_it_was(flags, order, evaluated):
    page, evaluation = evaluated(*flags)
    plan = json.loads(Path("study/plan.json").read_text())
    assert plan["ranking"]["order"] == evaluation["ranking"]["order"] == order
    assert re.search(rf"ranking order</t[hd]><td[^>]*>{order}<", page)


def test_the_report_leaves_out_counts_that_are_zero(evaluated):
    tables = evaluated()[0].split("<h2>Labels</h2>")[1].split("<h2>")[0].split("</table>")
    (account,) = [table for table in tables if "planned" in table]
    assert re.findall("<td>([^<]*)", account) == ["10"] * 4  # planned, labelled, positive, votes


def test_the_normal_interval_of_rankings_that_are_alike_has_no_width(evaluated, capsys):
    page = evaluated()[0]
    said = "It misses far more often than it says where nearly all rankings are 0 or nearly all are 1. Its width"
    assert said in page
    assert said in " ".join(capsys.readouterr().out.split())
    for row in pq.read_table("study/metrics.parquet").to_pylist():
        assert row["normal_lower"] == pytest.approx(row["normal_upper"])
        assert row["lower"] < row["estimate"] - 0.1


def test_too_few_rankings_for_an_interval_are_said_to_be(tmp_path):
    rng = np.random.default_rng(1)
    query, item = np.repeat(np.arange(30), 10), np.tile(np.arange(10), 30)
    for name in "ab":
        table = {"query": query, "id": item, "label": (item < 4).astype(np.int8), "score": rng.normal(size=300)}
        streameval.exact(pa.table(table), per="query", key="id", score="score", out=tmp_path / name)
    assert "has an interval: only 30 rankings; it takes 50." in repr(streameval.compare(tmp_path / "a", tmp_path / "b"))
