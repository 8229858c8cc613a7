"""What pages ask, and what others try: an answer that is acknowledged is in the study, and nobody sees too much."""

import json
import os
import statistics
import threading
from dataclasses import replace

import pytest
from label_pages import said
from suite_cases import slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.kinds import results_of
from streameval.serving import page_server, serve
from streameval.serving.desk import given_twice
from streameval.serving.links import links_of
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.tasks import kept_question, question_file


def test_an_answer_that_is_kept_is_in_the_study_once_however_often_it_is_sent(study, opened):
    pages = opened(study)
    first, second, third = (task for task, _ in pages.work()["tasks"])
    reply = pages.work(said(first), said(second, "0"), said(third, "skip"))
    assert reply["kept"] == [f"answer-{task}-0" for task in (first, second, third)]
    assert reply["counts"]["mine"] == 3
    pages.work(said(first), said(first, number=1, answer="0"))  # again, and then another mind
    account = streameval.evaluate(study).summary["account"]
    assert [account[name] for name in ("votes", "skipped", "superseded", "labelled", "positive")] == [2, 1, 1, 2, 0]
    assert list(streameval.labels(study).agreement["annotators"]) == ["ann"]
    (source,) = streameval.labels(study).sources
    assert (source["id"], source["source"], source["rows"]) == ("page", "label page", 4)


def test_it_goes_on_where_it_was(study, opened):
    pages = opened(study)
    tasks = [task for task, _ in pages.work()["tasks"]]
    pages.work(*map(said, tasks), person="ann")
    link = pages.links.token("ann")
    pages.session.close()
    again = opened(study, ("ann", "cem"))
    assert again.links.token("ann") == link
    start = again.ask("start").json()
    assert [one[0] for one in start["mine"]] == tasks
    assert not {task for task, _ in again.work(person="cem")["tasks"]} & {*tasks}


def test_two_servers_do_not_serve_one_study(study, opened):
    opened(study)
    with pytest.raises(OutsideError, match="another command adds answers"):
        opened(study)


def test_nobody_who_labels_sees_score_rank_or_what_others_say(study, opened):
    pages = opened(study)
    task = pages.work()["tasks"][0][0]
    pages.work(said(task, note="a note of ann's"))
    pages.session.refresh()
    everything = pages.ask("start", "ben").text + json.dumps(pages.work(person="ben"))
    names = pages.ask("start", "ben").json()["names"]
    assert names == ["text"]
    assert not any(word in everything for word in ("ann", "rank", "score", "precision", "agree"))
    assert pages.ask("owner", "ann").status_code == 401
    state = pages.state()
    assert [one["answers"] for one in state["people"]] == [1, 0]
    assert [one["note"] for one in state["notes"]] == ["a note of ann's"]
    assert "<html" in pages.client.get(state["report"]).text


@pytest.mark.parametrize("headers", [
    {}, {"Authorization": "Bearer "}, {"Authorization": "Bearer é".encode()}, {"Cookie": "token=1"},
    {"Authorization": f"Basic {'0' * 40}"}, {"Authorization": f"Bearer {'0' * 40}"},
])  # fmt: skip
def test_without_the_secret_of_a_link_nothing_is_told(study, opened, headers):
    pages = opened(study)
    for path in ("start", "work", "owner"):
        reply = pages.client.post(f"/api/{path}", json={"tab": "t", "answers": []}, headers=headers)
        assert reply.status_code == 401
        assert [*reply.json()] == ["error"]
    assert pages.client.get("/report/0").status_code == 404


def test_the_secret_of_whoever_is_named_no_more_is_none(study, opened):
    pages = opened(study, ("ann",))
    gone = links_of(study, ("ben",)).token("ben")
    assert pages.client.post("/api/start", headers={"Authorization": f"Bearer {gone}"}).status_code == 401


def test_no_file_is_served(study, opened):
    client = opened(study).client
    for path in (
        "/plan.json", "/../plan.json", "/..%2fplan.json", "/report/../../plan.json", "/static/", "/api", "/api/start",
        "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.label-key", "/votes/page.jsonl", "/docs", "/openapi.json",
    ):  # fmt: skip
        assert client.get(path).status_code in (404, 405), path


def test_no_other_site_can_ask_in_someones_name(study, opened):
    """Nothing but a header says who asks; no form, picture or other origin can set it."""
    pages = opened(study)
    told = {"Authorization": f"Bearer {pages.links.token('ann')}", "Origin": "https://evil.example"}
    form = pages.client.post("/api/work", content=b'{"answers":[]}', headers={**told, "Content-Type": "text/plain"})
    assert form.status_code == 415
    asked = pages.client.options("/api/work", headers={**told, "Access-Control-Request-Method": "POST"})
    for reply in (form, asked, pages.client.get("/")):
        assert not [name for name in reply.headers if name.lower().startswith(("access-control", "set-cookie"))]


