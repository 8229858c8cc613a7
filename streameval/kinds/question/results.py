"""Results of a question: its answer, and what the labels prove besides."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from streameval.curve.at_cutoff import METRICS, Known, bounds_at
from streameval.curve.bounds import Bounds
from streameval.errors import InputError, StudyError
from streameval.kinds.question.evaluate import at_ranks
from streameval.kinds.question.page import page
from streameval.kinds.question.plan import is_asked
from streameval.kinds.question.says import describe_standing, forecast_sentence, text
from streameval.kinds.question.tree import known_now, state_of
from streameval.kinds.results import Decision, StudyResult
from streameval.questions import Against, Condition, Outcome, Question, Width
from streameval.questions.cutoffs import Cutoff
from streameval.questions.printed import measure_of
from streameval.reporting.next_step import met_condition, next_round
from streameval.reporting.standing import Standing
from streameval.reporting.text import NOTHING, NextStep, Text
from streameval.sequential.facts import LabelFacts
from streameval.study import Study
from streameval.study.results import EVALUATE, Result
from streameval.text.options import flag
from streameval.types import Plan

if TYPE_CHECKING:
    from streameval.study.cut_files import Cut

_OUTCOMES: dict[str, Outcome] = {"pass": "pass", "fail": "fail", "open": "inconclusive"}


@dataclass(frozen=True, repr=False)
class QuestionResult(StudyResult):
    """The answer to a question, or how far it is from one."""

    comments: ClassVar = {
        "metrics": "Proven bounds on what was asked about, and its estimate.",
        "answers": "One row per question (and cutoff): its outcome (pass, fail or open), and the labels that counted.",
        "evidence": "Logarithm of the evidence for each side of a condition after so many labels, and what decides.",
        "labels": "One row per item that was asked for; label is null where there is none.",
        "issues": "Every row of a label table, and every item, that is not as it should be.",
    }

    @classmethod
    def read(cls, folder: Path, summary: Mapping[str, Any]) -> Self:
        """Read them; a `StudyError` too where what was known to the question has other labels by now."""
        result, study = super().read(folder, summary), Study(folder)
        if study.exists and (known_items := known_now(study, study.plan())).rank.size:
            as_planned = replace(known_items, label=known_items.at_plan)
            if summary.get("known_labels", state_of(as_planned)) != state_of(known_items):
                raise StudyError(f"{folder}: labels that were known to it have changed since the results were written",
                                 EVALUATE)  # fmt: skip
        return result

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say the answer, the bounds that it gives, and what more labels would bring."""
        return text(self, plan, study)

    def page(self, name: str, plan: Plan | None, title: str | None = None) -> str:
        """Draw report.html."""
        return page(name, self, self.text(), title)

    def promise(self) -> str:
        """Say the answer, and with what probability it may be wrong."""
        return self.text().opening

    def describe_standing(self, study: str, name: str, plan: Plan | None, subject: str) -> Standing:
        """Say the answer so far, draw the path to it, and what to do next; without its plan there is none."""
        if plan is None:
            raise StudyError("the plan of this question is missing: plan.json is not there", "restore it")
        return describe_standing(self, plan, study, name)

    def main_measures(self) -> list[str]:
        """Everything that was asked about."""
        return list(self.measures())

    def bounds(self, question: Question) -> Bounds:
        """Bounds on a measure that was asked about, or on which the labels leave nothing open by counting.

        Raises:
            InputError: Another measure: its labels would be others.
        """
        bounds = None
        for part in question.each():
            wanted = str(at_ranks(part.measure, self.summary["n_items"]))
            rows = (row for row in self.metrics.to_pylist()
                    if str(Question.of(measure_of(row["metric"], row["argument"]))) == wanted)  # fmt: skip
            bounds = bounds or next(map(Bounds.of_row, rows), None)
        if bounds and (question.demand is None or _is_settled(bounds, question)):
            return bounds
        counted = _counted_bounds(self, question)
        if counted and _is_settled(counted, question):
            return counted
        if bounds:
            return bounds
        questions = ", ".join(self.summary["questions"])
        raise InputError(f"this study asks about {questions}; {question.measure} needs labels of its own",
                         _asking(question, str(self.folder or "STUDY")))  # fmt: skip

    def conditions(self) -> tuple[Question, ...]:
        """The conditions that a study was planned for; an `InputError` where it was planned for none."""
        questions = [Question.of(row["question"]) for row in self.tables["answers"].to_pylist()]
        conditions = tuple(question for question in questions if isinstance(question.demand, Condition))
        if not conditions:
            study, met = str(self.folder or "STUDY"), met_condition(self)
            raise InputError(
                f"this study asks for {', '.join(self.summary['questions'])}, which is no condition",
                shlex.join(["streameval", "check", study, met] if met else ["streameval", "show", study]),
            )
        return conditions

    def decide(self, question: Question, bounds: Bounds) -> Decision:
        """Say what became of a condition that was planned, or that follows from what is claimed of one."""
        for row in self.tables["answers"].to_pylist():
            if row["question"] == str(question):
                outcome = _OUTCOMES[row["outcome"]]
                if outcome != "inconclusive":
                    return Decision(outcome, None, "")
                more = self.summary["more"]["median"]  # 0 labels decide nothing that is open
                labels = self.summary["account"]["labelled"] + more if more else None
                return Decision(outcome, labels, forecast_sentence(self.summary).rstrip("."))
        follows = _outcome_by(self.bounds(question), cast(Condition, question.demand))
        return super().decide(question, bounds) if follows == "inconclusive" else Decision(follows, None, "")

    def to_decide(self, folder: Study, labels: int, why: str) -> NextStep:
        """Choose what hands out the next round."""
        return NOTHING if why else next_round(folder.plan(), self, str(folder.folder))

    def cut(self, folder: Study, target: Cutoff, ranking: object, options: Mapping[str, Any]) -> Cut:
        """Give the items above the deepest rank that was proven."""
        from streameval.kinds.question.cut import front

        result = front(folder, self, target, ranking)
        if options:
            raise InputError(f"{flag(next(iter(options)))} is for a study of a curve", "leave it out")
        return result


