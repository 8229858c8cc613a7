"""Counts of labels per score, whatever the order of the rows."""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import count
from streameval.kernels.jit import kernel
from streameval.kernels.words import Words
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

PILE_BITS = 15
_PILE, _PILE32, _WITHIN = np.uint64(PILE_BITS), np.uint32(PILE_BITS), np.uint32((1 << PILE_BITS) - 1)
_ONE, _LAST, _OF_WORD = np.uint64(1), np.uint64(63), np.uint64(7)  # 64 cells, of two words each, to 64 bits


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
def count_piles(
    words: UInt16Array,
    begin: Int64Array,
    piles: Int64Array,
    counters: tuple[AnyArray, UInt64Array],
    groups: tuple[UInt32Array, AnyArray, AnyArray],
    collect: bool,
) -> int:
    """Count the words of piles, one pile after another.

    Args:
        words: uint16 array.
        begin (int64 array, shape (piles + 1, parts)): Where those of each pile begin in some parts of them.
        piles (int64 array): Their numbers.
        counters (pair of arrays): 2^16 counters; and a bit for each cell that holds items, uint64, shape (2^9,). Both
            are zero, and so they are left.
        groups (arrays): Receive each cell that holds items, uint32; and, as numbers of the counters' type, its items
            and its positives.
        collect: Whether these are all words of the piles; else they are counted, and nothing else.

    Returns:
        int: Groups.
    """
    counts, held = counters
    n = np.uint64(0)
    for at in range(piles.size):
        for part in range(begin.shape[1]):
            for i in range(begin[at, part], begin[at + 1, part]):
                word = np.uint64(words[i])
                counts[word] += 1
                held[word >> _OF_WORD] |= _ONE << ((word >> _ONE) & _LAST)
        if collect:
            n = _gather(counts, held, int(piles[at] << PILE_BITS), groups, n)
    return int(np.int64(n))


@kernel
def _gather(
    counts: AnyArray, held: UInt64Array, first: int, groups: tuple[UInt32Array, AnyArray, AnyArray], n: np.uint64
) -> np.uint64:
    """Collect the cells that hold items, after `n` others."""
    cells, sizes, positives = groups
    for i in range(held.size):
        bits = held[i]
        held[i] = 0
        while bits:
            cell = np.uint64(64 * i + count((bits - _ONE) & ~bits))
            bits &= bits - _ONE
            at = cell << _ONE
            cells[n] = np.uint64(first) + cell
            sizes[n], positives[n] = counts[at] + counts[at | _ONE], counts[at | _ONE]
            counts[at], counts[at | _ONE] = 0, 0
            n += _ONE
    return n
