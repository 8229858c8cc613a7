"""Run a task over row groups in threads, and save what is done."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

from streameval.order.partials import Partial, PartialBuilder, Task, merged
from streameval.order.scan import Scan
from streameval.progress import Progress, Step, announce
from streameval.typing import Int64Array

CHECKPOINT_SECONDS = 20.0
_AHEAD = 4  # row groups of each thread that the disk fetches before they are decoded


@dataclass
class _Running:
    """One thread's partial, locked while a row group is added to it."""

    builder: PartialBuilder
    lock: threading.Lock = field(default_factory=threading.Lock)

    def partial(self) -> Partial:
        with self.lock:
            return self.builder.partial()


@dataclass(frozen=True)
class Threads:
    """Reads in `scan.threads` threads of this process."""

    placement: ClassVar[str] = "in process"

    def run_task(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """See `ScanEngine.run_task`; `save` is called every `CHECKPOINT_SECONDS`, and once more after an error."""
        units = [scan.units[number] for number in numbers.tolist()]
        total, done = sum(unit.rows for unit in units), 0
        announce(progress, Step(task.name, total, sum(unit.score_bytes for unit in units)))
        own, running = threading.local(), list[_Running]()
        ahead = dict(zip(numbers.tolist(), units[_AHEAD * scan.threads :], strict=False))

        def work(number: int) -> None:
            if number in ahead:
                ahead[number].advise()
            if not hasattr(own, "running"):
                own.running = _Running(task.begin(scan))
                running.append(own.running)
            with own.running.lock:
                own.running.builder.add(number)

        saved = time.monotonic()
        with ThreadPoolExecutor(scan.threads) as pool:
            jobs = [pool.submit(work, number) for number in numbers.tolist()]
            try:
                for unit, job in zip(units, jobs, strict=True):
                    job.result()
                    done += unit.rows
                    progress(done, total)
                    if save is not None and time.monotonic() - saved > CHECKPOINT_SECONDS:
                        save(_so_far(running))
                        saved = time.monotonic()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                if save is not None and running:
                    save(_so_far(running))
                raise
        return _so_far(running) if running else task.begin(scan).partial()


def _so_far(running: list[_Running]) -> Partial:
    """Merge what is done; each thread's row group under way is waited for, so that none counts by half."""
    return merged(thread.partial() for thread in list(running))
