"""Groups of tied items, read a stretch of 256 at a time: whoever works on a stretch finds it in the nearest cache.

They come from bits (`streameval.kernels.bits`): labels, and which items tie with the one before; or from numbers of a
few bytes each: the size and the positives of every group.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import WORD, count, count_bits, load, load_half, lowest
from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes
from streameval.typing import Int64Array, UInt8Array, UInt64Array

STRETCH = 256
ROOM = STRETCH + WORD + 1  # of arrays that receive a stretch
_WORD_STEPS, _GROUP_STEPS = 8, 15
_NONE, _ONE = np.uint64(0), np.uint64(1)
# labels, and bits that are set where an item ties with the one before it (uint64 arrays); and the sizes, and the
# positives, of groups (uint8 array, shape (2, groups · bytes)), and bytes of each number: 0 where there are bits
GroupSource = tuple[UInt64Array, UInt64Array, UInt8Array, int]


def of_bits(labels: UInt64Array, repeats: UInt64Array) -> GroupSource:
    """Groups of items."""
    return labels, repeats, np.empty((2, 0), np.uint8), 0


def of_numbers(numbers: np.ndarray) -> GroupSource:
    """Groups of given sizes and positives: shape (2, groups), whole numbers of any width."""
    nothing = np.empty(0, np.uint64)
    return nothing, nothing, np.ascontiguousarray(numbers).view(np.uint8), numbers.dtype.itemsize


def steps(source: GroupSource, rows: tuple[int, int]) -> int:
    """Give those of plain Python that sums of groups take, about; see `jit.small`."""
    first, last = rows
    if source[3]:
        return _GROUP_STEPS * (last - first)
    return _WORD_STEPS * ((last - first) // WORD) + _GROUP_STEPS * (last - first - count_bits(source[1], first, last))


@kernel
def number_at(raw: Bytes, i: np.uint64, width: int) -> int:
    """The i-th of some numbers of so many bytes."""
    at = i * np.uint64(width)
    if width == 1:
        return int(np.int64(raw[at]))
    if width == 2:
        return int(np.int64(raw[at]) | np.int64(raw[at + _ONE]) << np.int64(8))
    return int(np.int64(load_half(raw, at) if width == 4 else load(raw, at)))


@kernel
def read_stretch(
    source: GroupSource, rows: tuple[int, int], before: int, starts: Int64Array, founds: Int64Array
) -> int:
    """Read the next groups, STRETCH of them or those that are left; returns how many.

    Args:
        source: See `GroupSource`.
        rows: The first item and the one after the last, where there are bits; the first begins a group, and the last
            ends one. Else the same of groups.
        before: Groups before these.
        starts, founds (int64 arrays, shape (ROOM,) or longer): The first of each is items, and positives, before these
            groups; receive the same of each group, and of all after the last.
    """
    labels, repeats, packed, width = source
    begin, end = rows
    if width:
        groups, s, f = max(0, min(STRETCH, end - begin - before)), starts[0], founds[0]
        at, sizes, positives = np.uint64(begin + before), packed[0], packed[1]
        for i in range(groups):
            s += number_at(sizes, at + np.uint64(i), width)
            f += number_at(positives, at + np.uint64(i), width)
            starts[i + 1], founds[i + 1] = s, f
        return groups
    first = begin + starts[0]
    if first >= end:
        return 0
    i, start_yield, n = first // WORD, founds[0], np.uint64(1)
    before_first, up_to_first = lowest(first - WORD * i), lowest(first + 1 - WORD * i)
    while n <= np.uint64(STRETCH) and WORD * i < end:
        here, item = lowest(end - WORD * i), WORD * i - begin
        word, fresh = labels[i] & here & ~before_first, ~repeats[i] & here & ~up_to_first
        before_first, up_to_first = _NONE, _NONE
        while fresh:
            below = (fresh - _ONE) & ~fresh
            starts[n], founds[n] = item + count(below), start_yield + count(word & below)
            fresh &= fresh - _ONE
            n += _ONE
        start_yield += count(word)
        i += 1
    if n <= np.uint64(STRETCH):
        starts[n], founds[n] = end - begin, start_yield
        return int(np.int64(n))
    return STRETCH


@kernel
def every_group(source: GroupSource, rows: tuple[int, int], starts: Int64Array, founds: Int64Array) -> int:
    """Read all groups; returns how many. Arguments as of `read_stretch`, arrays longer than the groups by ROOM."""
    starts[0], founds[0], groups = 0, 0, 0
    while True:
        more = read_stretch(source, rows, groups, starts[groups:], founds[groups:])
        if more == 0:
            return groups
        groups += more


def leading_ties(repeats: UInt64Array, rows: int) -> int:
    """Items at the start that tie with the one before them; numpy alone."""
    fresh = np.flatnonzero(~repeats[: -(-rows // WORD)])[:1]
    if not fresh.size:
        return rows
    word = int(~repeats[fresh[0]])
    return min(rows, WORD * int(fresh[0]) + (word & -word).bit_length() - 1)


def last_group(repeats: UInt64Array, rows: int) -> int:
    """The last item that does not tie with the one before it, of which there is one; numpy alone."""
    fresh = ~repeats[: -(-rows // WORD)]
    fresh[-1] &= np.uint64((1 << (rows - 1) % WORD + 1) - 1)
    i = int(np.flatnonzero(fresh)[-1])
    return WORD * i + int(fresh[i]).bit_length() - 1
