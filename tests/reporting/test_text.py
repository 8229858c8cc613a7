"""One text of a result: the terminal, `show`, `check`, the page, JSON and the label server's page say the same."""

import html
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.cli import run
from streameval.kinds import results_of
from streameval.reporting.text import Columns, Text
from streameval.study import Study

# of a curve, whose page has a verdict of its own, and of results without a plan, other tests tell
STUDIES = ["drawn-rankings-evaluated", "gate-decided", "gate-half-labelled", "cut-first-round", "width-decided",
           "comparison-half-labelled", "comparison-evaluated"]  # fmt: skip


def text_of(study):
    folder = Study(Path(study))
    return results_of(folder).text(folder.plan(), study)


def words_of_page(study):
    page = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", (Path(study) / "report.html").read_text(), flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "\n", page))


@pytest.mark.parametrize("name", STUDIES)
def test_what_a_result_says_stands_on_the_terminal_and_on_its_page(catalogue, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    catalogue.copy(name, tmp_path / "s")
    assert run(["evaluate", "s"]) == 0
    text = text_of("s")
    said, page = capsys.readouterr().out, words_of_page("s")
    assert said.startswith(text.opening)
    for sentence in (text.headline, text.promise, *text.remarks):
        assert sentence in page
        assert sentence in said
    for row in text.table.cells():
        assert re.search(r" +".join(map(re.escape, row)), said)
    assert not text.next_step.command or f"Next: {text.next_step.command}\n" in said


@pytest.mark.parametrize("name", [*STUDIES, "curve-evaluated", "curve-half-labelled", "paula-evaluated"])
def test_show_and_json_name_the_next_step_of_the_text(catalogue, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    catalogue.copy(name, tmp_path / "s")
    assert run(["evaluate", "s", "--json"]) == 0
    following = json.loads(capsys.readouterr().out).get("next", "")
    assert run(["show", "s", "--json"]) == 0
    shown, text = json.loads(capsys.readouterr().out), text_of("s")
    assert text.headline[1:] in shown["verdict"]  # "So far, with …" where labels are missing
    assert text.promise in ("", *shown["values"])
    assert text.next_step.command in following
    missing = shown["planned"] > shown["labelled"]
    assert missing or shown["next"] == text.next_step.command or shown["next"].startswith("streameval check s ")


@pytest.mark.parametrize("name", ["drawn-rankings-evaluated", "gate-decided", "comparison-evaluated"])
def test_check_says_the_promise_of_the_text(catalogue, capsys, name):
    study, condition = catalogue.path(name), {"gate-decided": "precision@500 >= 0.8"}.get(name)
    measure = {"drawn-rankings-evaluated": "precision@5 >= 0", "comparison-evaluated": "gain@100 >= -10"}.get(name)
    run(["check", str(study), condition or measure])
    text = text_of(str(study))
    assert (text.promise or text.headline) in capsys.readouterr().out


def test_numbers_of_a_table_are_written_by_who_shows_them():
    columns = Columns(["metric", "lower", "upper"], [["map", 0.123456789, None], ["ndcg@5", 1, "?"]])
    assert columns.cells() == [["map", "0.1235", "-"], ["ndcg@5", "1.0000", "?"]]
    assert columns.cells(lambda value: "undefined" if value is None else f"{value:.6g}") == [
        ["map", "0.123457", "undefined"], ["ndcg@5", "1", "?"]]  # fmt: skip


def test_an_opening_is_headline_and_promise_whichever_there_are():
    table = Columns([], [])
    assert Text("Yes.", "Wrong seldom.", table).opening == "Yes. Wrong seldom."
    assert Text("3 of 4 labels.", "", table).opening == "3 of 4 labels."


def test_what_exact_only_prints_reads_no_plan_where_it_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.json").write_text("{damaged")
    pq.write_table(pa.table({"query": [1, 1, 2], "label": [1, 0, 1]}), "runs.parquet")
    assert run(["exact", "runs.parquet", "--per", "query", "--at", "1"]) == 0
    assert "2 rankings by query, 3 items, 2 of them positive" in capsys.readouterr().out
