"""The engine of one machine: threads of this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from streameval.counting.scans import LabelledScans
from streameval.order.partials import Partial, Task
from streameval.order.run_threads import sweep
from streameval.order.scan import Scan
from streameval.progress import Progress
from streameval.typing import Int64Array

if TYPE_CHECKING:  # lists by score are made with an engine
    from streameval.counting.labelled_rows import LabelledRows


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
        from streameval.counting.threads import Threads

        return Threads(rows, threads)


ENGINE = Local
