"""The engine of one machine: threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from streameval.rankings import Progress
from streameval.rankings.labelled import LabelledScans
from streameval.rankings.ordering.partials import Partial, Task
from streameval.rankings.ordering.sweep import sweep
from streameval.rankings.ordering.units import Scan
from streameval.types import Int64Array

if TYPE_CHECKING:  # lists by score are made with an engine
    from streameval.rankings.streams import LabelledRows


@dataclass(frozen=True)
class Local:
    """Reads in as many threads as the scan says."""

    memory: ClassVar[str] = "shared"

    def sweep(
        self, scan: Scan, task: Task, numbers: Int64Array, save: Callable[[Partial], None] | None, progress: Progress
    ) -> Partial:
        """See `Engine.sweep`."""
        return sweep(scan, task, numbers, save, progress)

    def labelled(self, rows: LabelledRows, threads: int) -> LabelledScans:
        """See `Engine.labelled`."""
        from streameval.rankings.labelled.here import Threads

        return Threads(rows, threads)


ENGINE = Local
