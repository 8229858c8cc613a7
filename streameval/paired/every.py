"""Bounds on the difference at every rank at once.

`count` bounds it on a grid of ranks, whose errors are added up; between two of them it changes by no more than the
items that come and go. At the first ranks of the grid all that changed is labelled: there is no error in what is known.
There is no look at any time: only one, at the end.

Proof.  All bounds of the grid hold with the confidence asked for. With g(s, t) items whose rank is in (s, t] in B and
not in A, and l(s, t) the same with A and B exchanged, D(t) − D(s) is the positives of the former less those of the
latter: at most g(s, t), and at least −l(s, t). Neither is more than the t − s places that there are. ∎
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.paired.looks import PairedLimits
from streameval.typing import FloatArray, Int64Array

_STEP = 1 / 8  # of the half-width: how much longer each rank of the grid is, relatively
_NARROWER = 0.94  # the half-width on the grid: the rest is what comes and goes between
_DENSE = 0.8  # of what changed: from here on all of it is labelled


def grid(items: int, within: float) -> Int64Array:
    """Ranks 1..items at which bounds are computed, for a half-width of `within` (int64 array, rising).

    Powers of ten are among them, which people look at first.
    """
    if items < 1 or not 0 < within < 1:
        raise InputError(f"bounds at every rank of {items} items within {within}", "ask for a width in (0, 1)")
    ranks = [1]
    while ranks[-1] < items:
        ranks.append(min(items, math.ceil((1 + _STEP * within) * ranks[-1])))
    return unique(ranks, [10**power for power in range(19) if 10**power <= items]).astype(np.int64)


def probabilities(
    gains: Int64Array,
    losses: Int64Array,
    ranks: Int64Array,
    *,
    within: float,
    confidence: float,
    variance: float = 0.25,
) -> tuple[FloatArray, int]:
    """Fix the rates, once the numbers of gains and losses are known.

    Args:
        gains, losses (int64 arrays, shape (m,)): Items of either side at the grid.
        ranks (int64 array, shape (m,)): The grid.
        within: The half-width that it is of.
        confidence: Of the bounds at all ranks together.
        variance: Of a label, p (1 − p) at the planned precision; with a judge, of whether it is wrong.

    Returns:
        rates (float64 array, shape (m,)): 1.0 at the first ranks, where all that changed is labelled.
        bounded: At how many of the grid, the last ones, bounds may miss: they share the error evenly.
    """
    planned = _rates(ranks, gains, losses, within, (1 - confidence) / (2 * ranks.size), variance)
    first = _first(planned)
    bounded = ranks.size - first
    # fewer bounds may miss: smaller rates are enough
    planned = np.minimum(planned, _rates(ranks, gains, losses, within, (1 - confidence) / (2 * bounded), variance))
    planned[:first] = 1.0
    return planned, bounded


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


def largest_rates(ranks: Int64Array, *, within: float, confidence: float, variance: float = 0.25) -> FloatArray:
    """The largest rates that there can be, whatever changed: what a scan keeps that does not know it yet.

    Args:
        ranks (int64 array, shape (m,)): The grid.
        within, confidence, variance: As `probabilities` takes them.

    Returns:
        float64 array, shape (m,).
    """
    found = _rates(ranks, ranks, ranks, within, (1 - confidence) / (2 * ranks.size), variance)
    found[: _first(found)] = 1.0
    return found


def between(grid: Int64Array, limits: PairedLimits, ranks: Int64Array) -> PairedLimits:
    """Bounds at any ranks from those at the grid.

    Args:
        grid (int64 array, shape (m,)): Ranks, rising, with their bounds `limits` (shape (m,) each).
        ranks (int64 array, shape (n,)): From the first to the last of the grid.

    Returns:
        lower, upper (int64 arrays, shape (n,)).
    """
    at = np.searchsorted(grid, ranks, side="left")  # the first of the grid that is not below
    before = np.where(grid[at] == ranks, at, at - 1)
    since, until = ranks - grid[before], grid[at] - ranks
    upper = np.minimum(limits[1][before] + since, limits[1][at] + until)
    return np.maximum(limits[0][before] - since, limits[0][at] - until), upper
