"""Parquet page headers and repetition levels, read without objects.

Each kernel says -1 where the bytes are no such thing; none reads past its end. Field numbers are those of
apache/parquet-format `parquet.thrift`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.parquet import ABSENT, N_STATED, statistics
from streameval.kernels.thrift import I32, STRUCT, Bytes, field, skip, varint, zigzag
from streameval.typing import Int64Array

# entries of `page_header`
PAGE_TYPE, PAGE_UNCOMPRESSED, PAGE_COMPRESSED, CRC, PAGE_VALUES, PAGE_ROWS, ENCODING, LEVELS = range(8)
REPETITION_BYTES, DEFINITION_BYTES, PAGE_NULLS, STATED = range(8, 12)
REPETITIONS = REPETITION_BYTES  # in version 1: their encoding
N_HEADER = STATED + N_STATED


@kernel
def _data_header(raw: Bytes, at: int, version: int, out: Int64Array) -> int:
    """Read a DataPageHeader (1), DictionaryPageHeader (1) or DataPageHeaderV2 (2) into `out`."""
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        slot = -1
        if last == 1:
            slot = PAGE_VALUES
        elif version == 1 and last == 2:
            slot = ENCODING
        elif version == 2 and last in (2, 3):
            slot = PAGE_NULLS if last == 2 else PAGE_ROWS
        elif version == 2 and last == 4:
            slot = ENCODING
        elif version == 1 and last in (3, 4):
            slot = LEVELS if last == 3 else REPETITIONS
        elif version == 2 and last in (5, 6):
            slot = DEFINITION_BYTES if last == 5 else REPETITION_BYTES
        if slot >= 0 and kind == I32:
            out[slot], at = zigzag(raw, at)
        elif last == (8 if version == 2 else 5) and kind == STRUCT:
            at = statistics(raw, at, out[STATED:])
        else:
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@kernel
def page_header(raw: Bytes, out: Int64Array) -> int:
    """Read the PageHeader at the beginning of `raw`.

    Args:
        raw (uint8 array): May go on after the header.
        out (int64 array, shape (N_HEADER,)): Filled with page type, uncompressed and compressed size (header not
            included), CRC (as unsigned), values, rows (version 2 only), encoding of the values, encoding of the
            definition levels (version 1 only), bytes of repetition levels (in version 1 their encoding) and of
            definition levels and nulls (version 2 only), from `STATED` on the page's statistics (columns of
            `streameval.kernels.parquet.statistics`); `ABSENT` where the header does not say.

    Returns:
        int: Bytes of the header; -1 where there is none, or it goes on after `raw`.
    """
    out[:] = ABSENT
    last, kind, at = field(raw, 0, 0)
    while kind > 0 and at >= 0:
        if 1 <= last <= 4 and kind == I32:
            out[last - 1], at = zigzag(raw, at)
        elif last in (5, 7) and kind == STRUCT:
            at = _data_header(raw, at, 1, out)
        elif last == 8 and kind == STRUCT:
            at = _data_header(raw, at, 2, out)
        else:
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    if kind != 0 or at < 0 or out[PAGE_TYPE] < 0 or out[PAGE_COMPRESSED] < 0 or out[PAGE_UNCOMPRESSED] < 0:
        return -1
    if out[CRC] != ABSENT:
        out[CRC] &= 0xFFFFFFFF
    return at


@kernel
def page_headers(raw: Bytes, values: int, out: Int64Array) -> int:
    """Read the headers of a column chunk's pages, which lie one after another.

    Args:
        raw (uint8 array): The chunk.
        values: That it holds: what follows the page with the last of them is no page.
        out (int64 array, shape (room, N_HEADER + 2)): Filled with each page's header (`page_header`), where it begins
            and where its body does.

    Returns:
        int: Pages; -1 - page where one is damaged; one more than there is room where there are more.
    """
    at, held = 0, 0
    for page in range(out.shape[0]):
        if held >= values:
            return page
        length = page_header(raw[at:], out[page, :N_HEADER])
        if length < 0 or out[page, PAGE_COMPRESSED] > raw.size - at - length:
            return -1 - page
        if out[page, PAGE_TYPE] in (0, 3):
            if out[page, PAGE_VALUES] < 0 or out[page, PAGE_VALUES] > values - held:
                return -1 - page
            held += out[page, PAGE_VALUES]
        out[page, N_HEADER], out[page, N_HEADER + 1] = at, at + length
        at += length + out[page, PAGE_COMPRESSED]
    room: int = out.shape[0]
    return room if held >= values else room + 1


@kernel
def plain_pages(pages: Int64Array, compressed: int) -> int:
    """Find the largest page, if they are one dictionary at most and then data pages of version 1, of one size each.

    Args:
        pages (int64 array, shape (pages, N_HEADER + 2)): See `page_headers`.
        compressed: 0: they are not, and a page's content has one size.

    Returns:
        int: Its bytes, decompressed; -1 where pages are of other kinds or sizes.
    """
    largest = 0
    for i in range(pages.shape[0]):
        kind, plain = pages[i, PAGE_TYPE], pages[i, PAGE_UNCOMPRESSED]
        if not (kind == 0 or (kind == 2 and i == 0)) or (not compressed and pages[i, PAGE_COMPRESSED] != plain):
            return -1
        largest = max(largest, plain)
    return largest if pages.shape[0] > 0 and pages[-1, PAGE_TYPE] == 0 else -1


@kernel
def count_rows(raw: Bytes, width: int, values: int) -> int:
    """Count the rows that begin among repetition levels: the levels that are 0.

    Args:
        raw (uint8 array): Levels in the hybrid of run lengths and bit packing, without a length in front.
        width: Bits of a level.
        values: Levels.

    Returns:
        int: Rows; -1 where the levels are damaged or do not begin with a row.
    """
    at, left, rows = 0, values, 0
    mask, bytes_each = (1 << width) - 1, (width + 7) // 8
    while left > 0:
        head, at = varint(raw, at)
        runs = int(np.int64(head >> np.uint64(1)))
        if at < 0 or runs <= 0 or runs > 1 << 31:
            return -1
        packed = head & np.uint64(1) == np.uint64(1)
        size = runs * width if packed else bytes_each
        if at + size > raw.size:
            return -1
        n = int(min(left, runs * 8 if packed else runs))
        for i in range(n if packed else 1):
            level, bit = 0, i * width
            for byte in range(bytes_each + 1):
                if at + bit // 8 + byte < raw.size:
                    level |= int(np.int64(raw[at + bit // 8 + byte])) << (8 * byte)
            level = (level >> (bit % 8 if packed else 0)) & mask
            if left == values and i == 0 and level != 0:
                return -1
            if level == 0:
                rows += 1 if packed else n
        at += size
        left -= n
    return rows
