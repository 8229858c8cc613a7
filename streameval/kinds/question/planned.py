"""What is said of a plan for a question."""

from __future__ import annotations

from typing import Any

from streameval.kinds.planned import Planned, PlanText
from streameval.kinds.question.adding import unlabelled_lines
from streameval.kinds.question.cost import expected_lines
from streameval.kinds.question.plan import posed
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

    def says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what is asked, and how many labels it is expected to take."""
        made, place = planned.plan, planned.place
        known = known_now(place, made)
        design, asking = posed(made, known)[0], Asking.of_plan(made.questions, made.parameters)
        lines = [*map(posed_as, made.questions), *counted_lines(made), *expected_lines(design, asking, made.n_items)]
        waiting = unlabelled_lines(planned.study, made) if place is not planned.study else ()
        lines += [*known_lines(made, known), *waiting, f"Seed {made.seed}, kept in plan.json."]
        lines += [*planned.doubts, f"Next: {first_step(place, made).command}"]
        return planned.facts(expected=[{"case": case, **vars(labels)} for case, labels in design.expected()]), lines


PLANNED = QuestionPlanText()
