"""Results of a question from its labels, as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kinds.question.plan import load_design, next_drawn
from streameval.kinds.question.says import is_condition
from streameval.kinds.question.tree import state_of
from streameval.labelling.tally import Tallied
from streameval.methods import ASSUMES_THE_DRAW
from streameval.questions import CUT, Question
from streameval.questions.cutoffs import Cutoff
from streameval.sequential import Answer, DrawnItems, KnownItems, Line, QuestionDesign
from streameval.text import number_of
from streameval.types import TRUTH, Claim, Coverage, Plan
from streameval.typing import Int8Array

_ANSWERS = pa.schema(
    {
        "question": pa.string(),
        "outcome": pa.string(),
        "lower": pa.float64(),
        "estimate": pa.float64(),
        "upper": pa.float64(),
        "labels": pa.int64(),
        "positives": pa.int64(),
        "may_be_wrong": pa.float64(),
        "known": pa.int64(),
        "known_positives": pa.int64(),
    }
)


def estimate_answers(
    plan: Plan, known_items: KnownItems, whose: tuple[str, str], tallied: Tallied
) -> tuple[dict[str, pa.Table], Claim, dict[str, Any]]:
    """Compute result tables, claim and summary fields.

    Args:
        known_items: What the question was planned with, with the labels that these items have now.
        whose: Whose answers these labels are: `about` and `why` of a `Claim`.
    """
    design, drawn = load_design(plan, known_items)
    budget = plan.parameters["budget"]
    design = design.within_budget(None if budget is None else max(0, budget - int(tallied.answered.sum())))
    answers = np.where(tallied.answered & (tallied.labels.label < 0), -2, tallied.labels.label).astype(np.int8)
    answer = design.answer(drawn, answers)
    labels, confidence = tallied.labels, float(plan.parameters["confidence"])
    about, why = whose if labels.about == TRUTH else (labels.about, labels.why)
    claim = Claim(coverage_of(answer.lines, confidence), confidence, ASSUMES_THE_DRAW, about, why)
    tables = {"metrics": metrics_of(answer.lines, plan.n_items, claim.coverage), "answers": answers_of(answer.lines),
              "evidence": answer.path, "labels": labels.table, "issues": tallied.issues}  # fmt: skip
    more = {**summary_of(plan, known_items, answer), **missing_cost(design, drawn, answers, answer)}
    return tables, claim, {**more, "ended": why_ended(plan, design, drawn, tallied) if answer.outcome == "open" else ""}


def why_ended(plan: Plan, design: QuestionDesign, drawn: DrawnItems, tallied: Tallied) -> str:
    """Why no round follows though the question is open; empty where one does, or tasks are open."""
    labels, budget = tallied.labels.label, plan.parameters["budget"]
    if not tallied.answered.all():
        return ""
    if budget is not None and plan.table.num_rows >= budget:
        return f"The budget of {number_of(budget, 'label')} is spent."
    try:
        if next_drawn(design, drawn, labels, (plan.parameters["round"], budget, plan.seed)) is not drawn:
            return ""
    except InputError as error:
        return f"{error.what}."
    missing = int((labels < 0).sum())
    reason = design.exhausted(drawn, labels) if plan.judge_sample is None else _ALL_ASKED
    return reason + (f" {_MISSING}" if missing else "")


def missing_cost(design: QuestionDesign, drawn: DrawnItems, labels: Int8Array, answer: Answer) -> dict[str, int | None]:
    """About how many labels it costs that items were answered without one.

    Returns:
        missing_cost: The forecast, less what it would be if these were like the others.
        without_missing: That forecast, where without it nothing can be said. Both None where few were missing.
    """
    none: dict[str, int | None] = {"missing_cost": None, "without_missing": None}
    silent, labelled = labels == -2, labels[labels >= 0]
    if answer.outcome != "open" or not labelled.size or silent.sum() <= _FEW_MISSING * (labels != -1).sum():
        return none
    like = labels.copy()
    like[silent] = np.diff(np.floor(np.arange(silent.sum() + 1) * labelled.mean() + 0.5))
    other = design.answer(drawn, like)
    rest = other.more.median if other.outcome == "open" else 0
    if rest is None or answer.more.median is None:
        return {**none, "without_missing": rest}
    return {**none, "missing_cost": max(0, answer.more.median - rest) or None}


_FEW_MISSING = 0.05  # of the answers
_ALL_ASKED = "All items that were put in order for the judge have been asked for: ask anew without one."
_MISSING = "What was skipped, or left open by votes that tie, would decide more."


def summary_of(plan: Plan, known_items: KnownItems, answer: Answer) -> dict[str, Any]:
    """Say what evaluation.json says of an answer."""
    return {
        "questions": list(plan.questions),
        "outcome": answer.outcome,
        "depth": next((int(line.lower) for line in answer.lines if Question.of(line.question).metric == CUT), None),
        "more": asdict(answer.more),
        "reach": None if answer.reach is None else asdict(answer.reach),
        "rounds": max(plan.table.column("batch").to_pylist()),
        "known": known_items.rank.size,
        "known_changed": known_items.n_changed,
        "known_labels": state_of(known_items),
    }


def answers_of(lines: Iterable[Line]) -> pa.Table:
    """One row for each question and cutoff."""
    rows = [{**vars(line), **_sides(line, Question.of(line.question).metric), "may_be_wrong": line.claim}
            for line in lines]  # fmt: skip
    return pa.Table.from_pylist([{name: _plain(row[name]) for name in _ANSWERS.names} for row in rows], _ANSWERS)


def coverage_of(lines: Sequence[Line], confidence: float) -> Coverage:
    """Tell whether all lines hold together with a confidence, or each by itself; open conditions may still be wrong."""
    open_ = any(line.outcome == "open" and is_condition(vars(line)) for line in lines)
    together = not open_ and sum(line.claim for line in lines) <= 1 - confidence + 1e-9
    return "simultaneous" if together or len(lines) == 1 else "pointwise"


def metrics_of(lines: Iterable[Line], n_items: int, coverage: Coverage) -> pa.Table:
    """Bounds on what was asked about, as other kinds of study have them; a share of the list stands as a rank."""
    rows = []
    for line in lines:
        question = Question.of(line.question)
        metric, argument = _metric_and_argument(at_ranks(question.measure, n_items))
        rows.append({"metric": metric, "argument": argument, **_sides(line, question.metric), "coverage": coverage})
    kinds = {name: pa.string() for name in ("metric", "argument")}
    sides = {name: pa.float64() for name in ("lower", "estimate", "upper")}
    return pa.Table.from_pylist(rows, pa.schema({**kinds, **sides, "coverage": pa.string()}))


def at_ranks(question: Question, n_items: int) -> Question:
    """Give the same question with a rank for every share of the list."""
    ranks = ((cutoff, cutoff.rank_in(n_items)) for cutoff in question.cutoffs)
    return replace(question, cutoffs=tuple(cutoff if at is None else Cutoff("rank", at) for cutoff, at in ranks))


def _metric_and_argument(question: Question) -> tuple[str, str]:
    """Name of a measure, and its argument, as metrics.parquet has them."""
    cutoff, metric = question.cutoff, "rank" if question.metric == CUT else question.metric
    if cutoff is None:
        return metric, ""
    of_kind = f"_{cutoff.kind}" if cutoff.kind in ("score", "precision", "recall") else ""
    return f"{metric}_at{of_kind}", str(cutoff.value)


def _sides(line: Line, metric: str) -> dict[str, float | None]:
    """Bounds and estimate; those of a number of items are whole, bounds rounded outward."""
    values = {side: _plain(getattr(line, side)) for side in ("lower", "estimate", "upper")}
    if metric in ("positives", CUT):
        whole: dict[str, Callable[[float], float]] = {"lower": math.floor, "estimate": round, "upper": math.ceil}
        return {side: None if value is None else float(whole[side](value)) for side, value in values.items()}
    return values


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value
