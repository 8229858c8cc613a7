"""What scores in [0, 1] say against labels, summed: tenths of that scale, squared errors and log losses.

All is in whole numbers (`streameval.kernels.calibration`), so sums of units, blocks or groups merge in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from streameval.counting.label_counts import TiedGroups
from streameval.kernels import calibration as kernels
from streameval.kernels.influence import BINS
from streameval.kernels.jit import small
from streameval.order.scores import ScoreOrder
from streameval.typing import AnyArray, FloatArray, Int64Array, UInt16Array, UInt64Array

_STRETCH = 1 << 14  # rows at a time: what a cache holds
_NO_BINS, _ONE = np.zeros(1, np.uint16), np.ones(1, np.int64)


@dataclass(frozen=True)
class ScoreLosses:
    """Sums of some rows, of those with a score in [0, 1].

    Attributes:
        tenths (int64 array, shape (TENTHS, OF_TENTH)): By score: up to and with .1, .2, …, 1.
        losses (int64 array, shape (BINS or 1, OF_BIN)): By bin, where the list is a sample.
    """

    tenths: Int64Array = field(repr=False)
    losses: Int64Array = field(repr=False)

    def __add__(self, other: ScoreLosses) -> ScoreLosses:
        """Merge those of other rows."""
        return ScoreLosses(self.tenths + other.tenths, self.losses + other.losses)

    @property
    def items(self) -> int:
        """Count the rows."""
        return int(self.tenths[:, kernels.ITEMS].sum())

    @property
    def infinite(self) -> int:
        """Count the rows whose log loss is infinite: a score of 0 or 1, and the other label."""
        return int(self.losses[:, kernels.INFINITE].sum())

    def mean_scores(self) -> list[float]:
        """Give the mean score of each tenth; NaN where it has no rows."""
        counts = self.tenths[:, kernels.ITEMS].tolist()
        sums = [_whole(row, kernels.SCORES) for row in self.tenths.tolist()]
        return [s / n / kernels.UNIT if n else float("nan") for s, n in zip(sums, counts, strict=True)]

    def calibration_error(self) -> float:
        """Give the mean over all rows of how far a tenth's share of positives lies from its mean score."""
        rows = zip(self.tenths.tolist(), self.mean_scores(), strict=True)
        gaps = [abs(row[kernels.POSITIVES] - row[kernels.ITEMS] * mean) for row, mean in rows if row[kernels.ITEMS]]
        return math.fsum(gaps) / self.items

    def mean(self, column: int) -> float:
        """Give the mean of SQUARES or LOGS over all rows; NaN where it is infinite."""
        if column == kernels.LOGS and self.infinite:
            return float("nan")
        return _whole(self.losses.sum(axis=0).tolist(), column) / self.items / _UNITS[column]

    def by_bin(self, column: int) -> FloatArray:
        """Give the sums of SQUARES or LOGS of each bin."""
        return np.array([_whole(row, column) / _UNITS[column] for row in self.losses.tolist()])


COLUMNS = {"brier": kernels.SQUARES, "log_loss": kernels.LOGS}
"""Where the losses are whose mean is a metric."""
_UNITS = {kernels.SQUARES: kernels.UNIT, kernels.LOGS: kernels.LOG_UNIT}


def _whole(words: list[int], column: int) -> int:
    return (words[column] << kernels.WORD) + words[column + 1]


def merged_losses(parts: Iterable[ScoreLosses | None], n_items: int) -> ScoreLosses | None:
    """Merge those of a whole list; None where some of its scores lie outside [0, 1], or are no probabilities."""
    whole = summed_losses(parts)
    return whole if whole is not None and n_items and whole.items == n_items else None


def summed_losses(parts: Iterable[ScoreLosses | None]) -> ScoreLosses | None:
    """Merge those that are there; None without any."""
    there = [part for part in parts if part is not None]
    return reduce(ScoreLosses.__add__, there) if there else None


def losses_of_values(
    order: ScoreOrder, values: AnyArray, labels: AnyArray, bins: UInt16Array | None
) -> ScoreLosses | None:
    """Sum rows in the order of their scores; None where these are no probabilities of being positive."""
    return _losses(order, lambda some: values[some].astype(np.float64), (_ONE, labels), bins)


def losses_of_keys(
    order: ScoreOrder | None, keys: UInt64Array, labels: AnyArray, bins: UInt16Array | None
) -> ScoreLosses | None:
    """Do the same with order keys."""
    return None if order is None else _losses(order, lambda some: order.floats(keys[some]), (_ONE, labels), bins)


def losses_of_groups(order: ScoreOrder | None, groups: TiedGroups) -> ScoreLosses | None:
    """Do the same of groups of tied rows."""
    if order is None:
        return None
    return _losses(order, lambda some: order.floats(groups.keys(some)), (groups.sizes, groups.positives), None)


def _losses(
    order: ScoreOrder,
    read: Callable[[slice], FloatArray],
    counts: tuple[AnyArray, AnyArray],
    bins: UInt16Array | None,
) -> ScoreLosses | None:
    """Sum groups a stretch at a time, until a score lies outside [0, 1]: the list has no losses then."""
    if order.kind not in ("float32", "float64") or order.ascending:
        return None
    tenths = np.zeros((kernels.TENTHS, kernels.OF_TENTH), np.int64)
    losses = np.zeros((1 if bins is None else BINS, kernels.OF_BIN), np.int64)
    sizes, positives = counts
    for first in range(0, positives.size, _STRETCH):
        some = slice(first, min(first + _STRETCH, positives.size))
        scores = read(some)
        if not (scores[0] <= 1.0 and scores[-1] >= 0.0):  # they descend
            break
        its_sizes = sizes if sizes is _ONE else sizes[some].astype(np.int64)
        its_bins = _NO_BINS if bins is None else bins[some]
        with small(kernels.STEPS * scores.size):
            kernels.add_scores(scores, its_sizes, positives[some].astype(np.int64), its_bins, tenths, losses)
    return ScoreLosses(tenths, losses)
