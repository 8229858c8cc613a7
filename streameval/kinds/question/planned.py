"""Texts about a plan for a question."""

from __future__ import annotations

from typing import Any

from streameval.kinds.planned import Planned, PlanText
from streameval.kinds.question.adding import unlabelled_lines
from streameval.kinds.question.cost import expected_lines
from streameval.kinds.question.plan import load_design
from streameval.kinds.question.says import counted_lines, known_lines, posed_as
from streameval.kinds.question.tree import known_now
from streameval.questions.asking import Asking
from streameval.reporting.next_step import first_step
from streameval.types import Plan


class QuestionPlanText(PlanText):
    """Sentences about the plan of a question."""

    def subject(self, plan: Plan) -> str:
        """Say what is asked."""
        return " ".join(map(posed_as, plan.questions))

    def facts_and_lines(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what is asked, and how many labels it is expected to take."""
        plan, place = planned.plan, planned.place
        known_items = known_now(place, plan)
        design, asking = load_design(plan, known_items)[0], Asking.of_plan(plan.questions, plan.parameters)
        lines = [*map(posed_as, plan.questions), *counted_lines(plan), *expected_lines(design, asking, plan.n_items)]
        waiting = unlabelled_lines(planned.study, plan) if place is not planned.study else ()
        lines += [*known_lines(plan, known_items), *waiting, planned.seed_line]
        lines += [*planned.doubts, f"Next: {first_step(place, plan).command}"]
        return planned.facts(expected=[{"case": case, **vars(labels)} for case, labels in design.expected()]), lines


PLANNED = QuestionPlanText()
