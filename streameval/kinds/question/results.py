"""Results of a question, as other verbs ask for them."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from decimal import Decimal
from typing import cast

import numpy as np

from streameval.curve.at_cutoff import METRICS, Known, bounds_at
from streameval.curve.bounds import Bounds
from streameval.errors import InputError
from streameval.kinds import Decision
from streameval.kinds.question.evaluate import at_ranks
from streameval.kinds.question.plan import is_asked
from streameval.kinds.question.says import (
    forecast_sentence,
)
from streameval.kinds.question.tree import known_now
from streameval.questions import Condition, Outcome, Question, Width
from streameval.questions.printed import measure_of
from streameval.reporting.next_step import met_condition
from streameval.sequential.facts import LabelFacts
from streameval.study import Study
from streameval.study.results import Result

_OUTCOMES: dict[str, Outcome] = {"pass": "pass", "fail": "fail", "open": "inconclusive"}


def bounds_of(found: Result, question: Question) -> Bounds:
    """Bounds on a measure that was asked about, or on which the labels leave nothing open by counting.

    Raises:
        InputError: Another measure: its labels would be others.
    """
    bounds = None
    for one in question.each():
        wanted = str(at_ranks(one.measure, found.summary["n_items"]))
        rows = (row for row in found.metrics.to_pylist()
                if str(Question.of(measure_of(row["metric"], row["argument"]))) == wanted)  # fmt: skip
        bounds = bounds or next(map(Bounds.of_row, rows), None)
    if bounds and (question.demand is None or is_settled(bounds, question)):
        return bounds
    counted = counted_bounds(found, question)
    if counted and is_settled(counted, question):
        return counted
    if bounds:
        return bounds
    asked = ", ".join(found.summary["questions"])
    raise InputError(f"this study asks about {asked}; {question.measure} needs labels of its own",
                     _asking(question, str(found.folder or "STUDY")))  # fmt: skip


def _asking(question: Question, study: str) -> str:
    """How a measure can be asked for: of this study, or of another kind of one."""
    width = Width(Decimal("0.1"), "value") if question.metric == "positives" else Width(Decimal("0.05"))
    demands: list[Condition | Width] = (
        [question.demand] if question.demand else [width, Condition(">=", Decimal("0.8"))]
    )
    for example in (replace(question, demand=one) for one in demands):
        if is_asked(example):
            return shlex.join(["streameval", "plan", "--study", study, "--for", str(example)])
    return (f"no question asks for {question.measure}; a curve (`streameval plan` without --for) tells what else there "
            "is of one list, and a comparison (--against) the gain of two")  # fmt: skip


def counted_bounds(found: Result, question: Question) -> Bounds | None:
    """The least and the most that a measure at a fixed rank can be by the labels that there are; None of any other."""
    n_items, cutoff, total = found.summary["n_items"], question.cutoff, question.metric == "positives"
    rank = n_items if cutoff is None else cutoff.rank_in(n_items)
    if found.folder is None or rank is None or not 1 <= rank <= n_items or (cutoff is None) != total:
        return None
    if not total and question.metric not in METRICS:
        return None
    labels = found.tables["labels"]
    given = labels.column("label").fill_null(-1).to_numpy().astype(np.int8)
    study = Study(found.folder)
    facts = LabelFacts.of(n_items, known_now(study, study.plan()), labels.column("rank").to_numpy(), given)
    (least, most), (fewest, all_) = facts.positives(int(rank)), facts.positives(n_items)
    if total:
        return Bounds(fewest, math.nan, all_)
    ranks, low, high = (np.array([one], np.float64) for one in (rank, least, most))
    lower, upper = bounds_at(Known(ranks, low, high, fewest, all_, n_items, 0.0, 0.0), question.metric)
    return Bounds(float(lower[0]), float(lower[0]) if lower[0] == upper[0] else math.nan, float(upper[0]))


def is_settled(bounds: Bounds, question: Question) -> bool:
    """Whether bounds leave nothing open of a measure, or of a condition on it."""
    if isinstance(question.demand, Condition):
        return outcome_by(bounds, question.demand) != "inconclusive"
    return bounds.lower == bounds.upper


def outcome_by(bounds: Bounds, condition: Condition) -> Outcome:
    """What bounds prove of a condition: where one side is not claimed, the measure may lie anywhere on it."""
    lower = -math.inf if math.isnan(bounds.lower) else bounds.lower
    return condition.outcome(lower, math.inf if math.isnan(bounds.upper) else bounds.upper)


def planned_conditions(found: Result) -> tuple[Question, ...]:
    """The conditions that a study was planned for; an `InputError` where it was planned for none."""
    questions = [Question.of(row["question"]) for row in found.tables["answers"].to_pylist()]
    conditions = tuple(one for one in questions if isinstance(one.demand, Condition))
    if not conditions:
        study, met = str(found.folder or "STUDY"), met_condition(found)
        raise InputError(
            f"this study asks for {', '.join(found.summary['questions'])}, which is no condition",
            shlex.join(["streameval", "check", study, met] if met else ["streameval", "show", study]),
        )
    return conditions


def decision_on(found: Result, question: Question) -> Decision | None:
    """What became of a condition that was planned, or that follows from what is claimed of one; None of any other."""
    for row in found.tables["answers"].to_pylist():
        if row["question"] == str(question):
            outcome = _OUTCOMES[row["outcome"]]
            if outcome != "inconclusive":
                return Decision(outcome, None, "")
            more = found.summary["more"]["median"]  # 0 labels decide nothing that is open
            labels = found.summary["account"]["labelled"] + more if more else None
            return Decision(outcome, labels, forecast_sentence(found.summary).rstrip("."))
    follows = outcome_by(bounds_of(found, question), cast(Condition, question.demand))
    return None if follows == "inconclusive" else Decision(follows, None, "")
