"""Run a task over row groups in threads, and save what is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from streameval.order.partials import Job, P, Partial, PartialBuilder, Task, merged, partial_of
from streameval.order.tasks import Sampling
from streameval.process.threads import ThreadPool
from streameval.progress import Progress, announce
from streameval.rows.units import Unit
from streameval.typing import Int64Array

CHECKPOINT_SECONDS = 20.0
AHEAD = 4  # row groups of each thread that the disk fetches before they are decoded


class Scannable(Protocol):
    """What a task reads."""

    @property
    def units(self) -> Sequence[Unit]:
        """Its row groups."""

    @property
    def scanned(self) -> Sequence[str]:
        """Columns that are read of each."""

    def elsewhere(self, units: Sequence[Unit]) -> Self:
        """The same on a worker, which has some of its row groups."""


S = TypeVar("S", bound=Scannable)


@dataclass
class _Running:
    """One thread's partial, locked while a row group is added to it."""

    builder: PartialBuilder
    lock: threading.Lock = field(default_factory=threading.Lock)

    def partial(self) -> Partial:
        with self.lock:
            return self.builder.partial()


@dataclass(frozen=True)
class Scanning(Job[Partial], Generic[S]):
    """A task over row groups, whose partials merge.

    Args:
        numbers (int64 array, not empty): Which of the row groups.
        save (callable(partial)): Called with all that is done so far every `CHECKPOINT_SECONDS`, and once more after an
            error.
    """

    task: Task[S]
    scan: S
    numbers: Int64Array
    threads: int
    save: Callable[[Partial], None] | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the task."""
        return self.task.name

    @property
    def counters(self) -> int:  # type: ignore[override]
        """Those of the task."""
        return self.task.counters

    @property
    def is_small(self) -> bool:  # type: ignore[override]
        """Whether it is a sample."""
        return isinstance(self.task, Sampling)

    @property
    def units(self) -> list[Unit]:
        """See `Job.units`."""
        return [self.scan.units[number] for number in self.numbers.tolist()]

    def here(self, progress: Progress) -> Iterator[Partial]:
        """See `Job.here`: a partial of each thread."""
        units, numbers = self.units, self.numbers.tolist()
        total, done = sum(unit.rows for unit in units), 0
        local, running = threading.local(), list[_Running]()
        ahead = dict(zip(numbers, units[AHEAD * self.threads :], strict=False))

        def work(number: int) -> None:
            if number in ahead:
                ahead[number].advise(self.scan.scanned)
            if not hasattr(local, "running"):
                local.running = _Running(self.task.begin(self.scan))
                running.append(local.running)
            with local.running.lock:
                local.running.builder.add(number)

        saved = time.monotonic()
        try:
            with ThreadPool(self.threads) as pool:
                for unit, _ in zip(units, pool.in_order(work, numbers), strict=True):
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

    def sent(self) -> Scanning[S]:
        """See `Job.sent`."""
        return replace(self, scan=self.scan.elsewhere(()), numbers=self.numbers[:0], save=None)

    def there(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Partial]]:
        """See `Job.there`: a partial of all."""
        yield first, last, partial_of(self.task, self.scan.elsewhere(units), range(len(units)))


def _so_far(running: list[_Running]) -> Partial:
    """Merge what is done; each thread's row group under way is waited for, so that none counts by half."""
    return merged(thread.partial() for thread in list(running))


@dataclass(frozen=True)
class Threads:
    """Runs jobs in threads of this process; see `Engine`."""

    placement: ClassVar[str] = "in process"

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """See `Engine.run`."""
        announce(progress, job.step)
        return job.here(progress)
