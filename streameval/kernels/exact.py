"""Sums over labels in rank order, one fixed block of ranks at a time, for every order of tied items at once.

Items with the same score are a group of n, p of them positive. It is summed four times: early (positives first), late
(negatives first), expected (over all orders), grouped (every positive at the rank of the group's end, as scikit-learn
counts). A group all of one kind is the same in every order, and one of a single item the same all four times.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.harmonic import harmonic_difference, precision_sum
from streameval.kernels.hull import STRETCH, hull_of_groups, hull_of_labels
from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array

# ranks per block; the strictly concave chain of a block has fewer than 9,200 corners (one per primitive vector)
BLOCK = 1 << 20
MOST_CORNERS = 1 << 14
# a block's whole numbers: rows summed, positives; sums of positives' ranks counted from the block's start, where the
# order is immaterial and in mixed groups; corners of both hulls; 1 if an order is open; 1 if a label is not 0 or 1
SEEN, POSITIVES, RANKS, EARLY_RANKS, LATE_RANKS, EARLY, ENDS, MIXED, BAD = range(9)
WHOLES = 9
# a block's real numbers, in pairs: Σ j/r and Σ 1/r over positives, j counted in the block, r the rank in the list
COMMON, EARLY_SUM, LATE_SUM, EXPECTED_SUM, GROUPED_SUM = 0, 2, 4, 6, 8
REALS = 10
# from here on the series of `add_far_labels` is exact to the last bit
FAR_RANKS = 1 << 22
_FEW = 16
_FAR = 1000.0


@kernel
def add_labels(labels: UInt8Array, before: int, whole: Int64Array, real: FloatArray, corner: Int64Array) -> None:
    """Sum untied items.

    Args:
        labels (uint8 array, shape (n,)): 0 or 1, of consecutive ranks.
        before: Ranks before the first.
        whole: int64 array, shape (WHOLES,), zero.
        real: float64 array, shape (REALS,), zero.
        corner (int64 array, shape (2, MOST_CORNERS, 2)): Its first half receives the hull of (ranks, positives).
    """
    row = np.empty(STRETCH + 1, np.int32)
    founds = np.zeros((labels.size + STRETCH - 1) // STRETCH + 1, np.int64)
    found, ranks, odd = np.int64(0), np.int64(0), np.uint8(0)
    weighted, inverse = 0.0, 0.0
    for stretch in range(founds.size - 1):
        first = stretch * STRETCH
        # positives are put together first: what comes and goes as it likes is no branch to guess
        m = np.int64(0)
        for i in range(first, min(first + STRETCH, labels.size)):
            row[m] = i
            m += np.int64(labels[i] & np.uint8(1))
            odd |= labels[i]
        for j in range(m):
            rank = np.int64(row[j]) + 1
            share = 1.0 / np.float64(before + rank)
            weighted += np.float64(found + j + 1) * share
            inverse += share
            ranks += rank
        found += m
        founds[stretch + 1] = found
    whole[SEEN], whole[POSITIVES], whole[RANKS], whole[BAD] = labels.size, found, ranks, odd >> np.uint8(1)
    real[COMMON], real[COMMON + 1] = weighted, inverse
    if not whole[BAD]:
        whole[EARLY] = hull_of_labels(labels, founds, corner[0])


def _byte_sums() -> FloatArray:
    """Σ 1, Σ e, Σ e², Σ j, Σ je, Σ je² over the bits that are set in each byte, j-th of them bit e + 3.5."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)
    place, nth = np.arange(8) - 3.5, np.cumsum(bits, axis=1)
    return np.stack([np.sum(bits * nth**a * place**b, axis=1) for a in (0, 1) for b in (0, 1, 2)], axis=1)


BYTE_SUMS = _byte_sums()


