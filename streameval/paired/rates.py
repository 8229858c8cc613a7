"""With which probability the gains and losses of each cutoff are drawn, for bounds of a given width.

The width is that of D/k: about 4 z² v (d/h)² labels give ±h where the share d of the top changes. Of an item in the
gains or losses of several cutoffs, one draw serves all: it is labelled if u is below the largest of their rates, and
each cutoff looks only at items with u below its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from streameval.paired.count import ChangedSample, limits
from streameval.paired.looks import bet_error, count_error
from streameval.questions.comparing import Looks
from streameval.typing import FloatArray, Int64Array

_COUNT_WIDTH = 1.02  # half-width of exact tails, in normal quantiles of their error
_BET_WIDTH = 1.1  # of a bet at the planned end, in √(2 ln(1/error)), as Chernoff bounds have it
_FEW = 200  # tails of fewer labels are not normal: their width is computed


def quantile(confidence: float, cutoffs: int, looks: Looks) -> float:
    """Half-width of the planned bounds in standard deviations."""
    if looks == "any":
        return _BET_WIDTH * math.sqrt(2 * math.log(1 / bet_error(confidence, cutoffs, looks)))
    return _COUNT_WIDTH * NormalDist().inv_cdf(1 - count_error(confidence, cutoffs, looks))


def _rates(changed: FloatArray, width: FloatArray, z: float, variance: float) -> FloatArray:
    """Rates that make z standard deviations the width; a width of less than half an item takes all of them."""
    return np.where(width < 0.5, 1.0, changed / (changed + (width / z) ** 2 / variance))


def probabilities(
    gains: Int64Array,
    losses: Int64Array,
    sizes: Int64Array,
    *,
    within: float,
    confidence: float,
    variance: float = 0.25,
    looks: Looks = "both",
) -> FloatArray:
    """Rates of the cutoffs, once the numbers of gains and losses are known.

    Args:
        gains, losses (int64 arrays, shape (m,)): Items that are in the top of B alone, and of A alone.
        sizes (int64 array, shape (m,)): Cutoffs k, what D is divided by; gains + losses <= 2 k.
        within: Wanted half-width of the bounds on D/k.
        confidence: Of all bounds together.
        variance: Of a label, p (1 − p) at the planned precision; with a judge, of whether it is wrong.
        looks: When labels will be looked at.

    Returns:
        float64 array, shape (m,): 1.0 means every item, whatever u; 0.0 where D/k lies within ±`within` anyway.
    """
    gains, losses, sizes = (np.asarray(counts, np.int64) for counts in (gains, losses, sizes))
    changed, width = (gains + losses).astype(np.float64), within * sizes.astype(np.float64)
    z = quantile(confidence, sizes.size, looks)
    rates = np.where(changed > 0, _rates(np.maximum(changed, 1.0), width, z, variance), 0.0)
    if looks != "any":
        error = count_error(confidence, sizes.size, looks)
        for j in np.flatnonzero((rates * changed < _FEW) & (changed > 0)):
            rates[j] = _raise_rate(float(rates[j]), (int(gains[j]), int(losses[j])), float(width[j]), variance, error)
    kept = largest_rates(sizes, within=within, confidence=confidence, variance=variance, looks=looks)
    return np.where(np.maximum(gains, losses) <= width, 0.0, np.minimum(rates, kept))


def _raise_rate(rate: float, sides: tuple[int, int], width: float, variance: float, error: float) -> float:
    """The least rate, from this one on, at which the computed bounds of a typical sample are narrow enough."""
    positive, changed = 0.5 + math.sqrt(max(0.0, 0.25 - variance)), sum(sides)
    for labels in range(math.ceil(rate * changed), changed):
        drawn = [min(size, round(labels * size / changed)) for size in sides]
        fewest = [math.floor(positive * n) for n in drawn]
        above = sum(positive * n for n in drawn) - sum(fewest)  # between the two: rounding would need luck
        more = [min(few + 1, n) for few, n in zip(fewest, drawn, strict=True)]
        widths = [_width(sides, drawn, positives, error) for positives in (fewest, more)]
        if (1 - above / 2) * widths[0] + above / 2 * widths[1] <= 2 * width:
            return max(rate, labels / changed)
    return 1.0


def _width(sides: Sequence[int], drawn: Sequence[int], positive: Sequence[int], error: float) -> int:
    gains, losses = (ChangedSample(*counts) for counts in zip(sides, drawn, positive, strict=True))
    lower, upper = limits(gains, losses, error)
    return upper - lower


def largest_rates(sizes: Int64Array, *, within: float, confidence: float, variance: float, looks: Looks) -> FloatArray:
    """The largest rates that there can be, whatever changed: those at 2 k gains and losses.

    A scan that does not know yet how many changed keeps the items with u below this.

    Args:
        sizes (int64 array, shape (m,)): Cutoffs k.
        within, confidence, variance, looks: As `probabilities` takes them.

    Returns:
        float64 array, shape (m,).
    """
    size = np.asarray(sizes, np.int64).astype(np.float64)
    return _rates(2.0 * size, within * size, quantile(confidence, size.size, looks), variance)


def item_probability(first_a: Int64Array, first_b: Int64Array, probabilities: FloatArray) -> FloatArray:
    """Rates of items: the largest of the cutoffs at which only one of the tops holds them.

    Args:
        first_a, first_b (integer arrays, shape (n,)): The first cutoff, from 0 on, whose top of A, and of B, holds the
            item; m where none does.
        probabilities (float64 array, shape (m,)): Rates of the cutoffs.

    Returns:
        float64 array, shape (n,): 0 where both tops hold the item from the same cutoff on.
    """
    largest = np.zeros((probabilities.size + 1,) * 2)  # from one cutoff on, until before another
    for j in range(probabilities.size):
        largest[j, j + 1 :] = np.maximum.accumulate(probabilities[j:])
    rates: FloatArray = largest[np.minimum(first_a, first_b), np.maximum(first_a, first_b)]
    return rates
