"""Progress of a command: a bar on a terminal, events under `--log json`, and nothing otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streameval.progress import Step

_EVENT_SECONDS = 10.0
Show = Callable[[str, int, int, str], None]


class Meter:
    """Counts rows, bytes and time of one step after another.

    Args:
        what: Name of what is done before the first step is announced.
        event (callable(name, **facts)): Logs an event.
        show (callable(name, done, total, text)): Draws.
        clock: callable() -> seconds.
    """

    def __init__(
        self, what: str, event: Callable[..., None], show: Show, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._event, self._show, self._clock = what, event, show, clock
        self._step: Step | None = None
        self._done, self._total = 0, 0
        self._began = self._told = clock()

    def begin(self, step: Step) -> None:
        """Start a step; the one before is over."""
        self.end()
        self._step, self._done, self._total = step, 0, 0
        self._began = self._told = self._clock()
        self._event("step_begins", step=step.name, rows=step.rows or None, bytes=step.bytes or None)
        self._show(self._label, 0, step.rows, "")

    def __call__(self, done: int, total: int) -> None:
        """Note how far it is."""
        self._done, self._total = done, total
        now = self._clock()
        if self._step is not None and now - self._told >= _EVENT_SECONDS:
            self._told = now
            self._event("step", **self._facts(now))
        self._show(self._label, done, total, self._text(now))

    def end(self) -> None:
        """End the step under way."""
        if self._step is not None:
            self._event("step_ends", **self._facts(self._clock()))
            self._step = None

    @property
    def _label(self) -> str:
        return f"{self._what}: {self._step.name}" if self._step is not None else self._what

    def _facts(self, now: float) -> dict[str, Any]:
        """Seconds, and of a step in rows its rows, bytes (their share of the whole), rate and seconds left."""
        seconds = now - self._began
        facts: dict[str, Any] = {"step": self._step.name if self._step else None, "seconds": round(seconds, 3)}
        if self._step is None or not self._step.rows or not self._total:
            return facts
        share = self._done / self._total
        return facts | {
            "rows": self._done,
            "of_rows": self._total,
            "bytes": round(self._step.bytes * share),
            "rows_per_second": round(self._done / seconds) if seconds else None,
            "seconds_left": round(seconds * (1 - share) / share, 1) if share else None,
        }

    def _text(self, now: float) -> str:
        facts = self._facts(now)
        if not facts.get("rows_per_second"):
            return ""
        rate = facts["rows_per_second"]
        return f"{facts['rows']:,} rows, {facts['bytes'] / 1e6:,.0f} MB, {rate / 1e6:,.1f} M rows/s"


@contextmanager
def bar(seen: bool) -> Iterator[Show]:
    """Draw on stderr, if somebody sees it there."""
    if not seen:
        yield lambda name, done, total, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task = drawn.add_task("", total=None, text="")
        named = [""]

        def show(name: str, done: int, total: int, text: str) -> None:
            if name != named[0]:
                named[0] = name
                drawn.reset(task, total=total or None, description=name, text="")
            drawn.update(task, completed=done, total=total or None, text=text)

        yield show
