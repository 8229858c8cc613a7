"""The engine of a cluster: classic Spark, Spark Connect, or whatever speaks its protocol (Sail).

Only the DataFrame API is used: `mapInArrow` makes the partials of shares of row groups, a grouped sum adds up counts.
Workers read the files themselves, by the readers of this library, so positions are known and the order is the local
engine's to the last tie, with key columns or without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from streameval.counting.labelled_rows import LabelledRows
from streameval.counting.scans import LabelledScans
from streameval.engines.spark.jobs import run_request
from streameval.engines.spark.sessions import opened
from streameval.order.partials import Partial, Task
from streameval.order.run_threads import Threads
from streameval.order.scan import Scan
from streameval.order.tasks import Sampling
from streameval.progress import Progress, Step, announce
from streameval.queries.evaluate import Elsewhere
from streameval.remote.labelled_jobs import RemoteScans
from streameval.remote.rankings_jobs import MeasuredOnWorkers
from streameval.remote.scan_jobs import pack, unpack
from streameval.remote.worker import JobRequest
from streameval.typing import Int64Array


@dataclass(frozen=True)
class Spark:
    """Reads on the workers of a Spark session.

    Attributes:
        remote: `sc://HOST[:PORT]` of a Spark Connect or Sail server, or `local[N]`; None takes the session that is
            there (`spark-submit` makes one), or starts one on this machine.
        session: One that is there already, instead.
    """

    remote: str | None = None
    session: Any = None
    placement: ClassVar[str] = "on workers"

    def run_task(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """See `Engine.run_task`.

        Raises `InputError` for a damaged list, a Spark that cannot be started or whose workers lack this library, or a
        missing extra; `OutsideError` where Spark does not answer, or gave up.
        """
        if isinstance(task, Sampling):  # a few row groups: read before a job would have begun
            return Threads().run_task(scan, task, numbers, save, progress)
        rows = sum(scan.units[number].rows for number in numbers.tolist())
        announce(progress, Step(task.name, rows, sum(scan.units[at].score_bytes for at in numbers.tolist())))
        result = self.run_job(pack(task, scan, numbers))
        progress(rows, rows)
        return unpack(task, numbers, result)

    def labelled(self, rows: LabelledRows, threads: int) -> LabelledScans:
        """See `Engine.labelled`."""
        return RemoteScans(rows, threads, self.run_job)

    def measured(self, keeps_rows: bool) -> Elsewhere:
        """See `Engine.measured`."""
        return MeasuredOnWorkers(self.run_job, keeps_rows)

    def run_job(self, request: JobRequest) -> pa.Table:
        """Have the workers do all shares of a request, and collect the rows; errors as in `run_task`."""
        return run_request(self.session if self.session is not None else opened(self.remote), request)


ENGINE = Spark
