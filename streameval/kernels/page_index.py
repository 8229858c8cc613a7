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

# columns of pages that hold wanted rows: see `streameval.parquet.pages.Pages.places`
OFFSET, SIZE, FIRST, ROWS, CHUNK, BEGIN, END = range(7)
# what `choose_pages` finds wrong
NO_FIRST_ROW, OUTSIDE, OVERLAP, OUT_OF_ORDER = range(4)


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
def column_index(raw: Bytes, begin: int, out: Int64Array) -> int:
    """Read a ColumnIndex.

    Args:
        raw (uint8 array): Its bytes, from `begin` on.
        out (int64 array, shape (pages, N_STATED)): Filled with the nulls of each page, and where in `raw` its minimum
            and maximum lie, with their bytes; `ABSENT` where it does not say, and for pages of nulls alone.

    Returns:
        int: 0, or -1 where the bytes are no column index of so many pages.
    """
    out[:] = ABSENT
    empty = np.zeros(out.shape[0], np.bool_)
    last, kind, at = field(raw, begin, 0)
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


@kernel
def page_indexes(raw: Bytes, spans: Int64Array, index: Int64Array, stated: Int64Array, cuts: Int64Array) -> int:
    """Read the page indexes of column chunks, one after another.

    Args:
        raw (uint8 array): Where they lie.
        spans (int64 array, shape (chunks, 4)): Where the OffsetIndex of each chunk begins in `raw`, its bytes, and the
            same of its ColumnIndex; 0 bytes where there is none.
        index (int64 array, shape (room, 3)): See `offset_index`; room for a page every four bytes of them, and more.
        stated (int64 array, shape (room, N_STATED)): See `column_index`.
        cuts (int64 array, shape (chunks + 1,)): Filled with where the pages of each chunk begin, and at
            last how many there are.

    Returns:
        int: 0; -1 - chunk where an OffsetIndex is none, 1 + chunk where a ColumnIndex is none of so many pages.
    """
    cuts[0] = 0
    for chunk in range(spans.shape[0]):
        at, size, stated_at, stated_size = spans[chunk, 0], spans[chunk, 1], spans[chunk, 2], spans[chunk, 3]
        begin = cuts[chunk]
        count = offset_index(raw[at : at + size], index[begin : begin + size // 4 + 1]) if size else 0
        if count < 0:
            return -1 - chunk
        end = begin + count
        cuts[chunk + 1] = end
        if not stated_size:
            stated[begin:end] = ABSENT
        elif column_index(raw[: stated_at + stated_size], stated_at, stated[begin:end]) < 0:
            return 1 + chunk
    return 0


@kernel
def choose_pages(
    index: Int64Array, cuts: Int64Array, chunks: Int64Array, wanted: Int64Array, of_group: Int64Array,
    places: Int64Array, chosen: Int64Array, coded: Int64Array, ends: Int64Array
) -> tuple[int, int]:  # fmt: skip
    """Choose the pages that hold wanted rows, if the index can be true.

    Pages hold rows of no other row group, and none is without rows that precede those of the next.

    Args:
        index, cuts: See `page_indexes`; of one leaf after another, each with all row groups.
        chunks (int64 array, shape (chunks, 3)): First byte of each, the byte after it, its rows.
        wanted (int64 array): Wanted rows of each row group, within it; strictly increasing, one at least.
        of_group (int64 array, shape (row groups + 1,)): Where those of each row group begin.
        places (int64 array, shape (room, 7)): Receives pages; see `OFFSET`. Chunks are counted within their leaf.
        chosen (int64 array, shape (room,)): Receives their numbers in `index`.
        coded (int64 array, shape (chunks, 2)): Receives offset and bytes of what precedes the pages of each; 0 if
            nothing does.
        ends (int64 array, shape (chunks,)): Receives how many pages are chosen up to the end of each chunk.

    Returns:
        int: What is wrong with an index, such as `NO_FIRST_ROW`; -1 where nothing is.
        int: Of which chunk.
    """
    n_chosen, groups = 0, of_group.size - 1
    for chunk in range(chunks.shape[0]):
        leads, last, begin, n_rows = cuts[chunk], cuts[chunk + 1], chunks[chunk, 0], chunks[chunk, 2]
        if leads == last or index[leads, 2] != 0:
            return NO_FIRST_ROW, chunk
        coded[chunk, 0], coded[chunk, 1] = begin, index[leads, 0] - begin
        if coded[chunk, 1] <= 0:
            coded[chunk, 0], coded[chunk, 1] = 0, 0
        at, after, row, stop = begin, 0, of_group[chunk % groups], of_group[chunk % groups + 1]
        for page in range(leads, last):
            offset, size, first = index[page, 0], index[page, 1], index[page, 2]
            after = index[page + 1, 2] if page + 1 < last else n_rows
            if size <= 0 or offset < begin or size > chunks[chunk, 1] - offset:
                return OUTSIDE, chunk
            if offset < at:
                return OVERLAP, chunk
            if after < first:
                return OUT_OF_ORDER, chunk
            at, held = offset + size, row
            while row < stop and wanted[row] < after:
                row += 1
            if row > held:
                place = places[n_chosen]
                place[OFFSET], place[SIZE], place[FIRST], place[ROWS] = offset, size, first, after - first
                place[CHUNK], place[BEGIN], place[END] = chunk % groups, held, row
                chosen[n_chosen] = page
                n_chosen += 1
        ends[chunk] = n_chosen
    return -1, 0
