"""Sliding windows over labels in rank order: precision that rises, and windows that rise."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array

# slots of the whole numbers of a window, and of its real ones
RANK, LATER_YIELD, LATER, EARLIER_YIELD, EARLIER, LOW_YIELD, LOW_RANK = range(7)
RISES, FIRST_RISE, LOW_WINDOW, WINDOW_RISES, FIRST_WINDOW_RISE, MOST = range(7, 13)
WHOLE = 13
LOW, LARGEST_RISE = range(2)


@kernel
def slide(labels: UInt8Array, start: int, shape: tuple[int, int, int], whole: Int64Array, real: FloatArray) -> None:
    """Compare each rank r₂ with all ranks r₁ from `head` to r₂ − `gap`, by their precision and by their windows.

    A quotient of whole numbers is rounded monotonically, so two that differ as floats differ as they are. Two that are
    equal as floats are compared by their cross products modulo 2⁶⁴: these differ by less than 2⁶³ then.

    Args:
        labels (uint8 array): 0 or 1; the labels before `start` are those of the ranks before, `window` + `gap` at
            least, 0 before rank 1.
        start: Where the new labels begin.
        shape
        whole (int64 array, shape (WHOLE,)): State: the rank of the last label; yield and window sum there and `gap`
            ranks before; the least precision of an r₁ as positives and rank; ranks r₂ above it, and the first of them;
            the least window sum of an r₁; ranks r₂ above that, the first of them, and the most by which one is.
        real (float64 array, shape (2,)): State: the least precision, and the largest rise above it.
    """
    window, gap, head = shape
    rank, y2, s2 = whole[RANK], whole[LATER_YIELD], whole[LATER]
    y1, s1 = whole[EARLIER_YIELD], whole[EARLIER]
    low_yield, low_rank, low_window = whole[LOW_YIELD], whole[LOW_RANK], whole[LOW_WINDOW]
    rises, first_rise = whole[RISES], whole[FIRST_RISE]
    window_rises, first_window_rise, most = whole[WINDOW_RISES], whole[FIRST_WINDOW_RISE], whole[MOST]
    low, largest = real[LOW], real[LARGEST_RISE]
    for i in range(start, labels.size):
        new, old = np.int64(labels[i]), np.int64(labels[i - gap])
        rank += 1
        y2 += new
        s2 += new - np.int64(labels[i - window])
        y1 += old
        s1 += old - np.int64(labels[i - gap - window])
        earlier = rank - gap
        if earlier < head:
            continue
        p1, p2 = np.float64(y1) / np.float64(earlier), np.float64(y2) / np.float64(rank)
        if p1 < low or (p1 == low and _is_less(y1, earlier, low_yield, low_rank)):
            low, low_yield, low_rank = p1, y1, earlier
        if p2 > low or (p2 == low and _is_less(low_yield, low_rank, y2, rank)):
            rises += 1
            if rises == 1:
                first_rise = rank
            largest = max(largest, p2 - low)
        low_window = min(low_window, s1)
        if s2 > low_window:
            window_rises += 1
            if window_rises == 1:
                first_window_rise = rank
            most = max(most, s2 - low_window)
    whole[RANK], whole[LATER_YIELD], whole[LATER] = rank, y2, s2
    whole[EARLIER_YIELD], whole[EARLIER] = y1, s1
    whole[LOW_YIELD], whole[LOW_RANK], whole[LOW_WINDOW] = low_yield, low_rank, low_window
    whole[RISES], whole[FIRST_RISE] = rises, first_rise
    whole[WINDOW_RISES], whole[FIRST_WINDOW_RISE], whole[MOST] = window_rises, first_window_rise, most
    real[LOW], real[LARGEST_RISE] = low, largest


@kernel
def _is_less(y1: int, r1: int, y2: int, r2: int) -> bool:
    """Tell whether y1/r1 < y2/r2, where the two are equal as floats."""
    difference = np.uint64(y1) * np.uint64(r2) - np.uint64(y2) * np.uint64(r1)
    return bool(np.int64(difference) < 0)


@kernel
def first_uneven(labels: UInt8Array, start: int, rank: int, shape: tuple[int, int, int]) -> int:
    """First rank r₂ that breaks A.2 by a stretch (r₁, r₂] of `gap` to `gap` + `window` − 1 ranks, r₁ ≥ `head`; or 0.

    Its share of positives is above that of the window at r₁, or below that of the window at r₂.

    Args:
        labels (uint8 array): As for `slide`, with 2·`window` + `gap` labels before `start`.
        rank: Rank of the label before `start`.
        shape
    """
    window, gap, head = shape
    yields = np.empty(labels.size + 1, np.int64)
    yields[0] = 0
    for i in range(labels.size):
        yields[i + 1] = yields[i] + np.int64(labels[i])
    reach = gap + 2 * window
    for end in range(start + 1, labels.size + 1):
        later = rank + end - start
        last = min(window, later - gap - head + 1)
        inside = yields[end] - yields[end - reach]
        if last <= 0 or inside == 0 or inside == reach:  # labels that are all alike are never uneven
            continue
        share = yields[end] - yields[end - window]
        for k in range(last):
            length = gap + k
            begin = end - length
            positives = window * (yields[end] - yields[begin])
            if positives > length * (yields[begin] - yields[begin - window]) or positives < length * share:
                return later
    return 0
