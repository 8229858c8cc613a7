"""PAULA's own estimate of the yield: a stretch without labels goes on like the labels on either side of it.

Up to its middle, the unlabelled ranks between two windows have the mean of the last Δ labels before them, from there on
that of the first Δ labels after them; ranks after the last window have the mean of the last Δ labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streameval.curve.estimated import YieldEstimate, join
from streameval.types import Labels
from streameval.typing import FloatArray, Int64Array


def window_estimate(n_items: int, window: int, labels: Labels) -> YieldEstimate | None:
    """Estimate the yield of a list from the labels of a plan of windows; None without labels.

    Args:
        window: Δ.
    """
    rank, label = labels.rank[labels.known], labels.label[labels.known].astype(np.float64)
    if not rank.size:
        return None
    before = np.concatenate([[0], rank])
    after = np.append(rank, n_items + 1)
    at = np.flatnonzero(after - before > 1)  # label `at` is the first one after that stretch
    # without labels before, the stretch is all of those after it, and the other way round
    middle = np.where(at == 0, 0, np.where(at == rank.size, n_items, (before[at] + after[at]) // 2))
    first = np.stack([np.maximum(at - window, 0), np.minimum(at, rank.size)], axis=1)
    last = np.stack([at, np.minimum(at + window, rank.size)], axis=1)
    size = np.stack([middle - before[at], after[at] - 1 - middle], axis=1)
    ends = np.stack([middle, after[at] - 1], axis=1)
    sums = np.concatenate([[0.0], np.cumsum(label)])
    used = size > 0
    many = np.maximum(last - first, 1)
    rate = (sums[last] - sums[first]) / many
    pieces, rates = _pieces(ends[used], rate[used], n_items)
    weight = np.zeros(labels.rank.size)
    weight[labels.known] = 1 + _spread(first[used], last[used], (size / many)[used], rank.size)
    return replace(join(pieces, rates, rank, label), weight=weight)


def _pieces(ends: Int64Array, rate: FloatArray, n_items: int) -> tuple[Int64Array, FloatArray]:
    """Ends in order, the last of them N: every unlabelled rank is in a piece that ends at or after it."""
    if not ends.size or ends[-1] < n_items:
        ends, rate = np.append(ends, n_items), np.append(rate, 0.0)
    return ends.astype(np.int64), rate


def _spread(first: Int64Array, last: Int64Array, each: FloatArray, size: int) -> FloatArray:
    """Add `each` to the labels `first`..`last` − 1 of every stretch."""
    steps = np.bincount(first, each, size + 1) - np.bincount(last, each, size + 1)
    return np.cumsum(steps)[:size]
