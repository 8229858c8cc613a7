"""Many short rankings, one after another in arrays: gathered, sorted where they lie, measured, summed."""

from __future__ import annotations

import numpy as np

from streameval.kernels.draw import mix64
from streameval.kernels.jit import kernel
from streameval.kernels.ranking_metrics import EXPECTED, GRADES, STATE, add_items, finish
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array

_RUN = 128
_SIGN = np.uint64(1 << 63)
HALF = 31  # a sum of whole numbers is kept as two, of so many bits and of the rest: no rounding, in any order
UNIT = 2.0**62
NEVER = np.uint8(128)  # marks, in a label, an item that was never returned


@kernel
def parts_of(
    low: UInt64Array, salt: np.uint64, count: int, part: Int64Array, edges: Int64Array, order: Int64Array
) -> None:
    """Part rows by their ranking.

    Args:
        low: uint64 array, shape (n,).
        salt: Other rankings share a part with another salt.
        count: Parts.
        part (int64 array, shape (n,)): Room.
        edges (int64 array, shape (count + 1,)): Zero; receives where each part begins in `order`; and n.
        order (int64 array, shape (n,)): Receives the rows, part by part, each in its order.
    """
    for i in range(low.size):
        part[i] = np.int64(((mix64(low[i] ^ salt) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))
        edges[part[i] + 1] += 1
    for p in range(count):
        edges[p + 1] += edges[p]
    place = edges[:-1].copy()
    for i in range(low.size):
        order[place[part[i]]] = i
        place[part[i]] += 1


@kernel
def gather(low: UInt64Array, high: UInt64Array, which: Int64Array, first: Int64Array) -> int:
    """Number the rankings that rows belong to, by first appearance; returns how many there are.

    Args:
        low, high (uint64 arrays, shape (n,)): 128 bits that name the ranking; `high` is empty where 64 do.
        which (int64 array, shape (n,)): Receives the number of each row's ranking.
        first (int64 array, shape (n,)): Receives the first row of each ranking.
    """
    slots = 16
    while slots < 2 * low.size:
        slots *= 2
    table = np.full(slots, -1, np.int32)
    mask = np.uint64(slots - 1)
    count = 0
    wide = high.size > 0
    for i in range(low.size):
        if i > 0 and low[i] == low[i - 1] and (not wide or high[i] == high[i - 1]):
            which[i] = which[i - 1]
            continue
        slot = mix64(low[i]) & mask
        while True:
            known = table[np.int64(slot)]
            if known < 0:
                table[np.int64(slot)] = count
                first[count] = i
                which[i] = count
                count += 1
                break
            row = first[known]
            if low[row] == low[i] and (not wide or high[row] == high[i]):
                which[i] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return count


@kernel
def place_rows(
    which: Int64Array, labels: UInt8Array, starts: Int64Array, missed: Int64Array, order: Int64Array
) -> None:
    """Bring rows of one ranking together.

    Args:
        which: See `gather`.
        labels (uint8 array, shape (n,)): Those marked `NEVER` are items that a list never returned.
        starts, missed (int64 arrays, shape (rankings + 1,)): Zero; receive where the rows of each ranking begin in
            `order`, and where, among those never returned, theirs do.
        order (int64 array, shape (n,)): Receives rows by ranking, each ranking in its order; then those never returned.
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
        if labels[i] & NEVER:
            order[late[which[i]]] = i
            late[which[i]] += 1
        else:
            order[place[which[i]]] = i
            place[which[i]] += 1


@kernel
def repeated(items: UInt64Array, starts: Int64Array) -> tuple[int, int, int]:
    """Count items that a ranking holds more than once; they are sorted in place.

    Returns:
        rankings, rows, first: How many rankings do, the rows that are too many, and the first such ranking, or -1.
    """
    rankings, rows, first = 0, 0, -1
    for r in range(starts.size - 1):
        own = items[starts[r] : starts[r + 1]]
        own.sort()
        again = 0
        for i in range(1, own.size):
            again += int(np.int64(own[i] == own[i - 1]))
        if again:
            rows += again
            rankings += 1
            if first < 0:
                first = r
    return rankings, rows, first


@kernel
def sort_segment(keys: UInt64Array, labels: UInt8Array, keys2: UInt64Array, labels2: UInt8Array) -> None:
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
    signed, taken = np.empty(_RUN, np.int64), np.empty(_RUN, np.int64)
    for first in range(0, n, _RUN):
        count = min(_RUN, n - first)
        for i in range(count):
            signed[i] = np.int64(keys[first + i] ^ _SIGN)
            taken[i] = 0
        for i in range(count):
            key, smaller = signed[i], 0
            for j in range(count):
                smaller += int(np.int64(signed[j] < key))
            place = first + smaller + taken[smaller]
            taken[smaller] += 1
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
        keys[:], labels[:] = keys2, labels2


@kernel
def _merge_runs(keys: UInt64Array, labels: UInt8Array, keys2: UInt64Array, labels2: UInt8Array, width: int) -> None:
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
    keys: UInt64Array,
    labels: UInt8Array,
    starts: Int64Array,
    misses: tuple[Int64Array, UInt8Array],
    cuts: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    facts: Int64Array,
    out: FloatArray,
) -> None:
    """Measure rankings that lie one after another; items of each are sorted in place.

    Args:
        keys (uint64 array, shape (n,)): Order keys, the best item has the smallest.
        labels (uint8 array, shape (n,)): Grades; 0 is no positive.
        starts (int64 array, shape (rankings + 1,)): First item of each ranking; and n.
        misses: Where the items that each ranking never returned begin, int64, shape (rankings + 1,); and their grades,
            uint8.
        cuts, tables: See `add_items`.
        facts (int64 array, shape (rankings, 3)): Receives items, positives among them, and positives never returned.
        out (float64 array, shape (rankings, WHOLE + AT_CUTOFF·cutoffs, 3)): Zero; receives the metrics.
    """
    longest = np.diff(starts).max()
    keys2, labels2 = np.empty(longest, np.uint64), np.empty(longest, np.uint8)
    counts, state = np.zeros(GRADES, np.int64), np.zeros(STATE)
    for r in range(starts.size - 1):
        first, last = starts[r], starts[r + 1]
        most = 0
        for i in range(first, last):
            counts[labels[i]] += 1
            most = max(most, int(np.int64(labels[i])))
        negatives = counts[0]
        positives = last - first - negatives
        for i in range(misses[0][r], misses[0][r + 1]):
            counts[misses[1][i]] += 1
            most = max(most, int(np.int64(misses[1][i])))
        missed = misses[0][r + 1] - misses[0][r]
        facts[r, 0], facts[r, 1], facts[r, 2] = last - first, positives, missed
        n = last - first
        sort_segment(keys[first:last], labels[first:last], keys2[:n], labels2[:n])
        state[:] = 0.0
        add_items(keys[first:last], labels[first:last], positives + missed, state, cuts, tables, out[r])
        finish(counts, negatives, state, cuts, tables, out[r])
        counts[: most + 1] = 0


@kernel
def add_up(
    facts: Int64Array,
    values: FloatArray,
    sums: tuple[Int64Array, Int64Array],
    by_size: tuple[Int64Array, Int64Array],
    bins: Int64Array,
) -> None:
    """Sum metrics over rankings; what is undefined adds nothing.

    Args:
        facts, values: See `measure`.
        sums (pair of int64 arrays, shape (metrics, 3, 2)): Receive the sums in units of 1/UNIT, in two halves; and how
            many are defined.
        by_size (pair): By decimal digits of the number of items, 0 of a list without any: rankings and those without a
            positive, int64, shape (sizes, 2); and sums of expected values, int64, shape (sizes, metrics, 2), as `sums`.
        bins (int64 array, shape (metrics, bins)): Receives how many of the rankings with a positive have an expected
            value in each bin of equal width of [0, 1].
    """
    total, defined = sums
    for r in range(facts.shape[0]):
        size, items = 0, facts[r, 0]
        while items > 0:
            size, items = size + 1, items // 10
        relevant = facts[r, 1] + facts[r, 2]
        by_size[0][size, 0] += 1
        by_size[0][size, 1] += np.int64(relevant == 0)
        for m in range(values.shape[1]):
            if np.isnan(values[r, m, EXPECTED]):
                continue
            for o in range(3):
                whole = np.int64(values[r, m, o] * UNIT)
                total[m, o, 0] += whole >> HALF
                total[m, o, 1] += whole & ((1 << HALF) - 1)
                if o == EXPECTED:
                    by_size[1][size, m, 0] += whole >> HALF
                    by_size[1][size, m, 1] += whole & ((1 << HALF) - 1)
            defined[m, 0, 0] += 1
            if relevant > 0:
                bins[m, min(np.int64(values[r, m, EXPECTED] * bins.shape[1]), bins.shape[1] - 1)] += 1