@kernel
def add_far_labels(
    labels: UInt8Array,
    bits: tuple[UInt8Array, FloatArray],
    before: int,
    whole: Int64Array,
    real: FloatArray,
    corner: Int64Array,
) -> None:
    """Do what `add_labels` does, far down a list: eight items at a time.

    Args:
        labels (uint8 array, shape (n,)): 0 or 1, of consecutive ranks.
        bits (pair of arrays): The labels as bits, the first the lowest, uint8, shape (⌈n/8⌉,); and `BYTE_SUMS`.
        before: Ranks before the first, `FAR_RANKS` or more.
        whole, real, corner: As there.

    With c the middle of eight ranks and e the distance from it, 1/(c + e) is (1 − e/c + e²/c²)/c but for a part of
    (e/c)³ ≤ (3.5/2^22)³ < 6·10⁻¹⁹. The sum of a stretch takes 40 roundings at most, and what is lost where stretches
    are added up is carried along: all of it is within 41 · 2⁻⁵³ < 5·10⁻¹⁵ of the truth at the worst, and as roundings
    go both ways within 10⁻¹⁵.
    """
    packed, sums = bits
    founds = np.zeros((labels.size + STRETCH - 1) // STRETCH + 1, np.int64)
    found, ranks, weighted, inverse, lost, lost1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for stretch in range(founds.size - 1):
        first, own, own1 = stretch * (STRETCH // 8), -lost, -lost1
        for i in range(first, min(first + STRETCH // 8, packed.size)):
            at = packed[i]
            n, middle = sums[at, 0], 8.0 * i + 4.5
            share = 1.0 / (before + middle)
            here = share * (n - share * (sums[at, 1] - share * sums[at, 2]))
            own += found * here + share * (sums[at, 3] - share * (sums[at, 4] - share * sums[at, 5]))
            own1 += here
            ranks += n * middle + sums[at, 1]
            found += n
        founds[stretch + 1] = np.int64(found)
        more, more1 = weighted + own, inverse + own1
        lost, lost1 = (more - weighted) - own, (more1 - inverse) - own1
        weighted, inverse = more, more1
    whole[SEEN], whole[POSITIVES], whole[RANKS] = labels.size, np.int64(found), np.int64(ranks)
    real[COMMON], real[COMMON + 1] = weighted, inverse
    whole[EARLY] = hull_of_labels(labels, founds, corner[0])


@kernel
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


@kernel
def group_sums(before: float, found: float, n: float, p: float) -> tuple[float, float, float, float, float, float]:
    """Σ j/r and Σ 1/r over a group's positives: early, late, expected.

    Place i of the group is positive with probability p/n, with (p − 1)(i − 1)/(n − 1) positives expected before it.
    """
    if n * _FAR < before:
        first, last = 0.5 * (p + 1.0), 0.5 * (n - 1.0)
        early1, early = near_sums(before, p)
        late1, late = near_sums(before + n - p, p)
        places, spread = near_sums(before, n)
        slope = (p - 1.0) / (n - 1.0) if n > 1.0 else 0.0
        expected = (found + 1.0) * places + slope * (last * places - spread)
        return (
            (found + first) * early1 - early,
            early1,
            (found + first) * late1 - late,
            late1,
            p / n * expected,
            p / n * places,
        )
    if n > _FEW:
        places = harmonic_difference(before, n)
        spread = (p - 1.0) / (n - 1.0) * (n - (before + 1.0) * places)
        return (
            precision_sum(found + 1.0, found + p, before - found),
            harmonic_difference(before, p),
            precision_sum(found + 1.0, found + p, before + n - p - found),
            harmonic_difference(before + n - p, p),
            p / n * ((found + 1.0) * places + spread),
            p / n * places,
        )
    early, early1, late, late1, expected, expected1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    slope = (p - 1.0) / (n - 1.0) if n > 1.0 else 0.0
    for i in range(1, np.int64(n) + 1):
        share = 1.0 / (before + i)
        expected += (found + 1.0 + slope * (i - 1.0)) * share
        expected1 += share
        if i <= p:
            early += (found + i) * share
            early1 += share
        if i > n - p:
            late += (found + i - (n - p)) * share
            late1 += share
    return early, early1, late, late1, p / n * expected, p / n * expected1


@kernel
def add_groups(
    starts: Int64Array, founds: Int64Array, before: int, whole: Int64Array, real: FloatArray, corner: Int64Array
) -> None:
    """Sum groups of tied items.

    Args:
        starts, founds (int64 arrays, shape (groups + 1,)): Items, and positives, before each group, and in all:
            ascending from 0.
        before: Ranks before the first group.
        whole: int64 array, shape (WHOLES,), zero.
        real: float64 array, shape (REALS,), zero.
        corner (int64 array, shape (2, MOST_CORNERS, 2)): Hulls of (ranks, positives) with mixed groups early, and at
            groups' ends.
    """
    common, common1, ranks, early_ranks, late_ranks = 0.0, 0.0, np.int64(0), np.int64(0), np.int64(0)
    e0, e1, l0, l1, x0, x1, g0, g1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    mixed = 0
    for g in range(starts.size - 1):
        s, f = starts[g], founds[g]
        n, p = starts[g + 1] - s, founds[g + 1] - f
        if n == 1:
            share = np.float64(p) / np.float64(before + s + 1)
            common += np.float64(f + p) * share
            common1 += share
            ranks += p * (s + 1)
        elif p > 0:
            a, a1, b, b1, c, c1 = group_sums(np.float64(before + s), np.float64(f), np.float64(n), np.float64(p))
            e0, e1, l0, l1, x0, x1 = e0 + a, e1 + a1, l0 + b, l1 + b1, x0 + c, x1 + c1
            share = np.float64(p) / np.float64(before + s + n)
            g0, g1 = g0 + np.float64(f + p) * share, g1 + share
            first = p * (p + 1) // 2
            early_ranks += p * s + first
            late_ranks += p * (s + n - p) + first
            if p < n:
                mixed = 1
    whole[SEEN], whole[POSITIVES], whole[RANKS], whole[MIXED] = starts[-1], founds[-1], ranks, mixed
    whole[EARLY_RANKS], whole[LATE_RANKS] = early_ranks, late_ranks
    # one by one: to put an array of them there takes a second to compile
    real[0], real[1], real[2], real[3], real[4] = common, common1, e0, e1, l0
    real[5], real[6], real[7], real[8], real[9] = l1, x0, x1, g0, g1
    if starts.size > 1:
        for side in range(1 + mixed):
            whole[EARLY + side] = hull_of_groups(starts, founds, corner[side], side)


@kernel
def group_rows(keys: UInt64Array, labels: UInt8Array, starts: Int64Array, founds: Int64Array) -> int:
    """Find the groups of tied items; returns how many there are, or −1 where a label or the order is wrong.

    Args:
        keys: uint64 array, shape (n,), n ≥ 1, not decreasing.
        labels: uint8 array, shape (n,).
        starts, founds (int64 arrays, shape (n + 1,) or longer): Receive the rows, and the positives, before each group;
            and of all rows after the last.
    """
    groups, found, odd = np.int64(1), np.int64(labels[0]), labels[0] >> np.uint8(1)
    wrong = np.int64(0)
    starts[0], founds[0] = 0, 0
    for i in range(1, keys.size):
        starts[groups], founds[groups] = i, found
        groups += np.int64(keys[i] != keys[i - 1])
        wrong |= np.int64(keys[i] < keys[i - 1])
        odd |= labels[i] >> np.uint8(1)
        found += np.int64(labels[i])
    starts[groups], founds[groups] = keys.size, found
    return -1 if wrong or odd else int(groups)


@kernel
def leading_group(keys: UInt64Array, labels: UInt8Array, previous: np.uint64) -> tuple[int, int]:
    """Items at the start that tie with the one before them, and the positives among them."""
    n, p = 0, 0
    while n < keys.size and keys[n] == previous:
        p += int(labels[n])
        n += 1
    return n, p
