"""Tasks of the planned items of a comparison."""

from __future__ import annotations

from streameval.kinds.paired.evaluate import by_cutoff
from streameval.kinds.tasks import PlannedTasks
from streameval.study import Study
from streameval.study.progress import LabellingProgress, progress_of


class ChangedTasks(PlannedTasks):
    """Tasks of what changed between two rankings."""

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come, from cutoff to cutoff."""
        return progress_of(folder, folder.plan(), by_cutoff)


TASKS = ChangedTasks()
