"""Tasks of the first items of drawn rankings."""

from __future__ import annotations

from streameval.kinds.drawn_rankings.evaluate import strata
from streameval.kinds.tasks import PlannedTasks
from streameval.study import Study
from streameval.study.progress import LabellingProgress, progress_of


class TopTasks(PlannedTasks):
    """Tasks of the first items of rankings."""

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling of every ranking has come."""
        return progress_of(folder, folder.plan(), strata)


TASKS = TopTasks()
