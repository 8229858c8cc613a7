"""Find the pages that hold wanted rows.

Where a chunk has an offset index, that says where its pages lie; where it has none, the page headers are walked, which
works for values that do not repeat and for version 2 pages. Neither is believed: what they claim has to fit the file,
and every page that is read has to hold the rows it was chosen for (`decode_pages.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import page_index
from streameval.kernels import parquet as kernels
from streameval.kernels.page_index import FIRST, ROWS
from streameval.parquet.checks import DATA_PAGE, DATA_PAGE_V2, read_header, repetitions, rows_in_levels
from streameval.parquet.chunks import Chunk, Chunks, OpenFile, UnfitError
from streameval.parquet.pages import Pages
from streameval.parquet.statistics import IN_INDEX, Statistics, not_of_pages
from streameval.typing import Int64Array, UInt8Array

# pages up to this size are walked through by reading ahead, larger ones by hopping from header to header
_HOP = 1 << 18


@dataclass
class _PageIndex:
    """Pages of chunks, of one chunk after another.

    Attributes:
        pages (int64 array, shape (pages, 3)): Offset, bytes with the header, first row.
        told (int64 array, shape (pages, N_STATED)): What column indexes state of them
            (`streameval.kernels.page_index.column_index`).
        cuts (int64 array, shape (chunks + 1,)): Where those of each chunk begin.
        raw (uint8 array): What `told` points into.
    """

    pages: Int64Array
    told: Int64Array
    cuts: Int64Array
    raw: UInt8Array

    def insert(self, chunk: int, pages: Int64Array) -> None:
        """Put pages, of which nothing is stated, in the place of those of a chunk that had none."""
        at, fields = self.cuts[chunk], np.full((len(pages), kernels.N_STATED), kernels.ABSENT)
        self.pages = np.concatenate([self.pages[:at], pages, self.pages[at:]])
        self.told = np.concatenate([self.told[:at], fields, self.told[at:]])
        self.cuts[chunk + 1 :] += len(pages)


def find_pages(file: OpenFile, leaves: Sequence[Chunks], rows: Sequence[Int64Array]) -> list[Pages]:
    """Find the pages of some leaves, all at once, that hold wanted rows.

    Args:
        leaves: Of the same row groups.
        rows (sequence of int64 arrays, strictly increasing): Wanted rows of each row group, within it; one at least.

    Raises:
        InputError: An offset index that does not fit the file.
        UnfitError: There is no index, and the pages do not say how many rows they hold.
    """
    every = _Leaves(leaves)
    index = _read_indexes(file, every)
    for i in np.flatnonzero(~every.indexed).tolist():
        index.insert(i, _walk(file, every.chunk(i), int(rows[i % len(rows)][-1])))
    return _choose(every, index, rows)


class _Leaves:
    """Chunks of several leaves, one leaf after another.

    Attributes:
        chunks (int64 array, shape (chunks, 3)): First byte of each, the byte after it, its rows.
        indexed, indexes: See `Chunks`.
    """

    def __init__(self, leaves: Sequence[Chunks]) -> None:
        self.leaves = leaves
        self.groups = len(leaves[0])
        places = np.array([(leaf.begin, leaf.end, leaf.n_rows) for leaf in leaves])
        self.chunks = np.ascontiguousarray(places.swapaxes(1, 2)).reshape(-1, 3)
        self.indexed = np.concatenate([leaf.indexed for leaf in leaves])
        self.indexes = np.concatenate([leaf.indexes for leaf in leaves])

    def chunk(self, i: int) -> Chunk:
        """One of them."""
        return self.leaves[i // self.groups][i % self.groups]


_LIES = "the file is corrupt there, or its writer is at fault; write it again, without a page index if need be"


def _read_indexes(file: OpenFile, every: _Leaves) -> _PageIndex:
    spans = every.indexes.reshape(-1, 2)
    there = np.flatnonzero(spans[:, 0] > 0)
    at, size = spans[there].T
    for wrong in there[(size <= 0) | (size > file.size - at)][:1].tolist():
        at, size = spans[wrong].tolist()
        place = every.chunk(wrong // 2).place
        raise InputError(f"{place}: its page index lies at {at:,}, {size:,} bytes in {file.size:,}", _LIES)
    raw, places = file.gather(spans[there])
    spans = np.zeros_like(spans)
    spans[there, 0], spans[there, 1] = places, size
    room, cuts = int(size.sum()) // 4 + len(spans), np.zeros(len(every.indexed) + 1, np.int64)
    pages, fields = np.empty((room, 3), np.int64), np.empty((room, kernels.N_STATED), np.int64)
    wrong = int(page_index.page_indexes(raw, spans.reshape(-1, 4), pages, fields, cuts))
    if wrong < 0:
        raise InputError(f"{every.chunk(-1 - wrong).place}: its offset index cannot be read", _LIES)
    if wrong > 0:
        raise not_of_pages(every.chunk(wrong - 1).place, int(cuts[wrong] - cuts[wrong - 1]))
    return _PageIndex(pages[: cuts[-1]], fields[: cuts[-1]], cuts, raw)


# by number: what `choose_pages` finds wrong
_WRONG = (
    "do not begin with row 0",
    "lie outside the column's bytes",
    "overlap",
    "do not follow one another in the rows of the row group",
)


def _choose(every: _Leaves, index: _PageIndex, rows: Sequence[Int64Array]) -> list[Pages]:
    """Choose the pages that hold wanted rows, if the index can be true; of one leaf after another."""
    wanted, of_group = np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    room = min(len(index.pages), len(every.leaves) * wanted.size)
    places, chosen = np.empty((room, 7), np.int64), np.empty(room, np.int64)
    coded, ends = np.empty((len(every.chunks), 2), np.int64), np.empty(len(every.chunks), np.int64)
    wrong, chunk = page_index.choose_pages(
        index.pages, index.cuts, every.chunks, wanted, of_group, places, chosen, coded, ends
    )
    if wrong >= 0:
        raise InputError(f"{every.chunk(chunk).place}: the pages of its index {_WRONG[wrong]}", _LIES)
    pages, fields, raw = [], index.told[chosen[: ends[-1]]], index.raw.data
    of_leaf = [0, *ends[every.groups - 1 :: every.groups].tolist()]
    for i, (chunks, a, b) in enumerate(zip(every.leaves, of_leaf, of_leaf[1:], strict=False)):
        mine, leaf_fields = places[a:b], fields[a:b]
        stated = (
            Statistics(IN_INDEX, mine[:, FIRST], mine[:, ROWS], raw, leaf_fields) if leaf_fields.max() >= 0 else None
        )
        pages.append(Pages(chunks, mine, wanted, coded[i * every.groups : (i + 1) * every.groups], stated))
    return pages


def _walk(file: OpenFile, chunk: Chunk, last_row: int) -> Int64Array:
    """Find pages without an index, from header to header, until the one that holds the last wanted row."""
    at, row = chunk.begin, 0
    pages: list[tuple[int, int, int]] = []
    header = np.empty(headers.N_HEADER, dtype=np.int64)
    while row <= last_row:
        length = read_header(file, chunk, at, header)
        size = length + int(header[headers.PAGE_COMPRESSED])
        kind = int(header[headers.PAGE_TYPE])
        if at + size > chunk.end:
            raise InputError(f"{chunk.place}: a page at {at:,} ends after its column's bytes", _LIES)
        if kind in (DATA_PAGE, DATA_PAGE_V2):
            if not pages and size <= _HOP:
                file.stream(at, chunk.end)
            rows = int(header[headers.PAGE_ROWS if kind == DATA_PAGE_V2 else headers.PAGE_VALUES])
            if kind == DATA_PAGE_V2 and chunk.leaf.max_rep and (levels := repetitions(header)):
                rows = rows_in_levels(chunk, file.read([(at + length, levels)])[0], header)
            elif kind == DATA_PAGE_V2 and not chunk.leaf.max_rep and rows != header[headers.PAGE_VALUES]:
                raise InputError(f"{chunk.place}: the page at {at:,} of the file has two numbers of rows", _LIES)
            if kind == DATA_PAGE and chunk.leaf.max_rep:
                raise UnfitError("no page index, and its pages do not say how many rows they hold")
            pages.append((at, size, row))
            row += rows
            if rows < 0 or row > chunk.n_rows:
                raise InputError(f"{chunk.place}: its pages hold more than {chunk.n_rows:,} rows", _LIES)
        at += size
    # what follows the last page is not needed: its end stands for a page of the rows that remain
    return np.array([*pages, *([(at, 1, row)] if row < chunk.n_rows else [])], dtype=np.int64).reshape(-1, 3)
