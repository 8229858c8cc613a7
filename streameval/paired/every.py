"""Bounds on the difference at every rank at once.

`count` bounds it on a grid of ranks, whose errors are added up; between two of them it changes by no more than the
items that come and go. Below the first rank of the grid that is bounded, all that changed is labelled. There is no
look at any time: only one, at the end.

Proof.  All bounds of the grid hold with the confidence asked for. With g(s, t) items whose rank is in (s, t] in B and
not in A, and l(s, t) the same with A and B exchanged, D(t) − D(s) is the positives of the former less those of the
latter: at most g(s, t), and at least −l(s, t). ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from streameval.errors import InputError
from streameval.paired.looks import PairedLimits
from streameval.paired.rates import item_probability
from streameval.paired.samples import LabelledItems, samples
from streameval.typing import FloatArray, Int8Array, Int64Array, UInt64Array

_STEP = 1 / 8  # of the half-width: how much longer each rank of the grid is, relatively
_NARROWER = 0.94  # the half-width on the grid: the rest is what comes and goes between
_DENSE = 0.8  # of what changed: from here on all of it is labelled


def grid(items: int, within: float) -> Int64Array:
    """Ranks 1..items at which bounds are computed, for a half-width of `within` (int64 array, rising)."""
    if items < 1 or not 0 < within < 1:
        raise InputError(f"bounds at every rank of {items} items within {within}", "ask for a width in (0, 1)")
    ranks = [1]
    while ranks[-1] < items:
        ranks.append(min(items, math.ceil((1 + _STEP * within) * ranks[-1])))
    return np.array(ranks, np.int64)


@dataclass(frozen=True)
class EveryPlan:
    """How to draw for bounds at every rank.

    Attributes:
        grid (int64 array, shape (m,)): Ranks.
        first: The first of the grid that is bounded, from 0 on; below its rank all that changed is labelled.
        probabilities (float64 array, shape (m,)): Rates of the grid; 1.0 before the first.
        gains, losses (int64 arrays, shape (m,)): Items of either side.
        error: One-sided, of each bound of the grid.
    """

    grid: Int64Array
    first: int
    probabilities: FloatArray
    gains: Int64Array
    losses: Int64Array
    error: float

    @staticmethod
    def of(
        grid: Int64Array,
        gains: Int64Array,
        losses: Int64Array,
        *,
        within: float,
        confidence: float,
        variance: float = 0.25,
    ) -> EveryPlan:
        """Fix the rates, once the numbers of gains and losses at the grid are known; `within` is that of the grid."""
        planned = _rates(grid, gains, losses, within, (1 - confidence) / (2 * grid.size), variance)
        first = _first(planned)
        error = (1 - confidence) / (2 * (grid.size - first))  # fewer bounds are computed: smaller rates are enough
        planned = np.minimum(planned, _rates(grid, gains, losses, within, error, variance))
        planned[:first] = 1.0
        return EveryPlan(grid, first, planned, gains, losses, error)

    def item_probability(self, rank_a: Int64Array, rank_b: Int64Array) -> FloatArray:
        """Rates of items (float64 array, shape (n,)), from their ranks; a rank beyond the grid where a list has none.

        Args:
            rank_a, rank_b (int64 arrays, shape (n,)): From 1 on.
        """
        first_a, first_b = np.searchsorted(self.grid, rank_a), np.searchsorted(self.grid, rank_b)
        found = item_probability(first_a, first_b, self.probabilities)
        early = np.minimum(rank_a, rank_b) < self.grid[self.first]
        return np.where(early & (rank_a != rank_b), 1.0, found)

    def limits(self, rank_a: Int64Array, rank_b: Int64Array, u: UInt64Array, labels: Int8Array) -> PairedLimits:
        """Bounds at the grid, from the first on (int64 arrays, shape (m − first,)).

        Args:
            rank_a, rank_b, u, labels (arrays, shape (n,)): Of all that is drawn; labels as `LabelledItems` has them.
        """
        first_a, first_b = (np.searchsorted(self.grid, rank) for rank in (rank_a, rank_b))
        items = LabelledItems.drawn(first_a, first_b, u, labels, self.item_probability(rank_a, rank_b))
        each = samples(items, self.probabilities, self.gains, self.losses)[self.first :]
        both = np.array([one.limits(self.error) for one in each], np.int64)
        return both[:, 0], both[:, 1]


def _rates(
    grid: Int64Array, gains: Int64Array, losses: Int64Array, within: float, error: float, variance: float
) -> FloatArray:
    changed, width = (gains + losses).astype(np.float64), _NARROWER * within * grid
    z = NormalDist().inv_cdf(1 - error)
    rates = changed / np.maximum(changed + (width / z) ** 2 / variance, 1e-300)
    return np.where(np.maximum(gains, losses) <= width, 0.0, rates)


def _first(rates: FloatArray) -> int:
    dense = np.flatnonzero(rates >= _DENSE)
    return min(int(dense[-1]) + 1, rates.size - 1) if dense.size else 0


def most(grid: Int64Array, *, within: float, confidence: float, variance: float = 0.25) -> FloatArray:
    """The largest rates that there can be, whatever changed: what a scan keeps that does not know it yet.

    Returns:
        float64 array, shape (m,): Of an item the largest of the grid from min(rank_a, rank_b) to below max(rank_a,
            rank_b) is meant, and 1 where one of its ranks is below the first of the grid whose rate is not 1.
    """
    grid = np.asarray(grid, np.int64)
    found = _rates(grid, grid, grid, within, (1 - confidence) / (2 * grid.size), variance)
    found[: _first(found)] = 1.0
    return found


def head(rank_a: Int64Array, rank_b: Int64Array, labels: Int8Array, stop: int) -> PairedLimits:
    """The difference at ranks 1..stop − 1, where all that changed is labelled; missing labels at their extremes.

    Args:
        rank_a, rank_b (int64 arrays), labels (int8 array; shape (n,)): Of all items with a rank below `stop` in one of
            the lists and another rank in the other.

    Returns:
        lower, upper (int64 arrays, shape (stop − 1,)).
    """
    gain = rank_b < rank_a
    start, end = (np.minimum(one, stop) for one in (np.minimum(rank_a, rank_b), np.maximum(rank_a, rank_b)))
    both = []
    for counts in (np.where(gain, labels == 1, labels != 0), np.where(gain, labels != 0, labels == 1)):
        change, step = np.zeros(stop + 1, np.int64), np.where(gain, 1, -1) * counts
        np.add.at(change, start, step)
        np.add.at(change, end, -step)
        both.append(np.cumsum(change)[1:stop])
    return both[0], both[1]


def between(
    grid: Int64Array, limits: PairedLimits, ranks: Int64Array, came: Int64Array, went: Int64Array
) -> PairedLimits:
    """Bounds at any ranks from those at the grid.

    Args:
        grid (int64 array, shape (m,)): Ranks, rising, with their bounds `limits` (shape (m,) each).
        ranks (int64 array, shape (n,)): From the first to the last of the grid.
        came (int64 array, shape (m − 1,)): Items with a rank in (k, next k] in B and another one, or none, in A.
        went (int64 array, shape (m − 1,)): The same with A and B exchanged.

    Returns:
        lower, upper (int64 arrays, shape (n,)).
    """
    at = np.searchsorted(grid, ranks, side="left")  # the first of the grid that is not below
    before = np.maximum(at - 1, 0)
    gap = np.minimum(before, came.size - 1)
    since, until = ranks - grid[before], grid[at] - ranks
    most_came, most_went = came[gap], went[gap]
    upper = np.minimum(limits[1][before] + np.minimum(since, most_came), limits[1][at] + np.minimum(until, most_went))
    lower = np.maximum(limits[0][before] - np.minimum(since, most_went), limits[0][at] - np.minimum(until, most_came))
    same = grid[at] == ranks
    return np.where(same, limits[0][at], lower), np.where(same, limits[1][at], upper)
