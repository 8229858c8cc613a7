"""The standard error of an estimated yield at one rank: approximate, and for that rank alone; bounds hold for all."""

from __future__ import annotations

import numpy as np

from streameval.curve.pooling import PooledLabels
from streameval.typing import FloatArray, Int64Array

_CELL = 8  # labels
_AROUND = 4  # cells on either side whose share is mixed into that of a cell, as one label; half a one of the list
_LEAST = 10  # positives, and negatives: with fewer the error of what is pooled is larger than that of the draw


def standard_error(pool: PooledLabels, labelled: Int64Array, rank: int) -> float:
    """√ Σ u(u/n + 1) q(1 − q) over cells of labels up to a rank; NaN where these are too few of either kind.

    In a cell u items have no label and n do; where odds differ within it, n is (Σ o)²/Σ o². Its share q of positives is
    that of its labels, one label's worth of the nine cells around it and half a one of the list.

    Args:
        pool: The labels with odds above 0, each 0 or 1.
        labelled (int64 array, strictly increasing): All ranks with a label.
        rank: From 1.
    """
    upto = int(np.searchsorted(pool.rank, rank, side="right"))
    positives = int(pool.value[:upto].sum())
    if min(positives, upto - positives) < _LEAST:
        return float("nan")
    first = np.arange(0, pool.rank.size, _CELL)
    odds, found = (np.add.reduceat(each, first) for each in (pool.odds, pool.odds * pool.value))
    n = odds**2 / np.add.reduceat(pool.odds**2, first)
    q = (n * found / odds + _around(found) / _around(odds) + 0.5 * found.sum() / odds.sum()) / (n + 1.5)
    ends = np.minimum(np.append(pool.rank[first[1:] - 1], np.iinfo(np.int64).max), rank)
    u = np.diff(ends - np.searchsorted(labelled, ends, side="right"), prepend=0)
    return float(np.sqrt(np.sum(u * (u / n + 1) * q * (1 - q))))


def _around(cells: FloatArray) -> FloatArray:
    """Sums over each cell and up to four on either side."""
    sums = np.concatenate([[0.0], np.cumsum(cells)])
    at = np.arange(cells.size)
    return np.asarray(sums[np.minimum(at + _AROUND + 1, cells.size)] - sums[np.maximum(at - _AROUND, 0)])
