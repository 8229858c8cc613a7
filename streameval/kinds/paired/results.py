"""Results of a comparison, as other verbs ask for them."""

from __future__ import annotations

from dataclasses import replace

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, did_you_mean
from streameval.kinds.paired.says import promise, verdict
from streameval.questions import Question
from streameval.questions.printed import measure_of
from streameval.reporting.standing import Standing, with_labels
from streameval.study.results import Result
from streameval.types import Plan


def measures(found: Result) -> tuple[str, ...]:
    """The differences that there are, as they are asked for."""
    return tuple(measure_of(row["metric"], row["argument"]) for row in found.metrics.to_pylist())


def bounds_of(found: Result, question: Question) -> Bounds:
    """Bounds on a difference at a cutoff that was planned.

    Raises:
        InputError: Another measure, or another cutoff.
    """
    asked = [question.measure]
    for row in found.tables["differences"].to_pylist():  # "1%" is what was planned, and stands as a rank
        if question.cutoff is not None and str(question.cutoff) == row["cutoff"]:
            asked.append(replace(question.measure, cutoffs=Question.of(f"gain@{row['items_b']}").cutoffs))
    wanted = {*map(str, asked)}
    for name, row in zip(measures(found), found.metrics.to_pylist(), strict=True):
        if str(Question.of(name)) in wanted:
            return Bounds.of_row(row)
    raise InputError(f"there is no {question.measure} here", did_you_mean(str(question.measure), measures(found)))


def standing(study: str, subject: str, plan: Plan, found: Result) -> Standing:
    """Say where a comparison stands, and what to do next."""
    return replace(with_labels(study, subject, found.summary, verdict(found)), values=(promise(found),))
