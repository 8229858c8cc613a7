"""Studies that version 0.1.0 made: plans and labels are read, results are refused with what makes them again.

`recorded/studies-0.1.0.tar.xz` holds a folder of every kind, without report.html and study.duckdb.
"""

import shutil

import pytest
from places import unpack

import streameval
from streameval.cli import run
from streameval.study import Study

WITH_LABELS = ("curve", "paula", "drawn_rankings")
EXACT = ("labelled_list", "rankings")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    return unpack("studies-0.1.0.tar.xz", tmp_path_factory.mktemp("old"))


@pytest.fixture
def old(unpacked, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(unpacked, tmp_path / "old"))
    return tmp_path / "old"


@pytest.mark.parametrize("name", WITH_LABELS + EXACT)
@pytest.mark.parametrize("words", [["check", "{}", "precision >= .1"], ["sql", "{}", "FROM metrics"], ["report", "{}"],
                                   ["publish", "{}", "elsewhere"], ["compare", "{}", "planned"]])  # fmt: skip
def test_results_of_an_earlier_format_answer_nothing_and_say_what_to_run(old, name, words, capsys):
    if (name, words[0]) == ("drawn_rankings", "compare"):
        pytest.skip("compare reads no study of drawn rankings, of whatever format")
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    assert run([word.format(name) for word in words]) == 2
    message = capsys.readouterr().err
    assert "streameval 0.1.0 wrote it, in an earlier format" in message
    assert (f"`streameval evaluate {name}`" if name in WITH_LABELS else "`streameval exact` again") in message
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", WITH_LABELS)
def test_evaluate_makes_the_results_again_from_the_labels_that_are_kept(old, name):
    votes = {path: path.read_bytes() for path in (old / name / "votes").iterdir()}
    found = streameval.evaluate(name)
    assert found.summary["account"]["labelled"] == Study(old / name).plan().table.num_rows
    assert {path: path.read_bytes() for path in (old / name / "votes").iterdir()} == votes
    assert streameval.sql(name, "FROM metrics").num_rows > 0
    assert run(["show", name]) == 0


def test_a_plan_without_labels_is_taken_up_where_it_was_left(old, capsys):
    assert run(["show", "planned"]) == 0
    assert "202 labels planned" in capsys.readouterr().out
    (old / "in").mkdir(exist_ok=True)
    assert Study(old / "planned").plan().kind == "curve"


@pytest.mark.parametrize("name", EXACT)
def test_exact_results_are_written_again_into_their_folder(old, name):
    per = {"per": "query"} if name == "rankings" else {}
    file = "queries" if name == "rankings" else "labelled"
    streameval.exact(f"in/{file}.parquet", label="label", score="conf", out=name, **per)
    assert streameval.sql(name, "FROM metrics").num_rows > 0


@pytest.mark.parametrize("words", [["labels", "now"], ["select", "now"], ["evaluate", "now"]])
def test_a_verb_about_labels_says_that_exact_results_need_none(old, words, capsys):
    streameval.exact("in/labelled.parquet", label="label", score="conf", out="now")
    capsys.readouterr()
    assert run(words) == 2
    assert "now: every item has a label there, so nothing is planned" in capsys.readouterr().err
