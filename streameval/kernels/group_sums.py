"""Sums over groups of tied items in rank order, one block of ranks at a time, for every order of tied items at once.

Items with the same score are a group of n, p of them positive. It is summed four times: early (positives first), late
(negatives first), expected (over all orders), grouped (every positive at the rank of the group's end, as scikit-learn
counts). A group all of one kind is the same in every order, and one of a single item the same all four times.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.exact import (
    EARLY,
    EARLY_RANKS,
    LATE_RANKS,
    MIXED,
    POSITIVES,
    RANKS,
    SEEN,
)
from streameval.kernels.groups import ROOM, STRETCH, GroupSource, read_stretch
from streameval.kernels.harmonic import harmonic_difference, precision_sum
from streameval.kernels.hull import hull_of_groups
from streameval.kernels.jit import kernel, vector_kernel
from streameval.typing import FloatArray, Int64Array

_ONE = np.uint64(1)
_FEW = 16
_FAR = 1000.0


@vector_kernel
def near_sums(start: float, count: float) -> tuple[float, float]:
    """Sum over consecutive places start + 1 .. start + count that are few against `start`.

    Returns:
        harmonic, spread: Σ 1/(c + d) and −Σ d/(c + d), with c the middle of the places and d their distances from it.

    The series of 1/(c + d) in d/c, whose odd terms cancel; with count < c/1000 its fourth power is the last that
    counts. One division, however many places.
    """
    inverse = 1.0 / (start + 0.5 * (count + 1.0))
    square, n2 = inverse * inverse, count * count
    relative = square * ((n2 - 1.0) / 12.0 + square * (n2 * (3.0 * n2 - 10.0) + 7.0) / 240.0)
    return count * inverse * (1.0 + relative), count * relative


@vector_kernel
def group_sums(
    before: float, start_yield: float, n: float, p: float
) -> tuple[float, float, float, float, float, float]:
    """Σ j/r and Σ 1/r over a group's positives: early, late, expected.

    Place i of the group is positive with probability p/n, with (p − 1)(i − 1)/(n − 1) positives expected before it.
    """
    if n * _FAR < before:
        first, last = 0.5 * (p + 1.0), 0.5 * (n - 1.0)
        early1, early = near_sums(before, p)
        late1, late = near_sums(before + n - p, p)
        places, spread = near_sums(before, n)
        slope = (p - 1.0) / (n - 1.0) if n > 1.0 else 0.0
        expected = (start_yield + 1.0) * places + slope * (last * places - spread)
        return (
            (start_yield + first) * early1 - early,
            early1,
            (start_yield + first) * late1 - late,
            late1,
            p / n * expected,
            p / n * places,
        )
    if n > _FEW:
        places = harmonic_difference(before, n)
        spread = (p - 1.0) / (n - 1.0) * (n - (before + 1.0) * places)
        return (
            precision_sum(start_yield + 1.0, start_yield + p, before - start_yield),
            harmonic_difference(before, p),
            precision_sum(start_yield + 1.0, start_yield + p, before + n - p - start_yield),
            harmonic_difference(before + n - p, p),
            p / n * ((start_yield + 1.0) * places + spread),
            p / n * places,
        )
    early, early1, late, late1, expected, expected1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    slope = (p - 1.0) / (n - 1.0) if n > 1.0 else 0.0
    for i in range(1, np.int64(n) + 1):
        share = 1.0 / (before + i)
        expected += (start_yield + 1.0 + slope * (i - 1.0)) * share
        expected1 += share
        if i <= p:
            early += (start_yield + i) * share
            early1 += share
        if i > n - p:
            late += (start_yield + i - (n - p)) * share
            late1 += share
    return early, early1, late, late1, p / n * expected, p / n * expected1


@vector_kernel
def _far_sums(n_groups: np.uint64, groups: FloatArray, sums: FloatArray) -> None:
    """`group_sums` of groups that are short against the ranks before them, several at a time; and "grouped" sums."""
    for i in range(n_groups):
        before, start_yield, n, p = groups[0, i], groups[1, i], groups[2, i], groups[3, i]
        first, last = 0.5 * (p + 1.0), 0.5 * (n - 1.0)
        early1, early = near_sums(before, p)
        late1, late = near_sums(before + n - p, p)
        places, spread = near_sums(before, n)
        expected = (start_yield + 1.0) * places + (p - 1.0) / (n - 1.0) * (last * places - spread)
        sums[0, i], sums[1, i] = (start_yield + first) * early1 - early, early1
        sums[2, i], sums[3, i] = (start_yield + first) * late1 - late, late1
        sums[4, i], sums[5, i] = p / n * expected, p / n * places
        share = p / (before + n)
        sums[6, i], sums[7, i] = (start_yield + p) * share, share


@vector_kernel
def _near_groups(n_groups: np.uint64, groups: FloatArray, sums: FloatArray) -> None:
    """Give the same of any groups."""
    for i in range(n_groups):
        before, start_yield, n, p = groups[0, i], groups[1, i], groups[2, i], groups[3, i]
        e0, e1, l0, l1, x0, x1 = group_sums(before, start_yield, n, p)
        share = p / (before + n)
        sums[0, i], sums[1, i], sums[2, i], sums[3, i], sums[4, i], sums[5, i] = e0, e1, l0, l1, x0, x1
        sums[6, i], sums[7, i] = (start_yield + p) * share, share


@vector_kernel
def _add_stretch(
    starts: Int64Array,
    founds: Int64Array,
    before: int,
    room: tuple[FloatArray, FloatArray],
    whole: Int64Array,
    real: FloatArray,
) -> None:
    """Add some groups one after another, so that the sums do not depend on how many are added at once."""
    groups, sums = room
    common, common1, ranks, k, far = real[0], real[1], np.int64(0), np.uint64(0), True
    for i in range(starts.size - 1):
        s, n, p = starts[i], starts[i + 1] - starts[i], founds[i + 1] - founds[i]
        if n == 1:
            share = np.float64(p) / np.float64(before + s + 1)
            common += np.float64(founds[i + 1]) * share
            common1 += share
            ranks += p * (s + 1)
        elif p > 0:
            groups[0, k], groups[1, k], groups[2, k], groups[3, k] = before + s, founds[i], n, p
            far = far and groups[2, k] * _FAR < groups[0, k]
            k += _ONE
            first = p * (p + 1) // 2
            whole[EARLY_RANKS] += p * s + first
            whole[LATE_RANKS] += p * (s + n - p) + first
            whole[MIXED] |= p < n
    real[0], real[1] = common, common1
    whole[RANKS] += ranks
    if far:
        _far_sums(k, groups, sums)
    else:
        _near_groups(k, groups, sums)
    e0, e1, l0, l1, x0, x1, g0, g1 = real[2], real[3], real[4], real[5], real[6], real[7], real[8], real[9]
    for i in range(k):
        e0, e1, l0, l1 = e0 + sums[0, i], e1 + sums[1, i], l0 + sums[2, i], l1 + sums[3, i]
        x0, x1, g0, g1 = x0 + sums[4, i], x1 + sums[5, i], g0 + sums[6, i], g1 + sums[7, i]
    # one by one: to put an array of them there takes a second to compile
    real[2], real[3], real[4], real[5], real[6], real[7], real[8], real[9] = e0, e1, l0, l1, x0, x1, g0, g1


@kernel
def add_groups(
    source: GroupSource,
    rows: tuple[int, int],
    before: int,
    ranks: Int64Array,
    whole: Int64Array,
    real: FloatArray,
    corner: Int64Array,
    cut: Int64Array,
) -> None:
    """Sum groups of tied items.

    Args:
        source, rows: See `streameval.kernels.groups.read_stretch`.
        before: Ranks before the first group.
        ranks (int64 array, ascending): Some of the items, counted from 1 at the first group.
        whole: int64 array, shape (WHOLES,), zero.
        real: float64 array, shape (REALS,), zero.
        corner (int64 array): See `corners`. Hulls of (ranks, positives) with mixed groups early, and at groups' ends.
        cut (int64 array, shape (ranks, 4)): Receives the group of each: items and positives before it, its size, its
            positives.
    """
    starts, founds = np.zeros(ROOM, np.int64), np.zeros(ROOM, np.int64)
    room = np.empty((4, STRETCH)), np.empty((8, STRETCH))
    ends = np.zeros((corner.shape[1], 2), np.int64)  # items and positives before each stretch, and in all
    stretches, groups, done = 0, 0, 0
    while True:
        n_read = read_stretch(source, rows, groups, starts, founds)
        if n_read == 0:
            break
        s, f = starts[: n_read + 1], founds[: n_read + 1]
        _add_stretch(s, f, before, room, whole, real)
        at = 0
        while done < ranks.size and ranks[done] <= s[n_read]:
            while s[at + 1] < ranks[done]:
                at += 1
            cut[done, 0], cut[done, 1], cut[done, 2], cut[done, 3] = s[at], f[at], s[at + 1] - s[at], f[at + 1] - f[at]
            done += 1
        starts[0], founds[0] = s[n_read], f[n_read]
        stretches, groups = stretches + 1, groups + n_read
        ends[stretches, 0], ends[stretches, 1] = s[n_read], f[n_read]
    whole[SEEN], whole[POSITIVES] = ends[stretches, 0], ends[stretches, 1]
    if stretches > 0:
        for side in range(1 + whole[MIXED]):
            n_corners = hull_of_groups(
                source, rows, ends[: stretches + 1], corner[2], corner[side], side, starts, founds
            )
            whole[EARLY + side] = n_corners
