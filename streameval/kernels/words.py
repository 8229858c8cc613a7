"""Words of scored labels, a key without its highest bit and then the label: parted into ranges, sorted, grouped."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import Int64Array, UInt8Array, UInt32Array, UInt64Array

_DIGIT = 11  # bits: as many counters as fit the first-level cache beside what is sorted
_TOP = np.uint64(63)
_ONE = np.uint64(1)


@kernel
def part_words(
    keys: UInt64Array, labels: UInt8Array, part: UInt32Array, edges: Int64Array, words: UInt64Array, facts: UInt64Array
) -> None:
    """Part labelled keys: range 2p + t holds the keys of part p whose highest bit is t.

    Args:
        keys: uint64 array, shape (n,).
        labels (uint8 array, shape (n,)): 0 or 1.
        part (uint32 array, shape (n,)): Ascends with the keys.
        edges (int64 array, shape (ranges + 1,)): Zero; receives where each range begins among the words, and n.
        words (uint64 array, shape (n,)): Receives key·2 + label, without the key's highest bit, range by range.
        facts (uint64 array, shape (3, ranges)): Receives the positives of each range, its smallest and largest word.
    """
    for i in range(keys.size):
        edges[2 * np.int64(part[i]) + np.int64(keys[i] >> _TOP) + 1] += 1
    for r in range(edges.size - 1):
        edges[r + 1] += edges[r]
    place = edges[:-1].copy()
    for i in range(keys.size):
        at = 2 * np.int64(part[i]) + np.int64(keys[i] >> _TOP)
        words[place[at]] = keys[i] << _ONE | np.uint64(labels[i])
        place[at] += 1
    for r in range(edges.size - 1):
        positives, low, high = np.uint64(0), ~np.uint64(0), np.uint64(0)
        for word in words[edges[r] : edges[r + 1]]:
            positives += word & _ONE
            low, high = min(low, word), max(high, word)
        facts[0, r], facts[1, r], facts[2, r] = positives, low, high


@kernel
def sort_words(words: UInt64Array, spare: UInt64Array) -> int:
    """Sort words by their digits, the last digit first; only digits in which words differ are looked at.

    Args:
        words: uint64 array, shape (n,), n ≥ 1; its order is lost.
        spare: uint64 array, shape (n,).

    Returns:
        int: 0: `words` is sorted. 1: `spare` is.
    """
    differ = np.uint64(0)
    for i in range(words.size):
        differ |= words[i] ^ words[0]
    low, high = 0, 64
    while low < 64 and not (differ >> np.uint64(low)) & _ONE:
        low += 1
    while high > low and not (differ >> np.uint64(high - 1)) & _ONE:
        high -= 1
    passes = (high - low + _DIGIT - 1) // _DIGIT
    width = np.uint64((high - low + passes - 1) // max(1, passes))
    mask = (_ONE << width) - _ONE
    here, there = words, spare
    for digit in range(passes):
        shift = np.uint64(low) + np.uint64(digit) * width
        place = np.zeros(np.int64(mask) + 1, np.int64)
        for i in range(here.size):
            place[(here[i] >> shift) & mask] += 1
        before = np.int64(0)
        for at in range(place.size):
            place[at], before = before, before + place[at]
        for i in range(here.size):
            at = (here[i] >> shift) & mask
            there[place[at]] = here[i]
            place[at] += 1
        here, there = there, here
    return passes % 2


@kernel
def group_words(words: UInt64Array, found: UInt64Array, sizes: Int64Array, positives: Int64Array) -> int:
    """Find the groups of tied items among sorted words; returns how many there are.

    Args:
        words: uint64 array, shape (n,), n ≥ 1.
        found (uint64 array, shape (n,)): Receives a key for each group, without its highest bit.
        sizes, positives (int64 arrays, shape (n,)): Receive its items, and the positives among them.
    """
    g, start, total = np.int64(0), np.int64(0), np.int64(0)
    for i in range(words.size):
        # written in any case, and kept where the group ends: a branch that is taken half the time costs more
        total += np.int64(words[i] & _ONE)
        found[g], sizes[g], positives[g] = words[i] >> _ONE, i + 1 - start, total
        ends = i + 1 == words.size or (words[i + 1] ^ words[i]) > _ONE
        if ends:
            g, start, total = g + 1, np.int64(i + 1), np.int64(0)
    return int(g)
