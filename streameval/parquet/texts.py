"""Take wanted texts out of plain pages without decoding the others.

A page of long texts is mostly unwanted text. Plain encoding puts a length before each: unwanted ones are stepped over,
wanted ones are copied. Anything else (dictionaries, other encodings, nested texts) is left to Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.texts import copy_texts, extremes, find_texts
from streameval.kernels.thrift import Bytes
from streameval.parquet.check_values import check_ends, check_nulls
from streameval.parquet.chunks import Chunk, Run, UnfitError
from streameval.parquet.schema import BYTE_ARRAY, wide_type
from streameval.parquet.statistics import Stated
from streameval.parquet.wanted_pages import wanted_pages
from streameval.typing import Int64Array

_PLAIN, _RLE, _DATA_PAGE = 0, 3, 0


def plain(runs: Sequence[Run]) -> bool:
    """Whether these are pages of plain texts at the top level, of version 1."""
    chunk = runs[0].pages.chunk
    kind = wide_type(chunk.footer.schema.field(chunk.leaf.path[0]).type)
    if chunk.facts[kernels.TYPE] != BYTE_ARRAY or len(chunk.leaf.path) > 1 or chunk.leaf.max_rep:
        return False
    return kind in (pa.large_string(), pa.large_binary()) and all(
        head[headers.PAGE_TYPE] == _DATA_PAGE
        and head[headers.ENCODING] == _PLAIN
        and (not chunk.leaf.max_def or head[headers.LEVELS] == _RLE)
        for run in runs
        for head in run.heads
    )


def take(runs: Sequence[Run], rows: Sequence[Int64Array]) -> pa.Array | None:
    """Take texts.

    Args:
        rows: See `wanted_pages`.

    Returns:
        pyarrow.Array or None: large_string or large_binary; None where the pages are damaged, for Arrow to say how.
    """
    pieces, sizes = [], []
    try:
        for run, i, raw, mine in wanted_pages(runs, rows):
            begin, size = np.empty(mine.size, np.int64), np.empty(mine.size, np.int64)
            total = find_texts(raw, run.pages.chunk.leaf.max_def, mine, begin, size)
            n_rows = int(run.pages.places[i, 3])
            if total < 0 or not _held(raw, n_rows, run.stated[i : i + 1], run.pages.chunk):
                return None
            pieces.append(copy_texts(raw, begin, size, total))
            sizes.append(size)
    except UnfitError:
        return None
    chunk = runs[0].pages.chunk
    return _array(wide_type(chunk.footer.schema.field(chunk.leaf.path[0]).type), pieces, np.concatenate(sizes))


def _held(raw: Bytes, n_rows: int, stated: Sequence[Sequence[Stated]], chunk: Chunk) -> bool:
    """Hold all texts of a page against what is stated of them; whether they can be told apart."""
    told = [
        one for one in (stated[0] if stated else ()) if one.low is not None or one.high is not None or one.nulls >= 0
    ]
    if not told:
        return True
    begin, size = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    if find_texts(raw, chunk.leaf.max_def, np.arange(n_rows), begin, size) < 0:
        return False
    low, high = (
        None if at < 0 else raw[begin[at] : begin[at] + size[at]].tobytes() for at in extremes(raw, begin, size)
    )
    for one in told:
        if one.rows == n_rows:
            check_nulls(int(np.sum(size < 0)), one, chunk.place)
        check_ends((pa.large_binary(), low, high), one, chunk.leaf, chunk.place)
    return True


def _array(kind: pa.DataType, pieces: list[np.ndarray], size: Int64Array) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(np.maximum(size, 0))])
    known = pa.py_buffer(np.packbits(size >= 0, bitorder="little")) if size.min(initial=0) < 0 else None
    values = pa.py_buffer(np.concatenate(pieces))
    return pa.Array.from_buffers(kind, size.size, [known, pa.py_buffer(offsets.astype(np.int64)), values])
