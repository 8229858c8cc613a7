"""LZ4 decompression that neither reads nor writes out of bounds."""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import load, store
from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes

SLACK = 32  # bytes after the decompressed ones: copies go by words, and write a little more than is asked for
_FULL, _LONG, _BYTE = np.uint64(255), np.uint64(15), np.uint64(8)
_TWO, _THREE, _FOUR = np.uint64(16), np.uint64(24), np.uint64(32)  # bytes of so many words
# by a distance up to eight: which bytes of a word are repeated, times what they fill it, and how far back the next
# word finds the same
_MASK = np.array([0, *((1 << 8 * d) - 1 for d in range(1, 9))], np.uint64)
_TIMES = np.array([0, *(sum(1 << at for at in range(0, 64, 8 * d)) for d in range(1, 9))], np.uint64)
_BACK = np.array([0, *(d * -(-8 // d) for d in range(1, 9))], np.uint64)


@kernel
def _length(raw: Bytes, at: np.uint64, length: np.uint64) -> tuple[np.uint64, np.uint64]:
    """A length that goes on at `at`, and the position after it: beyond all bytes where it does not end in time."""
    more = _FULL
    while more == _FULL:
        if at >= np.uint64(raw.size):
            return length, np.uint64(raw.size) + np.uint64(1)
        more = np.uint64(raw[at])
        length += more
        at += np.uint64(1)
    return length, at


@kernel
def _period(out: Bytes, begin: np.uint64, distance: np.uint64) -> np.uint64:
    """One, two or four bytes, again and again until they are a word."""
    word = np.uint64(out[begin])
    word |= (word if distance == np.uint64(1) else np.uint64(out[begin + np.uint64(1)])) << _BYTE
    if distance == np.uint64(4):
        word |= np.uint64(out[begin + np.uint64(2)]) << _TWO | np.uint64(out[begin + np.uint64(3)]) << _THREE
    else:
        word |= word << _TWO
    return word | word << _FOUR


@kernel
def _move(source: Bytes, at: np.uint64, out: Bytes, to: np.uint64) -> None:
    """Copy four words: all are read before one is written, so that they become moves of whole registers."""
    a, b = load(source, at), load(source, at + _BYTE)
    c, d = load(source, at + _TWO), load(source, at + _THREE)
    store(out, to, a)
    store(out, to + _BYTE, b)
    store(out, to + _TWO, c)
    store(out, to + _THREE, d)


@kernel
def lz4(raw: Bytes, size: int, out: Bytes) -> int:
    """Decompress a block of LZ4; returns how many bytes there were, -1 where it is damaged or there are more.

    Args:
        raw: The block.
        size: Bytes that there should be.
        out (uint8 array, shape (size + SLACK,) or longer): Receives them; what follows them means nothing.

    Source: lz4 `doc/lz4_Block_format.md`. In one piece: a call a sequence would take as long as what is done in it.
    """
    at, to, end, top = np.uint64(0), np.uint64(0), np.uint64(raw.size), np.uint64(size)
    while at < end:
        token = np.uint64(raw[at])
        at += np.uint64(1)
        n = token >> np.uint64(4)
        if n:
            if n == _LONG:
                n, at = _length(raw, at, n)
            if at > end or n > end - at or n > top - to:
                return -1
            done = np.uint64(0)
            if end - at >= n + _FOUR:
                while done < n:
                    _move(raw, at + done, out, to + done)
                    done += _FOUR
            while done < n:
                out[to + done] = raw[at + done]
                done += np.uint64(1)
            at += n
            to += n
        if end - at < np.uint64(3):  # the last sequence has no match, and another token follows each match
            return int(np.int64(to)) if at == end else -1
        distance = np.uint64(raw[at]) | np.uint64(raw[at + np.uint64(1)]) << _BYTE
        at += np.uint64(2)
        n = token & _LONG
        if n == _LONG:
            n += np.uint64(raw[at])
            at += np.uint64(1)
            if n == _FULL + _LONG:
                n, at = _length(raw, at, n)
        n += np.uint64(4)
        if at > end or distance == np.uint64(0) or distance > to or n > top - to:
            return -1
        begin, done = to - distance, np.uint64(0)
        if n <= _FOUR:
            # most matches are short, and a branch by distance would be guessed wrongly too often
            near = min(distance, _BYTE)
            store(out, to, (load(out, begin) & _MASK[near]) * _TIMES[near])
            begin = to - (distance if distance > _BYTE else _BACK[near])
            store(out, to + _BYTE, load(out, begin + _BYTE))
            store(out, to + _TWO, load(out, begin + _TWO))
            store(out, to + _THREE, load(out, begin + _THREE))
        elif distance >= _FOUR:
            while done < n:
                _move(out, begin + done, out, to + done)
                done += _FOUR
        elif distance >= _BYTE:
            while done < n:
                store(out, to + done, load(out, begin + done))
                done += _BYTE
        elif distance in (np.uint64(1), np.uint64(2), np.uint64(4)):
            word = _period(out, begin, distance)
            while done < n:
                store(out, to + done, word)
                store(out, to + done + _BYTE, word)
                store(out, to + done + _TWO, word)
                store(out, to + done + _THREE, word)
                done += _FOUR
        else:
            while done < n:
                out[to + done] = out[begin + done]
                done += np.uint64(1)
        to += n
    return -1