def _asking(question: Question, study: str) -> str:
    """Say how a measure can be asked for: of this study, or of another kind of one."""
    width = Width(Decimal("0.1"), "value") if question.metric == "positives" else Width(Decimal("0.05"))
    demands: list[Condition | Against | Width] = (
        [question.demand] if question.demand else [width, Condition(">=", Decimal("0.8"))]
    )
    for example in (replace(question, demand=demand) for demand in demands):
        if is_asked(example):
            return shlex.join(["streameval", "plan", "--study", study, "--for", str(example)])
    return (f"no question asks for {question.measure}; a curve (`streameval plan` without --for) tells what else there "
            "is of one list, and a comparison (--against) the gain of two")  # fmt: skip


def _counted_bounds(result: Result, question: Question) -> Bounds | None:
    """The least and the most that a measure at a fixed rank can be by the labels that there are; None of any other."""
    n_items, cutoff, total = result.summary["n_items"], question.cutoff, question.metric == "positives"
    rank = n_items if cutoff is None else cutoff.rank_in(n_items)
    if result.folder is None or rank is None or not 1 <= rank <= n_items or (cutoff is None) != total:
        return None
    if not total and question.metric not in METRICS:
        return None
    labels = result.tables["labels"]
    answers = labels.column("label").fill_null(-1).to_numpy().astype(np.int8)
    study = Study(result.folder)
    facts = LabelFacts.from_labels(n_items, known_now(study, study.plan()), labels.column("rank").to_numpy(), answers)
    (least, most), (fewest, all_) = facts.positives(int(rank)), facts.positives(n_items)
    if total:
        return Bounds(fewest, math.nan, all_)
    ranks, low, high = (np.array([number], np.float64) for number in (rank, least, most))
    lower, upper = bounds_at(Known(ranks, low, high, fewest, all_, n_items, 0.0, 0.0), question.metric)
    return Bounds(float(lower[0]), float(lower[0]) if lower[0] == upper[0] else math.nan, float(upper[0]))


def _is_settled(bounds: Bounds, question: Question) -> bool:
    """Tell whether bounds leave nothing open of a measure, or of a condition on it."""
    if isinstance(question.demand, Condition):
        return _outcome_by(bounds, question.demand) != "inconclusive"
    return bounds.lower == bounds.upper


def _outcome_by(bounds: Bounds, condition: Condition) -> Outcome:
    """Give what bounds prove of a condition: where one side is not claimed, the measure may lie anywhere on it."""
    lower = -math.inf if math.isnan(bounds.lower) else bounds.lower
    return condition.outcome(lower, math.inf if math.isnan(bounds.upper) else bounds.upper)
