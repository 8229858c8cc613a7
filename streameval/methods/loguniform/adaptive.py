"""Densities of the second batch: labels it takes of each block, from the labels that the first has above it.

A rate may depend on who was drawn, and on what was answered, at lower ranks, and on nothing else: then the martingale
of `streameval.kernels.martingale` is one with the rates of both batches together, and the bounds hold at the full
confidence, for no look was paid for. The labels of the block itself, or those further down, would break it.
"""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np

from streameval.methods.loguniform.design import blocks, middle, offset, space_out
from streameval.methods.loguniform.forecasts import Expected
from streameval.typing import FloatArray, Int64Array

FIRST = 0.25  # density of the first batch, as a share of the most
_STEPS = 4  # densities between the least and the most, an octave
_LOG_ODDS = 7.2  # of bounds at δ = .05: what a half-width of √(variance · LOG_ODDS / c) is made of


def densities(ends: Int64Array, most: float, drawn: FloatArray, positives: FloatArray, planned: Expected) -> FloatArray:
    """Density of each block, between that of `first` and `most`.

    It is what would have been planned for the precision of the last e-fold of labels above the block, less a standard
    error, and for the variance of labels given what the judge said, plus one.

    Args:
        drawn, positives (float64 arrays, shape (blocks, classes)): Labels of the first batch, positives among them;
            what is missing counts as negative.
        planned: The list that `most` was planned for.
    """
    n, k = (
        np.concatenate([np.zeros((1, counts.shape[1])), np.cumsum(counts, axis=0)]) for counts in (drawn, positives)
    )
    start = np.concatenate([[0], ends[:-1]])
    last = np.arange(ends.size)  # cumulative counts of the blocks before
    first = np.minimum(np.searchsorted(ends, start / math.e, side="right"), last)
    n, k = n[last] - n[first], k[last] - k[first]
    labels = n.sum(axis=1)
    p = (k.sum(axis=1) + 1) / (labels + 2)
    p = np.maximum(p - np.sqrt(p * (1 - p) / (labels + 2)), 0.01)
    q = (k + 1) / (n + 2)
    share = n / np.maximum(labels, 1)[:, None]
    within = (share * q * (1 - q)).sum(axis=1)
    within = np.minimum(p * (1 - p), within + np.sqrt(within * (1 - within) / (labels + 2)))
    of_plan = planned.share @ planned.precision, planned.share @ (planned.precision * (1 - planned.precision))
    ratio = _density_needed(p, within) / _density_needed(*(np.array([float(number)]) for number in of_plan))
    steps = np.ceil(np.log2(np.clip(ratio, FIRST, 1)) * _STEPS - 1e-9) / _STEPS
    return _by_own_offset(ends, most, np.where(labels > 0, 2.0**steps, 1.0))


def first(ends: Int64Array, most: float) -> FloatArray:
    """Density of each block in the first batch."""
    return _by_own_offset(ends, most, np.full(ends.size, FIRST))


def _by_own_offset(ends: Int64Array, most: float, share: FloatArray) -> FloatArray:
    """Convert shares of `most` to a design whose offset is that of `most`, on the grid, at least `FIRST`.

    A plan of a lower density has a smaller offset, and labels more near the top: with the offset of a higher one the
    first e-folds would be the widest place.
    """
    rank = middle(ends)
    equivalent = share * (rank + offset(most)) / (rank + offset(most * share))
    steps = np.floor(np.log2(np.minimum(equivalent, 1)) * _STEPS + 1e-9) / _STEPS
    return np.asarray(most * 2.0**steps)


def _density_needed(precision: FloatArray, variance: FloatArray) -> FloatArray:
    """Density c at which √(variance · L/c) + L/2c is .08 of precision, with L = `_LOG_ODDS`.

    .08 is about the default half-width; only the ratio of two such densities is used, and it depends on .08 little.
    """
    root = np.sqrt(_LOG_ODDS * variance)
    inverse = (np.sqrt(root**2 + 2 * _LOG_ODDS * 0.08 * precision) - root) / _LOG_ODDS
    return np.asarray(1 / inverse**2)


def mixture(n_items: int, most: float, of: Expected) -> FloatArray:
    """The mu of the mixture (equal weights): for the least that the second batch may add, and for the most."""
    least, all_ = of.mixture(blocks(n_items, most, FIRST * most)), of.mixture(blocks(n_items, most))
    return space_out(float(least[0]), float(max(least[-1], all_[-1])))


def runs(ends: Int64Array, density: FloatArray) -> list[list[float]]:
    """Densities as plan.json keeps them: the last rank of each run of blocks, and its density."""
    pairs = zip(ends.tolist(), density.tolist(), strict=True)
    return [[[end for end, _ in run][-1], c] for c, run in groupby(pairs, key=lambda pair: pair[1])]


def of_runs(ends: Int64Array, kept: list[list[float]]) -> FloatArray:
    """Density of each block again."""
    last = np.array([end for end, _ in kept])
    return np.array([c for _, c in kept])[np.searchsorted(last, ends)]
