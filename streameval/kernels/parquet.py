"""Parquet footers and offset indexes, read without objects.

Each kernel reads bytes into an int64 array and says -1 where the bytes are no such thing; none reads past its end.
Field numbers are those of apache/parquet-format `parquet.thrift`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.thrift import BINARY, LIST, STRUCT, Bytes, field, list_head, skip, varint, zigzag
from streameval.typing import Int64Array

# columns of `chunk_facts`
TYPE, CODEC, VALUES, UNCOMPRESSED, COMPRESSED, DATA_AT, DICTIONARY_AT, INDEX_AT, INDEX_SIZE, FOREIGN = range(10)
NULLS, MIN_AT, MIN_SIZE, MAX_AT, MAX_SIZE, PATH_AT, PATH_END = range(10, 17)
N_FACTS = 17
# columns of `row_group`
ROWS, ORDINAL, COLUMNS = range(3)
ABSENT = -(2**62)


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


@kernel
def find_field(raw: Bytes, wanted: int) -> tuple[int, int]:
    """Where a field of the outermost struct begins and ends; (-1, -1) where there is none."""
    last, kind, at = field(raw, 0, 0)
    while kind > 0 and at >= 0:
        begin = at
        at = skip(raw, at, kind)
        if last == wanted and at >= 0:
            return begin, at
        last, kind, at = field(raw, at, last)
    return -1, -1


@kernel
def _statistics(raw: Bytes, at: int, out: Int64Array) -> int:
    """Read where the minimum and the maximum lie; those of the old fields, whose order was never said, are passed over.

    Whether they are exact does not matter: either way no value may lie beyond them.
    """
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        begin, after = at, skip(raw, at, kind)
        if last == 3 and kind in (4, 5, 6):
            out[NULLS], _ = zigzag(raw, begin)
        elif last in (5, 6) and kind == BINARY and after >= 0:
            size, begin = varint(raw, begin)
            slot = MAX_AT if last == 5 else MIN_AT
            out[slot], out[slot + 1] = begin, int(np.int64(size))
        last, kind, at = field(raw, after, last)
    return at if kind == 0 else -1


@kernel
def _column_metadata(raw: Bytes, at: int, out: Int64Array) -> int:
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        slot, begin = -1, at
        if last == 1:
            slot = TYPE
        elif 4 <= last <= 7:
            slot = last - 3
        elif last == 9:
            slot = DATA_AT
        elif last == 11:
            slot = DICTIONARY_AT
        if slot >= 0 and kind in (4, 5, 6):
            out[slot], at = zigzag(raw, at)
        elif last == 12 and kind == STRUCT:
            at = _statistics(raw, at, out)
        else:
            at = skip(raw, at, kind)
            if last == 3:
                out[PATH_AT], out[PATH_END] = begin, at
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@kernel
def _column_chunk(raw: Bytes, at: int, out: Int64Array) -> int:
    out[:] = ABSENT
    out[FOREIGN] = 0
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        if last == 3 and kind == STRUCT:
            at = _column_metadata(raw, at, out)
        elif last in (4, 5) and kind in (4, 5, 6):
            out[INDEX_AT + last - 4], at = zigzag(raw, at)
        else:
            if last in (1, 8, 9):
                out[FOREIGN] = 1
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@kernel
def row_group(raw: Bytes, at: int, leaves: Int64Array, out: Int64Array, own: Int64Array) -> int:
    """Read one RowGroup.

    Args:
        at: Where it begins.
        leaves (int64 array, strictly increasing): Indexes of leaf columns.
        out (int64 array, shape (leaves, N_FACTS)): See `chunk_facts`.
        own (int64 array, shape (3,)): Filled with rows, ordinal (`ABSENT` where there is none) and column chunks.

    Returns:
        int: Position after it; -1 where there is none, or it lacks a column.
    """
    found = 0
    own[:] = ABSENT
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        if last == 1 and kind == LIST:
            own[COLUMNS], inner, at = list_head(raw, at)
            for i in range(own[COLUMNS]):
                if found < leaves.size and leaves[found] == i and at >= 0:
                    at = _column_chunk(raw, at, out[found])
                    found += 1
                else:
                    at = skip(raw, at, inner)
        elif last in (3, 7) and kind in (4, 5, 6):
            own[ROWS if last == 3 else ORDINAL], at = zigzag(raw, at)
        else:
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 and found == leaves.size else -1


@kernel
def chunk_facts(raw: Bytes, groups: Int64Array, leaves: Int64Array, out: Int64Array) -> int:
    """Read from a footer where the column chunks of some row groups and leaf columns lie.

    Args:
        raw (uint8 array): FileMetaData.
        groups, leaves (int64 arrays, strictly increasing): Indexes of row groups and of leaf columns.
        out (int64 array, shape (groups, leaves, N_FACTS)): Filled with physical type, codec, values, uncompressed and
            compressed size, offsets of the first data page and of the dictionary page, offset and size of the offset
            index (`ABSENT` where there is none), 1 where the chunk is encrypted or lies in another file; of its
            statistics nulls, and where in `raw` minimum and maximum lie, with their bytes; where in `raw` its path
            begins and ends.

    Returns:
        int: 0, or -1 where the footer does not hold them.
    """
    at, _ = find_field(raw, 4)
    count, inner, at = list_head(raw, at)
    found, own = 0, np.empty(3, np.int64)
    for i in range(count):
        if found == groups.size or at < 0:
            break
        if groups[found] == i:
            at = row_group(raw, at, leaves, out[found], own)
            found += 1
        else:
            at = skip(raw, at, inner)
    return 0 if found == groups.size and at >= 0 else -1
