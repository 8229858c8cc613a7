"""Texts about a plan that compares two rankings."""

from __future__ import annotations

from typing import Any

from streameval.kinds.paired.says import planned_lines, subject
from streameval.kinds.planned import Planned, PlanText
from streameval.reporting.next_step import first_step
from streameval.types import Plan


class ComparisonPlanText(PlanText):
    """Sentences about the plan of a comparison."""

    def subject(self, plan: Plan) -> str:
        """Say what is compared."""
        return subject(plan)

    def facts_and_lines(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what changed between the two, and what is to be labelled of it."""
        plan, labelled = planned.plan, planned.study.labelled
        reuses = "reuse" in planned.options
        facts = {"reused": labelled, "to_label": plan.table.num_rows - labelled} if reuses else {}
        lines = [*planned_lines(plan, labelled if reuses else 0), planned.seed_line]
        return planned.facts(**facts), [*lines, *planned.doubts, f"Next: {first_step(planned.study, plan).command}"]


PLANNED = ComparisonPlanText()
