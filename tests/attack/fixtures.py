"""One process for the tests of a folder, and its seconds: those of a command are of the test that asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cpu_budget import METER

from attack.forks import Forks


@contextmanager
def one_process(name: str, home: Path, ready: str) -> Iterator[Forks]:
    """A process that forks; what it took to start counts under its name, and not for the test that comes last."""
    forks = Forks(home, ready)
    try:
        yield forks
    finally:
        with METER.apart(name):
            forks.stop()
        METER.made[name] -= forks.cpu_seconds


@contextmanager
def counted(forks: Forks) -> Iterator[Forks]:
    """Count for a test what it has run in processes."""
    before = forks.cpu_seconds
    yield forks
    METER.began -= forks.cpu_seconds - before
