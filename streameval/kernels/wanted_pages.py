"""Pages that hold wanted rows: checked by their headers, and numbers taken out of them, many pages at a time.

What is unusual or amiss is left to others, who say what it is.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.deltas import take_deltas
from streameval.kernels.jit import kernel
from streameval.kernels.page_header import page_header
from streameval.kernels.page_index import BEGIN, END, FIRST, ROWS
from streameval.kernels.plain_pages import N_TOLD, PLAIN, WIDTH, page_body, values_at
from streameval.kernels.thrift import Bytes
from streameval.typing import AnyArray, Int64Array

# what `take_numbers` is told of a column besides `OPTIONAL` and `WIDTH`
FLIP, NEGATIVE = N_TOLD, N_TOLD + 1
# Parquet's numbers of codecs, and of an encoding
DELTA_BINARY_PACKED = 5
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_V2 = 0, 2, 3


@kernel
def sound_pages(
    raw: Bytes, begins: Int64Array, ranges: Int64Array, places: Int64Array, most: int, out: Int64Array
) -> int:
    """Read the headers of dictionary pages, then data pages of values that do not repeat, that lie anywhere.

    Args:
        raw (uint8 array): Where they lie.
        begins (int64 array, shape (pages,)): Where in `raw` each begins.
        ranges (int64 array, shape (pages, 2)): Offset in the file, and bytes, of each.
        places (int64 array, shape (data pages, 7)): See `streameval.kernels.page_index.OFFSET`.
        most: Bytes that one may take decompressed.
        out (int64 array, shape (pages, N_HEADER + 2)): See `streameval.kernels.page_header.page_headers`.

    Returns:
        int: How many have a checksum; -1 where one does not take just its bytes, holds other rows, is of another kind
            or takes too much.
    """
    n_coded, sums = ranges.shape[0] - places.shape[0], 0
    for page in range(ranges.shape[0]):
        begin, size, head = begins[page], ranges[page, 1], out[page]
        length = page_header(raw[begin : begin + size], head[: headers.N_HEADER])
        if length < 0 or length + head[headers.PAGE_COMPRESSED] != size or head[headers.PAGE_UNCOMPRESSED] > most:
            return -1
        head[headers.N_HEADER], head[headers.N_HEADER + 1] = begin, begin + length
        kind, values = head[headers.PAGE_TYPE], head[headers.PAGE_VALUES]
        if page < n_coded:
            if kind != _DICTIONARY_PAGE:
                return -1
        elif (
            values != places[page - n_coded, ROWS]
            or (kind != _DATA_PAGE and kind != _DATA_PAGE_V2)
            or (kind == _DATA_PAGE_V2 and head[headers.PAGE_ROWS] != values)
        ):
            return -1
        sums += head[headers.CRC] != kernels.ABSENT
    return sums


@kernel
def _plain(values: AnyArray, coding: Int64Array, first: int, wanted: Int64Array, out: Int64Array) -> tuple[int, int]:
    """Take some of the numbers of a page, as signed ones; the smallest and the largest key of all."""
    for i in range(wanted.size):
        out[i] = values[wanted[i] - first]
    kind = values.dtype.type
    flip, negative, shift = kind(coding[FLIP]), kind(coding[NEGATIVE]), kind(8 * coding[WIDTH] - 1)
    low, high = values[0] ^ flip ^ (values[0] >> shift & negative), values[0] ^ flip ^ (values[0] >> shift & negative)
    for i in range(values.size):  # of nothing but whole numbers, so that several are taken at once
        key = values[i] ^ flip ^ (values[i] >> shift & negative)
        low, high = min(low, key), max(high, key)
    return low, high


@kernel
def _deltas(body: Bytes, at: int, rows: int, first: int, wanted: Int64Array, out: Int64Array) -> tuple[int, int]:
    """Give the same of packed differences; the smallest is larger than the largest where they are damaged."""
    mine, ends = np.empty(wanted.size, np.int64), np.empty(2, np.int64)
    for i in range(wanted.size):
        mine[i] = wanted[i] - first
    if take_deltas(body, at, rows, mine, out, ends) < 0:
        return 1, 0
    return ends[0], ends[1]


@kernel
def take_numbers(
    bodies: Bytes, heads: Int64Array, places: Int64Array, coding: Int64Array, ends: Int64Array, wanted: Int64Array,
    out: Int64Array
) -> int:  # fmt: skip
    """Take wanted numbers out of data pages of version 1, plain or packed differences of 64 bits, none of them null.

    A number's key is a signed number of the same order: its bits, with `FLIP` and, where it is negative, `NEGATIVE`
    turned over.

    Args:
        bodies (uint8 array): Where bodies of pages lie, decompressed.
        heads (int64 array, shape (pages, N_HEADER + 2)): See `streameval.kernels.page_header.page_headers`.
        places (int64 array, shape (pages, 7)): See `streameval.kernels.page_index.OFFSET`.
        coding (int64 array, shape (N_TOLD + 2,)): Whether values may be null (`OPTIONAL`), bytes of one (`WIDTH`), and
            what makes keys of them.
        ends (int64 array, shape (pages, 2)): Receives the smallest and the largest key of each page.
        wanted (int64 array): Wanted rows, counted within their row groups.
        out (int64 array, shape (wanted,)): Receives their bits.

    Returns:
        int: -1; or the first page that holds anything else or is damaged.
    """
    width, aligned = coding[WIDTH], np.empty(0, np.uint8)
    for page in range(heads.shape[0]):
        head, place, rows = heads[page], places[page], heads[page, headers.PAGE_VALUES]
        encoding = head[headers.ENCODING]
        if head[headers.PAGE_TYPE] != _DATA_PAGE or rows <= 0:
            return page
        begin, end = place[BEGIN], place[END]
        body = page_body(bodies, head)
        at = values_at(body, head, coding)
        low, high, beyond = 1, 0, at + rows * width
        if at >= 0 and encoding == PLAIN and beyond <= body.size:
            values = body[at:beyond]
            if values.ctypes.data % width:
                if aligned.size < values.size:
                    aligned = np.empty(values.size, np.uint8)
                for i in range(values.size):
                    aligned[i] = values[i]
                values = aligned[: values.size]
            if width == 4:
                low, high = _plain(values.view(np.int32), coding, place[FIRST], wanted[begin:end], out[begin:end])
            else:
                low, high = _plain(values.view(np.int64), coding, place[FIRST], wanted[begin:end], out[begin:end])
        elif at >= 0 and encoding == DELTA_BINARY_PACKED and width == 8 and not coding[FLIP] and not coding[NEGATIVE]:
            low, high = _deltas(body, at, rows, place[FIRST], wanted[begin:end], out[begin:end])
        if low > high:
            return page
        ends[page, 0], ends[page, 1] = low, high
    return -1
