"""Scores as 64-bit integers whose order is the ranking's: the best item has the smallest key.

A float's bits, sign bit flipped (all bits where it is set), ascend with its value; integers ascend once the sign bit is
flipped; for descending scores every bit is then flipped. −0.0 counts as 0.0. NaN has the largest key.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import UInt32Array, UInt64Array

LAST = np.uint64(0xFFFFFFFFFFFFFFFF)  # of NaN and null: no float has it, and integers are checked against it
LAST32 = np.uint32(0xFFFFFFFF)  # its upper half, and of no score
_SIGN64 = np.uint64(1 << 63)
_INF64 = np.uint64(0x7FF << 52)
_SIGN32 = np.uint32(1 << 31)
_INF32 = np.uint32(0xFF << 23)


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
