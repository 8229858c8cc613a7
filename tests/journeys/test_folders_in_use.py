"""A folder that holds a study, results or a published copy is not taken for an empty one."""

import shutil

import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError


@pytest.fixture
def home(catalogue, study, tmp_path, monkeypatch):
    """The list, by position in its order, and an evaluated study of it."""
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(catalogue.lists / "stored.parquet", "list.parquet")
    study("stored-evaluated").rename("study")
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.mark.parametrize("results", ["labelled-list", "labelled-rankings"])
def test_no_plan_goes_where_exact_results_are(home, study, results):
    study(results).rename("results")
    before = content(home / "results")
    with pytest.raises(StudyError, match=r"results holds results but no plan.json. Hint: plan into another folder"):
        streameval.plan("list.parquet", "results", budget=60)
    assert content(home / "results").items() >= before.items()
    assert streameval.sql("results", "FROM metrics").num_rows


def test_no_plan_replaces_that_of_a_published_copy(home):
    streameval.publish("study", "copy")
    before = content(home / "copy")
    with pytest.raises(StudyError, match="copy holds a different plan"):
        streameval.plan("list.parquet", "copy", budget=70, seed=2)
    assert content(home / "copy").items() >= before.items()


def test_nothing_is_published_into_a_study_with_labels(home, study, capsys):
    study("curve-evaluated").rename("other")
    before = content(home / "other")
    for place in ("other", "study"):
        assert run(["publish", "study", place]) == 2
        assert f"{place}: is a study with labels of its own" in capsys.readouterr().err
    assert content(home / "other").items() >= before.items()
    with pytest.raises(InputError):
        streameval.publish("study", home / "study")


def test_what_another_kind_of_study_published_does_not_stay_beside(home, catalogue):
    streameval.publish(catalogue.path("labelled-rankings"), "today")
    (home / "today" / "notes.txt").write_text("mine")
    (home / "today" / "by_size.parquet").write_text("changed by somebody")
    streameval.publish("study", "today")
    assert not (home / "today" / "histograms.parquet").exists()
    assert (home / "today" / "notes.txt").read_text() == "mine"
    assert (home / "today" / "by_size.parquet").read_text() == "changed by somebody"
    assert streameval.sql("today", "FROM metrics").num_rows
