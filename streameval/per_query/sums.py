"""Sums over all rankings: exact, so that no order of adding changes a mean."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streameval.kernels.jit import small
from streameval.kernels.segments import HALF, UNIT, add_up
from streameval.typing import FloatArray, Int64Array

SIZES = 20  # decimal digits of the number of items, and a list without any
BINS = 20


@dataclass(frozen=True)
class Sums:
    """Sums over rankings; see `kernels.segments.add_up`.

    Attributes:
        rankings, without: How many, and how many of them have no positive.
        items, positives, misses: In all of them.
    """

    rankings: int
    without: int
    items: int
    positives: int
    misses: int
    total: Int64Array = field(repr=False)
    defined: Int64Array = field(repr=False)
    squares: Int64Array = field(repr=False)
    sizes: Int64Array = field(repr=False)
    by_size: Int64Array = field(repr=False)
    bins: Int64Array = field(repr=False)

    @staticmethod
    def nothing(metrics: int) -> Sums:
        """Of no ranking."""
        total, defined, squares = (np.zeros((metrics, sides, 2), np.int64) for sides in (3, 3, 1))
        sizes = np.zeros((SIZES, 2), np.int64), np.zeros((SIZES, metrics, 2), np.int64)
        return Sums(0, 0, 0, 0, 0, total, defined, squares, *sizes, np.zeros((metrics, BINS), np.int64))

    @staticmethod
    def from_rankings(facts: Int64Array, values: FloatArray) -> Sums:
        """Of some rankings; see `kernels.segments.measure`."""
        empty = Sums.nothing(values.shape[1] - 1)
        with small(2 * values.size):
            sums = empty.total, empty.defined, empty.squares
            add_up(facts, values, sums, (empty.sizes, empty.by_size), empty.bins)
        items, positives, misses = (int(column.sum()) for column in facts.T)
        without = int(empty.sizes[:, 1].sum())
        return Sums(facts.shape[0], without, items, positives, misses, *(getattr(empty, name) for name in _ARRAYS))

    def plus(self, other: Sums) -> Sums:
        """Of these rankings and others."""
        return Sums(*(getattr(self, name) + getattr(other, name) for name in (*_COUNTS, *_ARRAYS)))

    def sum(self, metric: int, side: int) -> float:
        """Sum of a metric over all rankings where it is defined: what is 0 without a positive adds nothing."""
        return _add(self.total[metric, side])

    def sum_of_squares(self, metric: int) -> float:
        """Give the sum of squares of the expected values of a metric, over the same rankings."""
        return _add(self.squares[metric, 0])

    def of_size(self, digits: int, metric: int) -> float:
        """Give the same sum, of expected values, over the rankings whose number of items has so many digits."""
        return _add(self.by_size[digits, metric])

    def count(self, metric: int) -> int:
        """Rankings where a metric is defined."""
        return int(self.defined[metric, 0, 0])


def _add(halves: Int64Array) -> float:
    high, low = (int(half) for half in halves)
    return ((high << HALF) + low) / UNIT


_COUNTS = ("rankings", "without", "items", "positives", "misses")
_ARRAYS = ("total", "defined", "squares", "sizes", "by_size", "bins")
