"""Progress of long steps, and its receivers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Step:
    """A step of work, announced to a `Watcher` before it begins.

    Attributes:
        name: Of a scan ("count", "candidates" …), or "items".
        rows: Rows to read; 0 where progress is not in rows.
        bytes: Bytes that they take where they are stored, about.
    """

    name: str
    rows: int = 0
    bytes: int = 0


class Watcher(Protocol):
    """A receiver of progress that is also told which step begins."""

    def begin(self, step: Step) -> None:
        """Receive the next step; calls with (done, total) follow."""

    def __call__(self, done: int, total: int) -> None:
        """Receive how far it is."""


def announce(progress: Progress, step: Step) -> None:
    """Tell a progress of the next step, if it is a `Watcher`."""
    begin = getattr(progress, "begin", None)
    if begin is not None:
        begin(step)


class RowsDone:
    """Adds up the rows that are done."""

    def __init__(self, total: int, progress: Progress) -> None:
        self._done, self._total, self._progress = 0, total, progress

    def rows(self, count: int) -> None:
        """Tell of more."""
        self._done = min(self._done + count, self._total)
        self._progress(self._done, self._total)