def test_policies_let_nothing_run_but_the_page(study, opened):
    client = opened(study).client
    for path in ("/", "/owner", "/nowhere"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
    assert "<script>document" not in client.get("/").text


MEANINGLESS = (
    (b"x", 400), (b"[]", 400), (b"{", 400), (b"[" * 100_000, 400), (b'{"answers": 3}', 400),
    (b'{"answers": [' + b"{}," * 60 + b"{}]}", 400), (b'{"tab": 4, "answers": []}', 400),
    (b'{"answers": [{"id": "../../../../x", "answer": "1", "task": 1}]}', 400),
    (b'{"answers": [{"id": "long-enough", "answer": "2", "task": 1}]}', 400),
    (b'{"answers": [{"id": "long-enough", "answer": "1", "task": 1e999}]}', 400),
    (b'{"answers": [{"id": "long-enough", "answer": "1", "task": "1"}]}', 400),
    (b'{"answers": [{"id": "long-enough", "answer": "1", "task": 1, "ago": -5}]}', 400),
    (b" " * (page_server.MOST_BYTES + 1), 413),
)  # fmt: skip


def test_what_cannot_be_meant_is_refused_and_nothing_is_kept(study, opened):
    pages = opened(study)
    headers = {"Authorization": f"Bearer {pages.links.token('ann')}", "Content-Type": "application/json"}
    for content, status in MEANINGLESS:
        assert pages.client.post("/api/work", content=content, headers=headers).status_code == status, content[:80]
        assert pages.session.answers == 0


def test_an_answer_about_no_task_of_the_study_is_named_and_not_kept(study, opened):
    reply = opened(study).work(said(17))
    assert (reply["kept"], reply["refused"]) == ([], [["answer-17-0", "Task 17 is none of this study."]])


def test_where_the_disk_is_full_nothing_is_acknowledged_and_what_comes_later_is_kept(study, opened, monkeypatch):
    pages = opened(study)
    task, other, _ = (task for task, _ in pages.work()["tasks"])
    real, left = os.write, [40]

    def full(handle, content):
        if left[0] <= 0:
            raise OSError(28, "No space left on device")
        written = real(handle, content[: left[0]])
        left[0] -= written
        return written

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        reply = pages.ask("work", tab="t", answers=[said(task)])
    assert reply.status_code == 507
    assert "No space left" in reply.json()["error"]
    pages.work(said(other))
    assert [one["se_task"] for one in pages.session._journal.lines] == [other]
    assert streameval.evaluate(study).summary["account"]["labelled"] == 1


def results_in(study):
    return results_of(Study(study))


def label_one_by_one(pages, positive, look):
    """Answer until nothing more is handed out; how many answers that took."""
    for given in range(400):
        reply = pages.work()
        if reply["state"] == "wait":
            look()
            reply = pages.work()
        if reply["state"] == "answered":
            return given
        task = reply["tasks"][0][0]
        pages.work(said(task, "1" if positive(pages.session._ranks[task]) else "0"))
        look()
    raise AssertionError("never answered")


def test_a_question_is_asked_round_by_round_and_stops_when_it_is_answered(question, opened):
    pages = opened(question)
    given = label_one_by_one(pages, lambda rank: rank <= 200, pages.session.look)
    reply = pages.work()
    assert reply["tasks"] == []
    assert "The question is answered" in reply["message"]
    assert streameval.check(question).outcome == "pass"
    assert results_in(question).summary["account"]["labelled"] == given
    state = pages.state()
    assert any(line.startswith("Yes: ") for line in state["lines"])
    assert state["over"]


@pytest.mark.parametrize(("least", "seeds", "size"), [(0.4, [3], 3), *slow((0.6, [3, 5, 4], None))])
def test_a_question_stops_with_the_answer_that_decides_it_and_takes_what_is_forecast(
    listed, tmp_path, opened, least, seeds, size
):
    """The forecast is of labels in the order of the draw; nothing more is asked for than that."""
    given, rounds, asked = [], [], {"questions": [f"precision@400 >= {least}{f' round {size}' if size else ''}"]}
    for seed in seeds:
        study = tmp_path / f"question{seed}"
        plan = streameval.plan(str(listed), study, score="secret_score", seed=seed, **asked)
        pages = opened(study)
        given.append(label_one_by_one(pages, lambda rank: rank % 5 > 0, pages.session.look))
        results = results_in(study)
        assert results.tables["answers"].column("labels").to_pylist() == [given[-1]]  # the last one decided
        rounds.append(results.summary["rounds"])
    case = f"if it is {(1 + least) / 2:g}"
    (forecast,) = [one for one in streameval.cost(plan.n_items, **asked).methods if one["case"] == case]
    assert max(rounds) > 1
    assert statistics.median(given) <= forecast["nine_in_ten"]
    assert min(given) % (size or 50)  # no whole rounds are asked about


def test_the_server_looks_after_every_answer_and_not_every_half_minute(question, opened):
    pages, over, looked = opened(question), threading.Event(), threading.Semaphore(0)
    look = pages.session.look
    pages.session.look = lambda: (look(), looked.release())
    watch = threading.Thread(target=serve._watch, args=(pages.session, over))
    watch.start()

    def seen():
        while pages.session._looked < pages.session.answers or pages.session.wanted.is_set():
            assert looked.acquire(timeout=20), "nobody looked"

    given = label_one_by_one(pages, lambda rank: rank <= 200, seen)
    over.set()
    pages.session.wanted.set()
    watch.join(60)
    answers = results_in(question).tables["answers"]
    assert answers.column("labels").to_pylist() == [given]


def test_answers_of_files_and_pages_count_together(study, opened, tmp_path):
    streameval.select(study, export=tmp_path / "tasks.csv")
    lines = (tmp_path / "tasks.csv").read_text(encoding="utf-8-sig").splitlines()
    tasks = Study(study).selection(Study(study).plan()).column("se_task").to_pylist()
    half = sorted(tasks)[: len(tasks) // 2]
    plan_id = lines[1].split(",")[0]
    rows = [f"{plan_id},{task},1" for task in half]
    (tmp_path / "half.csv").write_text("\n".join(["se_study,se_task,label", *rows]) + "\n")
    streameval.evaluate(study, labels=tmp_path / "half.csv")
    pages = opened(study)
    given = [task for task, _ in pages.work()["tasks"]]
    assert not {*given} & {*half}
    pages.work(*map(said, given))
    assert streameval.evaluate(study).summary["account"]["labelled"] == len(half) + len(given)
    assert streameval.labels(study).account["labelled"] == len(half) + len(given)
    pages.session.close()  # while the page is served its answers are not forgotten
    assert streameval.labels(study, forget="page")["page"] == len(given)
    assert streameval.labels(study).account["labelled"] == len(half)


def test_the_claim_says_which_share_two_people_were_given(short, opened, capsys):
    study = short
    streameval.select(study)
    pages = opened(study, ("ann", "ben", "cem"), share=0.25)
    atomic.write_all(question_file(pages.study, replace(kept_question(pages.study), overlap=0.25)))
    twice = given_twice(pages.session._shown.row, 0.25, pages.study.plan().seed)
    for person in ("ann", "ben", "cem"):
        while given := pages.work(person=person)["tasks"]:
            pages.work(*(said(task, number=person, answer="1") for task, _ in given), person=person)
    assert run(["evaluate", str(study)]) == 0
    out = capsys.readouterr().out
    line = "25.0% of the tasks, drawn at random, are given to two people; where these differ, a third decides."
    assert f"On {len(twice)} items with several votes, 100.0% of pairs of votes agree" in out
    assert line in out
    assert line in (study / "report.html").read_text()
    streameval.select(study, export=study.parent / "t.csv", ask="Is it?")  # what is asked anew keeps it
    assert kept_question(pages.study).overlap == 0.25


def test_without_an_overlap_the_claim_says_nothing_of_one(study, opened, capsys):
    pages = opened(study)
    pages.work(said(pages.work()["tasks"][0][0]))
    assert run(["evaluate", str(study)]) == 0
    assert "given to two people" not in capsys.readouterr().out + (study / "report.html").read_text()


@pytest.mark.parametrize("people", [(), ("",), ("ann", "ann"), ("=cmd()",), ("a" * 81,), ("a\nb",), ("\u202eb",)])
def test_names_that_cannot_be_are_refused(study, people):
    with pytest.raises(InputError):
        links_of(study, people)


def test_the_key_of_the_links_is_readable_by_its_owner_only(study):
    links_of(study, ("ann",))
    assert os.stat(study / ".label-key").st_mode & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_a_key_of_links_that_others_could_have_written_is_refused(tmp_path):
    links = links_of(tmp_path, ["ann"])
    assert links_of(tmp_path, ["ann"]).owner == links.owner
    (tmp_path / ".label-key").chmod(0o662)
    with pytest.raises(InputError, match=r"others can write it, or somebody else did\. Hint: remove it"):
        links_of(tmp_path, ["ann"])
