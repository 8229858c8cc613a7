"""Scores as 64-bit integers whose order is the ranking's: the best item has the smallest key.

A float's bits, sign bit flipped (all bits where it is set), ascend with its value; integers ascend once the sign bit is
flipped; for descending scores every bit is then flipped. −0.0 counts as 0.0. NaN has the largest key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import AnyArray, UInt32Array, UInt64Array

_SCORES = 50  # that are done in numpy while plain Python takes a step
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


@float64_keys.in_numpy(_SCORES)
def _few_float64_keys(bits: UInt64Array, flip: np.uint64, out: UInt64Array) -> int:
    return _few_keys(bits, (_SIGN64, _INF64, LAST), flip, out)


def _few_keys(bits: AnyArray, kind: tuple[Any, Any, Any], flip: Any, out: AnyArray) -> int:
    """Keys of floats of one width: `kind` has the bit of their sign, infinity, and the key of NaN."""
    sign, infinity, last = kind
    plain = np.where(bits == sign, 0 * sign, bits)
    gone = (plain & ~sign) > infinity
    out[:] = np.where(gone, last, plain ^ np.where(plain & sign, last, sign) ^ flip)
    return int(np.count_nonzero(gone))


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


@float32_keys.in_numpy(_SCORES)
def _few_float32_keys(bits: UInt32Array, flip: np.uint64, out: UInt64Array) -> int:
    words = np.empty(bits.size, np.uint32)
    count = _few_float32_words(bits, np.uint32(0), words)
    out[:] = np.where(words == LAST32, LAST, words.astype(np.uint64) << np.uint64(32) ^ flip)
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


@float32_words.in_numpy(_SCORES)
def _few_float32_words(bits: UInt32Array, flip: np.uint32, out: UInt32Array) -> int:
    return _few_keys(bits, (_SIGN32, _INF32, LAST32), flip, out)


@kernel
def int64_keys(bits: UInt64Array, sign: np.uint64, flip: np.uint64, out: UInt64Array) -> int:
    """Keys of integers given as 64 bits; `sign` is 2⁶³ for signed ones, 0 for unsigned. Returns 0: none is NaN."""
    for i in range(bits.size):
        out[i] = bits[i] ^ sign ^ flip
    return 0


@int64_keys.in_numpy(_SCORES)
def _few_int64_keys(bits: UInt64Array, sign: np.uint64, flip: np.uint64, out: UInt64Array) -> int:
    out[:] = bits ^ sign ^ flip
    return 0


@kernel
def float64_bits(keys: UInt64Array, flip: np.uint64) -> UInt64Array:
    """Bits of the float64 scores that have these keys."""
    out = np.empty(keys.size, np.uint64)
    for i in range(keys.size):
        up = keys[i] ^ flip
        out[i] = up ^ _SIGN64 if up & _SIGN64 else ~up
    return out


@float64_bits.in_numpy(_SCORES)
def _few_float64_bits(keys: UInt64Array, flip: np.uint64) -> UInt64Array:
    up = keys ^ flip
    return np.where(up & _SIGN64, up ^ _SIGN64, ~up)
