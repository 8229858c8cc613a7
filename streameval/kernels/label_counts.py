"""Counts of labels per score, whatever the order of the rows: per key where counters fit, else per bin of keys."""

from __future__ import annotations

import numpy as np

from streameval.kernels.harmonic import precision_sum
from streameval.kernels.jit import kernel
from streameval.kernels.words import Words
from streameval.typing import AnyArray, FloatArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

PILE_BITS = 15
_PILE, _PILE32, _WITHIN = np.uint64(PILE_BITS), np.uint32(PILE_BITS), np.uint32((1 << PILE_BITS) - 1)


@kernel
def count_keys(keys: UInt64Array, labels: UInt8Array, place: UInt64Array, counts: Int64Array) -> None:
    """Count labels per key; keys without a cell are passed over.

    Args:
        keys: uint64 array, shape (n,).
        labels: uint8 array, shape (n,).
        place (uint64 array, shape (2,)): Smallest key, and the shift that makes a distance from it a cell.
        counts (int64 array, shape (2 · cells,)): Negatives and positives of each cell.
    """
    cells = np.uint64(counts.size // 2)
    for i in range(keys.size):
        cell = (keys[i] - place[0]) >> place[1]
        if cell < cells:
            counts[2 * np.int64(cell) + np.int64(labels[i])] += 1


@kernel
def gather(
    counts: AnyArray, place: UInt64Array, first: int, groups: tuple[UInt64Array, Int64Array, Int64Array], held: int
) -> int:
    """Collect the cells that hold items.

    Args:
        counts (integer array, shape (2 · cells,)): Negatives and positives of each cell.
        place: As in `count_keys`.
        first: Number of the first of these cells.
        groups (arrays of shape (held + cells,) or longer): Receive keys, items and positives, after those that they
            hold.

    Returns:
        int: How many they hold then.
    """
    keys, sizes, found = groups
    m = np.int64(held)
    for cell in range(counts.size // 2):
        negatives, positives = np.int64(counts[2 * cell]), np.int64(counts[2 * cell + 1])
        keys[m] = place[0] + (np.uint64(first + cell) << place[1])
        sizes[m], found[m] = negatives + positives, positives
        m += np.int64(negatives + positives != 0)
    return int(m)


@kernel
def part_piles(keys: Words, labels: UInt8Array, place: Words, edges: UInt32Array, words: UInt16Array) -> bool:
    """Part labelled keys into piles of 2^15 neighbouring cells; see `count_keys`. Returns whether all have one.

    Args:
        keys, labels, place: As in `count_keys`; or upper halves of keys, uint32, and the place of these.
        edges (uint32 array, shape (piles + 1,)): Zero; receives where each pile begins among the words, and n.
        words (uint16 array, shape (n,)): Receives the cell within its pile, doubled, plus the label, pile by pile.
    """
    low, shift = place[0], place[1]
    most = low ^ low
    for i in range(keys.size):  # without branches, so that it is done several at a time
        most = max(most, (keys[i] - low) >> shift)
    if np.uint64(most) >> _PILE > np.uint64(edges.size - 2):
        return False
    for i in range(keys.size):
        edges[(np.uint32((keys[i] - low) >> shift) >> _PILE32) + np.uint32(1)] += np.uint32(1)
    for p in range(edges.size - 1):
        edges[p + 1] += edges[p]
    next_place = edges[:-1].copy()
    for i in range(keys.size):
        cell = np.uint32((keys[i] - low) >> shift)
        pile = cell >> _PILE32
        at = next_place[pile]
        next_place[pile] = at + np.uint32(1)
        words[at] = np.uint16((cell & _WITHIN) << np.uint32(1) | np.uint32(labels[i]))
    return True


@kernel
def count_words(words: UInt16Array, begin: Int64Array, end: Int64Array, counts: AnyArray) -> None:
    """Count the words of one pile that lie at begin[i] up to, and without, end[i]; adds to `counts`, 2^16 of them."""
    for piece in range(begin.size):
        for at in range(begin[piece], end[piece]):
            counts[words[at]] += 1


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
