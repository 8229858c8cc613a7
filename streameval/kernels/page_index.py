"""Page indexes of Parquet files, read without objects: where pages lie, and what is stated of their values.

Each kernel says -1 where the bytes are no such thing; none reads past its end. Field numbers are those of
apache/parquet-format `parquet.thrift`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.parquet import ABSENT, HIGH_AT, LOW_AT, STATED_NULLS
from streameval.kernels.thrift import BINARY, LIST, STRUCT, Bytes, field, list_head, skip, varint, zigzag
from streameval.typing import Int64Array


@kernel
def offset_index(raw: Bytes, out: Int64Array) -> int:
    """Read an OffsetIndex.

    Args:
        raw (uint8 array): Its bytes.
        out (int64 array, shape (room, 3)): Filled with offset, compressed_page_size (header included) and
            first_row_index of each page.

    Returns:
        int: Pages; -1 where the bytes are no offset index, or hold more pages than there is room.
    """
    number, kind, at = field(raw, 0, 0)
    if number != 1 or kind != LIST:
        return -1
    count, inner, at = list_head(raw, at)
    if at < 0 or inner != STRUCT or count > out.shape[0]:
        return -1
    for page in range(count):
        seen = 0
        last, kind, at = field(raw, at, 0)
        while kind > 0 and at >= 0:
            if 1 <= last <= 3 and kind in (4, 5, 6):
                out[page, last - 1], at = zigzag(raw, at)
                seen |= 1 << last
            else:
                at = skip(raw, at, kind)
            last, kind, at = field(raw, at, last)
        if kind < 0 or at < 0 or seen != 14:
            return -1
    return count


@kernel
def column_index(raw: Bytes, out: Int64Array) -> int:
    """Read a ColumnIndex.

    Args:
        raw (uint8 array): Its bytes.
        out (int64 array, shape (pages, N_STATED)): Filled with the nulls of each page, and where in `raw` its minimum
            and maximum lie, with their bytes; `ABSENT` where it does not say, and for pages of nulls alone.

    Returns:
        int: 0, or -1 where the bytes are no column index of so many pages.
    """
    out[:] = ABSENT
    empty = np.zeros(out.shape[0], np.bool_)
    last, kind, at = field(raw, 0, 0)
    while kind > 0 and at >= 0:
        if kind == LIST and last in (1, 2, 3, 5):
            count, inner, at = list_head(raw, at)
            if count != out.shape[0] or (inner == BINARY) != (last in (2, 3)):
                return -1
            for page in range(count):
                begin, at = at, at + 1 if last == 1 else skip(raw, at, inner)
                if at < 0 or at > raw.size:
                    return -1
                if last == 1:
                    empty[page] = raw[begin] == 1
                elif last == 5:
                    out[page, STATED_NULLS], _ = zigzag(raw, begin)
                else:
                    slot = LOW_AT if last == 2 else HIGH_AT
                    size, begin = varint(raw, begin)
                    out[page, slot], out[page, slot + 1] = begin, int(np.int64(size))
        else:
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    for page in range(out.shape[0]):
        if empty[page]:
            out[page, LOW_AT:] = ABSENT
    return 0 if kind == 0 else -1


# what `choose_pages` finds wrong with an offset index
NOT_ROW_0, OUTSIDE, OVERLAP, DISORDER = -2, -3, -4, -5


@kernel
def choose_pages(index: Int64Array, extent: Int64Array, rows: Int64Array, out: Int64Array) -> int:
    """Choose the pages that hold wanted rows, if the index can be true.

    Args:
        index (int64 array, shape (pages, 3)): Offset, size and first row of each page.
        extent (int64 array, shape (3,)): First byte of the column chunk, the byte after it, rows of the row group.
        rows (int64 array, strictly increasing): Wanted rows of the row group.
        out (int64 array, shape (pages, 4)): Filled with offset, size, first row and rows of the chosen pages.

    Returns:
        int: Pages chosen; `NOT_ROW_0` where the first page begins elsewhere, `OUTSIDE` where a page leaves the chunk,
            `OVERLAP` where two share bytes, `DISORDER` where their rows do not follow one another.
    """
    begin, end, n_rows = extent[0], extent[1], extent[2]
    n = index.shape[0]
    if n == 0 or index[0, 2] != 0:
        return NOT_ROW_0
    after, chosen, at = begin, 0, 0
    for page in range(n):
        offset, size, first = index[page, 0], index[page, 1], index[page, 2]
        following = index[page + 1, 2] if page + 1 < n else n_rows
        if size <= 0 or offset < begin or size > end - offset:
            return OUTSIDE
        if offset < after:
            return OVERLAP
        if following < first:
            return DISORDER
        after = offset + size
        if at < rows.size and rows[at] < following:
            out[chosen, 0], out[chosen, 1], out[chosen, 2], out[chosen, 3] = offset, size, first, following - first
            chosen += 1
            while at < rows.size and rows[at] < following:
                at += 1
    return chosen


@kernel
def places(pages: Int64Array, rows: Int64Array, shift: int) -> Int64Array:
    """Where wanted rows lie among the rows of chosen pages, counted from `shift`: int64, one per row in them.

    Args:
        pages (int64 array, shape (pages, 4)): See `choose_pages`.
        rows (int64 array, strictly increasing): Rows of the row group; those outside the pages are left out.
    """
    found, n, at = np.empty(rows.size, np.int64), 0, 0
    for page in range(pages.shape[0]):
        first, n_rows = pages[page, 2], pages[page, 3]
        while at < rows.size and rows[at] < first:
            at += 1
        while at < rows.size and rows[at] < first + n_rows:
            found[n] = rows[at] - first + shift
            n += 1
            at += 1
        shift += n_rows
    return found[:n]
