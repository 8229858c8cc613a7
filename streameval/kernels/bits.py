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
_STRETCH = 4096
_GATHER = np.uint64(0x0102040810204080)  # times eight bytes of 0 or 1: these as the bits of the highest byte
_EIGHTS, _SUM = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


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


@kernel
def copy_bits(words: UInt64Array, first: int, bits: int, out: UInt64Array, at: int) -> None:
    """Append `bits` bits of `words`, from bit `first` on, to those of `out` before bit `at`."""
    for done in range(0, bits, WORD):
        some = min(WORD, bits - done)
        append(out, at + done, word_at(words, first + done) & lowest(some), some)


@kernel
def count_bits(words: UInt64Array, first: int, last: int) -> int:
    """Bits that are set from bit `first` up to, and without, bit `last`."""
    found = np.int64(0)
    if first >= last:
        return int(found)
    begin, end = first >> 6, (last - 1) >> 6
    for i in range(begin, end + 1):
        word = words[i]
        if i == begin:
            word &= ~lowest(first & 63)
        if i == end:
            word &= lowest(last - 64 * end)
        found += count(word)
    return int(found)


@kernel
def counts_at(words: UInt64Array, places: Int64Array, out: Int64Array) -> None:
    """Bits that are set before each of some ascending places."""
    found, begin = 0, 0
    for i in range(places.size):
        found += count_bits(words, begin, places[i])
        begin = places[i]
        out[i] = found


@kernel
def pack(flags: Bytes, rows: int, words: UInt64Array, at: int) -> None:
    """Append `rows` bytes of 0 or 1 as bits; `flags` goes on for a word after them."""
    for done in range(0, rows, 8):
        some = min(8, rows - done)
        byte = load(flags, np.uint64(done)) * _GATHER >> np.uint64(56)
        append(words, at + done, byte & lowest(some), some)


@kernel
def repeats(values: np.ndarray, falling: int, words: UInt64Array) -> int:
    """Set the bit of each value that equals the one before it.

    Args:
        values (array of numbers, shape (n,)): In order, the largest first where `falling` is 1.
        words (uint64 array, shape (⌈n/64⌉,), zero): Receives the bits; that of the first value is 0.

    Returns:
        int: The first row that is not in order, or a NaN; n where all are.
    """
    flags = np.zeros(_STRETCH + 8, np.uint8)
    if values.size and values[0] != values[0]:
        return 0
    for first in range(1, values.size, _STRETCH):
        here = values[first : first + _STRETCH]
        before, equal, sound = values[first - 1 : first - 1 + here.size], flags[: here.size], 0
        if falling:
            for i in range(here.size):
                sound += int(np.int32(here[i] <= before[i]))
        else:
            for i in range(here.size):
                sound += int(np.int32(here[i] >= before[i]))
        if sound < here.size:
            i = 0
            while here[i] <= before[i] if falling else here[i] >= before[i]:
                i += 1
            return int(first + i)
        for i in range(here.size):
            equal[i] = np.uint8(here[i] == before[i])
        pack(flags, here.size, words, first)
    return int(values.size)
