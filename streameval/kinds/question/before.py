"""Earlier questions and answers of a list: reasons to refuse a question, or to withdraw an answer."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, StudyError
from streameval.kinds.first_rule import first_rule, rule_of, summary_before
from streameval.kinds.question.evaluate import at_ranks
from streameval.kinds.question.rounds import is_answered
from streameval.kinds.question.tree import tree_of
from streameval.questions import Condition, Question
from streameval.questions.asking import Asking
from streameval.study import Study
from streameval.study.results import EVALUATE, read_tables
from streameval.types import Plan

Reason = Literal["rule", "refuted", "changed", "later"]
_EITHER = {">=": ">=", "<": ">=", ">": ">", "<=": ">"}  # a condition, and that it is not so, are one question


def beside_before(
    folder: Study, plan: Plan, rule: Mapping[str, Any], now: tuple[Mapping[str, pa.Table], Mapping[str, Any]]
) -> dict[str, Any]:
    """Say what evaluation.json says of evaluations before this one.

    Args:
        rule: By which labels are made now.
        now: Tables, and what `evaluate.summary_of` says.

    Returns:
        withdrawn: The answer that is not given any more, and `withdrawn_because`: a `Reason`.
        first_rule: The first under which there were labels; None before this evaluation.
    """
    before = summary_before(folder, plan)
    gone = withdrawn(before, now[1])
    why = None if before is None or gone is None else _reason(folder, before, rule, now)
    return {"withdrawn": gone, "withdrawn_because": why, "first_rule": first_rule(before)}


def withdrawn(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str | int | None:
    """The answer that was given before and is not any more, of a cut its rank; None of none such.

    Args:
        now: What `evaluate.summary_of` says.
    """
    if before is None:
        return None
    if now["depth"] is not None:
        deepest = max(before.get("depth") or 0, before.get("withdrawn") or 0)
        return deepest if deepest > now["depth"] else None
    answer = before["withdrawn"] if before["outcome"] == "open" else before["outcome"]
    return None if answer in (None, now["outcome"]) else str(answer)


def _reason(
    folder: Study, before: Mapping[str, Any], rule: Mapping[str, Any],
    evaluated: tuple[Mapping[str, pa.Table], Mapping[str, Any]],
) -> Reason | None:  # fmt: skip
    """Say why an answer is withdrawn: by another rule, refuted, for changed answers, or by what came later.

    It is refuted where no item without a label matters. None where an evaluation of an older version did not say.
    """
    tables, now = evaluated
    if (
        before.get("withdrawn") is not None
        and before["outcome"] == now["outcome"]
        and before.get("depth") == now["depth"]
    ):
        reason: Reason | None = before.get("withdrawn_because")
        return reason
    if rule_of(before) != rule:
        return "rule"
    answers = tables["answers"].to_pylist()
    if now["depth"] is None and any(row["outcome"] == "fail" and not row["may_be_wrong"] for row in answers):
        return "refuted"
    if before.get("known_labels", now["known_labels"]) != now["known_labels"]:
        return "changed"
    return "changed" if _any_changed(folder, before, tables["labels"]) else "later"


def _any_changed(folder: Study, before: Mapping[str, Any], now: pa.Table) -> bool:
    """Tell whether an item has another label than in the evaluation before, or none."""
    columns = {"rank": pa.int64(), "label": pa.int8()}
    try:
        then = read_tables(folder.folder, before, ["labels"], EVALUATE, {"labels": columns})["labels"].table
    except (OSError, StudyError):
        return False
    then = then.select([*columns]).filter(pc.is_valid(then.column("label")))
    both = then.join(now.select([*columns]), "rank", right_suffix="_now", join_type="left outer")
    same = pc.equal(both.column("label"), both.column("label_now"))
    return bool(pc.any(pc.invert(pc.fill_null(same, False)), min_count=0).as_py())


def refuse_asked_before(tree: Iterable[tuple[Path, Plan]], asking: Asking) -> None:
    """Refuse a question that was asked before, whatever the seed, the rounds, the judge and the confidence.

    Each draw answers a question wrongly with probability δ at most. Whoever could ask again, and keep the answer that
    they like, would have one with δ for every time that they asked: ten times at 90 % give a false answer to two of
    three. So no question is asked twice, and all that hold together share one doubt.

    A wider zone is another question, and so is another threshold.

    Args:
        tree: Questions of the list, each with its folder; what is none asks nothing.
    """
    for place, plan in tree:
        zone = plan.parameters.get("zone")
        if asking.zone is not None and Fraction(str(asking.zone)) > Fraction(str(zone or 0)):
            continue
        before = {_asks(part, plan.n_items) for text in plan.questions for part in Question.of(text).each()}
        for part in (part for question in asking.asked for part in question.each()):
            if _asks(part, plan.n_items) in before:
                raise InputError(f"{place} asks this already: {part}", _going_on(Study(place), plan))


def _asks(question: Question, n_items: int) -> tuple[str, ...]:
    """Say what a question asks, however it is written: the same for the same measure and threshold."""
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
        for plan in together:
            if Fraction(plan.parameters["together"]) != Fraction(str(asking.confidence)):
                raise InputError(
                    f"the questions of this list hold together with probability {plan.parameters['together']}, and "
                    f"{asking.confidence} is asked for",
                    f"--confidence {plan.parameters['together']}",
                )
    return 1 + len(together)


def _held_together(plans: Iterable[Plan]) -> list[Plan]:
    return [plan for plan in plans if "together" in plan.parameters]


def joint_confidence(folder: Study, plan: Plan) -> str | None:
    """The probability with which all questions of a list hold together that were asked to; None of one that was not.

    The doubts of however many come, each with its own number, sum to less than what was asked for. Where numbers were
    given twice, as they were once, their sum may be more: then it is what they sum to.
    """
    if "together" not in plan.parameters:
        return None
    spent = sum(1 - Decimal(other.parameters["confidence"]) for other in _held_together(p for _, p in tree_of(folder)))
    return str(min(Decimal(plan.parameters["together"]), max(1 - spent, Decimal(0))))
