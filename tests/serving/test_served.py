"""A real server: people at the same time, lost connections, a server that is killed, clients that send nothing."""

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from label_pages import said

import streameval
from streameval.serving.links import links_of
from streameval.study.answer_journal import NAME, read_lines

PEOPLE = ("ann", "ben", "cem", "dea", "eva")


class Server:
    """`streameval label` in a process of its own."""

    def __init__(self, study, port=0):
        command = [sys.executable, "-m", "streameval", "label", str(study), "--port", str(port)]
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
    account = streameval.evaluate(study).summary["account"]
    assert account["votes"] + account["undecided"] >= len(acknowledged) >= 5 * 12 - 5
    assert account["doubled"] == account["again"] == account["unreadable"] == account["unknown"] == 0


@pytest.fixture
def server(study):
    made = Server(study)
    yield made
    made.process.kill()
    made.process.communicate()


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system lists its sockets elsewhere")
def test_it_listens_on_this_machine_only(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10):
        pass
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A"]
    assert f"0100007F:{server.port:04X}" in listening
    assert f"00000000:{server.port:04X}" not in listening


def test_a_head_without_end_is_refused_and_many_that_say_nothing_keep_nobody_out(server, study):
    silent = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(300)]
    try:
        silent[0].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-Long: " + b"a" * 40_000)
        reply = silent[0].recv(100)
        assert not reply or b" 400 " in reply.splitlines()[0]
        assert ask(server.port, links_of(study, PEOPLE).token("ann"), "start")["who"] == "ann"
    finally:
        for one in silent:
            one.close()


def test_ctrl_c_ends_it_while_a_page_is_open(server):
    open_page = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    open_page.sendall(b"POST /api/work HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    status, _, err = server.end(signal.SIGINT)
    assert (status, err) == (0, "")
    open_page.close()


def test_a_port_that_is_taken_or_cannot_be_is_said(server, study, capsys):
    from streameval.cli import run

    for port, told in ((server.port, "cannot be listened to"), (99_999, "--port is 99999"), (-1, "--port is -1")):
        assert run(["label", str(study), "--port", str(port)]) == 2
        assert told in capsys.readouterr().err
