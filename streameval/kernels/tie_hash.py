"""The tie hash: which of two items with equal scores comes first. 64 bits, specified here to the byte.

The canonical form of an item is a sequence of 64-bit words. Without key columns it is one word, the stored position
(the 0-based row over all files in file order). With key columns, each adds in turn:

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
from streameval.typing import BoolArray, Int64Array, UInt8Array, UInt64Array

SEED = np.uint64(0x7469656861736831)  # "tiehash1"
NULL_WORD = np.uint64((1 << 63) + 1)
WIDE_WORD = np.uint64(0x646563696D616C73)  # "decimals"


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
