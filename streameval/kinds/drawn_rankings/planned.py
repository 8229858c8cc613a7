"""Texts about a plan of drawn rankings."""

from __future__ import annotations

import shlex
from typing import Any

from streameval.kinds.drawn_rankings.says import WHATEVER_IT_SAYS
from streameval.kinds.planned import Planned, PlanText
from streameval.questions import Width
from streameval.questions.asking import read_questions
from streameval.reporting.next_step import first_step
from streameval.text import number_of
from streameval.text.options import flags
from streameval.types import Plan


class SamplePlanText(PlanText):
    """Sentences about the plan of a sample of rankings."""

    def subject(self, plan: Plan) -> str:
        """Say what a study with a plan estimates."""
        return f"means over {number_of(int(plan.notes['rankings']), 'ranking')} by {', '.join(plan.notes['per'])}"

    def facts_and_lines(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say how many rankings were drawn, how many labels they take, and what plans the same again."""
        plan, options = planned.plan, planned.options
        drawn, total, at = plan.parameters["rankings"], plan.notes["rankings"], plan.parameters["at"]
        judge, per = options.get("judge"), ",".join(plan.notes["per"])
        judged = f"'{judge}' is the judge of every ranking: {WHATEVER_IT_SAYS}. People should not see its answers."
        questions = [*read_questions(options.get("questions", ()))]
        widths = [question for question in questions if isinstance(question.demand, Width)]
        others = {name: ",".join(value) if isinstance(value, tuple | list) else value
                  for name, value in options.items() if name not in ("per", "questions")}  # fmt: skip
        again = shlex.join(flags({"per": per, "questions": questions, **others, "seed": plan.seed}))
        return planned.facts(), [
            f"{drawn:,} of {number_of(total, 'ranking')} by {per}, the first {number_of(at, 'item')} of each: "
            f"{number_of(plan.table.num_rows, 'item')} to label",
            *[judged] * (judge is not None),
            *(f"{question}: the plan is for bounds of that width, however the rankings differ." for question in widths),
            f"{planned.seed_line.removesuffix('.')}: {again} plans the same again.",
            f"Next: {first_step(planned.study, plan).command}",
        ]


PLANNED = SamplePlanText()
