"""Rows in parts, and those of many rankings parted by ranking: which part a row goes to, and where in it.

A digit of a ranking is the 12 lowest bits of its number with those of a hash of the other bits added, and another salt
gives another digit. There are 2^b parts, told by b bits of a digit: however the numbers lie, parts are about equal. By
the lowest b, rankings of one part differ in the other bits of their numbers: where these have no large gaps, they are
an index, and no table of hashes is needed to tell rankings apart. As the bits of fewer parts are among those of more,
rankings can be told in one order (`digits_of`), however many parts there are.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.draw import mix64, mix_each
from streameval.kernels.jit import kernel
from streameval.kernels.words import Words
from streameval.typing import Int32Array, Int64Array, UInt8Array, UInt64Array

DIGIT = 12  # bits
NEVER = np.uint8(128)  # marks, in a label, an item that was never returned


@kernel
def partition(part: Int32Array, place: Int64Array, edges: Int64Array) -> None:
    """Place rows part by part, each part in the order of rows.

    Args:
        part (int32 array, shape (n,)): The part of each row.
        place (int64 array, shape (n,)): Receives the place of each row.
        edges (int64 array, shape (parts + 1,)): Zero; receives where each part begins; and n.
    """
    for i in range(part.size):
        edges[part[i] + 1] += 1
    for p in range(edges.size - 1):
        edges[p + 1] += edges[p]
    following = edges[:-1].copy()
    for i in range(part.size):
        place[i] = following[part[i]]
        following[part[i]] += 1


@kernel
def parts_of(low: UInt64Array, salt: np.uint64, bits_used: int, bits: int, part: Int32Array) -> None:
    """Find the part of each row by its ranking.

    Args:
        low: uint64 array, shape (n,).
        salt: Of the digit.
        bits_used: Lowest bits of the digit that rows were parted by before; the next `bits` tell the parts.
        part (int32 array, shape (n,)): Receives them.
    """
    mask, above, shift = np.uint64((1 << bits) - 1), np.uint64(DIGIT), np.uint64(bits_used)
    for i in range(low.size):
        part[i] = np.int64(((low[i] ^ mix64((low[i] >> above) ^ salt)) >> shift) & mask)


def backwards(bits: int) -> Int64Array:
    """Numbers of so many bits, each with its bits in reverse."""
    out = np.zeros(1, np.int64)
    for _ in range(bits):
        out = np.concatenate([2 * out, 2 * out + 1])
    return out


_BACKWARDS = backwards(DIGIT).astype(np.uint64)  # every digit, each with its bits in reverse


def digits_of(low: UInt64Array, salts: UInt64Array) -> UInt64Array:
    """Write the digits of rankings behind each other, each with its bits in reverse: the order in which they are told.

    Parts come in the order of their own bits in reverse, and so does what they are parted into.

    Args:
        low (uint64 array, shape (n,)): What names each ranking.
        salts (uint64 array): Of the digits, the first highest; five at most.
    """
    above, digits = low >> np.uint64(DIGIT), np.zeros(low.size, np.uint64)
    for salt in salts:
        digit = (low ^ mix_each(above ^ salt)) & np.uint64((1 << DIGIT) - 1)
        digits = (digits << np.uint64(DIGIT)) | _BACKWARDS[digit.astype(np.int64)]
    return digits


@kernel
def gather(low: Words, high: UInt64Array, bits: int, which: Int32Array, first: Int32Array) -> int:
    """Number the rankings that rows of a part belong to, by first appearance; returns how many there are.

    Args:
        low, high (arrays of shape (n,)): What names the ranking, uint32 or uint64; `high` is empty where `low` does.
        bits: Lowest of `low` that the others tell, because all rows are of one part.
        which (int32 array, shape (n,)): Receives the number of each row's ranking.
        first (int32 array, shape (n,)): Receives the first row of each ranking.
    """
    if high.size == 0 and low.size > 0:
        shift = np.uint64(bits)
        least = most = low[0]
        for i in range(low.size):
            least, most = min(least, low[i]), max(most, low[i])
        begin = np.uint64(least) >> shift
        last = (np.uint64(most) >> shift) - begin
        if last < np.uint64(4 * low.size):
            return _gather_dense(low, shift, begin, np.full(np.int64(last) + 1, -1, np.int32), which, first)
    table, names = np.full(1 << 10, -1, np.int32), np.empty(1 << 9, low.dtype)  # names apart: they stay in the cache
    count = 0
    wide = high.size > 0
    for i in range(low.size):
        if i > 0 and low[i] == low[i - 1] and (not wide or high[i] == high[i - 1]):
            which[i] = which[i - 1]
            continue
        mask = np.uint64(table.size - 1)
        slot = mix64(np.uint64(low[i])) & mask
        while True:
            number = table[np.int64(slot)]
            if number < 0:
                table[np.int64(slot)] = count
                names[count], first[count], which[i] = low[i], i, count
                count += 1
                break
            if names[number] == low[i] and (not wide or high[first[number]] == high[i]):
                which[i] = number
                break
            slot = (slot + np.uint64(1)) & mask
        if count == names.size:
            table, names = _grown(names)
    return count


@kernel
def _gather_dense(
    low: Words, shift: np.uint64, begin: np.uint64, numbers: Int32Array, which: Int32Array, first: Int32Array
) -> int:
    """Do as `gather` does, with room for every number that there may be."""
    count = 0
    for i in range(low.size):
        at = np.int64((np.uint64(low[i]) >> shift) - begin)
        if numbers[at] < 0:
            numbers[at], first[count] = count, i
            count += 1
        which[i] = numbers[at]
    return count


@kernel
def _grown(names: Words) -> tuple[Int32Array, Words]:
    """Make room for twice as many names: while the table fits the cache it is fast."""
    table, mask = np.full(4 * names.size, -1, np.int32), np.uint64(4 * names.size - 1)
    for number in range(names.size):
        slot = mix64(np.uint64(names[number])) & mask
        while table[np.int64(slot)] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[np.int64(slot)] = number
    more = np.empty(2 * names.size, names.dtype)
    for number in range(names.size):  # numpy's own words for this take two seconds to compile
        more[number] = names[number]
    return table, more


@kernel
def place_rows(which: Int32Array, labels: UInt8Array, starts: Int64Array, missed: Int64Array) -> None:
    """Bring rows of one ranking together.

    Args:
        which: See `gather`; receives the place of each row, by ranking, each ranking in the order of rows; behind them
            all, by ranking too, the rows that are items which a list never returned.
        labels (uint8 array, shape (n,)): Those marked `NEVER` are such items.
        starts, missed (int64 arrays, shape (rankings + 1,)): Zero; receive where the rows of each ranking begin, and
            where, among those never returned, theirs do.
    """
    for i in range(which.size):
        if labels[i] & NEVER:
            missed[which[i] + 1] += 1
        else:
            starts[which[i] + 1] += 1
    for r in range(starts.size - 1):
        starts[r + 1] += starts[r]
        missed[r + 1] += missed[r]
    place, late = starts[:-1].copy(), missed[:-1] + starts[-1]
    for i in range(which.size):
        r = which[i]
        if labels[i] & NEVER:
            which[i] = late[r]
            late[r] += 1
        else:
            which[i] = place[r]
            place[r] += 1
