"""Tasks of planned items: all at once and shuffled, unless a kind hands them out otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streameval.kernels.sorted_sets import isin
from streameval.metrics import cutoffs
from streameval.progress import Progress
from streameval.rankings.ranking import Fetched, Ranking
from streameval.scans.checkpoints import Scans
from streameval.study import Study
from streameval.study.progress import LabellingProgress, progress_of
from streameval.types import Plan
from streameval.typing import BoolArray, Int64Array


class PlannedTasks:
    """Tasks of a plan that is drawn whole before any label."""

    def next_round(self, folder: Study, plan: Plan) -> Plan:
        """Draw what is to be labelled next, where that follows the labels; by default everything is planned already."""
        return plan

    def is_answered(self, folder: Study, plan: Plan) -> bool:
        """Tell whether the labels that there are answer all that was asked; by default more of them always say more."""
        return False

    def handed_out(self, folder: Study, plan: Plan, remaining: bool) -> BoolArray | None:
        """Tell which planned items an export shows, in the plan's order; None stands for all.

        Args:
            remaining: Whether items that have a label are left out; those whose label the plan reused always are.
        """
        if not remaining:
            reused = folder.labels.reused_ranks()
            return ~isin(plan.ranks, reused) if reused else None
        from streameval.study.judging import recount

        return ~recount(folder, plan).labels.known

    def progress(self, folder: Study) -> LabellingProgress:
        """Say how far the labelling has come."""
        return progress_of(folder, folder.plan())

    def in_order(self, plan: Plan, numbers: Int64Array) -> Int64Array:
        """Tasks as they are best handed out one by one: by default shuffled, as they are numbered.

        Args:
            numbers: Of all tasks, in the plan's order.
        """
        return np.sort(numbers)

    def cutoffs(self, plan: Plan) -> Int64Array | None:
        """Ranks whose scores results show (strictly increasing); None where the order has no scores."""
        return None if plan.ranking.get("score") is None else cutoffs(plan.n_items)

    def fetch(self, folder: Study, plan: Plan, opened: Ranking, how: tuple[Sequence[str], Progress, Scans]) -> Fetched:
        """Read the planned items.

        Args:
            how: Columns, who is told how many rows were read, and the scans that the study keeps.
        """
        names, progress, scans = how
        return opened.fetch(plan.ranks, names, progress, self.cutoffs(plan), scans)


TASKS = PlannedTasks()
