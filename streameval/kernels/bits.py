"""Labels as bits: word i holds rows 64·i to 64·i + 63, the first in its lowest bit."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes
from streameval.typing import Int64Array, UInt64Array

WORD = 64
_ONE, _SIX, _LAST = np.uint64(1), np.uint64(6), np.uint64(63)
_EVERY = np.uint64(0xFFFFFFFFFFFFFFFF)
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_STRETCH = 1 << 16
_EIGHTS, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
_BYTES, _HALVES = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)


@kernel
def load(raw: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a word, the first the lowest; a compiler makes one instruction of it."""
    word = np.uint64(raw[at])
    word |= np.uint64(raw[at + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(raw[at + np.uint64(2)]) << np.uint64(16)
    word |= np.uint64(raw[at + np.uint64(3)]) << np.uint64(24)
    word |= np.uint64(raw[at + np.uint64(4)]) << np.uint64(32)
    word |= np.uint64(raw[at + np.uint64(5)]) << np.uint64(40)
    word |= np.uint64(raw[at + np.uint64(6)]) << np.uint64(48)
    return word | np.uint64(raw[at + np.uint64(7)]) << np.uint64(56)


@kernel
def load_half(raw: Bytes, at: np.uint64) -> np.uint64:
    """Four bytes in the same way."""
    word = np.uint64(raw[at])
    word |= np.uint64(raw[at + np.uint64(1)]) << np.uint64(8)
    word |= np.uint64(raw[at + np.uint64(2)]) << np.uint64(16)
    return word | np.uint64(raw[at + np.uint64(3)]) << np.uint64(24)


@kernel
def store(out: Bytes, at: np.uint64, word: np.uint64) -> None:
    """Write a word as `load` reads it."""
    out[at] = np.uint8(word & np.uint64(255))
    out[at + np.uint64(1)] = np.uint8(word >> np.uint64(8) & np.uint64(255))
    out[at + np.uint64(2)] = np.uint8(word >> np.uint64(16) & np.uint64(255))
    out[at + np.uint64(3)] = np.uint8(word >> np.uint64(24) & np.uint64(255))
    out[at + np.uint64(4)] = np.uint8(word >> np.uint64(32) & np.uint64(255))
    out[at + np.uint64(5)] = np.uint8(word >> np.uint64(40) & np.uint64(255))
    out[at + np.uint64(6)] = np.uint8(word >> np.uint64(48) & np.uint64(255))
    out[at + np.uint64(7)] = np.uint8(word >> np.uint64(56))


@kernel
def count(word: np.uint64) -> np.int64:
    """Bits that are set; a compiler makes one instruction of it."""
    word = word - (word >> _ONE & _PAIRS)
    word = (word & _FOURS) + (word >> np.uint64(2) & _FOURS)
    word = (word + (word >> np.uint64(4))) & _EIGHTS
    return np.int64(word * _SUM >> np.uint64(56))


@kernel
def backwards(word: np.uint64) -> np.uint64:
    """Its bits, the last first."""
    word = (word >> _ONE & _PAIRS) | (word & _PAIRS) << _ONE
    word = (word >> np.uint64(2) & _FOURS) | (word & _FOURS) << np.uint64(2)
    word = (word >> np.uint64(4) & _EIGHTS) | (word & _EIGHTS) << np.uint64(4)
    word = (word >> np.uint64(8) & _BYTES) | (word & _BYTES) << np.uint64(8)
    word = (word >> np.uint64(16) & _HALVES) | (word & _HALVES) << np.uint64(16)
    return word >> np.uint64(32) | word << np.uint64(32)


@kernel
def lowest(bits: int) -> np.uint64:
    """A word whose lowest `bits` bits are set, 0 to 64 of them."""
    return _EVERY if bits >= WORD else (_ONE << np.uint64(bits)) - _ONE


@kernel
def append(words: UInt64Array, at: int, word: np.uint64, bits: int) -> None:
    """Put the lowest `bits` bits of a word, whose others are 0, at bit `at`, after which all are 0 so far."""
    first, shift = at >> 6, np.uint64(at & 63)
    words[first] |= word << shift
    if at & 63 and (at & 63) + bits > WORD:
        words[first + 1] |= word >> (np.uint64(WORD) - shift)


@kernel
def word_at(words: UInt64Array, at: int) -> np.uint64:
    """The 64 bits from bit `at` on."""
    first, shift = at >> 6, np.uint64(at & 63)
    word: np.uint64 = words[first] >> shift
    if at & 63 and first + 1 < words.size:
        word |= words[first + 1] << (np.uint64(WORD) - shift)
    return word


def copy_bits(words: UInt64Array, first: int, bits: int, out: UInt64Array, at: int) -> None:
    """Append `bits` bits of `words`, from bit `first` on, to those of `out` before bit `at`; numpy alone."""
    if not bits:
        return
    n = -(-bits // WORD)
    begin, shift = first // WORD, np.uint64(first % WORD)
    some = words[begin : begin + n] >> shift
    if shift:
        after = words[begin + 1 : begin + 1 + n]
        some[: after.size] |= after << (np.uint64(WORD) - shift)
    some[-1] &= np.uint64((1 << (bits - WORD * (n - 1))) - 1)
    begin, shift = at // WORD, np.uint64(at % WORD)
    out[begin : begin + n] |= some << shift
    if shift:
        after = out[begin + 1 : begin + 1 + n]
        after |= some[: after.size] >> (np.uint64(WORD) - shift)


def counts_before(words: UInt64Array) -> Int64Array:
    """Bits that are set before each word, and in all; numpy alone."""
    before = np.zeros(words.size + 1, np.int64)
    np.cumsum(np.bitwise_count(words), dtype=np.int64, out=before[1:])
    return before


def counts_at(words: UInt64Array, places: Int64Array, before: Int64Array) -> Int64Array:
    """Bits that are set before each of some places, all of them in the words, given `counts_before`; numpy alone."""
    at, below = places // WORD, (_ONE << (places % WORD).astype(np.uint64)) - _ONE
    return np.asarray(before[at] + np.bitwise_count(words[at] & below), np.int64)


def count_bits(words: UInt64Array, first: int, last: int) -> int:
    """Bits that are set from bit `first` up to, and without, bit `last`; numpy alone."""
    begin, end = first // WORD, last // WORD
    n_set = int(np.bitwise_count(words[begin:end]).sum())
    for at, bits, sign in ((begin, first % WORD, -1), (end, last % WORD, 1)):
        if bits:
            n_set += sign * int(np.bitwise_count(words[at] & ((_ONE << np.uint64(bits)) - _ONE)))
    return n_set


def repeats(values: np.ndarray, falling: int, words: UInt64Array) -> int:
    """Set the bit of each value that equals the one before it; numpy alone.

    Args:
        values (array of numbers, shape (n,)): In order, the largest first where `falling` is 1.
        words (uint64 array, shape (⌈n/64⌉,), zero): Receives the bits; that of the first value is 0.

    Returns:
        int: The first row that is not in order, or a NaN; n where all are.
    """
    if values.size and values[0] != values[0]:
        return 0
    equal, out = np.zeros(_STRETCH, np.bool_), words.view(np.uint8)
    for first in range(0, values.size, _STRETCH):
        begin = max(first, 1)
        here = values[begin : first + _STRETCH]
        before = values[begin - 1 : begin - 1 + here.size]
        sound = here <= before if falling else here >= before
        if not sound.all():
            return int(begin + np.argmin(sound))
        end = begin - first + here.size
        np.equal(here, before, out=equal[begin - first : end])
        out[first // 8 : (first + end + 7) // 8] = np.packbits(equal[:end], bitorder="little")
    return int(values.size)
