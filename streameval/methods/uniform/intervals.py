"""Intervals for the positives among ranks from which labels were drawn uniformly without replacement.

Each takes, per cutoff, how many labels were drawn from its `items` ranks and how many of them are positive (missing
labels as 0 and as 1), and returns real bounds on the positives among the `items`. Given their number, the drawn ranks
up to a cutoff are uniform among the ranks up to it, so every interval here holds conditionally on `drawn`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.typing import FloatArray, Int64Array


@dataclass(frozen=True)
class DrawCounts:
    """Counts of draws and positives up to some cutoffs.

    Attributes:
        items (int64 array, shape (k,)): Ranks up to the cutoff from which labels were drawn.
        drawn (int64 array, shape (k,)): Labels drawn from them.
        found_low, found_high (int64 arrays, shape (k,)): Positives among the drawn, with a missing label as 0 and as 1.
    """

    items: Int64Array
    drawn: Int64Array
    found_low: Int64Array
    found_high: Int64Array


def hoeffding(counts: DrawCounts, delta: float) -> tuple[FloatArray, FloatArray]:
    """p̃ ± √(ln(2/δ)/(2z)): each cutoff on its own with probability ≥ 1 − δ (PAULA paper, eq. 3).

    With δ/N for δ it holds at N cutoffs at once (the union bound).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.sqrt(math.log(2 / delta) / (2 * counts.drawn))
        low, high = counts.found_low / counts.drawn - radius, counts.found_high / counts.drawn + radius
    return _cut_to_possible(counts, low * counts.items, high * counts.items)


def hypergeometric(counts: DrawCounts, delta: float) -> tuple[FloatArray, FloatArray]:
    """Exact intervals, each cutoff on its own with probability ≥ 1 − δ: what a statistician would use at a point."""
    from streameval.kernels.hypergeometric import sized_intervals

    low, high = sized_intervals(counts.found_low, counts.found_high, counts.drawn, counts.items, delta)
    return _cut_to_possible(counts, low.astype(np.float64), high.astype(np.float64))


def _cut_to_possible(counts: DrawCounts, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Cut to what the labels themselves leave possible; nothing drawn, nothing known."""
    least, most = counts.found_low, counts.items - counts.drawn + counts.found_high
    low, high = np.where(counts.drawn > 0, low, 0.0), np.where(counts.drawn > 0, high, counts.items)
    return np.clip(low, least, most), np.clip(high, least, most)
