"""The next round of a question: drawn once every task of the rounds before has been answered or skipped."""

from __future__ import annotations

import numpy as np

from streameval.kinds.question.plan import next_drawn, posed, with_drawn
from streameval.kinds.question.tree import known_now
from streameval.study import Study
from streameval.study.judging import recount
from streameval.types import Plan
from streameval.typing import BoolArray, Int64Array


def open_tasks(folder: Study, plan: Plan) -> BoolArray:
    """Which planned items nobody has answered or skipped, in the plan's order."""
    if not folder.labels.folder.exists():
        return np.ones(plan.table.num_rows, bool)
    return ~recount(folder, plan).answered


def as_drawn(plan: Plan, numbers: Int64Array) -> Int64Array:
    """Numbers of tasks, which are given in the plan's order, in that of the draw."""
    columns = plan.table.column_names
    keys = [plan.table.column(name).to_numpy() for name in ("draw", "order", "batch") if name in columns]
    return numbers[np.lexsort((numbers, *keys))]


def ranks_asked_about(plan: Plan) -> Int64Array | None:
    """Ranks of the cutoffs of all questions; None where the order has no scores."""
    return None if plan.ranking.get("score") is None else np.array(plan.notes["cutoffs"], np.int64)


def is_answered(folder: Study, plan: Plan) -> bool:
    """Whether the labels that there are decide every question."""
    design, drawn = posed(plan, known_now(folder, plan))
    return design.answer(drawn, recount(folder, plan).labels.label).outcome != "open"


def next_round(folder: Study, plan: Plan) -> Plan:
    """Draw one more round; the same plan where tasks are open, the question is answered, or the budget is spent.

    Rates and places of a round follow the labels as they are counted now, and are written down with it: a label that
    comes later changes what is proven, never what was drawn.
    """
    if not folder.labels.folder.exists():
        return plan
    tallied = recount(folder, plan)
    if not tallied.answered.all():
        return plan
    design, drawn = posed(plan, known_now(folder, plan))
    how = plan.parameters["round"], plan.parameters["budget"], plan.seed
    more = next_drawn(design, drawn, tallied.labels.label, how)
    if more is drawn:
        return plan
    grown = with_drawn(plan, more).with_notes(grown_from=list(plan.study_ids))
    folder.grow_plan(grown)
    return grown
