"""A folder that holds a study, results or a published copy is not taken for an empty one."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError

N = 300
ITEMS = pa.table(
    {"id": np.arange(N), "user": np.arange(N) // 10, "score": np.linspace(1, 0, N), "right": [1, 0, 1] * 100}
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(ITEMS, "list.parquet")
    streameval.plan("list.parquet", "study", budget=60, seed=1)
    _label("study")
    return tmp_path


def _label(study):
    chosen = streameval.select(study).table
    labels = pa.table({"rank": chosen.column("rank"), "label": ITEMS.column("right").take(chosen.column("id"))})
    streameval.evaluate(study, labels=labels)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"}


@pytest.mark.parametrize("per", [{}, {"per": "user"}])
def test_no_plan_goes_where_exact_results_are(home, per):
    streameval.exact("list.parquet", label="right", out="results", **per)
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


def test_nothing_is_published_into_a_study_with_labels(home, capsys):
    streameval.plan("list.parquet", "other", budget=70, seed=2)
    _label("other")
    before = content(home / "other")
    for place in ("other", "study"):
        assert run(["publish", "study", place]) == 2
        assert f"{place}: is a study with labels of its own" in capsys.readouterr().err
    assert content(home / "other").items() >= before.items()
    with pytest.raises(InputError):
        streameval.publish("study", home / "study")


def test_what_another_kind_of_study_published_does_not_stay_beside(home):
    streameval.exact("list.parquet", label="right", per="user", out="means")
    streameval.publish("means", "today")
    (home / "today" / "notes.txt").write_text("mine")
    (home / "today" / "by_size.parquet").write_text("changed by somebody")
    streameval.publish("study", "today")
    assert not (home / "today" / "histograms.parquet").exists()
    assert (home / "today" / "notes.txt").read_text() == "mine"
    assert (home / "today" / "by_size.parquet").read_text() == "changed by somebody"
    assert streameval.sql("today", "FROM metrics").num_rows
