"""The two extreme lists inside an envelope, as runs of positives.

The upper bound on Y is itself a list of labels: the one whose positives come earliest. The lower bound is the one
whose positives come latest, once it is raised to what a given number F of positives forces: Y(r) ≥ F − (N − r). Both
are runs of positives between breakpoints, so N never enters the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from streameval.curve.envelope import Envelope
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray


@dataclass(frozen=True)
class Walk:
    """Positives in rank order, as runs.

    Attributes:
        positives (float64 array, shape (k + 1,)): Positives up to the end of each run, after a 0; strictly increasing
            whole numbers.
        negatives (float64 array, shape (k,)): Negatives before each run, not decreasing: the j-th positive, in run i,
            has rank j + negatives[i].
    """

    positives: FloatArray
    negatives: FloatArray

    @property
    def total(self) -> float:
        """Positives in all."""
        return float(self.positives[-1])

    @property
    def starts(self) -> tuple[FloatArray, FloatArray]:
        """(Y, r) just before each run."""
        return self.positives[:-1], self.positives[:-1] + self.negatives

    @property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """(Y, r) at the end of each run, where a quotient that rises along runs is largest."""
        return self.positives[1:], self.positives[1:] + self.negatives

    def before(self, j: npt.ArrayLike) -> FloatArray:
        """Negatives before the j-th positive; infinite beyond the last."""
        negatives: FloatArray = np.append(self.negatives, np.inf)[np.searchsorted(self.positives[1:], j)]
        return negatives

    @cached_property
    def _best_from(self) -> FloatArray:
        """Highest precision at the end of each run or a later one; then 0."""
        y, r = self.ends
        return np.append(np.maximum.accumulate((y / r)[::-1])[::-1], 0.0)

    def best_from(self, j: float) -> float:
        """Highest precision at any end of a run that has j positives or more; 0 where there is none."""
        return float(self._best_from[self.positives[1:].searchsorted(j)])

    def up_to(self, rank: float) -> Walk:
        """Only the positives among the first `rank` items."""
        total = float(self.at(np.array([rank]))[0])
        kept = self.positives[:-1] < total
        return Walk(np.append(self.positives[:-1][kept], total), self.negatives[kept])

    def at(self, rank: FloatArray) -> FloatArray:
        """Positives up to each rank."""
        run = np.searchsorted(self.ends[1], rank)
        positives: FloatArray = np.maximum(self.positives[run], rank - np.append(self.negatives, np.inf)[run])
        return positives


@dataclass(frozen=True)
class Extremes:
    """The lists that an envelope allows, by their extremes.

    Attributes:
        n_items, misses: N, and M: positives that the list never returned.
        early, late: The earliest positives (as many as the upper bound has), and the latest (as many as the lower bound
            has).
    """

    n_items: float
    misses: float
    early: Walk
    late: Walk

    @property
    def span(self) -> tuple[float, float]:
        """Bounds on F among lists with P > 0; empty (least > most) where there is none."""
        return max(self.late.total, 0.0 if self.misses else 1.0), self.early.total

    def up_to(self, rank: float) -> Extremes:
        """Of the first `rank` items alone, without misses."""
        return Extremes(rank, 0.0, self.early.up_to(rank), self.late.up_to(rank))

    @staticmethod
    def from_envelope(envelope: Envelope, misses: int) -> Extremes:
        """Turn the two bounds into runs; bounds that are no whole numbers are widened to the next ones.

        Between breakpoints a and b the upper bound rises at once from a, so its positives there have a − hi(a)
        negatives before them; the lower bound rises last, up to b, with b − lo(b) negatives before.
        """
        rank = envelope.rank.astype(np.float64)
        low, high = np.floor(envelope.lower), np.ceil(envelope.upper)
        early, late = _runs(high, rank[:-1] - high[:-1]), _runs(low, rank[1:] - low[1:])
        return Extremes(float(rank[-1]), float(misses), early, late)


def _runs(positives: FloatArray, negatives: FloatArray) -> Walk:
    rising = np.diff(positives) > 0
    return Walk(positives[np.concatenate([[True], rising])], negatives[rising])


def whole_near(values: FloatArray, least: float, most: float) -> FloatArray:
    """Whole numbers of least..most around real ones, both ends among them."""
    low = np.floor(values[np.isfinite(values)])
    around = np.concatenate([low - 1, low, low + 1, low + 2])
    return unique([least, most], around[(around > least) & (around < most)])
