"""The prompt of `streameval sql`, driven through a terminal of its own as a person does."""

import os
import select
import sys

import pytest

from streameval.cli import run

pty = pytest.importorskip("pty")
PROMPT, MORE = "study> ", "   ...> "


class Terminal:
    """A command on a pseudo-terminal; every answer is read up to the next prompt."""

    def __init__(self, *command):
        self.process, self.descriptor = pty.fork()
        if not self.process:
            os.environ["TERM"] = "dumb"
            os.execv(sys.executable, [sys.executable, "-m", "streameval", *command])

    def until(self, *ends):
        read, last = b"", tuple(end.encode() for end in ends)
        while not read.endswith(last):
            assert select.select([self.descriptor], [], [], 60)[0], f"no answer after {read!r}"
            try:
                raw = os.read(self.descriptor, 65536)
            except OSError:  # how Linux says that the other side has gone
                raw = b""
            if not raw:
                break
            read += raw  # a character may come in two reads
        return read.decode()

    def interrupt(self):
        """Press Ctrl-C until it is answered: Python can lose one, in the code of a destructor."""
        os.write(self.descriptor, b"\x03")
        while not select.select([self.descriptor], [], [], 5)[0]:
            os.write(self.descriptor, b"\x03")
        return self.until(PROMPT)

    def type(self, text, *ends):
        os.write(self.descriptor, text.encode())
        return self.until(*(ends or (PROMPT,)))

    def status(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.fixture
def study(study, tmp_path):
    return str(study("curve-evaluated").rename(tmp_path / "study"))


def test_the_prompt_answers_as_a_person_types_and_presses_ctrl_c(study):
    screen = Terminal("sql", study)
    assert "Ctrl-D" in screen.until(PROMPT)
    assert "DESCRIBE curve" in screen.type(".help\n")
    assert screen.type("SELECT 40 + 1\n", MORE)
    assert "42" in screen.type("+ 1 AS answer;\n")
    assert screen.type("SELECT 'a;\n", MORE), "a semicolon in a string ends nothing"
    assert "a;\\nb" in screen.type("b' AS text; -- and a comment\n")
    assert "syntax error" in screen.type("SELEC 1;\n")
    assert "DATE::VARCHAR" in screen.type("SELECT 'infinity'::DATE AS \"DATE\";\n")
    assert "COPY is not allowed" in screen.type("COPY plan TO 'x.csv';\n")
    shown = screen.type("SELECT chr(27) || '[31m' AS x, '漢字' AS y, NULL AS z;\n")
    assert "\\x1b[31m" in shown.split("\n", 1)[1]
    assert "漢字" in shown.split("\n", 1)[1]
    assert "NULL" in shown
    assert "... 900 more rows" in screen.type("FROM range(1000);\n")
    assert "more columns: " in screen.type("FROM curve LIMIT 2;\n")
    assert screen.type(";\n")
    screen.type("SELECT 'never closed\n", MORE)
    screen.interrupt()
    assert "42" in screen.type("SELECT 40 + 2;\n"), "Ctrl-C abandons a statement"
    endless = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3;\n"
    screen.type(endless, "\n")
    screen.interrupt()
    assert "43" in screen.type("SELECT 40 + 3;\n"), "and stops a query"
    screen.type("\x04", "\n")
    assert screen.status() == 0


def test_exit_ends_the_prompt(study, monkeypatch):
    said = iter(["SELECT 40 + 2;", "exit", "SELECT 40 + 3;"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run(["sql", study]) == 0
    assert list(said) == ["SELECT 40 + 3;"]


def test_the_prompt_prints_tables_only(study, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run(["sql", study, "--json"]) == 2
    assert "give a query" in capsys.readouterr().err
