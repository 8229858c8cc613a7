"""The engine of a cluster: classic Spark, Spark Connect, or whatever speaks its protocol (Sail).

Only the DataFrame API is used: `mapInArrow` makes the partials of shares of row groups, a grouped sum adds up counts.
Workers read the files themselves, by the readers of this library, so positions are known and the order is the local
engine's to the last tie, with key columns or without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from streameval.progress import Progress, announce
from streameval.scans.jobs import Job, P
from streameval.scans.spark.jobs import run_request
from streameval.scans.spark.sessions import opened
from streameval.scans.workers import JobRequest, run_on_workers


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

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """See `Engine.run`.

        Raises `InputError` for a damaged list, a Spark that cannot be started or whose workers lack this library, or a
        missing extra; `OutsideError` where Spark does not answer, or gave up.
        """
        announce(progress, job.step)
        return run_on_workers(job, self.run_job, progress)

    def run_job(self, request: JobRequest) -> pa.Table:
        """Have the workers do all shares of a request, and collect the rows; errors as in `run`."""
        return run_request(self.session if self.session is not None else opened(self.remote), request)
