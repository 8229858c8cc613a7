"""Results of a comparison, as other verbs ask for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from streameval.curve.bounds import Bounds
from streameval.errors import InputError, did_you_mean
from streameval.paired.every import between
from streameval.questions import Question
from streameval.questions.printed import measure_of
from streameval.study.results import Result


def measures(found: Result) -> tuple[str, ...]:
    """The differences that there are, as they are asked for."""
    return tuple(measure_of(row["metric"], row["argument"]) for row in found.metrics.to_pylist())


def bounds_of(found: Result, question: Question) -> Bounds:
    """Bounds on a difference at a cutoff that was planned.

    Raises:
        InputError: Another measure, or another cutoff.
    """
    if found.summary.get("every") and question.cutoff is not None:
        return _at_any_rank(found, question)
    asked = [question.measure]
    for row in found.tables["differences"].to_pylist():  # "1%" is what was planned, and stands as a rank
        if question.cutoff is not None and str(question.cutoff) == row["cutoff"]:
            asked.append(replace(question.measure, cutoffs=Question.of(f"gain@{row['items_b']}").cutoffs))
    wanted = {*map(str, asked)}
    for name, row in zip(measures(found), found.metrics.to_pylist(), strict=True):
        if str(Question.of(name)) in wanted:
            return Bounds.of_row(row)
    raise InputError(f"there is no {question.measure} here", did_you_mean(str(question.measure), measures(found)))


def _at_any_rank(found: Result, question: Question) -> Bounds:
    """Bounds at a rank, of a comparison at every rank."""
    table = found.tables["differences"]
    ranks = table.column("cutoff").cast(pa.int64()).to_numpy()
    rank = None if question.cutoff is None else question.cutoff.rank_in(int(ranks[-1]))
    if question.metric not in ("gain", "precision_gain") or rank is None:
        raise InputError(f"there is no {question.measure} here", "every rank has gain@1000 and precision_gain@1000")
    at = int(np.searchsorted(ranks, rank))
    lower, upper = between(ranks, tuple(table.column(side).to_numpy() for side in ("lower", "upper")), np.array([rank]))
    estimates = table.column("estimate").fill_null(np.nan).to_numpy()[max(at - 1, 0) : at + 1]
    estimate = float(np.interp(rank, ranks[max(at - 1, 0) : at + 1], estimates))
    if question.metric == "gain":
        return Bounds.of(float(lower[0]), float(upper[0]), estimate)
    if min(rank, table.column("items_a")[at].as_py()) != min(rank, table.column("items_b")[at].as_py()):
        raise InputError(f"there is no {question.measure} here: one of the lists is shorter", f"ask for gain@{rank}")
    return Bounds.of(float(lower[0]) / rank, float(upper[0]) / rank, estimate / rank)
