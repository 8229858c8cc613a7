"""Whole chunks of a column whose every value is there, straight from their pages: 0/1 as bits, numbers as they lie.

What is anything else is not decoded here but refused, for a library to decode or to complain of. Source:
apache/parquet-format `Encodings.md`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels import page_header as headers
from streameval.kernels.bits import append, count_bits, load, load_half, lowest, store
from streameval.kernels.codecs import lz4
from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes, varint
from streameval.typing import Int64Array, UInt64Array

# what the kernels are told of a chunk: whether its pages are blocks of LZ4, whether values may be null, bytes of a
# value (0: a boolean), its dictionary: whether the first and the second entry are 1, and how many there are
IS_LZ4, OPTIONAL, WIDTH, ENTRIES, FIRST, SECOND = range(6)
N_TOLD = 6
# encodings
PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY = 0, 2, 3, 8
_NONE, _EVERY, _ONE = np.uint64(0), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)
_UPPER, _PAIR = np.uint64(31), np.uint64(3)
_ODD = ~np.uint64(0x0000000100000001)


@kernel
def _page(raw: Bytes, page: Int64Array, told: Int64Array, room: Bytes) -> tuple[Bytes, int]:
    """A page's decompressed bytes, and where in them its values begin: -1 where they are damaged, or some are null."""
    if page[headers.LEVELS] < 0 or page[headers.REPETITIONS] < 0:  # a header names them, even where there are none
        return raw[:0], -1
    body = raw[page[headers.N_HEADER + 1] : page[headers.N_HEADER + 1] + page[headers.PAGE_COMPRESSED]]
    if told[IS_LZ4]:
        size = page[headers.PAGE_UNCOMPRESSED]
        if lz4(body, size, room) != size:
            return room[:0], -1
        body = room[:size]
    if not told[OPTIONAL]:
        return body, 0
    if page[headers.LEVELS] != RLE or body.size < 4:
        return body, -1
    end = 4 + int(np.int64(load_half(body, np.uint64(0))))
    at, left = 4, int(page[headers.PAGE_VALUES])
    while left > 0 and end <= body.size:
        head, at = varint(body[:end], at)
        runs, packed = int(np.int64(head >> _ONE)), int(np.int64(head & _ONE))
        # bit-packed levels come eight to a byte
        if at < 0 or runs <= 0 or at + (runs if packed else 1) > end:
            return body, -1
        for i in range(min(runs, (left + 7) // 8) if packed else 1):
            whole = np.uint8(lowest(min(8, left - 8 * i))) if packed else np.uint8(1)
            if (body[at + i] & whole if packed else body[at + i]) != whole:
                return body, -1
        at += runs if packed else 1
        left -= 8 * runs if packed else runs
    return body, (end if left <= 0 and end <= body.size else -1)


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
def _runs(raw: Bytes, at: int, rows: int, told: Int64Array, words: UInt64Array, to: int) -> int:
    """Append indexes of one bit, in the hybrid of run lengths and bit packing, as the values that they stand for."""
    same = told[FIRST] == told[SECOND]
    flip = _EVERY if told[FIRST] else _NONE
    done = 0
    while done < rows:
        head, at = varint(raw, at)
        runs = int(np.int64(head >> _ONE))
        if at < 0 or runs <= 0:
            return -1
        if head & _ONE:
            some = min(8 * runs, rows - done) if runs < rows else rows - done
            # what a page may hold with one value or with twice the same is left to others
            if same or told[ENTRIES] < 2 or _bitmap(raw, at, some, flip, words, to + done):
                return -1
            at += runs
        else:
            some = min(runs, rows - done)
            if at >= raw.size or raw[at] >= told[ENTRIES]:
                return -1
            _fill(told[SECOND] if raw[at] else told[FIRST], some, words, to + done)
            at += 1
        done += some
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
def chunk_bits(
    raw: Bytes, pages: Int64Array, told: Int64Array, room: Bytes, row: int, words: UInt64Array, ones: Int64Array
) -> int:
    """Pack a chunk whose every value is 0 or 1.

    Args:
        raw: Where its pages lie.
        pages (int64 array, shape (pages, N_HEADER + 2)): Its data pages; see `page_headers`.
        told (int64 array, shape (N_TOLD,)): See `IS_LZ4`.
        room (uint8 array): Longer than each page decompressed by `SLACK`, where they are blocks of LZ4.
        row: Values before.
        words (uint64 array, zero from bit `row` on): Receives the bits.
        ones (int64 array, shape (pages,)): Receives how many values of each page are 1.

    Returns:
        int: Values, with those before; -1 where some are not 0 or 1, or null, or otherwise encoded, or damaged.
    """
    for i in range(pages.shape[0]):
        body, at = _page(raw, pages[i], told, room)
        rows, encoding = pages[i, headers.PAGE_VALUES], pages[i, headers.ENCODING]
        wrong = -1
        if at >= 0 and encoding == PLAIN:
            if told[WIDTH]:
                wrong = _numbers(body, at, rows, told[WIDTH], words, row)
            else:
                wrong = _bitmap(body, at, rows, _NONE, words, row)
        elif at >= 0 and encoding == RLE and not told[WIDTH] and at + 4 <= body.size:
            wrong = _runs(body, at + 4, rows, told, words, row)  # after a length
        elif at >= 0 and encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY) and at < body.size and body[at] <= 1:
            wrong = _runs(body, at + 1, rows, told, words, row) if body[at] == 1 else -1
        if wrong:
            return -1
        ones[i] = count_bits(words, row, row + rows)
        row += rows
    return row


@kernel
def chunk_numbers(raw: Bytes, pages: Int64Array, told: Int64Array, room: Bytes, row: int, out: Bytes) -> int:
    """Put the plain numbers of a chunk one after another; arguments and result as of `chunk_bits`, `out` in bytes."""
    for i in range(pages.shape[0]):
        body, at = _page(raw, pages[i], told, room)
        rows = pages[i, headers.PAGE_VALUES]
        size, begin = rows * told[WIDTH], row * told[WIDTH]
        if at < 0 or pages[i, headers.ENCODING] != PLAIN or at + size > body.size:
            return -1
        for byte in range(0, size - 7, 8):
            store(out, np.uint64(begin + byte), load(body, np.uint64(at + byte)))
        for byte in range(size - size % 8, size):
            out[begin + byte] = body[at + byte]
        row += rows
    return row
