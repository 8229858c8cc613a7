"""Find the pages that hold wanted rows.

Where a chunk has an offset index, that says where its pages lie; where it has none, the page headers are walked, which
works for values that do not repeat and for version 2 pages. Neither is believed: what they claim has to fit the file,
and every page that is read has to hold the rows it was chosen for (`decode_pages.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import page_index
from streameval.kernels import parquet as kernels
from streameval.parquet.checks import DATA_PAGE, DATA_PAGE_V2, read_header
from streameval.parquet.chunks import Chunk, OpenFile, Pages, UnfitError
from streameval.parquet.statistics import of_pages
from streameval.typing import Int64Array

# pages up to this size are walked through by reading ahead, larger ones by hopping from header to header
_HOP = 1 << 18


def find_pages(file: OpenFile, chunks: Sequence[Chunk], rows: Sequence[Int64Array]) -> list[Pages]:
    """Find the pages of a leaf that hold wanted rows.

    Args:
        rows (sequence of int64 arrays, strictly increasing): Wanted rows of each chunk, within its row group.

    Raises:
        InputError: An offset index that does not fit the file.
        UnfitError: There is no index, and the pages do not say how many rows they hold.
    """
    spans = [
        [tuple(chunk.facts[[kernels.INDEX_AT, kernels.INDEX_SIZE]].tolist()), *chunk.column_index]
        if chunk.indexed
        else []
        for chunk in chunks
    ]
    for chunk, places in zip(chunks, spans, strict=True):
        for at, size in places:
            if not 0 < size <= file.size - at:
                raise InputError(
                    f"{chunk.place}: its page index lies at {at:,}, {size:,} bytes in {file.size:,}", _LIES
                )
    raw = iter(file.read([place for places in spans for place in places]))
    found = []
    for chunk, mine in zip(chunks, rows, strict=True):
        if not chunk.indexed:
            found.append(_choose(chunk, _walk(file, chunk, int(mine[-1])), mine))
            continue
        index = _read_index(chunk, next(raw))
        pages = _choose(chunk, index, mine)
        if chunk.column_index:
            first = index[:, 2]
            of_all = of_pages(next(raw), first, np.concatenate([first[1:], [chunk.n_rows]]) - first, chunk.place)
            chosen = np.searchsorted(first, pages.places[:, 2]).tolist()
            stated = tuple(of_all[page] for page in chosen)
            pages = Pages(chunk, pages.places, pages.wanted, pages.dictionary, stated)
        found.append(pages)
    return found


_LIES = "the file is corrupt there, or its writer is at fault; write it again, without a page index if need be"
_WRONG = {
    page_index.NOT_ROW_0: "do not begin with row 0",
    page_index.OUTSIDE: "lie outside the column's bytes",
    page_index.OVERLAP: "overlap",
    page_index.DISORDER: "do not follow one another in the rows of the row group",
}


def _read_index(chunk: Chunk, raw: memoryview) -> Int64Array:
    index = np.empty((len(raw) // 4 + 1, 3), dtype=np.int64)
    count = page_index.offset_index(np.frombuffer(raw, np.uint8), index)
    if count < 0:
        raise InputError(f"{chunk.place}: its offset index cannot be read", _LIES)
    return index[:count]


def _choose(chunk: Chunk, index: Int64Array, rows: Int64Array) -> Pages:
    chosen = np.empty((len(index), 4), dtype=np.int64)
    count = page_index.choose_pages(index, np.array([chunk.begin, chunk.end, chunk.n_rows]), rows, chosen)
    if count < 0:
        raise InputError(f"{chunk.place}: the pages of its index {_WRONG[count]}", _LIES)
    start = int(index[0, 0])
    dictionary = (chunk.begin, start - chunk.begin) if start > chunk.begin else None
    return Pages(chunk, chosen[:count], rows, dictionary)


def _walk(file: OpenFile, chunk: Chunk, last_row: int) -> Int64Array:
    """Find pages without an index, from header to header, until the one that holds the last wanted row."""
    at, row = chunk.begin, 0
    found: list[tuple[int, int, int]] = []
    header = np.empty(headers.N_HEADER, dtype=np.int64)
    while row <= last_row:
        length = read_header(file, chunk, at, header)
        size = length + int(header[headers.PAGE_COMPRESSED])
        kind = int(header[headers.PAGE_TYPE])
        if at + size > chunk.end:
            raise InputError(f"{chunk.place}: a page at {at:,} ends after its column's bytes", _LIES)
        if kind in (DATA_PAGE, DATA_PAGE_V2):
            if not found and size <= _HOP:
                file.stream(at, chunk.end)
            rows = int(header[headers.PAGE_ROWS if kind == DATA_PAGE_V2 else headers.PAGE_VALUES])
            if kind == DATA_PAGE_V2 and not chunk.leaf.max_rep and rows != header[headers.PAGE_VALUES]:
                raise InputError(f"{chunk.place}: the page at {at:,} of the file has two numbers of rows", _LIES)
            if kind == DATA_PAGE and chunk.leaf.max_rep:
                raise UnfitError("no page index, and its pages do not say how many rows they hold")
            found.append((at, size, row))
            row += rows
            if rows < 0 or row > chunk.n_rows:
                raise InputError(f"{chunk.place}: its pages hold more than {chunk.n_rows:,} rows", _LIES)
        at += size
    # what follows the last page is not needed: its end stands for a page of the rows that remain
    return np.array([*found, *([(at, 1, row)] if row < chunk.n_rows else [])], dtype=np.int64).reshape(-1, 3)
