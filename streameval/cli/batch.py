"""Options of batch jobs: a time limit, a dry run."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.options import Switch
from streameval.cli.panels import RUNNING
from streameval.errors import OutsideError
from streameval.options import option
from streameval.process.system import alarm

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def duration(kind: Any, tokens: Sequence[Any]) -> float:
    """Read a length of time: 90, 90s, 45m, 1.5h."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([smh]?)", tokens[0].value.strip())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{tokens[0].value!r} is not a length of time, as 90, 45m and 2h are")
    return float(match[1]) * _UNITS[match[2]]


@Parameter(name="*", group=RUNNING)
@dataclass(frozen=True)
class Batch:
    """How to behave as a job, and whether to act."""

    dry_run: Switch = option(False, "Say what would be read and written, and write nothing.")
    time_limit: Annotated[float | None, Parameter(converter=duration)] = option(
        None, "Stop after this long (90, 45m, 2h) with exit status 3."
    )


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Interrupt what is inside after some time.

    Raises:
        OutsideError: The time is over.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    over = OutsideError(
        f"the time limit of {seconds:g} s was reached",
        "nothing half-written was left behind; give more time, or run the same command again",
    )
    reached = threading.Event()

    def stop(number: int, frame: Any) -> None:
        reached.set()
        raise over

    try:
        with alarm(seconds, stop):
            yield
    except Exception as error:
        # a library may have turned the interruption into an error of its own
        if reached.is_set() and error is not over:
            raise over from error
        raise
