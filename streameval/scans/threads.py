"""Threads of this process over units: the engine that runs jobs in them, and work on each unit in stored order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from streameval.process.threads import ThreadPool
from streameval.progress import Progress, announce, silent
from streameval.scans.jobs import Job, OnWorkers, P, Partial, PartialBuilder, S, Task, merge, partial_of
from streameval.scans.units import Unit, by_file
from streameval.typing import Int64Array, UInt64Array

CHECKPOINT_SECONDS = 20.0
AHEAD = 4  # units of each thread that the disk fetches before they are decoded
_KEPT_ROWS = 1 << 21  # for whose numbers a thread keeps room
_OWN = threading.local()
_NONE = np.empty(0, np.uint64)
R = TypeVar("R")


def each_unit(
    work: Callable[[Unit], R], units: Sequence[Unit], threads: int, progress: Progress = silent
) -> Iterator[tuple[Unit, R]]:
    """Work on units in threads; yields each, in stored order, with what came of it.

    Args:
        progress (callable(done, total)): Called with rows, of which none is passed over.
    """
    done, total = 0, sum(unit.rows for unit in units)
    with ThreadPool(threads) as pool:
        for unit, result in zip(units, pool.in_order(work, units, threads + 1), strict=True):
            yield unit, result
            done += unit.rows
            progress(done, total)


def prefetch(units: Sequence[Unit], numbers: range, columns: Sequence[str], threads: int) -> None:
    """Have the disk fetch columns of units that are read a while after some, as many as these are."""
    shift = AHEAD * threads
    for of_file in by_file(units[numbers.start + shift : numbers.stop + shift]):
        of_file[0].advise(columns, of_file[1:])


def own_room(size: int, use: str = "numbers") -> UInt64Array:
    """Room of a thread for one use, since fresh memory would cost more than what is done in it."""
    if size > _KEPT_ROWS:
        return np.empty(size, np.uint64)
    if getattr(_OWN, use, _NONE).size < size:
        setattr(_OWN, use, np.empty(size, np.uint64))
    return np.asarray(getattr(_OWN, use), dtype=np.uint64)


@dataclass(frozen=True)
class Threads:
    """Runs jobs in threads of this process; see `Engine`."""

    placement: ClassVar[str] = "in process"

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """See `Engine.run`."""
        announce(progress, job.step)
        return job.run_local(progress)


@dataclass
class _Running:
    """One thread's partial, locked while a unit is added to it."""

    builder: PartialBuilder
    lock: threading.Lock = field(default_factory=threading.Lock)

    def partial(self) -> Partial:
        with self.lock:
            return self.builder.partial()


@dataclass(frozen=True)
class Scanning(Job[Partial], Generic[S]):
    """A task over units, whose partials merge.

    Args:
        numbers (int64 array, not empty): Which of the units.
        save (callable(partial)): Called with all that is done so far every `CHECKPOINT_SECONDS`, and once more after an
            error.
    """

    task: Task[S]
    scan: S
    numbers: Int64Array
    threads: int
    save: Callable[[Partial], None] | None = None

    @property
    def name(self) -> str:
        """Give that of the task."""
        return self.task.name

    @property
    def units(self) -> list[Unit]:
        """See `Job.units`."""
        return [self.scan.units[number] for number in self.numbers.tolist()]

    def run_local(self, progress: Progress) -> Iterator[Partial]:
        """See `Job.run_local`: a partial of each thread."""
        units, numbers = self.units, self.numbers.tolist()
        total, done = sum(unit.rows for unit in units), 0
        local, running = threading.local(), list[_Running]()

        def work(at: int) -> None:
            prefetch(units, range(at, at + 1), self.scan.scanned, self.threads)
            if not hasattr(local, "running"):
                local.running = _Running(self.task.begin(self.scan))
                running.append(local.running)
            with local.running.lock:
                local.running.builder.add(numbers[at])

        saved = time.monotonic()
        try:
            with ThreadPool(self.threads) as pool:
                for unit, _ in zip(units, pool.in_order(work, range(len(units))), strict=True):
                    done += unit.rows
                    progress(done, total)
                    if self.save is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
                        self.save(_so_far(running))
                        saved = time.monotonic()
        except BaseException:
            if self.save is not None and running:
                self.save(_so_far(running))
            raise
        yield from (thread.partial() for thread in running)

    def for_workers(self) -> OnWorkers[Partial] | None:
        """See `Job.for_workers`."""
        if self.task.is_quick:
            return None
        bare = replace(self, scan=self.scan.for_worker(()), numbers=self.numbers[:0], save=None)
        return OnWorkers(bare.run_share, self.task.counters)

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Partial]]:
        """See `OnWorkers`: a partial of all."""
        yield first, last, partial_of(self.task, self.scan.for_worker(units), range(len(units)))


def _so_far(running: list[_Running]) -> Partial:
    """Merge what is done; each thread's unit under way is waited for, so that none counts by half."""
    return merge(thread.partial() for thread in list(running))
