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
    answers_told,
    changed_lines,
    forecast_sentence,
    is_condition,
    is_cut,
    path_lines,
    promise,
    shown_values,
)
from streameval.kinds.question.tree import known_now
from streameval.labelling.unlabelled import unlabelled
from streameval.questions import Condition, Outcome, Question, Width
from streameval.questions.printed import measure_of
from streameval.reporting.next_step import after_answers, met_condition
from streameval.reporting.said import Columns, Told
from streameval.reporting.standing import Standing
from streameval.sequential.facts import LabelFacts
from streameval.study import Study
from streameval.study.results import Result
from streameval.text import number_of
from streameval.types import Plan

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


def told(found: Result) -> Told:
    """Say the answer, the bounds that it gives, and what more labels would bring."""
    rows = found.tables["answers"].to_pylist()
    counts = {"labels": "labels", "positive": "positives"}
    if any(row.get("known") for row in rows):
        counts |= {"known before": "known", "positive of these": "known_positives"}
    table = Columns(
        ["question", "outcome", *counts, "lower", "estimate", "upper"],
        [[row["question"], row["outcome"], *(f"{row[name]:,}" for name in counts.values()), *shown_values(row)]
         for row in rows],
    )  # fmt: skip
    remarks = [*_changes(found), *_estimated_from(found), forecast_sentence(found.summary), *_account(found), _KEPT]
    return Told(f"{verdict(found)} {promise(found)}", table, [one for one in remarks if one])


_OF_ALL = {"pass": "Yes: all of them hold. ", "fail": "No: not all of them hold. ", "open": ""}
_KEPT = "These labels answer this question; they were not drawn for a curve, and give none."


def verdict(found: Result) -> str:
    """The answer in a sentence; of several questions, a sentence each."""
    zone = found.summary["parameters"]["zone"]
    rows = found.tables["answers"].to_pylist()
    several = len(rows) > 1
    of_all = _OF_ALL[found.summary["outcome"]] if several and all(map(is_condition, rows)) else ""
    return of_all + answers_told(rows, zone)


def _estimated_from(found: Result) -> list[str]:
    """Say which labels the estimate is of, where labels came after those that decided."""
    first, account = found.tables["answers"].to_pylist()[0], found.summary["account"]
    after = _n_afterwards(found)
    if not after:
        return []
    known = first.get("known") or 0
    also = f", and of {number_of(known, 'item')} known before ({first['known_positives']:,} positive)" if known else ""
    return [f"{number_of(first['labels'], 'label')} decided it; the estimate is of {account['labelled']:,} "
            f"({account['positive']:,} positive), with the {after:,} that came after{also}."]  # fmt: skip


def _changes(found: Result) -> list[str]:
    """What was said before and is not any more, and what became of known labels."""
    known = changed_lines(found.summary["known"], found.summary.get("known_changed", 0))
    return [*_withdrawn(found), *known]


def _withdrawn(found: Result) -> list[str]:
    before, because = found.summary["withdrawn"], found.summary.get("withdrawn_because")
    if before is None:
        return []
    if isinstance(before, int):
        return [f"The first {before:,} items were said to have it before{_WHY[because]}."]
    return [f"The answer was {'yes' if before == 'pass' else 'no'} before{_WHY[because]}."]


_WHY = {
    "rule": ", counted by another rule",
    "refuted": "; the labels that there are now refute it",
    "changed": "; answers that it rested on have changed since",
    "later": "; labels that came since do not bear it out",
    None: "",
}


def _account(found: Result) -> list[str]:
    account = found.summary["account"]
    without = unlabelled(account)
    silent = without["skipped"] + without["undecided"]
    kinds = ((without["skipped"], "skipped"),
             (without["undecided"], "undecided, as their answers tie or contradict each other"))  # fmt: skip
    what = [f"{number_of(many, 'item')} {'was' if many == 1 else 'were'} {how}" for many, how in kinds if many]
    costs = _cost(found.summary.get("missing_cost"), found.summary.get("without_missing"))
    counts = "it counts" if silent == 1 else "they count"
    return [f"{', and '.join(what)}: {counts} as what is worst for each side.{costs}"] if silent else []


def _cost(labels: int | None, without: int | None) -> str:
    """What it costs that items have no label: so many more, or that there is no saying how many."""
    if labels:
        return f" That costs about {number_of(labels, 'label')}."
    if without is None:
        return ""
    then = f"about {number_of(without, 'more label')} may decide" if without else "it would be decided"
    return f" While so many are, it may never be decided; if they were like the others, {then}."


def standing(study: str, subject: str, plan: Plan, found: Result) -> Standing:
    """Say the answer so far, draw the path to it, and what to do next."""
    account, rounds = found.summary["account"], found.summary["rounds"]
    head = f"{subject} {number_of(account['labelled'], 'label')} in {number_of(rounds, 'round')}{_afterwards(found)}."
    more = forecast_sentence(found.summary)
    following = after_answers(plan, found, study)
    facts = {"n_items": plan.n_items, "claim": found.summary["claim"], "outcome": found.summary["outcome"],
             "planned": account["planned"], "labelled": account["labelled"], "more": found.summary["more"]}  # fmt: skip
    values = (promise(found), *_changes(found), *path_lines(found.tables["evidence"]), *[more] * bool(more),
              *_account(found))  # fmt: skip
    return Standing(study, "evaluated", head, verdict(found), values, *following, facts=facts)


def _afterwards(found: Result) -> str:
    """Say how many labels came after those that decided, or are of items that a width at a rank is not about."""
    if more := _n_afterwards(found):
        return f", {more:,} of them after it was decided"
    below = _n_below(found)
    return f", {below:,} of them below the cutoff: they told how many it takes" if below else ""


def _n_below(found: Result) -> int:
    """Count labels of the pilot that lie below the one rank at which a precision is asked for to a width."""
    first, *others = found.tables["answers"].to_pylist()
    question = Question.of(first["question"])
    if others or not question.cutoffs or is_condition(first) or is_cut(question):
        return 0
    return int(max(0, found.summary["account"]["labelled"] - first["labels"]))


def _n_afterwards(found: Result) -> int:
    """Count labels that came after those that decided: a round is asked whole, and tasks are out with people."""
    first, *others = found.tables["answers"].to_pylist()
    if others or not is_condition(first) or found.summary["outcome"] == "open":
        return 0  # which labels decided all of several conditions, no line says
    return int(max(0, found.summary["account"]["labelled"] - first["labels"]))
