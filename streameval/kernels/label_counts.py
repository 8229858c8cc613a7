"""Counts of labels per score, whatever the order of the rows."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.words import Words
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

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
