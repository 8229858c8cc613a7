"""Messages of labelling pages: whoever sent one, it is of this form, or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_ID = re.compile(r"[A-Za-z0-9-]{8,64}")
_LABELS = ("1", "0", "skip")
_LONGEST_NOTE = 2_000
_MOST = 50  # answers, or tasks, that a page says at once


class RefusedError(Exception):
    """Message of a page that cannot be meant."""


@dataclass(frozen=True)
class SentAnswer:
    """One answer.

    Attributes:
        name: Id that the page gave it: sent twice, it is one answer.
        task: Number of the task.
        label ({"1", "0", "skip"}): What was answered.
        note: Free text.
        took, ago: Milliseconds that it took, and since it was given.
    """

    name: str
    task: int
    label: str
    note: str
    took: float
    ago: float

    @classmethod
    def read(cls, message: Any) -> SentAnswer:
        """Read `id`, `task`, `answer`, `note`, `took` and `ago`."""
        name, label, note = _text(message, "id", 64), _text(message, "answer", 4), _text(message, "note", _LONGEST_NOTE)
        task, took, ago = (_number(message, key) for key in ("task", "took", "ago"))
        if not _ID.fullmatch(name) or label not in _LABELS or task != int(task):
            raise RefusedError("an answer has an id, the number of a task, and is 1, 0 or skip")
        return cls(name, int(task), label, note, took, ago)


@dataclass(frozen=True)
class SentWork:
    """One message.

    Attributes:
        tab: Id of the page.
        leaving: Whether the page is being closed.
        have: Numbers of tasks that it has got.
        answers: What was answered since the last message that arrived.
    """

    tab: str
    leaving: bool
    have: tuple[int, ...]
    answers: tuple[SentAnswer, ...]

    @classmethod
    def read(cls, message: Any) -> SentWork:
        """Read `tab`, `leaving`, `have` and `answers`; a `RefusedError` where they are not of this form."""
        tab = _text(message, "tab", 64)
        have = tuple(entry for entry in _list(message, "have") if isinstance(entry, int))
        answers = tuple(SentAnswer.read(entry) for entry in _list(message, "answers"))
        return cls(tab, message.get("leaving") is True, have, answers)


def _list(message: Mapping[str, Any], name: str) -> list[Any]:
    value = message.get(name, [])
    if not isinstance(value, list) or len(value) > _MOST:
        raise RefusedError(f"{name} is a list of {_MOST} at most")
    return value


def _text(message: Any, name: str, most: int) -> str:
    value = message.get(name, "") if isinstance(message, dict) else None
    if not isinstance(value, str) or len(value) > most:
        raise RefusedError(f"{name} is a text of at most {most:,} characters")
    return value


def _number(message: Mapping[str, Any], name: str) -> float:
    value = message.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2**53:
        raise RefusedError(f"{name} is a number that is not negative")
    return value
