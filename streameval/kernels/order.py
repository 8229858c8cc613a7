"""The order of items: keys of scores, tie hashes, and where items stand among boundaries.

A score's key is a 64-bit integer, and the best item has the smallest. A float's bits, sign bit flipped (all bits where
it is set), ascend with its value; integers ascend once the sign bit is flipped; for descending scores every bit is then
flipped. −0.0 counts as 0.0. NaN has the largest key.

The tie hash says which of two items with equal scores comes first: 64 bits, specified here to the byte. The canonical
form of an item is a sequence of 64-bit words. Without key columns it is one word, the stored position (the 0-based row
over all files in file order). With key columns, each adds in turn:

- an integer: its value as int64, modulo 2⁶⁴; a boolean: 0 or 1; a date: its days since 1-1-1970 as int64;
- a decimal of scale 0: what an integer of its value adds, from −2⁶³ to 2⁶³ − 1; beyond them three words, WIDE_WORD and
  the lower and the upper half of its two's complement of 128 bits;
- a float: the bits of the float64, −0.0 as 0.0;
- a string: its length in bytes and then its UTF-8 bytes, eight a word, the first byte lowest, the last word filled with
  zero bytes; bytes likewise, and a UUID as its 16 bytes in the order in which its digits are written;
- a timestamp: whole seconds since 1-1-1970 UTC, rounded down, as int64, and the nanoseconds beyond them; one without a
  time zone is taken for UTC;
- a null: the one word 2⁶³ + 1.

The hash starts at SEED and becomes mix64(hash XOR word) for each word, where mix64 is the finaliser of SplitMix64. SEED
is not that of any draw.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.draw import mix64, mix_each
from streameval.kernels.jit import kernel
from streameval.typing import BoolArray, Int64Array, UInt8Array, UInt32Array, UInt64Array

LAST = np.uint64(0xFFFFFFFFFFFFFFFF)  # of NaN and null: no float has it, and integers are checked against it
LAST32 = np.uint32(0xFFFFFFFF)  # its upper half, and of no score
_SIGN64 = np.uint64(1 << 63)
_INF64 = np.uint64(0x7FF << 52)
_SIGN32 = np.uint32(1 << 31)
_INF32 = np.uint32(0xFF << 23)
SEED = np.uint64(0x7469656861736831)  # "tiehash1"
NULL_WORD = np.uint64((1 << 63) + 1)
WIDE_WORD = np.uint64(0x646563696D616C73)  # "decimals"


@kernel
def float64_keys(bits: UInt64Array, flip: np.uint64, out: UInt64Array) -> int:
    """Keys of float64 scores given as bits; returns how many are NaN.

    Args:
        bits: uint64 array, shape (n,).
        flip: 0 for ascending scores, 2⁶⁴ − 1 for descending ones.
        out: uint64 array, shape (n,).
    """
    count = 0
    for i in range(bits.size):  # without branches, so that it is done several at a time
        b = np.uint64(0) if bits[i] == _SIGN64 else bits[i]
        gone = (b & ~_SIGN64) > _INF64
        up = b ^ (LAST if b >> np.uint64(63) else _SIGN64)
        out[i] = LAST if gone else up ^ flip
        count += 1 if gone else 0
    return count


@kernel
def float32_keys(bits: UInt32Array, flip: np.uint64, out: UInt64Array) -> int:
    """Keys of float32 scores given as bits, in the upper half; returns how many are NaN."""
    count = 0
    for i in range(bits.size):
        b = np.uint32(0) if bits[i] == _SIGN32 else bits[i]
        gone = (b & np.uint32(0x7FFFFFFF)) > _INF32
        up = b ^ (np.uint32(0xFFFFFFFF) if b >> np.uint32(31) else _SIGN32)
        out[i] = LAST if gone else (np.uint64(up) << np.uint64(32)) ^ flip
        count += 1 if gone else 0
    return count


@kernel
def float32_words(bits: UInt32Array, flip: np.uint32, out: UInt32Array) -> int:
    """The upper halves of `float32_keys`, which alone tell scores apart; returns how many are NaN: all bits set."""
    count = np.uint32(0)
    for i in range(bits.size):
        b = np.uint32(0) if bits[i] == _SIGN32 else bits[i]
        gone = (b & np.uint32(0x7FFFFFFF)) > _INF32
        up = b ^ (LAST32 if b >> np.uint32(31) else _SIGN32)
        out[i] = LAST32 if gone else up ^ flip
        count += np.uint32(gone)
    return int(np.int64(count))


def int64_keys(bits: UInt64Array, sign: np.uint64, flip: np.uint64, out: UInt64Array) -> int:
    """Keys of integers given as 64 bits; `sign` is 2⁶³ for signed ones, 0 for unsigned. Returns 0: none is NaN."""
    np.bitwise_xor(bits, sign ^ flip, out=out)
    return 0


def float64_bits(keys: UInt64Array, flip: np.uint64) -> UInt64Array:
    """Bits of the float64 scores that have these keys."""
    up = keys ^ flip
    return np.where(up & _SIGN64, up ^ _SIGN64, ~up)


@kernel
def position_hash(position: int) -> np.uint64:
    """Hash of an item without key columns."""
    return mix64(SEED ^ np.uint64(position))


def position_hashes(positions: Int64Array) -> UInt64Array:
    """`position_hash` over an array."""
    return mix_each(SEED ^ positions.astype(np.uint64))


@kernel
def add_words(state: UInt64Array, words: UInt64Array) -> None:
    """Take one word into every hash, in place."""
    for i in range(state.size):
        state[i] = mix64(state[i] ^ words[i])


@kernel
def add_strings(state: UInt64Array, offsets: Int64Array, data: UInt8Array, valid: BoolArray) -> None:
    """Take strings into the hashes, in place.

    Args:
        state: uint64 array, shape (n,).
        offsets (int64 array, shape (n + 1,)): Where each string begins in `data`, and where the last one ends.
        data: uint8 array.
        valid (bool array, shape (n,)): False where there is null.
    """
    for i in range(state.size):
        if not valid[i]:
            state[i] = mix64(state[i] ^ NULL_WORD)
            continue
        start, end = offsets[i], offsets[i + 1]
        h = mix64(state[i] ^ np.uint64(end - start))
        for at in range(start, end, 8):
            word = np.uint64(0)
            for j in range(min(8, end - at)):  # byte by byte: a string begins anywhere, and its last word is short
                word |= np.uint64(data[at + j]) << np.uint64(8 * j)
            h = mix64(h ^ word)
        state[i] = h


@kernel
def count_before(items: UInt64Array, bounds: UInt64Array) -> Int64Array:
    """Count the boundaries that come strictly before each item.

    Args:
        items (uint64 array, shape (words, n)): The words of each item, the one that is compared first in the first row.
        bounds (uint64 array, shape (words, k)): Boundaries in ascending order.

    Returns:
        int64 array, shape (n,): In 0..k.
    """
    n_words, n = items.shape
    counts = np.empty(n, np.int64)
    for i in range(n):
        low, high = 0, bounds.shape[1]
        while low < high:
            middle = (low + high) // 2
            before = False
            for word in range(n_words):
                if bounds[word, middle] != items[word, i]:
                    before = bounds[word, middle] < items[word, i]
                    break
            if before:
                low = middle + 1
            else:
                high = middle
        counts[i] = low
    return counts
