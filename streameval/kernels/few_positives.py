"""Metrics of a ranking of few positives: its items stay in any order, and the place of each positive is counted."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import borrowing_kernel
from streameval.kernels.ranking_metrics import ITEMS, add_negatives, add_positive, add_tied
from streameval.kernels.tied_items import Tables
from streameval.kernels.words import Words
from streameval.typing import FloatArray, Int64Array, UInt8Array

STRETCH = 16  # keys that are compared at once
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)


@borrowing_kernel
def add_few(
    keys: Words,
    positives: tuple[Words, UInt8Array, Int64Array, Words, Int64Array],
    relevant: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Go along a whole ranking of few positives, whose items are in any order: each positive's place is counted.

    Args:
        keys: Of all its items.
        positives: Keys of its positives, at most 128, and their grades, in any order; room for three whole numbers of
            each, for `STRETCH` keys, and zero for each of `GRADES` grades, as it is left.
        relevant, state, cuts, tables, out: See `add_items`, which does the same with sorted items, to the bit.
    """
    own, grades, room, rest, histogram = positives
    few, whole = own.size, keys.size - keys.size % STRETCH
    equal, word, order = room[:few], room[few : 2 * few], room[2 * few : 3 * few]
    rest[:] = _LAST
    for i in range(whole, keys.size):
        rest[i - whole] = keys[i]
    beyond = whole + STRETCH - keys.size  # of the rest: above every key, or equal to the last there may be
    for i in range(few):
        smaller, same = places(keys, own[i])
        others, also = places(rest, own[i])
        equal[i] = same + also - (beyond if own[i] == rest[STRETCH - 1] else 0)
        word[i] = (smaller + others) << 16 | np.int64(grades[i]) << 8 | i
    sort_words(word, order)
    _add_grouped(order, equal, histogram, keys.size, relevant, state, cuts, tables, out)


@borrowing_kernel
def sort_words(word: Int64Array, order: Int64Array) -> None:
    """Sort a few different numbers, without a branch."""
    for i in range(word.size):
        place = 0
        for j in range(word.size):
            place += int(np.int64(word[j] < word[i]))
        order[place] = word[i]


@borrowing_kernel
def _add_grouped(
    order: Int64Array, equal: Int64Array, histogram: Int64Array, size: int, relevant: int, state: FloatArray,
    cuts: Int64Array, tables: Tables, out: FloatArray,
) -> None:  # fmt: skip
    """Go along a ranking of `size` items, some of whose positives are tied; see `add_few`."""
    a = 0
    while a < order.size:
        smaller, n = order[a] >> 16, equal[order[a] & 255]
        add_negatives(smaller - int(state[ITEMS]), relevant, state, cuts, out)
        if n == 1:
            add_positive(order[a] >> 8 & 255, relevant, state, cuts, tables, out)
            a += 1
            continue
        b, most = a, 0
        while b < order.size and order[b] >> 16 == smaller:
            most = order[b] >> 8 & 255  # they ascend
            histogram[most] += 1
            b += 1
        histogram[0] = n - (b - a)
        add_tied(histogram[: most + 1], relevant, state, cuts, tables, out)
        histogram[: most + 1] = 0
        a = b
    add_negatives(size - int(state[ITEMS]), relevant, state, cuts, out)


@borrowing_kernel
def places(keys: Words, key: Words) -> tuple[int, int]:
    """How many keys are smaller than one, and how many equal it; as many as make whole stretches.

    With sums of 32 bits, no branch and no rest, a compiler compares a stretch at once.
    """
    smaller, equal = np.uint32(0), np.uint32(0)
    for i in range(keys.size - keys.size % STRETCH):
        smaller = np.uint32(smaller + np.uint32(keys[i] < key))
        equal = np.uint32(equal + np.uint32(keys[i] == key))
    return int(np.int64(smaller)), int(np.int64(equal))
