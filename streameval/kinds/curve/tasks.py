"""How the planned ranks of a curve reach people."""

from __future__ import annotations

from streameval.kinds.tasks import PlannedTasks
from streameval.study.planned_ranking import method_cutoffs
from streameval.types import Plan
from streameval.typing import Int64Array


class RankTasks(PlannedTasks):
    """Tasks of a curve, whose table shows scores at the ranks of its method."""

    def cutoffs(self, plan: Plan) -> Int64Array | None:
        """Ranks of the curve's table, where the order has scores."""
        return method_cutoffs(plan)
