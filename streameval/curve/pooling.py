"""Rates of the ranks that have no label, pooled from the labels around them, and what each label then stands for.

A label that was drawn with probability π stands for 1/π items, of which 1/π − 1 have no label: these are its odds.
Where only a share a of the planned ranks were answered, that is 1/(πa) − 1. Sort the labels whose odds are above 0,
numbered from 0; gap g lies between label g − 1 and label g. The rate of the unlabelled ranks of gap g is

    q_g = Σ_i K(i + ½ − g) o_i v_i / Σ_i K(i + ½ − g) o_i,    K(d) = max(0, 1 − |d|/h).

It pools a fixed count of labels, so for draws of density c/r a fixed stretch of ln r. Only the odds' ratios matter. One
label with odds is enough: the one next to a gap has K ≥ 1 − 1/(2h). A label with odds 0, of a rank that was sure to be
drawn, says nothing of ranks that were not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streameval.curve.estimated import YieldEstimate, join
from streameval.typing import FloatArray, Int64Array

REACH = 12
"""h, in labels: 24 of them say something of a gap."""


@dataclass(frozen=True)
class PooledLabels:
    """Labels that say something of the ranks around them.

    Attributes:
        rank (int64 array, shape (n,), strictly increasing)
        odds (float64 array, shape (n,)): Above 0.
        value (float64 array, shape (n,)): 1 positive, 0 negative; or what else is averaged, in [0, 1].
        reach: h.
    """

    rank: Int64Array
    odds: FloatArray
    value: FloatArray
    reach: int = REACH

    @staticmethod
    def from_labels(rank: Int64Array, label: npt.ArrayLike, odds: FloatArray, reach: int = REACH) -> PooledLabels:
        """Keep the labels whose odds are above 0; `label` is 1, 0, or below 0 where there is none."""
        label = np.asarray(label, np.float64)
        kept = (odds > 0) & (label >= 0)
        return PooledLabels(rank[kept], odds[kept], label[kept], reach)

    def rates(self) -> FloatArray:
        """q of each gap, float64, shape (n + 1,)."""
        return np.asarray(self._sums(self.odds * self.value) / self._sums(self.odds))

    def beale_rates(self) -> FloatArray:
        """q as Beale's ratio estimator: nearly free of the bias of a ratio where probabilities follow the label."""
        below, above = self._sums(self.odds), self._sums(self.odds * self.value)
        squares = self._sums(self.odds**2 * self.value, 2)
        both = np.divide(squares, below * above, out=np.zeros(below.size), where=above > 0)
        relative_square = self._sums(self.odds**2, 2) / below**2
        return np.asarray(np.minimum(above / below * (1 + both) / (1 + relative_square), 1.0))

    def stand_for(self, unlabelled: FloatArray, rates: FloatArray) -> FloatArray:
        """Tell how many unlabelled items each label stands for, so that positives sum to Σ rates·unlabelled.

        Args:
            unlabelled (float64 array, shape (n + 1,)): Unlabelled items of each gap.
            rates (float64 array, shape (n + 1,)): Of each gap, those of `rates` or of `beale_rates`.
        """
        plain = self.rates()
        share = unlabelled / self._sums(self.odds)
        positives = share * np.divide(rates, plain, out=np.ones(plain.size), where=plain > 0)
        negatives = share * np.divide(1 - rates, 1 - plain, out=np.ones(plain.size), where=plain < 1)
        of_positives, of_negatives = (self._back(weights) for weights in (positives, negatives))
        return np.asarray(self.odds * (self.value * of_positives + (1 - self.value) * of_negatives))

    def gap_of(self, rank: npt.ArrayLike) -> Int64Array:
        """The gap that a rank is in, int64."""
        return np.asarray(np.searchsorted(self.rank, rank))

    def _taps(self, power: int = 1) -> FloatArray:
        distance = np.abs(self.reach - 0.5 - np.arange(2 * self.reach))
        return np.asarray((1 - distance / self.reach) ** power)

    def _sums(self, terms: FloatArray, power: int = 1) -> FloatArray:
        """Σ_i K(i + ½ − g)^power · terms_i of each gap g."""
        return np.asarray(np.convolve(terms, self._taps(power))[self.reach - 1 : self.reach + terms.size])

    def _back(self, terms: FloatArray) -> FloatArray:
        """Σ_g K(i + ½ − g) · terms_g of each label i."""
        return np.asarray(np.convolve(terms, self._taps())[self.reach : self.reach + terms.size - 1])


def odds_of(weight: FloatArray, is_labelled: npt.NDArray[np.bool_]) -> FloatArray:
    """w/a − 1, for the share a of the planned ranks that have a label.

    Args:
        weight (float64 array, shape (n_planned,)): One over the probability with which each rank was drawn, 1 or more.
        is_labelled (bool array, shape (n_planned,)): Which of them have a label.

    Raises:
        ValueError: A weight below 1.
    """
    if weight.size and float(weight.min()) < 1 - 1e-9:
        raise ValueError(f"a planned rank has weight {weight.min()}, below 1")
    answered = max(float(np.mean(is_labelled)), 1 / max(is_labelled.size, 1)) if is_labelled.size else 1.0
    return np.maximum(weight / answered - 1, 0.0)


def pool_labels(
    n_items: int,
    rank: Int64Array,
    label: npt.ArrayLike,
    odds: FloatArray,
    rates: Callable[[PooledLabels], FloatArray] = PooledLabels.rates,
) -> YieldEstimate | None:
    """Estimate the yield of a list from its labels.

    Args:
        n_items: N, or the last rank that could be drawn.
        rank (int64 array, shape (n_planned,), strictly increasing): Planned ranks.
        label (array-like, shape (n_planned,)): 1, 0, or -1 where there is none.
        odds (float64 array, shape (n_planned,)): See `odds_of`.
        rates: Of the gaps: `PooledLabels.rates`, or `PooledLabels.beale_rates`.

    Returns:
        YieldEstimate: None where ranks have no label and no label says anything of them.
    """
    label = np.asarray(label)
    is_labelled = label >= 0
    pool, labelled = PooledLabels.from_labels(rank, label, odds), rank[is_labelled]
    if not pool.rank.size and labelled.size < n_items:
        return None
    ends = np.append(pool.rank, n_items) if not pool.rank.size or pool.rank[-1] < n_items else pool.rank
    rate = rates(pool) if pool.rank.size else np.zeros(1)
    estimate = join(ends, rate[: ends.size], labelled, label[is_labelled])
    weight = np.zeros(rank.size)
    weight[is_labelled] = 1.0
    if pool.rank.size:
        gaps = np.append(pool.rank, n_items)
        unlabelled = np.diff(gaps - np.searchsorted(labelled, gaps, side="right"), prepend=0).astype(np.float64)
        weight[np.searchsorted(rank, pool.rank)] += pool.stand_for(unlabelled, rate)
    return replace(estimate, weight=weight)
