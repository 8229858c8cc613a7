"""Run a task over row groups, several at once, and keep what is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

from streameval.order.partials import Partial, Tally, Task, merged
from streameval.order.scan import Scan
from streameval.progress import Progress, Step, announce
from streameval.typing import Int64Array

CHECKPOINT_SECONDS = 20.0
_AHEAD = 4  # row groups of each thread that the disk fetches before they are decoded


@dataclass
class _Desk:
    """One thread's partial; held while a row group is being taken in."""

    tally: Tally
    lock: threading.Lock = field(default_factory=threading.Lock)


def sweep(
    scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
) -> Partial:
    """Make the partial of some row groups.

    Parameters
    ----------
    numbers : int64 array
        Which row groups.
    save : callable or None
        Given all that is done so far every `CHECKPOINT_SECONDS`, and once more where anything goes wrong.
    progress : callable(done, total)
        Told rows.
    """
    units = [scan.units[number] for number in numbers.tolist()]
    total, done = sum(unit.rows for unit in units), 0
    announce(progress, Step(task.name, total, sum(unit.score_bytes for unit in units)))
    own, desks = threading.local(), list[_Desk]()

    ahead = dict(zip(numbers.tolist(), units[_AHEAD * scan.threads :], strict=False))

    def work(number: int) -> None:
        if number in ahead:
            ahead[number].advise()
        if not hasattr(own, "desk"):
            own.desk = _Desk(task.begin(scan))
            desks.append(own.desk)
        with own.desk.lock:
            own.desk.tally.add(number)

    saved = time.monotonic()
    with ThreadPoolExecutor(scan.threads) as pool:
        jobs = [pool.submit(work, number) for number in numbers.tolist()]
        try:
            for unit, job in zip(units, jobs, strict=True):
                job.result()
                done += unit.rows
                progress(done, total)
                if save is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
                    save(_so_far(desks))
                    saved = time.monotonic()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            if save is not None and desks:
                save(_so_far(desks))
            raise
    return _so_far(desks) if desks else task.begin(scan).partial()


def _so_far(desks: list[_Desk]) -> Partial:
    """Whole row groups only: each thread is waited for."""

    def partial(desk: _Desk) -> Partial:
        with desk.lock:
            return desk.tally.partial()

    return merged(partial(desk) for desk in list(desks))


@dataclass(frozen=True)
class Threads:
    """Reads in as many threads of this process as the scan says."""

    memory: ClassVar[str] = "shared"

    def sweep(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """See `ScanEngine.sweep`."""
        return sweep(scan, task, numbers, save, progress)
