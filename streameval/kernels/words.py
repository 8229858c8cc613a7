"""Words of scored labels, a key without its highest bit and then the label: parted into ranges, sorted, taken apart."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

Words = UInt64Array | UInt32Array

_DIGIT = 11  # bits: as many counters as fit the first-level cache beside what is sorted
_TOP = np.uint64(63)
_ONE = np.uint64(1)


@kernel
def part_words(
    rows: tuple[UInt64Array, UInt8Array, UInt32Array],
    part: UInt32Array,
    shift: np.uint64,
    edges: Int64Array,
    words: Words,
    facts: UInt64Array,
) -> None:
    """Part labelled keys: range 2p + t holds the keys of part p whose highest bit is t.

    Args:
        rows (arrays of shape (n,)): Keys, uint64; labels, uint8, 0 or 1; the bin of each key, uint32.
        part (uint32 array, shape (bins,)): The part of each bin; ascends.
        shift: Lowest bits of the keys that are left out.
        edges (int64 array, shape (ranges + 1,)): Zero; receives where each range begins among the words, and n.
        words (uint64 or uint32 array, shape (n,)): Receives (key >> shift)·2 + label, without the key's highest bit,
            range by range.
        facts (uint64 array, shape (3, ranges)): Receives the positives of each range, its smallest and largest word.
    """
    keys, labels, bins = rows
    for i in range(keys.size):
        edges[2 * np.int64(part[bins[i]]) + np.int64(keys[i] >> _TOP) + 1] += 1
    for r in range(edges.size - 1):
        edges[r + 1] += edges[r]
    place = edges[:-1].copy()
    for i in range(keys.size):
        at = 2 * np.int64(part[bins[i]]) + np.int64(keys[i] >> _TOP)
        words[place[at]] = keys[i] >> shift << _ONE | np.uint64(labels[i])
        place[at] += 1
    for r in range(edges.size - 1):
        positives, low, high = np.uint64(0), ~np.uint64(0), np.uint64(0)
        for word in words[edges[r] : edges[r + 1]]:
            positives += np.uint64(word) & _ONE
            low, high = min(low, np.uint64(word)), max(high, np.uint64(word))
        facts[0, r], facts[1, r], facts[2, r] = positives, low, high


@kernel
def part_beside(
    keys: UInt64Array, bins: UInt32Array, part: UInt32Array, edges: Int64Array, values: UInt16Array, out: UInt16Array
) -> None:
    """Part what stands beside labelled keys, in the order in which `part_words` parts these.

    Args:
        keys, bins, part: As there.
        edges (int64 array): As it made them.
        values, out (uint16 arrays, shape (n,)): Of each row; and receives them.
    """
    place = edges[:-1].copy()
    for i in range(keys.size):
        at = 2 * np.int64(part[bins[i]]) + np.int64(keys[i] >> _TOP)
        out[place[at]] = values[i]
        place[at] += 1


@kernel
def sort_words(words: Words, spare: Words) -> int:
    """Sort words by their keys, the last digit first; only digits in which keys differ are looked at.

    Args:
        words: uint64 or uint32 array, shape (n,), n ≥ 1; its order is lost.
        spare: Of the same type and shape.

    Returns:
        int: 0: `words` is sorted. 1: `spare` is.
    """
    differ = np.uint64(0)
    for i in range(words.size):
        differ |= np.uint64(words[i] ^ words[0])
    low, high = 1, 64
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
            place[(np.uint64(here[i]) >> shift) & mask] += 1
        before = np.int64(0)
        for at in range(place.size):
            place[at], before = before, before + place[at]
        for i in range(here.size):
            value = (np.uint64(here[i]) >> shift) & mask
            there[place[value]] = here[i]
            place[value] += 1
        here, there = there, here
    return passes % 2


def unpack_words(words: Words, top: np.uint64, shift: np.uint64, keys: UInt64Array, labels: UInt8Array) -> None:
    """Take words apart, into `keys` with their highest bit `top`, and `labels`; see `part_words`."""
    np.right_shift(words, words.dtype.type(1), out=keys)
    np.left_shift(keys, shift, out=keys)
    np.bitwise_or(keys, top, out=keys)
    np.bitwise_and(words, words.dtype.type(1), out=labels, casting="unsafe")
