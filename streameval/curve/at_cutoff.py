"""Metrics of one cutoff r, with bounds from two corners.

Given bounds on Y(r) and on F = Y(N), every metric here is best where Y(r) is largest and no positive beyond r is
added that need not be, and worst where Y(r) is smallest and as many as possible follow. Both corners are lists that the
bounds allow, so the result is sharp. Each metric states the laws by which this is so, and is held to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from streameval.curve.envelope import Envelope
from streameval.typing import FloatArray

_ROUNDING = 1e-9


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


@dataclass(frozen=True)
class Metric:
    """A metric of a cutoff, with its laws: they are held against every list of a few items when it is defined.

    Attributes:
        value (callable(Cutoffs) -> float64 array): NaN where it is undefined.
        better ({"large", "small"}): With one more positive before the cutoff it is no worse, whether or not there is
            one fewer behind it; with one more behind it, or one more miss, no better. So its bounds are its values at
            two corners, and those over orders of tied items its values with positives last and first.
        in_yield ({"linear", "curved"}): As a function of Y(r) at given F. The expectation of one that is linear over
            orders of tied items is its value at the expected Y(r).

    Raises:
        ValueError: A law does not hold.
    """

    value: Callable[[Cutoffs], FloatArray]
    better: Literal["large", "small"]
    in_yield: Literal["linear", "curved"]

    def __post_init__(self) -> None:
        """Check the laws."""
        for misses in (0.0, 2.0):
            sign = 1.0 if self.better == "large" else -1.0
            good, missing_more = (self._of_small_lists(more) * sign for more in (misses, misses + 1.0))
            before, behind = np.diff(good, axis=1), np.diff(good, axis=2)
            moved = good[:, 1:, 1:] - good[:, :-1, :-1]
            if min(np.nanmin(before), -np.nanmax(behind), np.nanmin(moved)) < -_ROUNDING:
                raise ValueError(f"metric {self.value.__name__} is not better where it is {self.better}")
            if np.nanmax(missing_more - good) > _ROUNDING:
                raise ValueError(f"metric {self.value.__name__} is better with more misses")
            if self.in_yield == "linear" and np.nanmax(np.abs(np.diff(before, axis=1))) > _ROUNDING:
                raise ValueError(f"metric {self.value.__name__} is not linear in the yield at its cutoff")

    def _of_small_lists(self, misses: float) -> FloatArray:
        """Values by r, Y(r) and F, of all lists of six items; NaN where there is no such list."""
        rank, yields, total = np.meshgrid(np.arange(1.0, 7), np.arange(7.0), np.arange(7.0), indexing="ij")
        possible = (yields <= np.minimum(rank, total)) & (total - yields <= 6 - rank)
        values = np.full(rank.shape, np.nan)
        values[possible] = self.value(Cutoffs(rank[possible], yields[possible], total[possible], 6.0, misses))
        return values


METRICS = {
    "precision": Metric(precision, "large", "linear"),
    "recall": Metric(recall, "large", "linear"),
    "f1": Metric(f1, "large", "linear"),
    "e_measure": Metric(e_measure, "small", "linear"),
    "accuracy": Metric(accuracy, "large", "linear"),
    "specificity": Metric(specificity, "large", "linear"),
    "false_positive_rate": Metric(false_positive_rate, "small", "linear"),
    "mcc": Metric(mcc, "large", "linear"),
}
"""What is known at every cutoff, by name: one more needs nothing but a line here."""


@dataclass(frozen=True)
class Known:
    """Bounds on the counts of some cutoffs, and of the whole list.

    Attributes:
        rank, lower, upper (float64 arrays, shape (k,)): r, and bounds on Y(r).
        total_lower, total_upper: Bounds on F = Y(N).
        misses, misses_upper: Bounds on M.
    """

    rank: FloatArray
    lower: FloatArray
    upper: FloatArray
    total_lower: float
    total_upper: float
    n_items: float
    misses: float
    misses_upper: float

    @staticmethod
    def of(envelope: Envelope, misses: int, rank: npt.ArrayLike, misses_upper: int | None = None) -> Known:
        """Look the bounds up; `misses_upper` is None where the number of misses is known.

        Bounds that contradict each other may leave 0..r: no list has such a yield, and they are cut to it.
        """
        ranks, n_items = np.asarray(rank, dtype=np.int64), float(envelope.rank[-1])
        lower, upper = (np.clip(side, 0, ranks) for side in envelope.at(ranks))
        least, most = (min(max(0.0, float(side[-1])), n_items) for side in (envelope.lower, envelope.upper))
        missed = float(misses), float(misses if misses_upper is None else misses_upper)
        return Known(ranks.astype(np.float64), lower, upper, least, most, n_items, *missed)

    @property
    def worst(self) -> Cutoffs:
        """The least before each cutoff, the most after it, and the most misses."""
        many = np.minimum(self.total_upper, self.lower + self.n_items - self.rank)
        return Cutoffs(self.rank, self.lower, many, self.n_items, self.misses_upper)

    @property
    def best(self) -> Cutoffs:
        """The most before each cutoff, the least after it, and the fewest misses."""
        few = np.maximum(self.total_lower, self.upper)
        return Cutoffs(self.rank, self.upper, few, self.n_items, self.misses)


def bounds_at(at_cutoffs: Known, metric: str) -> tuple[FloatArray, FloatArray]:
    """Bounds on a metric of `METRICS` at some cutoffs; NaN where a corner leaves it undefined.

    Returns:
        lower, upper (float64 arrays, shape (k,)): Sharp where the bounds on Y are those of a closed envelope of whole
            numbers.
    """
    definition = METRICS[metric]
    with np.errstate(invalid="ignore"):  # bounds that contradict each other have corners that no list has
        low, high = definition.value(at_cutoffs.worst), definition.value(at_cutoffs.best)
    return (high, low) if definition.better == "small" else (low, high)


def f_bounds(at_cutoffs: Known, beta: float) -> tuple[FloatArray, FloatArray]:
    """Sharp bounds on F_β at some cutoffs: one more positive adds 1 + β² above and at most β² below, and F_β ≤ 1."""
    return f_beta(at_cutoffs.worst, beta), f_beta(at_cutoffs.best, beta)
