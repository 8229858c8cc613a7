"""Measures that are sums over the positives of a list, each counted by its rank: what a positive at a rank counts.

B less A is then linear in the labels: an item weighs g(its rank in B) − g(its rank in A), and 0 where a list lacks it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from streameval.typing import FloatArray, Int64Array

ABSENT = 2**63 - 1  # rank of an item that a list does not hold
Discount = Callable[[Int64Array], FloatArray]
_EXACT = 64  # ranks below are summed one by one; beyond, the series are exact to the last bits


def dcg(cutoff: int = ABSENT - 1) -> Discount:
    """Discounted cumulative gain, down to a rank where one is given: 1/log2(1 + rank)."""
    return partial(_down_to, lambda rank: 1 / np.log2(1.0 + rank), cutoff)


def rank_biased_precision(persistence: float) -> Discount:
    """(1 − p) p^(rank − 1)."""
    return partial(_down_to, lambda rank: (1 - persistence) * persistence ** (rank - 1.0), ABSENT - 1)


def log_mean_difference(items: int) -> Discount:
    """The mean of D(k)/k over ln k, each k = 1..items with the weight 1/k: Σ 1/k² from the rank on, over Σ 1/k."""
    whole = _harmonic(items + 1.0) - _harmonic(1.0)
    return partial(_down_to, lambda rank: (_squares(rank) - _squares(items + 1.0)) / whole, items)


def weights(discount: Discount, rank_a: Int64Array, rank_b: Int64Array) -> FloatArray:
    """What each label counts in B less A (float64 array, shape (n,)); `ABSENT` is the rank of what a list lacks."""
    return discount(rank_b) - discount(rank_a)


def rounding(discount: Discount, ends: Int64Array) -> float:
    """How far ranks that are rounded within bins may move the measure of a list, whatever its labels.

    Args:
        discount: Falling with rank.
        ends (int64 array): Last rank of each bin, rising; the first begins at rank 1.
    """
    first = np.append(1, ends[:-1] + 1)
    return float(((ends - first + 1) * (discount(first) - discount(ends))).sum())


def _down_to(of_rank: Callable[[FloatArray], FloatArray], cutoff: int, ranks: Int64Array) -> FloatArray:
    ranks = np.asarray(ranks, np.int64)
    found = np.zeros(ranks.shape)
    found[ranks <= cutoff] = of_rank(ranks[ranks <= cutoff].astype(np.float64))
    return found


def _harmonic(rank: FloatArray | float) -> FloatArray:
    """Σ 1/k over k below the rank, less a constant: the digamma function (Abramowitz and Stegun 6.3.18)."""
    x = np.maximum(rank, _EXACT)
    s = 1 / (x * x)
    far = np.log(x) - 0.5 / x - s * (1 / 12 - s * (1 / 120 - s / 252))
    return np.asarray(far - _below(rank, 1.0))


def _squares(rank: FloatArray | float) -> FloatArray:
    """Σ 1/k² over k from the rank on: the trigamma function (Abramowitz and Stegun 6.4.12)."""
    x = np.maximum(rank, _EXACT)
    s = 1 / (x * x)
    far = 1 / x + 0.5 * s + s / x * (1 / 6 - s * (1 / 30 - s / 42))
    return np.asarray(far + _below(rank, 2.0))


def _below(rank: FloatArray | float, power: float) -> FloatArray:
    """Σ 1/k^power over k from the rank to below where series begin."""
    each = np.append(np.cumsum(np.arange(1.0, _EXACT)[::-1] ** -power)[::-1], 0.0)
    return np.asarray(each[np.minimum(rank, _EXACT).astype(np.int64) - 1])
