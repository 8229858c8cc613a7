"""Metrics of one cutoff r, with bounds from two corners.

Given bounds on Y(r) and on F = Y(N), every metric here is best where Y(r) is largest and no positive beyond r is
added that need not be, and worst where Y(r) is smallest and as many as possible follow; the false positive rate the
other way round. Both corners are lists that the bounds allow, so the result is sharp. For MCC this is so because at
fixed Y(r) it falls as F rises, and where both rise together it rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streameval.bounds.walk import Extremes
from streameval.types import FloatArray


@dataclass(frozen=True)
class Cutoffs:
    """Counts at some cutoffs.

    Attributes
    ----------
    rank, found, positives : float64 arrays, shape (k,)
        r, Y(r), and F, the positives in the list.
    n_items, misses : float
        N and M.
    """

    rank: FloatArray
    found: FloatArray
    positives: FloatArray
    n_items: float
    misses: float


def _quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """NaN where a metric is undefined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def precision(at: Cutoffs) -> FloatArray:
    """Y(r)/r."""
    return at.found / at.rank


def recall(at: Cutoffs) -> FloatArray:
    """Y(r)/P; NaN without positives."""
    return _quotient(at.found, at.positives + at.misses)


def f1(at: Cutoffs) -> FloatArray:
    """2·Y(r)/(r + P)."""
    return 2.0 * at.found / (at.rank + at.positives + at.misses)


def accuracy(at: Cutoffs) -> FloatArray:
    """Share of the N + M items on the right side of the cutoff; misses are on the wrong one."""
    return (2.0 * at.found + at.n_items - at.rank - at.positives) / (at.n_items + at.misses)


def false_positive_rate(at: Cutoffs) -> FloatArray:
    """(r − Y(r))/(N − F); NaN without negatives."""
    return _quotient(at.rank - at.found, at.n_items - at.positives)


def specificity(at: Cutoffs) -> FloatArray:
    """1 − false positive rate."""
    return 1.0 - false_positive_rate(at)


def mcc(at: Cutoffs) -> FloatArray:
    """Matthews' correlation over the N + M items; 0 where a row or column of the table is empty."""
    total, positives = at.n_items + at.misses, at.positives + at.misses
    spread = np.sqrt(at.rank) * np.sqrt(total - at.rank) * np.sqrt(positives) * np.sqrt(total - positives)
    covariance = at.found * (total - positives) - (at.rank - at.found) * positives
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0, covariance / spread, 0.0)


METRICS: dict[str, Callable[[Cutoffs], FloatArray]] = {
    one.__name__: one for one in (precision, recall, f1, accuracy, specificity, false_positive_rate, mcc)
}


def bounds_at(extremes: Extremes, metric: str, rank: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds on a metric at some cutoffs; NaN where a corner leaves it undefined.

    Parameters
    ----------
    extremes : Extremes
    metric : str
        Of `METRICS`.
    rank : float64 array, shape (k,), in 1..N
    """
    low, high = extremes.late.at(rank), extremes.early.at(rank)
    many = np.minimum(extremes.early.total, low + extremes.n_items - rank)
    few = np.maximum(extremes.late.total, high)
    worst = METRICS[metric](Cutoffs(rank, low, many, extremes.n_items, extremes.misses))
    best = METRICS[metric](Cutoffs(rank, high, few, extremes.n_items, extremes.misses))
    return (best, worst) if metric == "false_positive_rate" else (worst, best)
