"""The prompt of `streameval sql`: statements over several lines, each answered at once."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from streameval.cli.rows import as_table
from streameval.errors import StreamevalError
from streameval.text import printable

if TYPE_CHECKING:
    from streameval.study.database.session import Session

_WELCOME = "Tables: plan, selection, labels, curve, envelope, metrics, provenance. End with ';', leave with Ctrl-D."
_HELP = """\
SHOW TABLES;              the tables, and the files named by --with
DESCRIBE curve;           columns of a table
SELECT precision_at(1000), recall_at(1000), yield_at(1000), f_measure(1000, 1), threshold_at(1000);
SELECT rank_at_precision(0.9), rank_at_recall(0.5);
SELECT weighted_mean(label, weight) FROM labels;  an average over the list, of any expression
FROM precision_at(1000);  the same as a row: rank, lower, estimate, upper
A statement goes on until its ';'. Ctrl-C abandons it or stops its query; Ctrl-D, exit or quit leaves."""
_LEAVE = {"exit", "quit", ".exit", ".quit", "\\q"}
_ASK_HELP = {"help", ".help", "?", "\\?"}


def ask_in_turn(session: Session) -> None:
    """Ask for statements and answer them, until end of input."""
    with suppress(ImportError):  # a Python built without it edits no lines
        import readline  # noqa: F401  (gives `input` its history)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C abandons a statement, however often
    print(_WELCOME)
    lines: list[str] = []
    while True:
        try:
            lines.append(input("   ...> " if lines else "study> "))
            text = "\n".join(lines).strip()
            word = text.rstrip("; ").lower()
            if word in _LEAVE:
                return
            if word in _ASK_HELP:
                print(_HELP)
            elif text and not session.is_whole(text):
                continue
            elif text:
                _answer(session, text)
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
        lines = []


def _answer(session: Session, text: str) -> None:
    try:
        for line in as_table(session.ask(text)):
            print(line)
    except StreamevalError as error:
        print(printable(str(error)))
