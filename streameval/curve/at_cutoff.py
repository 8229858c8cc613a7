"""Metrics of one cutoff r, with bounds from two corners.

Given bounds on Y(r) and on F = Y(N), every metric here is best where Y(r) is largest and no positive beyond r is
added that need not be, and worst where Y(r) is smallest and as many as possible follow; the false positive rate and E
the other way round. Both corners are lists that the bounds allow, so the result is sharp. For MCC this is so because at
fixed Y(r) it falls as F rises, and where both rise together it rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streameval.curve.envelope import Envelope
from streameval.typing import FloatArray


@dataclass(frozen=True)
class Cutoffs:
    """Counts at some cutoffs.

    Attributes:
        rank, found, positives (float64 arrays, shape (k,)): r, Y(r), and F, the positives in the list.
        n_items, misses: N and M.
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


def f_beta(at: Cutoffs, beta: float) -> FloatArray:
    """(1 + β²)·Y(r)/(r + β²·P): recall counts β times as much as precision."""
    square = beta * beta
    return (1.0 + square) * at.found / (at.rank + square * (at.positives + at.misses))


def f1(at: Cutoffs) -> FloatArray:
    """2·Y(r)/(r + P)."""
    return f_beta(at, 1.0)


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


def e_measure(at: Cutoffs) -> FloatArray:
    """Van Rijsbergen's E at equal weight: 1 − F1, the share of the two sets that is not common to both."""
    return 1.0 - f1(at)


METRICS: dict[str, Callable[[Cutoffs], FloatArray]] = {
    metric.__name__: metric
    for metric in (precision, recall, f1, e_measure, accuracy, specificity, false_positive_rate, mcc)
}


_SMALL_IS_GOOD = ("false_positive_rate", "e_measure")


@dataclass(frozen=True)
class Known:
    """What is known of some cutoffs and of the whole list.

    Attributes:
        rank, lower, upper (float64 arrays, shape (k,)): r, and bounds on Y(r).
        total_lower, total_upper: Bounds on F = Y(N).
    """

    rank: FloatArray
    lower: FloatArray
    upper: FloatArray
    total_lower: float
    total_upper: float
    n_items: float
    misses: float

    @staticmethod
    def of(envelope: Envelope, misses: int, rank: npt.ArrayLike) -> Known:
        """Look the bounds up."""
        ranks = np.asarray(rank, dtype=np.int64)
        lower, upper = envelope.at(ranks)
        ends = float(envelope.lower[-1]), float(envelope.upper[-1])
        return Known(ranks.astype(np.float64), lower, upper, *ends, float(envelope.rank[-1]), float(misses))

    @property
    def worst(self) -> Cutoffs:
        """The least before each cutoff, and the most after it."""
        many = np.minimum(self.total_upper, self.lower + self.n_items - self.rank)
        return Cutoffs(self.rank, self.lower, many, self.n_items, self.misses)

    @property
    def best(self) -> Cutoffs:
        """The most before each cutoff, and the least after it."""
        few = np.maximum(self.total_lower, self.upper)
        return Cutoffs(self.rank, self.upper, few, self.n_items, self.misses)


def bounds_at(known: Known, metric: str) -> tuple[FloatArray, FloatArray]:
    """Bounds on a metric at some cutoffs; NaN where a corner leaves it undefined.

    Args:
        metric: Of `METRICS`.

    Returns:
        lower, upper (float64 arrays, shape (k,)): Sharp where the bounds on Y are those of a closed envelope of whole
            numbers.
    """
    low, high = METRICS[metric](known.worst), METRICS[metric](known.best)
    return (high, low) if metric in _SMALL_IS_GOOD else (low, high)


def f_bounds(known: Known, beta: float) -> tuple[FloatArray, FloatArray]:
    """Sharp bounds on F_β at some cutoffs: one more positive adds 1 + β² above and at most β² below, and F_β ≤ 1."""
    return f_beta(known.worst, beta), f_beta(known.best, beta)
