"""The engine of one machine: threads of this process."""

from __future__ import annotations

from dataclasses import dataclass

from streameval.counting.labelled_rows import LabelledRows
from streameval.counting.scans import LabelledScans
from streameval.counting.threads import LabelledThreads
from streameval.order.run_threads import Threads


@dataclass(frozen=True)
class Local(Threads):
    """Reads in `scan.threads` threads."""

    def labelled(self, rows: LabelledRows, threads: int) -> LabelledScans:
        """See `Engine.labelled`."""
        return LabelledThreads(rows, threads)

    def measured(self, keeps_rows: bool) -> None:
        """See `Engine.measured`."""


ENGINE = Local
