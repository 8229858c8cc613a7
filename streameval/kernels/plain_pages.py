"""Whole chunks of a column whose every value is there, straight from their pages: 0/1 as bits, numbers as they lie.

What is anything else is not decoded here but refused, for a library to decode or to complain of. Source:
apache/parquet-format `Encodings.md`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels import page_header as headers
from streameval.kernels.bits import append, load, load_half, lowest, store
from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes, varint
from streameval.typing import Int64Array, UInt64Array

# what the kernels are told of a chunk: whether values may be null, bytes of a value (0: a boolean), its dictionary: how
# many entries it has, and whether the first and the second are 1
OPTIONAL, WIDTH, ENTRIES, FIRST, SECOND = range(5)
N_TOLD = 5
# encodings
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_NONE, _EVERY, _ONE = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)
_UPPER, _PAIR = np.uint64(31), np.uint64(3)
_ODD = ~np.uint64(0x0000000100000001)


@kernel
def page_body(raw: Bytes, page: Int64Array) -> Bytes:
    """A page's bytes, decompressed before."""
    begin = page[headers.N_HEADER + 1]
    return raw[begin : begin + page[headers.PAGE_COMPRESSED]]


@kernel
def _run(raw: Bytes, at: int, left: int) -> tuple[int, bool, int]:
    """Read the head of a run of the hybrid of run lengths and bit packing: values, whether packed, where it goes on.

    As many as are `left` at most, and if bit-packed, of one bit each, all of them there; else -1 values.
    """
    head, at = varint(raw, at)
    packed, times = head & _ONE == _ONE, head >> _ONE  # of eight values, where packed
    most = np.uint64((left + 7) // 8 if packed else left)
    if at < 0 or times == _NONE or times > most or (packed and np.int64(times) > raw.size - at):
        return -1, packed, at
    n = int(np.int64(times))
    return (min(8 * n, left) if packed else n), packed, at


@kernel
def values_at(body: Bytes, page: Int64Array, coding: Int64Array) -> int:
    """Find where in a page its values begin: -1 where they are damaged, or some are null."""
    if page[headers.LEVELS] < 0 or page[headers.REPETITIONS] < 0:  # a header names them, even where there are none
        return -1
    if not coding[OPTIONAL]:
        return 0
    if page[headers.LEVELS] != RLE or body.size < 4:
        return -1
    end = 4 + int(np.int64(load_half(body, np.uint64(0))))
    if end > body.size:
        return -1
    at, left, levels = 4, int(page[headers.PAGE_VALUES]), body[:end]
    while left > 0:
        n, packed, at = _run(levels, at, left)
        if n < 0 or at >= end:
            return -1
        size = (n + 7) // 8 if packed else 1  # bit-packed levels come eight to a byte
        for i in range(size):
            whole = np.uint8(lowest(min(8, n - 8 * i))) if packed else np.uint8(1)
            if (levels[at + i] & whole if packed else levels[at + i]) != whole:
                return -1
        at += size
        left -= n
    return end if at == end else -1


@kernel
def _bitmap(raw: Bytes, at: int, rows: int, flip: np.uint64, words: UInt64Array, to: int) -> int:
    """Append bits; -1 where there are too few."""
    if at + (rows + 7) // 8 > raw.size:
        return -1
    done = 0
    while rows - done >= 64:
        append(words, to + done, load(raw, np.uint64(at + done // 8)) ^ flip, 64)
        done += 64
    while done < rows:
        some = min(8, rows - done)
        append(words, to + done, (np.uint64(raw[at + done // 8]) ^ flip) & lowest(some), some)
        done += some
    return 0


@kernel
def _fill(value: int, rows: int, words: UInt64Array, to: int) -> None:
    if value:
        for done in range(0, rows, 64):
            append(words, to + done, lowest(rows - done), min(64, rows - done))


@kernel
def _runs(raw: Bytes, at: int, rows: int, coding: Int64Array, words: UInt64Array, to: int) -> int:
    """Append indexes of one bit, in the hybrid of run lengths and bit packing, as the values that they stand for."""
    same = coding[FIRST] == coding[SECOND]
    flip = _EVERY if coding[FIRST] else _NONE
    done = 0
    while done < rows:
        n, packed, at = _run(raw, at, rows - done)
        if n < 0:
            return -1
        if packed:
            # what a page may hold with one value or with twice the same is left to others
            if same or coding[ENTRIES] < 2 or _bitmap(raw, at, n, flip, words, to + done):
                return -1
            at += (n + 7) // 8
        else:
            if at >= raw.size or raw[at] >= coding[ENTRIES]:
                return -1
            _fill(coding[SECOND] if raw[at] else coding[FIRST], n, words, to + done)
            at += 1
        done += n
    return 0


@kernel
def _numbers(raw: Bytes, at: int, rows: int, width: int, words: UInt64Array, to: int) -> int:
    """Append numbers of four or eight bytes as bits; -1 where there are too few, or one is neither 0 nor 1."""
    if at + rows * width > raw.size:
        return -1
    odd = _NONE
    begin, each = np.uint64(at), np.uint64(width)
    for first in range(0, rows, 64):
        some, word = min(64, rows - first), _NONE
        if width == 4 and some == 64:
            for i in range(32):
                pair = load(raw, begin + np.uint64(8 * i))
                odd |= pair & _ODD
                word |= ((pair | pair >> _UPPER) & _PAIR) << np.uint64(2 * i)
        else:
            for i in range(some):
                place = begin + np.uint64(i) * each
                value = load(raw, place) if width == 8 else load_half(raw, place)
                odd |= value >> _ONE
                word |= (value & _ONE) << np.uint64(i)
        begin += np.uint64(some) * each
        if odd:
            return -1
        append(words, to + first, word, some)
    return 0


@kernel
def chunk_bits(raw: Bytes, pages: Int64Array, coding: Int64Array, row: int, words: UInt64Array) -> int:
    """Pack pages whose every value is 0 or 1.

    Args:
        raw: Where the pages lie, decompressed.
        pages (int64 array, shape (pages, N_HEADER + 2)): Data pages; see `page_headers`.
        coding (int64 array, shape (N_TOLD,)): See `OPTIONAL`.
        row: Values before.
        words (uint64 array, zero from bit `row` on): Receives the bits.

    Returns:
        int: Values, with those before; -1 where some are not 0 or 1, or null, or otherwise encoded, or damaged.
    """
    for i in range(pages.shape[0]):
        body = page_body(raw, pages[i])
        at = values_at(body, pages[i], coding)
        rows, encoding = pages[i, headers.PAGE_VALUES], pages[i, headers.ENCODING]
        wrong = -1
        if at >= 0 and encoding == PLAIN:
            if coding[WIDTH]:
                wrong = _numbers(body, at, rows, coding[WIDTH], words, row)
            else:
                wrong = _bitmap(body, at, rows, _NONE, words, row)
        elif at >= 0 and encoding == RLE and not coding[WIDTH] and at + 4 <= body.size:
            end = at + 4 + int(np.int64(load_half(body, np.uint64(at))))  # the runs come after their length
            wrong = _runs(body[:end], at + 4, rows, coding, words, row) if end <= body.size else -1
        elif at >= 0 and encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY) and at < body.size and body[at] == 1:
            wrong = _runs(body, at + 1, rows, coding, words, row)  # after the width of an index
        if wrong:
            return -1
        row += rows
    return row


@kernel
def chunk_numbers(raw: Bytes, pages: Int64Array, coding: Int64Array, out: Bytes) -> int:
    """Put plain numbers of pages one after another; arguments and result as of `chunk_bits`, `out` in bytes."""
    row = 0
    for i in range(pages.shape[0]):
        body = page_body(raw, pages[i])
        at = values_at(body, pages[i], coding)
        rows = pages[i, headers.PAGE_VALUES]
        size, to = rows * coding[WIDTH], row * coding[WIDTH]
        if at < 0 or pages[i, headers.ENCODING] != PLAIN or at + size > body.size:
            return -1
        for byte in range(0, size - 7, 8):
            store(out, np.uint64(to + byte), load(body, np.uint64(at + byte)))
        for byte in range(size - size % 8, size):
            out[to + byte] = body[at + byte]
        row += rows
    return row
