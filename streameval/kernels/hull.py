"""Upper hulls of (rank, yield), on which every quotient that rises with yield and falls with rank has its maximum.

A walk of a million steps keeps so far from the hull of a few of its points that most stretches between these need not
be looked at: a stretch that gains k positives cannot rise above the corner it would make with all k first.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import WORD, count, lowest, word_at
from streameval.kernels.groups import STRETCH, GroupSource, read_stretch
from streameval.kernels.jit import kernel
from streameval.typing import Int64Array, UInt64Array

_SHORT, _WORDS = 16, STRETCH // WORD
_ONE = np.uint64(1)


@kernel
def push_corner(corner: Int64Array, size: int, rank: int, positives: int) -> int:
    """Append a point to an upper concave chain from (0, 0), dropping the points it covers; return the new size."""
    while size > 0:
        x1, y1 = corner[size - 1, 0], corner[size - 1, 1]
        x0, y0 = np.int64(0), np.int64(0)
        if size > 1:
            x0, y0 = corner[size - 2, 0], corner[size - 2, 1]
        if (y1 - y0) * (rank - x1) > (positives - y1) * (x1 - x0):
            break
        size -= 1
    corner[size, 0] = rank
    corner[size, 1] = positives
    return size + 1


@kernel
def is_above(corner: Int64Array, edge: int, rank: int, positives: int) -> bool:
    """Tell whether a point lies on or above the chain, on the edge that ends at corner `edge`."""
    x0, y0 = np.int64(0), np.int64(0)
    if edge > 0:
        x0, y0 = corner[edge - 1, 0], corner[edge - 1, 1]
    return bool((positives - y0) * (corner[edge, 0] - x0) >= (corner[edge, 1] - y0) * (rank - x0))


def founds_of(words: UInt64Array, rows: int) -> Int64Array:
    """Positives up to the ends of stretches, from 0: int64 array, shape (⌈rows/STRETCH⌉ + 1,); numpy alone.

    Args:
        words (uint64 array): Labels (`streameval.kernels.bits`).
        rows: How many.
    """
    n, stretches = -(-rows // WORD), -(-rows // STRETCH)
    each = np.zeros(stretches * _WORDS, np.uint8)
    np.bitwise_count(words[:n], out=each[:n])
    if rows % WORD:
        each[n - 1] = np.bitwise_count(words[n - 1] & ((_ONE << np.uint64(rows % WORD)) - _ONE))
    # two counts next to each other are added as halves of a number: numpy sums four at a time ten times as slowly
    pairs = each.view(np.uint16)
    fours = ((pairs & np.uint16(0xFF)) + (pairs >> np.uint16(8))).view(np.uint32)
    founds = np.zeros(stretches + 1, np.int64)
    np.cumsum((fours & np.uint32(0xFFFF)) + (fours >> np.uint32(16)), dtype=np.int64, out=founds[1:])
    return founds


def found_before(words: UInt64Array, rows: Int64Array, founds: Int64Array) -> Int64Array:
    """Positives before some rows, 0-based, all of them in the words, given `founds_of` these; numpy alone."""
    at, stretches = rows // WORD, rows // STRETCH
    positives = founds[stretches] + np.bitwise_count(words[at] & ((_ONE << (rows % WORD).astype(np.uint64)) - _ONE))
    for word in range(_WORDS - 1):
        earlier = stretches * _WORDS + word
        positives += np.bitwise_count(words[np.minimum(earlier, at)]) * (earlier < at)
    return positives


@kernel
def hull_of_labels(words: UInt64Array, rows: int, founds: Int64Array, coarse: Int64Array, corner: Int64Array) -> int:
    """Hull of untied items; returns how many corners it has.

    Args:
        words (uint64 array): Labels (`streameval.kernels.bits`).
        rows: How many.
        founds (int64 array): See `founds_of`.
        coarse (int64 array, shape (k, 2)): Room, for as many as `founds`.
        corner (int64 array, shape (k, 2)): Receives (ranks, positives).
    """
    size = 0
    for i in range(1, founds.size):
        size = push_corner(coarse, size, min(i * STRETCH, rows), founds[i])
    size, edge = 0, 0
    for i in range(founds.size - 1):
        first, positives = i * STRETCH, founds[i]
        last, gained = min(first + STRETCH, rows), founds[i + 1] - positives
        while coarse[edge, 0] < first + gained:
            edge += 1
        if gained > 0 and is_above(coarse, edge, first + gained, positives + gained):
            # the same of shorter stretches: little of this one reaches as high as it might
            near = edge
            while near > 0 and coarse[near - 1, 0] >= first:
                near -= 1
            for start in range(first, last, _SHORT):
                piece = words[start // WORD] >> np.uint64(start % WORD) & lowest(min(_SHORT, last - start))
                gained = int(count(piece))
                while coarse[near, 0] < start + gained:
                    near += 1
                if gained > 0 and is_above(coarse, near, start + gained, positives + gained):
                    ends, reached = piece & ~(piece >> _ONE), positives
                    if start + _SHORT < rows and word_at(words, start + _SHORT) & _ONE:
                        ends &= lowest(_SHORT - 1)  # its last run of positives goes on
                    while ends:
                        below = (ends - _ONE) & ~ends
                        row = int(count(below))
                        reached = positives + int(count(piece & (below << _ONE | _ONE)))
                        size = push_corner(corner, size, start + row + 1, reached)
                        ends &= ends - _ONE
                positives += gained
        elif gained > 0:
            size = push_corner(corner, size, last, founds[i + 1])
    return size


@kernel
def hull_of_groups(
    source: GroupSource,
    rows: tuple[int, int],
    ends: Int64Array,
    coarse: Int64Array,
    corner: Int64Array,
    late: int,
    starts: Int64Array,
    founds: Int64Array,
) -> int:
    """Hull of groups of tied items; returns how many corners it has.

    Args:
        source, rows: See `streameval.kernels.groups.read_stretch`.
        ends (int64 array, shape (stretches + 1, 2)): Items and positives before each stretch, from 0, and in all.
        coarse (int64 array, shape (k, 2)): Room, for one of each stretch.
        corner (int64 array, shape (k, 2)): Receives (ranks, positives).
        late: 0: a group's positives come first. 1: they have come by its end.
        starts, founds (int64 arrays, shape (ROOM,)): Room for a stretch.
    """
    size = 0
    for i in range(1, ends.shape[0]):
        size = push_corner(coarse, size, ends[i, 0], ends[i, 1])
    size, edge = 0, 0
    for i in range(ends.shape[0] - 1):
        gained = ends[i + 1, 1] - ends[i, 1]
        while coarse[edge, 0] < ends[i, 0] + gained:
            edge += 1
        if gained > 0 and is_above(coarse, edge, ends[i, 0] + gained, ends[i, 1] + gained):
            # the same of shorter stretches: little of this one reaches as high as it might
            near = edge
            while near > 0 and coarse[near - 1, 0] >= ends[i, 0]:
                near -= 1
            starts[0], founds[0] = ends[i, 0], ends[i, 1]
            groups = read_stretch(source, rows, STRETCH * i, starts, founds)
            for j in range(0, groups, _SHORT):
                after = min(j + _SHORT, groups)
                gained = founds[after] - founds[j]
                while coarse[near, 0] < starts[j] + gained:
                    near += 1
                if gained > 0 and is_above(coarse, near, starts[j] + gained, founds[j] + gained):
                    at = near
                    while at > 0 and coarse[at - 1, 0] >= starts[j]:
                        at -= 1
                    for g in range(j, after):
                        positives = founds[g + 1]
                        rank = starts[g + 1] if late else starts[g] + positives - founds[g]
                        while coarse[at, 0] < rank:
                            at += 1
                        if is_above(coarse, at, rank, positives) and positives > founds[g]:
                            size = push_corner(corner, size, rank, positives)
        if ends[i + 1, 1] > ends[i, 1]:
            size = push_corner(corner, size, ends[i + 1, 0], ends[i + 1, 1])
    return size
