"""The title of a report, what stands first in it, and the words that a manager reads there."""

import re

import pyarrow as pa
import pytest

import streameval
from streameval import InputError
from streameval.cli import run

EVALUATED = ("curve-evaluated", "slices-evaluated", "judge-evaluated", "stratified-evaluated", "gate-decided",
             "cut-first-round", "comparison-evaluated", "drawn-rankings-evaluated", "labelled-list",
             "labelled-rankings")  # fmt: skip


def text_of(path):
    return re.sub(r"(?s)<(script|style|noscript).*?</\1>", "", path.read_text(encoding="utf-8"))


def heading_of(page):
    return re.search("<h1>(.*?)</h1>", page)[1]


@pytest.mark.parametrize("name", EVALUATED)
def test_a_page_has_the_title_that_was_given(name, catalogue, tmp_path):
    path = streameval.report(catalogue.path(name), out=tmp_path / "page.html", title="Alerts < November")
    assert heading_of(text_of(path)) == "Alerts &lt; November"
    assert "<title>Alerts &lt; November</title>" in text_of(path)


@pytest.mark.parametrize("name", EVALUATED)
def test_the_answer_stands_before_any_picture_and_no_option_but_in_commands(name, catalogue):
    page = text_of(catalogue.path(name) / "report.html")
    assert page.index('class="verdict"') < page.index("<h2>")
    assert name in heading_of(page)
    read = re.sub(r"(?s)<code>.*?</code>", "", page.partition("<h2>Provenance</h2>")[0])
    assert re.findall(r"\s--[a-z-]+", read) == []


def test_several_studies_have_one_title(catalogue, tmp_path):
    studies = [str(catalogue.path(name)) for name in ("curve-evaluated", "uniform-evaluated")]
    out = tmp_path / "both.html"
    assert run(["report", *studies, "--out", str(out), "--title", "Old and new"]) == 0
    assert heading_of(text_of(out)) == "Old and new"
    assert run(["report", *studies, "--out", str(out), "--overwrite"]) == 0
    assert heading_of(text_of(out)) == "Precision of curve-evaluated, uniform-evaluated"


def test_a_title_is_no_blank(catalogue, tmp_path):
    with pytest.raises(InputError, match="the title is empty"):
        streameval.report(catalogue.path("curve-evaluated"), out=tmp_path / "page.html", title=" ")


def test_by_default_it_names_the_study_and_what_is_positive(study, tmp_path):
    folder = study("curve-planned")
    selected = streameval.select(folder, ask="Is this a fraud?", export=tmp_path / "tasks.csv").table
    streameval.evaluate(folder, labels=pa.table({"rank": selected.column("rank"), "label": [1] * len(selected)}))
    assert heading_of(text_of(folder / "report.html")) == f"Precision of {folder.name}: Is this a fraud? (yes, or no)"


def test_by_default_it_names_the_labels_that_are_positive(tmp_path):
    words = pa.table({"score": [3.0, 2.0, 1.0], "label": ["fraud", "ok", "fraud"]})
    streameval.exact(words, score="score", positive="fraud", out=tmp_path / "e")
    assert heading_of(text_of(tmp_path / "e" / "report.html")) == "Precision of e: fraud"
    grades = pa.table({"score": [3.0, 2.0, 1.0], "grade": [2, 0, 1]})
    streameval.exact(grades, label="grade", score="score", relevant=">=2", out=tmp_path / "g")
    assert heading_of(text_of(tmp_path / "g" / "report.html")) == "Precision of g: grade &gt;=2"
