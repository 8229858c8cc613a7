"""Progress of long steps, and its receivers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class Step:
    """A step of work, announced (`announce`) before it begins.

    Attributes:
        name: Of a scan ("count", "candidates" …), or "items".
        rows: Rows to read; 0 where progress is not in rows.
        bytes: Bytes that they take where they are stored, about.
    """

    name: str
    rows: int = 0
    bytes: int = 0


def announce(progress: Progress, step: Step) -> None:
    """Tell a progress of the next step, if it has a method `begin` that takes it."""
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
