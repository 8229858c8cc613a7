"""Many short rankings, one after another in arrays: measured, and their metrics summed."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import borrowing_kernel, kernel
from streameval.kernels.ranking_metrics import (
    GRADES,
    ITEMS,
    STATE,
    add_items,
    add_negatives,
    add_positive,
    add_tied,
    finish,
)
from streameval.kernels.tied_items import EXPECTED, Tables
from streameval.kernels.words import Words
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array

STRETCH = 16  # keys that are compared at once
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
_RUN = 128
_FEW = 64  # positives whose places are counted, item by item, instead of sorting all
_SIGN = np.uint64(1 << 63)
HALF = 31  # a sum of whole numbers is kept as two, of so many bits and of the rest: no rounding, in any order
UNIT = 2.0**62


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
    positive_keys, grades, room, rest, histogram = positives
    few, whole = positive_keys.size, keys.size - keys.size % STRETCH
    equal, word, order = room[:few], room[few : 2 * few], room[2 * few : 3 * few]
    rest[:] = _LAST
    for i in range(whole, keys.size):
        rest[i - whole] = keys[i]
    beyond = whole + STRETCH - keys.size  # of the rest: above every key, or equal to the last there may be
    for i in range(few):
        smaller, same = places(keys, positive_keys[i])
        others, also = places(rest, positive_keys[i])
        equal[i] = same + also - (beyond if positive_keys[i] == rest[STRETCH - 1] else 0)
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
    """Tell how many keys are smaller than one, and how many equal it; as many as make whole stretches.

    With sums of 32 bits, no branch and no rest, a compiler compares a stretch at once.
    """
    smaller, equal = np.uint32(0), np.uint32(0)
    for i in range(keys.size - keys.size % STRETCH):
        smaller = np.uint32(smaller + np.uint32(keys[i] < key))
        equal = np.uint32(equal + np.uint32(keys[i] == key))
    return int(np.int64(smaller)), int(np.int64(equal))


@kernel
def repeated(items: UInt64Array, starts: Int64Array) -> tuple[int, int, int]:
    """Count items that a ranking holds more than once; they are sorted in place.

    Returns:
        rankings, rows, first: How many rankings do, the rows that are too many, and the first such ranking, or -1.
    """
    rankings, rows, first = 0, 0, -1
    for r in range(starts.size - 1):
        query_items = items[starts[r] : starts[r + 1]]
        query_items.sort()
        again = 0
        for i in range(1, query_items.size):
            again += int(np.int64(query_items[i] == query_items[i - 1]))
        if again:
            rows += again
            rankings += 1
            if first < 0:
                first = r
    return rankings, rows, first


@kernel
def sort_segment(keys: Words, labels: UInt8Array, keys2: Words, labels2: UInt8Array) -> None:
    """Sort items by key, unless they are sorted; the other two arrays are room, as long.

    Runs of `_RUN` by counting, for each item, the keys that are smaller: signed numbers without a branch are compared
    several at a time. Then runs are merged.
    """
    n = keys.size
    wrong = 0
    for i in range(1, n):
        wrong += keys[i] < keys[i - 1]
    if wrong == 0:
        return
    signed, n_ties = np.empty(_RUN, np.int64), np.empty(_RUN, np.int64)
    for first in range(0, n, _RUN):
        count = min(_RUN, n - first)
        for i in range(count):
            signed[i] = np.int64(np.uint64(keys[first + i]) ^ _SIGN)
            n_ties[i] = 0
        for i in range(count):
            key, smaller = signed[i], 0
            for j in range(count):
                smaller += int(np.int64(signed[j] < key))
            place = first + smaller + n_ties[smaller]
            n_ties[smaller] += 1
            keys2[place], labels2[place] = keys[first + i], labels[first + i]
    width, inside = _RUN, 1  # where the runs are now: 1 in the spare arrays
    while width < n:
        if inside:
            _merge_runs(keys2, labels2, keys, labels, width)
        else:
            _merge_runs(keys, labels, keys2, labels2, width)
        inside = 1 - inside
        width *= 2
    if inside:
        for i in range(keys.size):
            keys[i], labels[i] = keys2[i], labels2[i]


@borrowing_kernel
def _merge_runs(keys: Words, labels: UInt8Array, keys2: Words, labels2: UInt8Array, width: int) -> None:
    for first in range(0, keys.size, 2 * width):
        middle, last = min(first + width, keys.size), min(first + 2 * width, keys.size)
        a, b = first, middle
        for at in range(first, last):
            if b >= last or (a < middle and keys[a] <= keys[b]):
                keys2[at], labels2[at] = keys[a], labels[a]
                a += 1
            else:
                keys2[at], labels2[at] = keys[b], labels[b]
                b += 1


@kernel
def measure(
    keys: Words,
    labels: UInt8Array,
    starts: Int64Array,
    misses: tuple[Int64Array, UInt8Array],
    cuts: Int64Array,
    tables: Tables,
    facts: Int64Array,
    out: FloatArray,
    which: Int64Array,
) -> None:
    """Measure some of the rankings that lie one after another; items of one with many positives are sorted in place.

    Args:
        keys (uint32 or uint64 array, shape (n,)): Order keys, the best item has the smallest.
        labels (uint8 array, shape (n,)): Grades; 0 is no positive.
        starts (int64 array, shape (rankings + 1,)): First item of each ranking; and n.
        misses: Where the items that each ranking never returned begin, int64, shape (rankings + 1,); and their grades,
            uint8.
        cuts, tables: See `add_items`.
        facts (int64 array, shape (rankings, 3)): Receives items, positives among them, and positives never returned.
        out (float64 array, shape (rankings, metrics, 3)): Receives the metrics; see `add_items`.
        which (int64 array): Numbers of those to measure.
    """
    longest = 0
    for number in range(which.size):  # numpy's own words for this take two seconds to compile
        longest = max(longest, starts[which[number] + 1] - starts[which[number]])
    keys2, labels2 = np.empty(longest, keys.dtype), np.empty(longest, np.uint8)
    counts, histogram, state = np.zeros(GRADES, np.int64), np.zeros(GRADES, np.int64), np.zeros(STATE)
    at, positive_keys, grades = np.empty(_FEW, np.int64), np.empty(_FEW, keys.dtype), np.empty(_FEW, np.uint8)
    room, rest = np.empty(3 * at.size, np.int64), np.empty(STRETCH, keys.dtype)
    for number in range(which.size):
        r = which[number]
        first, last = starts[r], starts[r + 1]
        n, missed = last - first, misses[0][r + 1] - misses[0][r]
        most = _count_grades(labels[first:last], counts)
        positives = n - counts[0]
        most = max(most, _count_grades(misses[1][misses[0][r] : misses[0][r + 1]], counts))
        facts[r, 0], facts[r, 1], facts[r, 2] = n, positives, missed
        state[:] = 0.0
        out[r, :, :] = 0.0
        if positives > _FEW:
            sort_segment(keys[first:last], labels[first:last], keys2[:n], labels2[:n])
            add_items(keys[first:last], labels[first:last], positives + missed, state, cuts, tables, out[r])
        else:
            _pick(keys[first:last], labels[first:last], positive_keys, grades)
            few_ones = positive_keys[:positives], grades[:positives], room, rest, histogram
            add_few(keys[first:last], few_ones, positives + missed, state, cuts, tables, out[r])
        finish(counts[: most + 1], n - positives, state, cuts, tables, out[r])
        counts[: most + 1] = 0


@borrowing_kernel
def _count_grades(grades: UInt8Array, counts: Int64Array) -> int:
    """Count grades; returns the highest."""
    most = 0
    for i in range(grades.size):
        counts[grades[i]] += 1
        most = max(most, int(np.int64(grades[i])))
    return most


@borrowing_kernel
def _pick(keys: Words, labels: UInt8Array, positive_keys: Words, grades: UInt8Array) -> None:
    """Keys and grades of the positives, for which there is room."""
    count = 0
    for i in range(labels.size):
        if labels[i]:
            positive_keys[count], grades[count] = keys[i], labels[i]
            count += 1


@kernel
def add_up(
    facts: Int64Array,
    values: FloatArray,
    sums: tuple[Int64Array, Int64Array, Int64Array],
    by_size: tuple[Int64Array, Int64Array],
    bins: Int64Array,
) -> None:
    """Sum metrics over rankings; what is undefined adds nothing.

    Args:
        facts, values: See `measure`; the last row of each ranking is left out.
        sums (three int64 arrays, shape (metrics, 3, 2), the last (metrics, 1, 2)): Receive the sums in units of 1/UNIT,
            in two halves; how many are defined; and sums of squares of expected values, as sums.
        by_size (pair): By decimal digits of the number of items, 0 of a list without any: rankings and those without a
            positive, int64, shape (sizes, 2); and sums of expected values over the others, int64, shape (sizes,
            metrics, 2), as `sums`.
        bins (int64 array, shape (metrics, bins)): Receives how many of the rankings with a positive have an expected
            value in each bin of equal width of [0, 1].
    """
    total, defined, squares = sums
    for r in range(facts.shape[0]):
        size, items = 0, facts[r, 0]
        while items > 0:
            size, items = size + 1, items // 10
        relevant = facts[r, 1] + facts[r, 2]
        by_size[0][size, 0] += 1
        by_size[0][size, 1] += np.int64(relevant == 0)
        for m in range(bins.shape[0]):
            if np.isnan(values[r, m, EXPECTED]):
                continue
            same = values[r, m, 0] == values[r, m, EXPECTED] == values[r, m, 2]
            middle = np.int64(values[r, m, EXPECTED] * UNIT)
            for o in range(3):
                whole = middle if same else np.int64(values[r, m, o] * UNIT)
                total[m, o, 0] += whole >> HALF
                total[m, o, 1] += whole & ((1 << HALF) - 1)
            defined[m, 0, 0] += 1
            whole = np.int64(values[r, m, EXPECTED] * values[r, m, EXPECTED] * UNIT)
            squares[m, 0, 0] += whole >> HALF
            squares[m, 0, 1] += whole & ((1 << HALF) - 1)
            if relevant > 0:
                by_size[1][size, m, 0] += middle >> HALF
                by_size[1][size, m, 1] += middle & ((1 << HALF) - 1)
                bins[m, min(np.int64(values[r, m, EXPECTED] * bins.shape[1]), bins.shape[1] - 1)] += 1
