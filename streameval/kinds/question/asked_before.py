"""What was asked of a list before: no question is asked twice, and all that hold together share one doubt.

Each draw answers a question wrongly with probability δ at most. Whoever could ask again, and keep the answer that they
like, would have one with δ for every time that they asked: ten times at 90 % give a false answer to two of three.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

from streameval.errors import InputError
from streameval.kinds.question.evaluate import at_ranks
from streameval.kinds.question.rounds import is_answered
from streameval.kinds.question.tree import tree_of
from streameval.questions import Condition, Question
from streameval.questions.asking import Asking
from streameval.study import Study
from streameval.types import Plan

_EITHER = {">=": ">=", "<": ">=", ">": ">", "<=": ">"}  # a condition, and that it is not so, are one question


def refuse_asked_before(tree: Iterable[tuple[Path, Plan]], asking: Asking) -> None:
    """Refuse a question that was asked before, whatever the seed, the rounds, the judge and the confidence.

    A wider zone is another question, and so is another threshold.

    Args:
        tree: Questions of the list, each with its folder; what is none asks nothing.
    """
    for place, plan in tree:
        zone = plan.parameters.get("zone")
        if asking.zone is not None and Fraction(str(asking.zone)) > Fraction(str(zone or 0)):
            continue
        before = {_asks(one, plan.n_items) for text in plan.questions for one in Question.of(text).each()}
        for one in (one for question in asking.asked for one in question.each()):
            if _asks(one, plan.n_items) in before:
                raise InputError(f"{place} asks this already: {one}", _going_on(Study(place), plan))


def _asks(question: Question, n_items: int) -> tuple[str, ...]:
    """What a question asks, however it is written: the same for the same measure and threshold."""
    demand, measure = question.demand, str(at_ranks(question.measure, n_items))
    if isinstance(demand, Condition):
        return measure, _EITHER[demand.operator], str(Fraction(demand.value))
    return measure, str(demand)


def _going_on(folder: Study, plan: Plan) -> str:
    """The command that says its answer, or that hands out what is to be labelled next."""
    if is_answered(folder, plan):
        return shlex.join(["streameval", "show", str(folder.folder)])
    return shlex.join(["streameval", "select", str(folder.folder), "--export", "tasks.csv"])


def number_of_several(others: Sequence[Plan], asking: Asking) -> int:
    """The number of a question among those of its list that hold together.

    Raises:
        InputError: They hold together at another confidence.
    """
    together = _held_together(others)
    if asking.together:
        for one in together:
            if Fraction(one.parameters["together"]) != Fraction(str(asking.confidence)):
                raise InputError(
                    f"the questions of this list hold together with probability {one.parameters['together']}, and "
                    f"{asking.confidence} is asked for",
                    f"--confidence {one.parameters['together']}",
                )
    return 1 + len(together)


def _held_together(plans: Iterable[Plan]) -> list[Plan]:
    return [one for one in plans if "together" in one.parameters]


def joint_confidence(folder: Study, plan: Plan) -> str | None:
    """The probability with which all questions of a list hold together that were asked to; None of one that was not.

    The doubts of however many come, each with its own number, sum to less than what was asked for. Where numbers were
    given twice, as they were once, their sum may be more: then it is what they sum to.
    """
    if "together" not in plan.parameters:
        return None
    spent = sum(1 - Decimal(one.parameters["confidence"]) for one in _held_together(p for _, p in tree_of(folder)))
    return str(min(Decimal(plan.parameters["together"]), max(1 - spent, Decimal(0))))
