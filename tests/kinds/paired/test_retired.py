"""Comparisons that only earlier versions planned: at every rank, or by measures that weigh items by rank.

`recorded/comparisons-0.2.0.tar.xz` holds one of each, evaluated, without report.html and study.duckdb, and their list.
"""

from pathlib import Path

import pytest
from gain_questions import gain_questions
from places import unpack

import streameval
from streameval.cli import run
from streameval.study import Study

STUDIES = {"every": "at every rank", "measures": "by dcg, rbp or log_mean_precision"}
VERBS = ["show {}", "evaluate {}", "evaluate {} --dry-run", "check {} gain@100>0", "show {} gain@100", "report {}",
         "sql {} FROM~metrics", "publish {} elsewhere", "monitor {} gain@100", "select {}", "select {} --export t.csv",
         "select {} --dry-run", "labels {}", "label {}", "grow {} --budget 3"]  # fmt: skip


@pytest.fixture
def then(tmp_path, monkeypatch):
    """A folder with the studies, which is the current one."""
    monkeypatch.chdir(tmp_path)
    unpack("comparisons-0.2.0.tar.xz", tmp_path)


@pytest.mark.parametrize("study", STUDIES)
def test_every_verb_refuses_it_in_one_line_that_names_the_way_and_nothing_changes(then, study, capsys):
    before = {path: path.read_bytes() for path in Path(study).rglob("*") if path.is_file()}
    for verb in VERBS:
        assert run([word.format(study).replace("~", " ") for word in verb.split()]) == 2, verb
        assert capsys.readouterr().err == (
            f"streameval: {study} compares two rankings {STUDIES[study]}, as an earlier version did. Hint: `streameval "
            f"plan B --against A --for gain@100,1000 --reuse {study} …` compares them at cutoffs, with these labels\n"
        ), verb
    assert {path: path.read_bytes() for path in Path(study).rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(("study", "labels"), [("every", 37), ("measures", 13)])
def test_a_comparison_at_cutoffs_takes_its_labels(then, study, labels):
    both = {"against": "both.parquet", "score": "new", "against_score": "old", "key": "id"}
    made = streameval.plan("both.parquet", "now", **both, questions=gain_questions("10,20,50,100", 0.05), reuse=study)
    assert made.table.column("known").to_pylist().count(True) == labels
    assert Study("now").labelled == labels
