"""Take wanted texts out of plain pages without decoding the others.

A page of long texts is mostly unwanted text. Plain encoding puts a length before each: unwanted ones are stepped over,
wanted ones are copied. Anything else (dictionaries, other encodings, nested texts) is left to Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels.jit import read_only
from streameval.kernels.page_index import BEGIN, CHUNK, END, FIRST, ROWS
from streameval.kernels.texts import copy_texts, extremes, find_texts
from streameval.kernels.thrift import Bytes
from streameval.parquet.chunks import UnfitError
from streameval.parquet.pages import Run, stated_of
from streameval.parquet.schema import BYTE_ARRAY, wide_type
from streameval.parquet.statistics import Statistics, check_ends, check_nulls
from streameval.typing import BoolArray, Int64Array

_PLAIN, _RLE, _DATA_PAGE = 0, 3, 0


def plain(runs: Sequence[Run]) -> bool:
    """Tell whether these are pages of plain texts at the top level, of version 1."""
    leaf = runs[0].pages.chunks.leaf
    if leaf.physical != BYTE_ARRAY or len(leaf.path) > 1 or leaf.max_rep:
        return False
    kind = wide_type(runs[0].pages.chunks.footer.schema.field(leaf.path[0]).type)
    heads = np.concatenate([run.heads for run in runs])
    levels = not leaf.max_def or np.all(heads[:, headers.LEVELS] == _RLE)
    like = np.all(heads[:, [headers.PAGE_TYPE, headers.ENCODING]] == (_DATA_PAGE, _PLAIN))
    return bool(levels and like and kind in (pa.large_string(), pa.large_binary()))


def take(runs: Sequence[Run]) -> pa.Array | None:
    """Take wanted texts.

    Returns:
        pyarrow.Array or None: large_string or large_binary; None where the pages are damaged, for Arrow to say how.
    """
    pieces, sizes, chunks = [], [], runs[0].pages.chunks
    stated = [(statistics, statistics.bounded | (statistics.nulls >= 0)) for statistics in stated_of(runs)]
    try:
        for page, (run, i, raw, mine) in enumerate(_pages(runs)):
            begin, size = np.empty(mine.size, np.int64), np.empty(mine.size, np.int64)
            total = find_texts(raw, chunks.leaf.max_def, mine, begin, size)
            if total < 0 or not _hold_texts(run, i, raw, page, stated):
                return None
            pieces.append(copy_texts(raw, begin, size, total))
            sizes.append(size)
    except UnfitError:
        return None
    return _array(wide_type(chunks.footer.schema.field(chunks.leaf.path[0]).type), pieces, np.concatenate(sizes))


def _pages(runs: Sequence[Run]) -> Iterator[tuple[Run, int, Bytes, Int64Array]]:
    """Data pages: their run, their number in it, their bytes, and the wanted rows, counted in the page."""
    for run in runs:
        wanted, places = run.pages.wanted, run.pages.places[:, [FIRST, BEGIN, END]].tolist()
        for i, (body, (first, begin, end)) in enumerate(zip(run.bodies(), places, strict=True)):
            yield run, i, read_only(np.frombuffer(body, np.uint8)), wanted[begin:end] - first


def _hold_texts(run: Run, i: int, raw: Bytes, page: int, every: Sequence[tuple[Statistics, BoolArray]]) -> bool:
    """Hold all texts of a page against what is stated of it; whether they can be told apart.

    Args:
        i, page: Its number in its run, and in what is stated.
        every: What is stated of pages, and of which it says anything.
    """
    stated = [statistics for statistics, is_stated in every if is_stated[page]]
    if not stated:
        return True
    n_rows, chunk = int(run.pages.places[i, ROWS]), run.pages.chunks[run.pages.places[i, CHUNK]]
    begin, size = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    if find_texts(raw, chunk.leaf.max_def, np.arange(n_rows), begin, size) < 0:
        return False
    low, high = (
        None if at < 0 else raw[begin[at] : begin[at] + size[at]].tobytes() for at in extremes(raw, begin, size)
    )
    for statistics in stated:
        check_nulls(int(np.sum(size < 0)), statistics, page, chunk.place)
        check_ends((pa.large_binary(), low, high), statistics, page, chunk.leaf, chunk.place)
    return True


def _array(kind: pa.DataType, pieces: list[np.ndarray], size: Int64Array) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(np.maximum(size, 0))])
    validity = pa.py_buffer(np.packbits(size >= 0, bitorder="little")) if size.min(initial=0) < 0 else None
    values = pa.py_buffer(np.concatenate(pieces))
    return pa.Array.from_buffers(kind, size.size, [validity, pa.py_buffer(offsets.astype(np.int64)), values])
