"""Tasks of the planned ranks of a curve."""

from __future__ import annotations

from streameval.kinds.curve.evaluate import width_by_now
from streameval.kinds.tasks import PlannedTasks
from streameval.study import Study
from streameval.study.planned_ranking import method_cutoffs
from streameval.study.progress import LabellingProgress, progress_of
from streameval.types import Plan
from streameval.typing import Int64Array


class RankTasks(PlannedTasks):
    """Tasks of a curve, whose table shows scores at the ranks of its method."""

    def cutoffs(self, plan: Plan) -> Int64Array | None:
        """Ranks of the curve's table, where the order has scores."""
        return method_cutoffs(plan)

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come, and which half-width that gives."""
        plan = folder.plan()
        return progress_of(folder, plan, width=lambda *so_far: width_by_now(plan, *so_far))


TASKS = RankTasks()
