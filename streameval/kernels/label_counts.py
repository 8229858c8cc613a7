"""Counts of labels per score, whatever the order of the rows: per key where counters fit, else per bin of keys."""

from __future__ import annotations

import numpy as np

from streameval.kernels.harmonic import precision_sum
from streameval.kernels.jit import kernel
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array


@kernel
def count_keys(
    keys: UInt64Array, labels: UInt8Array, place: UInt64Array, counts: UInt16Array, own: Int64Array, spilled: Int64Array
) -> int:
    """Count labels per key, in the cells that are one's own.

    Args:
        keys: uint64 array, shape (n,).
        labels: uint8 array, shape (n,).
        place (uint64 array, shape (2,)): Smallest key, and the shift that makes a distance from it a cell.
        counts (uint16 array, shape (2 · cells,)): Negatives and positives of each cell, modulo 2^16.
        own (int64 array, shape (2,)): First and last + 1 of the cells that this caller counts: several share one array
            without meeting.
        spilled (int64 array, shape (n,)): Receives the counters that passed 2^16.

    Returns:
        int: How many have.
    """
    low, shift, first, last = place[0], place[1], own[0], own[1]
    m = np.int64(0)
    for i in range(keys.size):
        cell = np.int64((keys[i] - low) >> shift)
        if cell < first or cell >= last:
            continue
        at = 2 * cell + np.int64(labels[i])
        counts[at] += np.uint16(1)
        if counts[at] == 0:  # the sum itself would have more than 16 bits
            spilled[m] = at
            m += 1
    return int(m)


@kernel
def gather(counts: UInt16Array, first: int, last: int, marked: BoolArray, found: Int64Array) -> int:
    """Collect the cells first..last − 1 that hold items.

    Args:
        counts: uint16 array, shape (2 · cells,).
        marked (bool array, shape (last − first,) or (0,)): Cells to collect in any case: a counter that passed 2^16 may
            read 0.
        found (int64 array, shape (3, last − first)): Receives cells, negatives and positives.

    Returns:
        int: How many there are.
    """
    m = np.int64(0)
    for cell in range(first, last):
        negatives, positives = counts[2 * cell], counts[2 * cell + 1]
        found[0, m], found[1, m], found[2, m] = cell, negatives, positives
        held = (negatives | positives) != 0
        if marked.size:
            held |= marked[cell - first]
        m += np.int64(held)
    return int(m)


@kernel
def count_placed(keys: UInt64Array, labels: UInt8Array, place: UInt32Array, bins: UInt64Array) -> None:
    """Count labels per bin.

    Args:
        keys: uint64 array, shape (n,).
        labels: uint8 array, shape (n,).
        place (uint32 array, shape (n,)): The bin of each key.
        bins (uint64 array, shape (bins, 4)): Negatives, positives, smallest and largest key of each bin: one line of
            the cache.
    """
    for i in range(keys.size):
        at, key = place[i], keys[i]
        bins[at, np.int64(labels[i])] += np.uint64(1)
        bins[at, 2] = min(bins[at, 2], key)
        bins[at, 3] = max(bins[at, 3], key)


@kernel
def count_inside(
    keys: UInt64Array,
    labels: UInt8Array,
    start: UInt64Array,
    end: UInt64Array,
    shift: UInt64Array,
    base: Int64Array,
    guide: tuple[UInt64Array, Int64Array],
    bins: UInt64Array,
) -> None:
    """Count labels per part of some disjoint intervals of keys, ascending; other rows are passed over.

    Args:
        start, end, shift (uint64 arrays, shape (k,)): Smallest and largest key of each interval, and the shift that
            makes a distance from the smallest a part.
        base (int64 array, shape (k + 1,)): First part of each interval.
        guide (pair of arrays): (smallest key, shift), and for each distance from that key, shifted, how many intervals
            begin before it.
        bins: uint64 array, shape (parts, 4).
    """
    origin, coarse, begun = guide[0][0], guide[0][1], guide[1]
    for i in range(keys.size):
        key = keys[i]
        cell = np.int64((key - origin) >> coarse)
        if key < origin or cell >= begun.size - 1:
            continue
        low, high = begun[cell], begun[cell + 1]
        while low < high:
            middle = (low + high) >> 1
            if start[middle] <= key:
                low = middle + 1
            else:
                high = middle
        within = low - 1
        if within >= 0 and key <= end[within]:
            at = base[within] + np.int64((key - start[within]) >> shift[within])
            bins[at, np.int64(labels[i])] += np.uint64(1)
            bins[at, 2] = min(bins[at, 2], key)
            bins[at, 3] = max(bins[at, 3], key)


@kernel
def open_widths(starts: Int64Array, founds: Int64Array, widths: FloatArray, grouped: FloatArray) -> None:
    """Say how far the order inside each group moves sums.

    Args:
        starts, founds (int64 arrays, shape (n + 1,)): Items and positives before each group, and in all.
        widths (float64 array, shape (2, n)): Receives Σ j/r with positives first less that with negatives first, and
            the pairs that the order decides.
        grouped (float64 array, shape (2, n)): Receives the least and the most that the sum can be where tied items
            count as one: late, one by one; early, all together.
    """
    for g in range(starts.size - 1):
        s, f = np.float64(starts[g]), np.float64(founds[g])
        n, p = np.float64(starts[g + 1] - starts[g]), np.float64(founds[g + 1] - founds[g])
        late = precision_sum(f + 1.0, f + p, s + n - p - f)
        widths[0, g] = precision_sum(f + 1.0, f + p, s - f) - late
        widths[1, g] = p * (n - p)
        grouped[0, g] = late
        grouped[1, g] = p * (f + p) / (s + p) if p > 0 else 0.0
