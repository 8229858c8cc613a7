"""A real server: people at the same time, lost connections, a server that is killed, clients that send nothing."""

import contextlib
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from label_pages import said
from label_tables import account_of
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.kinds import results_of
from streameval.serving.links import links_of
from streameval.study import Study
from streameval.study.answer_journal import NAME, read_lines

PEOPLE = ("ann", "ben", "cem", "dea", "eva")
FILES = 256


class Server:
    """`streameval label` in a process of its own."""

    def __init__(self, study, port=0, before=()):
        command = [*before, sys.executable, "-m", "streameval", "label", str(study), "--host", f":{port}"]
        command += ["--people", ",".join(PEOPLE)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        first = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/owner#", first)
        assert found, first + self.process.stderr.read()
        self.port = int(found[1])

    def end(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


def ask(port, secret, path, **message):
    body = json.dumps(message).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/api/{path}", body, headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        return json.loads(reply.read())


class Person(threading.Thread):
    """Labels like the page does: what is not acknowledged is sent again, and half of the replies get lost."""

    def __init__(self, name, secret, port, enough, over):
        super().__init__(daemon=True)
        self.who, self.secret, self.port, self.enough, self.over = name, secret, port, enough, over
        self.random, self.acknowledged, self.waiting, self.fault = random.Random(name), set(), {}, None

    def run(self):
        while not self.over.is_set():
            try:
                reply = ask(self.port, self.secret, "work", tab=self.who, answers=list(self.waiting.values())[:50])
            except urllib.error.HTTPError as error:
                self.fault = error.read().decode()
                return
            except (OSError, ValueError, http.client.HTTPException):  # the server is gone; the page goes on trying
                self.over.wait(0.05)
                continue
            if self.random.random() < 0.5:  # the reply was lost on the way: nothing is known of it
                continue
            self.acknowledged |= {*reply["kept"]}
            for one in reply["kept"]:
                self.waiting.pop(one)
            if len(self.acknowledged) >= self.enough or reply["state"] == "done":
                return
            for task, _ in reply["tasks"]:
                answer = said(task, self.random.choice("10"))
                self.waiting.setdefault(f"{answer['id']}-{self.who}", {**answer, "id": f"{answer['id']}-{self.who}"})


def test_what_was_acknowledged_before_the_server_was_killed_is_in_the_study_once(study, opened):
    """It is sent again to the next server, with what was answered and not acknowledged."""
    server, secret = Server(study), links_of(study, PEOPLE).token("ann")
    acknowledged, waiting = [], {}
    for _ in range(3):
        reply = ask(server.port, secret, "work", tab="t", answers=[*waiting.values()])
        acknowledged += reply["kept"]
        waiting = {one["id"]: one for one in (said(task) for task, _ in reply["tasks"])}
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as one:
        body = json.dumps({"tab": "t", "answers": [*waiting.values()]})
        one.request(
            "POST", "/api/work", body, {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        )
        server.end(signal.SIGKILL)  # nobody reads what it answers
    kept = {one["id"] for one in read_lines(study / "votes" / NAME)}
    assert len(acknowledged) == 6
    assert {*acknowledged} <= kept
    pages = opened(study, PEOPLE)
    again = [*(said(int(one.split("-")[1])) for one in acknowledged), *waiting.values()]
    assert pages.work(*again)["kept"] == [one["id"] for one in again]
    ids = [one["id"] for one in read_lines(study / "votes" / NAME)]
    assert sorted(ids) == sorted(one["id"] for one in again)
    account = account_of(study)
    assert account["votes"] == len(ids) == 9
    assert account["doubled"] == account["again"] == account["unreadable"] == account["unknown"] == 0


@pytest.mark.slow
def test_every_acknowledged_answer_is_in_the_study_once_though_the_server_is_killed(study):
    streameval.select(study)
    links = links_of(study, PEOPLE)
    server, over = Server(study), threading.Event()
    people = [Person(name, links.token(name), server.port, 12, over) for name in PEOPLE]
    for one in people:
        one.start()
    journal = study / "votes" / NAME
    while len(read_lines(journal)) < 15:
        over.wait(0.02)
    server.end(signal.SIGKILL)
    before = {one for person in people for one in person.acknowledged}
    again = Server(study, server.port)
    for one in people:
        one.join(120)
    over.set()
    status, out, err = again.end(signal.SIGINT)
    assert (status, err) == (0, "")
    assert "planned items have a label." in out
    assert [one.fault for one in people] == [None] * len(people)
    acknowledged = {one for person in people for one in person.acknowledged}
    ids = [one["id"] for one in read_lines(journal)]
    assert len(ids) == len({*ids})
    assert acknowledged <= {*ids}
    assert before <= {*ids}
    at_the_end = results_of(Study(study)).summary["account"]
    account = streameval.evaluate(study).summary["account"]
    assert at_the_end == account  # the last answers are in it
    assert account["votes"] + account["undecided"] >= len(acknowledged) >= 5 * 12 - 5
    assert account["doubled"] == account["again"] == account["unreadable"] == account["unknown"] == 0


def replaced(journal):
    """Save as an editor does: another file of the same content in its place."""
    other = journal.with_name("saved")
    other.write_bytes(journal.read_bytes())
    os.replace(other, journal)


CHANGES = [replaced, os.unlink, lambda journal: os.truncate(journal, journal.stat().st_size // 2)]


def label_until(study, people, answers):
    """Let people answer at a server until so many answers are on the disk, or nobody goes on; the server."""
    server, journal = Server(study), study / "votes" / NAME
    for one in people:
        one.port = server.port
        one.start()
    while len(read_lines(journal)) < answers and any(one.is_alive() for one in people):
        time.sleep(0.01)
    return server


def people_of(study, number, before=()):
    """Two people, who go on with what they had not got acknowledged before."""
    people, links = [], links_of(study, PEOPLE)
    for i, name in enumerate(PEOPLE[:2]):
        one = Person(name, links.token(name), 0, 12, threading.Event())
        one.random = random.Random(f"{number} {name}")
        if before:
            one.acknowledged, one.waiting = before[i].acknowledged, before[i].waiting
        people.append(one)
    return people


def end(server, people):
    """Kill a server; its people stop too."""
    server.end(signal.SIGKILL)
    for one in people:
        one.over.set()
        one.join(60)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_though_the_journal_is_changed_and_the_server_killed(planned, tmp_path):
    """30 rounds: the journal is replaced, removed or truncated under a server that is stopped meanwhile, and killed.

    Afterwards the journal is put back, as the message asks for, and another server takes what was not acknowledged.
    """
    refused = 0
    for number in range(30):
        study = Path(shutil.copytree(planned(method="uniform", budget=90, seed=2), tmp_path / f"{number}"))
        streameval.select(study)
        journal, people = study / "votes" / NAME, people_of(study, number)
        server = label_until(study, people, 4)
        server.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)
        kept = journal.read_bytes()
        CHANGES[number % 3](journal)
        server.process.send_signal(signal.SIGCONT)
        time.sleep(random.Random(number).random() * 0.3)
        end(server, people)
        refused += sum(one.fault is not None for one in people)
        assert all("replaced, removed or written to" in one.fault for one in people if one.fault)
        journal.write_bytes(kept)
        there = {one["id"] for one in read_lines(journal)}
        assert {one for person in people for one in person.acknowledged} <= there
        people = people_of(study, number, people)
        server = label_until(study, people, 24)
        end(server, people)
        ids = [one["id"] for one in read_lines(journal)]
        assert len(ids) == len({*ids})
        assert {one for person in people for one in person.acknowledged} <= {*ids}
        assert len(ids) >= 20
    assert refused >= 15


@pytest.fixture
def server(study):
    made = Server(study)
    yield made
    made.process.kill()
    made.process.communicate()


def listens_on_this_machine_only(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        pass
    if Path("/proc/net/tcp").exists():  # other systems list their sockets elsewhere
        rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        listening = [row[1] for row in rows if row[3] == "0A"]
        assert f"0100007F:{port:04X}" in listening
        assert f"00000000:{port:04X}" not in listening


def refuses_a_head_without_end(port):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-Long: " + b"a" * 40_000)
        reply = one.recv(100)
        assert not reply or b" 400 " in reply.splitlines()[0]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system lists open files elsewhere")
def test_a_crowd_that_says_little_keeps_nobody_out_who_has_a_link(study):
    """As many connections as the server may hold four times over; it may open few files, and needs no more."""
    server = Server(study, before=["sh", "-c", f'ulimit -n {FILES} && exec "$0" "$@"'])
    ann, ben = (links_of(study, PEOPLE).token(name) for name in ("ann", "ben"))
    kept = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    crowd = []

    def work_on_the_kept_connection():
        headers = {"Authorization": f"Bearer {ann}", "Content-Type": "application/json"}
        kept.request("POST", "/api/work", b'{"tab": "a", "answers": []}', headers)
        return json.loads(kept.getresponse().read())["state"]

    try:
        assert work_on_the_kept_connection() == "open"
        for number in range(4 * FILES):
            crowd.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            if number % 2:
                crowd[-1].sendall(b"POST /api/work HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            if number % 200 == 0:
                assert work_on_the_kept_connection() == "open"
                assert ask(server.port, ben, "start")["who"] == "ben"
                assert len([*Path(f"/proc/{server.process.pid}/fd").iterdir()]) < FILES
        closed = [one for one in crowd if is_closed(one)]
        assert 4 * FILES > len(closed) > 3 * FILES
        status, _, err = server.end(signal.SIGINT)
        assert (status, err) == (0, "")
    finally:
        for one in (kept, *crowd):
            one.close()
        server.process.kill()


def is_closed(one):
    """Whether the server has closed a connection, perhaps after an answer."""
    one.setblocking(False)
    try:
        while one.recv(10_000):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("person", cases(["nobody", "ann"], "ann"))
def test_it_serves_this_machine_alone_until_ctrl_c_ends_it_while_a_page_is_open(server, study, person):
    """The address is printed when Ctrl-C is heard, and a request that is not all there is waited for no longer."""
    listens_on_this_machine_only(server.port)
    refuses_a_head_without_end(server.port)
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
        secret = links_of(study, PEOPLE).token(person).encode()
        head = b"Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n"
        one.sendall(b"POST /api/work HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secret + b"\r\n" + head)
        assert (b" 100 " if person == "ann" else b" 401 ") in one.recv(1_000)  # now it reads what is never sent
        status, _, err = server.end(signal.SIGINT)
        assert (status, err) == (0, "")


@pytest.mark.slow
def test_ctrl_c_at_once_ends_it_too(study):
    server = Server(study)
    assert server.end(signal.SIGINT)[::2] == (0, "")


def test_a_port_that_is_taken_or_cannot_be_is_said(study, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host, told in ((f":{port}", "cannot be listened to"), (":99999", "--host is ':99999'")):
            assert run(["label", str(study), "--host", host]) == 2
            assert told in capsys.readouterr().err
