"""How it ends: a page that is closed, and a server that is."""

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import said

import streameval
from streameval.cli import run
from streameval.errors import OutsideError, StudyError
from streameval.kinds import results_of
from streameval.process import interrupts
from streameval.serving import serve
from streameval.serving.items import PlannedItems
from streameval.study import Study
from streameval.study.tasks import kept_question


def test_what_came_after_the_last_evaluation_is_evaluated_when_it_ends(study, opened):
    pages = opened(study)
    pages.session.finish()
    assert not (study / "report.html").exists()  # there is nothing yet
    first, second, _ = (task for task, _ in pages.work()["tasks"])
    pages.work(said(first))
    pages.session.refresh()
    pages.work(said(second))
    pages.session.finish()
    assert results_of(Study(study)).summary["account"]["labelled"] == 2
    written = (study / "report.html").stat().st_mtime_ns
    pages.session.finish()
    assert (study / "report.html").stat().st_mtime_ns == written


@pytest.mark.parametrize(
    ("method", "rules"),
    [
        ({"method": "paula(epsilon=0.3)"}, {"assume": "a2", "vote": "any", "misses": 3}),
        ({}, {"label_error": 0.01, "vote": "latest", "misses": 2}),
    ],
)
def test_rules_of_an_earlier_evaluation_hold_for_what_is_answered_after(planned, opened, tmp_path, method, rules):
    study = shutil.copytree(planned(seed=2, **method), tmp_path / "study")
    pages = opened(study)
    first, second, _ = (task for task, _ in pages.work()["tasks"])
    pages.work(said(first))
    streameval.evaluate(study, **rules)
    pages.work(said(second))
    pages.session.finish()
    summary = streameval.Study(study).summary()
    assert summary["account"]["labelled"] == 2
    assert {name: summary[name] for name in rules} == rules


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


@pytest.mark.parametrize("evaluated", [False, True])
def test_where_the_file_of_answers_was_removed_that_is_said_when_it_ends(study, opened, evaluated):
    pages = opened(study)
    pages.work(said(pages.work()["tasks"][0][0]))
    if evaluated:
        pages.session.refresh()
    (study / "votes" / "page.jsonl").unlink()
    pages.session.refresh()
    assert ("was replaced, removed" in pages.state()["trouble"]) is not evaluated  # nothing came since
    with pytest.raises(OutsideError, match=r"page\.jsonl: was replaced, removed or written to.*put the file back"):
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
        streameval.label(study, people="ann", host=":0", **named)
    assert shown == [["text", "hint"], ["text"], ["text"], ["text"], ["hint", "text"], ["hint", "text"]]
    streameval.select(study, export=tmp_path / "tasks.csv", ask="Is it so?")
    assert kept_question(Study(study)).shown == ("hint", "text")


def test_a_command_that_does_not_come_to_serve_changes_nothing_that_is_asked(study, opened, monkeypatch):
    """Two commands would ask differently, and the claim would say what the one asked that served nobody."""
    monkeypatch.setattr(serve, "serve", lambda session, *where: session.close())
    streameval.label(study, people="ann,ben", host=":0", ask="First?", overlap="10%")
    before = kept_question(Study(study))
    opened(study)  # another serves it
    with pytest.raises(OutsideError):
        streameval.label(study, people="ann,ben", host=":0", ask="Second?", overlap="80%", columns="text")
    assert kept_question(Study(study)) == before
    assert before.text == "First?"


def test_what_fails_after_ctrl_c_is_no_interruption(study, opened, monkeypatch):
    """Ctrl-C is how it ends: a disk that is full then has to be named."""
    pages = opened(study)

    def full():
        raise OutsideError("No space left on device")

    def interrupted(self, sockets):
        interrupts.heard.append(2)
        raise KeyboardInterrupt

    monkeypatch.setattr(pages.session, "finish", full)
    monkeypatch.setattr(serve._Server, "run", interrupted)
    with serve.bound("127.0.0.1", 0) as listening, pytest.raises(OutsideError, match="No space left"):
        serve.serve(pages.session, listening, [], lambda: None)
    assert not interrupts.heard


@pytest.mark.parametrize("log", [[], ["--log", "json"]])
def test_links_are_said_where_the_output_is_json(study, monkeypatch, capsys, log):
    def look(session, listening, names, told):
        told()
        session.close()

    monkeypatch.setattr(serve, "serve", look)
    assert run(["label", str(study), "--people", "ann", "--host", ":0", "--json", *log]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["study"] == str(study)
    assert printed.err.count("/#") == 1
    assert printed.err.count("/owner#") == 1
    assert not log or all(map(json.loads, printed.err.splitlines()))


def test_answers_after_those_that_were_forgotten_count(study, opened):
    pages = opened(study)
    first, second, third = (task for task, _ in pages.work()["tasks"])
    pages.work(said(first), said(second))
    pages.session.close()
    assert Study(study).labels.forget("page") == {"page": 2}
    assert Study(study).labels.forget("page") == {"page": 0}
    again = opened(study)
    assert again.session.answers == 0
    assert [task for task, _ in again.work()["tasks"]] == [first, second, third]  # they are asked again
    again.work(said(second, number=1), said(third, number=1))
    assert streameval.evaluate(study).summary["account"]["labelled"] == 2
    assert again.state()["answers"] == 2
    again.session.close()
    assert Study(study).labels.forget("label page") == {"label page": 2}
    assert not [one for one in Study(study).labels.sources() if one.identity == "page"]
    (study / "votes" / "forgotten.json").write_text('{"page": ["*two"]}')
    with pytest.raises(StudyError, match="how many answers of the page"):
        Study(study).labels.sources()


def test_a_column_that_was_left_out_is_not_seen_in_a_later_round(question, opened, monkeypatch):
    """Of other items it may not look as if it followed the order; the page shows each task with its own columns."""
    seen = [(["text"], {"hint": "order"}), (["text", "hint"], {}), ([], {"text": "order"})]
    shown = iter(seen)
    monkeypatch.setattr(PlannedItems, "shown_columns", lambda self, columns, kept="": next(shown))
    pages = opened(question)
    assert pages.session.start("ann")["names"] == ["text"]
    assert pages.work()["names"] == ["text"]
    pages.session._take_items()
    assert pages.work()["names"] == ["text"]
    pages.session._take_items()
    assert pages.work(tab="another")["names"] == []
