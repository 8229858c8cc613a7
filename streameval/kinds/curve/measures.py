"""Answers to questions from the bounds of one ranking, or of a slice of it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from streameval.curve.at_cutoff import METRICS
from streameval.curve.bounds import Bounds
from streameval.curve.extremes import Extremes
from streameval.curve.plug_in import PlugIn
from streameval.curve.targets import (
    interpolated_precision,
    rank_at_precision,
    rank_at_recall,
    recall_at_precision,
    target,
)
from streameval.errors import InputError, did_you_mean
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.questions.printed import OURS, SHORT
from streameval.slices.files import SliceResult
from streameval.study.results import Evaluation

_TargetFunctions = tuple[Callable[[Extremes, Fraction], tuple[float, float]], Callable[[PlugIn, Fraction], float]]
_AT_TARGET: dict[tuple[str, str], _TargetFunctions] = {
    ("recall", "precision"): (recall_at_precision, PlugIn.recall_at_precision),
    ("precision", "recall"): (interpolated_precision, PlugIn.interpolated_precision),
    ("rank", "precision"): (rank_at_precision, PlugIn.rank_at_precision),
    ("rank", "recall"): (rank_at_recall, PlugIn.rank_at_recall),
}
_OF_SCORES = ("brier", "log_loss", "calibration_error")  # of probabilities
_OF_THE_LIST = ("positives", "average_precision", "pr_area", "roc_auc", "max_f0.5", "max_f1", "max_f2", "breakeven",
                "r_precision", "reciprocal_rank", "eleven_point_precision", *_OF_SCORES)  # fmt: skip
_AT_ANY = (*METRICS, "yield", "f0.5", "f2", "rank", "score")
_AT_RANKS = (*_AT_ANY, "average_precision", "dcg")  # these two at the cutoffs of metrics.parquet
_AT_SCORES = (*METRICS, "yield", "rank")
_OF_MANY = ("map", "gm_map", "mrr", "ndcg", "bpref", "success")
_AT_RATES = ("roc_auc", "roc_area")
_ARGUMENTS = ("", "positives", "step")  # by which a metric of the list is known, of those that rows have
_UNKNOWN = Bounds(np.nan, np.nan, np.nan)
_OfCurve = Evaluation | SliceResult
_STANDARD_ERROR = 1 / 3.7  # of an estimate, in half-widths of bounds at all ranks


def measures(result: _OfCurve) -> tuple[str, ...]:
    """Names of all metrics that can be asked for; `score` only of a list that has scores."""
    names = dict.fromkeys([*_AT_RANKS, *_OF_THE_LIST])
    there = set(result.metrics.column("metric").to_pylist()) if result.curve.score is not None else set()
    absent = {name for name in _OF_SCORES if name not in there} | ({"score"} if result.curve.score is None else set())
    return tuple(name for name in names if name not in absent)


def measure_names(result: _OfCurve) -> tuple[str, ...]:
    """Give those of the whole list, and of any cutoff, as they are written: with @K."""
    measured = measures(result)
    return (
        *(f"{name}@K" for name in measured if name in _AT_ANY),
        *(name for name in measured if name in _OF_THE_LIST),
    )


def answer(result: _OfCurve, question: Question) -> Bounds:
    """Bounds on a measure, and its estimate; NaN where it is undefined, or nothing is known of it.

    `score@RANK` may be of another type than float, as scores are. Measures at a score of which perhaps no item is are
    unknown, but for `rank`.

    Raises:
        InputError: There is no such measure.
    """
    cutoff, metric = question.cutoff, question.metric
    if cutoff is None:
        return _of_the_list(result, metric)
    if cutoff.kind == "fpr":
        return _at_rate(result, question, cutoff)
    if cutoff.kind == "score":
        return _at_score(result, question, cutoff)
    if cutoff.kind in ("precision", "recall"):
        if (metric, cutoff.kind) not in _AT_TARGET:
            hint = f"there are: {', '.join(name for name, kind in _AT_TARGET if kind == cutoff.kind)}"
            raise InputError(f"{question.measure}: there is no {metric} at a {cutoff.kind}", hint)
        share = target(cutoff.share, cutoff.kind)
        return result.curve.at_target(*_AT_TARGET[metric, cutoff.kind], share)
    rank = cutoff.rank_in(result.curve.n_items)
    if rank is None:
        raise InputError(f"{question.measure}: {cutoff} is for `streameval cut` alone")
    return _at_rank(result, question, rank)


def _at_rank(result: _OfCurve, question: Question, rank: int) -> Bounds:
    curve, metric = result.curve, question.metric
    if metric == "rank":
        return Bounds(rank, rank, rank)
    if metric == "score":
        return Bounds(*(np.nan if bound is None else bound for bound in curve.threshold_at(rank)))
    if beta := re.fullmatch(r"f(\d+(?:\.\d+)?)", metric):
        return curve.f_measure(rank, float(beta[1]))
    if metric in METRICS or metric == "yield":
        return curve.between(rank, rank)[metric]
    rows = [row for row in result.metrics.to_pylist() if row["metric"] == f"{metric}_at"]
    if metric not in _AT_RANKS or not rows:
        raise _no_such(question, _AT_RANKS)
    by_cutoff = {row["argument"]: row for row in rows}
    if str(rank) not in by_cutoff:
        cutoffs = ", ".join(f"{int(cutoff):,}" for cutoff in by_cutoff)
        raise InputError(f"{question.measure}: {metric} is known of the first {cutoffs} items, and not of others")
    return Bounds.of_row(by_cutoff[str(rank)])


def _at_rate(result: _OfCurve, question: Question, cutoff: Cutoff) -> Bounds:
    """The area under the ROC curve up to a false positive rate, which is counted of a labelled list."""
    if question.metric not in _AT_RATES:
        raise InputError(f"{question.measure}: there is no {question.metric} at a false positive rate",
                         f"there are: {', '.join(_AT_RATES)}")  # fmt: skip
    rows = [row for row in result.metrics.to_pylist() if row["metric"] == f"{question.metric}_at_fpr"]
    by_rate = {Fraction(row["argument"]): row for row in rows}
    if not rows:
        raise InputError(f"{question.measure}: it is known of lists whose every item has a label", "`streameval exact`")
    if cutoff.share not in by_rate:
        rates = ", ".join(row["argument"] for row in rows)
        raise InputError(f"{question.measure}: it is known up to the rates {rates}, and not up to others")
    return Bounds.of_row(by_rate[cutoff.share])


def _at_score(result: _OfCurve, question: Question, cutoff: Cutoff) -> Bounds:
    """Give what was counted at a score, or is known wherever the last item of it, or of a better one, may be."""
    if question.metric not in _AT_SCORES:
        raise _no_such(question, _AT_SCORES)
    name, curve = (f"{question.metric}_at_score", cutoff.value), result.curve
    for row in result.metrics.to_pylist():
        if (row["metric"], row["argument"]) == name:
            return Bounds.of_row(row)
    first, last = curve.rank_at_score(cutoff.value)
    if question.metric == "rank":
        return Bounds(first, first if first == last else (first + last) / 2, last)
    if not last:
        raise InputError(
            f"no item has score {cutoff.value} or a better one", "the best is `streameval show STUDY score@1`"
        )
    return curve.between(first, last)[question.metric] if first else _UNKNOWN


def _of_the_list(result: _OfCurve, metric: str) -> Bounds:
    if metric == "positives":
        return result.curve.yield_at(result.curve.n_items)
    if metric.startswith("rbp."):
        return _rank_biased(result, metric)
    if metric not in _OF_THE_LIST or (metric in _OF_SCORES and metric not in measures(result)):
        if metric in _AT_RANKS:
            raise InputError(f"{metric} has no cutoff", f"{metric}@10000 is of the first 10,000 items")
        raise _no_such(Question(metric), measures(result))
    rows = [row for row in result.metrics.to_pylist() if row["metric"] == metric and row["argument"] in _ARGUMENTS]
    return Bounds.of_row(rows[0]) if rows else _UNKNOWN  # bounds that promise nothing have none of the whole list


def _rank_biased(result: _OfCurve, metric: str) -> Bounds:
    """Rank-biased precision, which is counted of a labelled list."""
    by_name = {row["metric"]: row for row in result.metrics.to_pylist() if row["metric"].startswith("rbp.")}
    if not by_name:
        raise InputError(f"{metric} is known of lists whose every item has a label", "`streameval exact`")
    if metric not in by_name:
        raise InputError(f"there is no {metric}", f"there are: {', '.join(by_name)}")
    return Bounds.of_row(by_name[metric])


def _no_such(question: Question, names: tuple[str, ...]) -> InputError:
    where = " of the whole list" if question.cutoff is None else f" at {question.cutoff}"
    meant = SHORT.get(question.metric, question.metric)
    ours = OURS.get(question.metric)
    hint = did_you_mean(meant, names) if ours is None else f"we call it {ours}"
    what = f"there is no metric '{question.metric}'{where}"
    if question.metric in _OF_MANY:
        near = f"{hint}; " if meant != question.metric or "?" in hint else ""  # not the list of all that there are
        return InputError(what, f"{near}{question.metric} of many rankings is what `streameval exact --per COL` gives")
    return InputError(what, hint)


def labels_needed(bounds: Bounds, wanted: float, result: Evaluation) -> tuple[int | None, str]:
    """Labels that are forecast to decide, in five of six draws, and what is said of them.

    The half-width is then the distance from the estimate to the number wanted, less the standard error of an estimate.
    """
    (lower, estimate, upper), account, n_items = bounds, result.summary["account"], result.curve.n_items
    labelled, width, distance = int(account["labelled"]), upper - lower, abs(estimate - wanted)
    if account.get("missing", 0):
        return None, f"{account['missing']:,} planned labels are missing"
    if math.isnan(distance) or not labelled or not math.isfinite(width):
        return None, "no forecast: nothing is estimated"
    if distance < 0.02 * width:
        return None, "no forecast: the estimate is too close"
    needed = labelled * (width / 2 * (1 + _STANDARD_ERROR) / distance) ** 2
    digits = 10 ** max(0, math.floor(math.log10(max(needed, 1))) - 1)
    rounded = int(math.ceil(needed / digits) * digits)
    if rounded <= labelled:
        return None, "no forecast: so many are there"
    return (rounded, f"about {rounded:,} in all") if rounded < n_items else (None, f"all {n_items:,} items")
