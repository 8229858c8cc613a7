"""How it ends: a page that is closed, and a server that is."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import said

import streameval
from streameval.errors import OutsideError
from streameval.kinds import kind_of
from streameval.serving import serve
from streameval.study import Study
from streameval.study.asked import kept_question


def test_what_came_after_the_last_evaluation_is_evaluated_when_it_ends(study, opened):
    pages = opened(study)
    pages.session.finish()
    assert not (study / "report.html").exists()  # there is nothing yet
    first, second, _ = (task for task, _ in pages.work()["tasks"])
    pages.work(said(first))
    pages.session.refresh()
    pages.work(said(second))
    pages.session.finish()
    assert kind_of(study).read(Study(study)).summary["account"]["labelled"] == 2
    written = (study / "report.html").stat().st_mtime_ns
    pages.session.finish()
    assert (study / "report.html").stat().st_mtime_ns == written


def test_where_it_cannot_be_evaluated_when_it_ends_that_is_said(study, opened, monkeypatch):
    pages = opened(study)
    pages.work(said(pages.work()["tasks"][0][0]))

    def full(*given):
        raise OutsideError("No space left on device")

    monkeypatch.setattr(pages.session, "_evaluate", full)
    pages.session.refresh()
    assert pages.state()["trouble"] == "No space left on device"
    with pytest.raises(OutsideError, match="No space left"):
        pages.session.finish()


def test_a_page_that_is_closed_says_its_last_answers_and_gives_back_its_tasks(study, opened):
    pages = opened(study)
    mine = [task for task, _ in pages.work()["tasks"]]
    assert not {*mine} & {task for task, _ in pages.work(person="ben")["tasks"]}
    for _ in range(2):  # what is sent again when the page is next opened counts once
        reply = pages.ask("work", tab="t", answers=[said(mine[0])], leaving=True).json()
        assert (reply["kept"], reply["tasks"]) == ([f"answer-{mine[0]}-0"], [])
    given = [task for task, _ in pages.work(person="ben", tab="another")["tasks"]]
    assert given[:2] == mine[1:]
    assert streameval.evaluate(study).summary["account"]["votes"] == 1


def test_served_again_it_shows_the_columns_that_were_named_before(tmp_path, monkeypatch):
    """Whoever leaves --columns out the second time must not show people more than the first time."""
    count = 60
    texts = [f"{i % 7} and {i % 5}" for i in range(count)]
    table = {"score": [-i for i in range(count)], "text": texts, "hint": ["x"] * count}
    pq.write_table(pa.table(table), tmp_path / "list.parquet")
    study = tmp_path / "study"
    streameval.plan(str(tmp_path / "list.parquet"), study, score="score", method="uniform", alpha=0.2, seed=1)
    shown = []

    def look(session, *where):
        shown.append(session.start("ann")["names"])
        session.close()

    monkeypatch.setattr(serve, "serve", look)
    for named in ({}, {"columns": "text"}, {}, {"ask": "Is it?"}, {"columns": ["hint", "text"]}, {}):
        streameval.label(study, people="ann", port=0, **named)
    assert shown == [["text", "hint"], ["text"], ["text"], ["text"], ["hint", "text"], ["hint", "text"]]
    streameval.select(study, export=tmp_path / "tasks.csv", ask="Is it so?")
    assert kept_question(Study(study)).shown == ("hint", "text")
