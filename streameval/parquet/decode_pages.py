"""Decode single pages: the pages of a leaf column become a small Parquet file in memory, which Arrow reads.

No Python library reads chosen pages of a column. But any run of pages, with the dictionary before it, is a valid column
chunk; so the pages are copied behind one another, a footer of our own says how many rows they hold, and every encoding,
codec and page version that Arrow knows is decoded by Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import outside_trouble
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.page_index import CHUNK, ROWS, SIZE
from streameval.parquet import numbers, texts
from streameval.parquet.checks import AT, BODY, COPIES_OF_ONE, check_run, stored_chunk
from streameval.parquet.chunks import OpenFile, TogetherRead, UnfitError
from streameval.parquet.images import StoredChunk, image
from streameval.parquet.pages import Pages, Run, stated_of
from streameval.parquet.schema import BYTE_ARRAY, wide_type
from streameval.parquet.statistics import check_values, unproven_of
from streameval.parquet.undecodable import why_undecodable
from streameval.struct_fields import unwrap
from streameval.typing import Int64Array

# bytes decoded at once: enough to forget the cost of a footer, little enough to stay in the caches
_BATCH = 1 << 23


def read_pages(
    located: Sequence[Pages], limit: int, together: Mapping[str, TogetherRead]
) -> tuple[list[pa.Array], int]:
    """Decode pages of one leaf, and take the wanted rows.

    Args:
        located: By file; their leaves are written alike (`Leaf.chain`).
        limit: Bytes that may be taken beyond what is returned.
        together: Pages that were read before, by file.

    Returns:
        list of pyarrow.Array: Of wide types (`wide_type`); one after another they are the wanted rows.
        int: Bytes read now.

    Raises:
        InputError: A page that fails its checksum, or holds other rows than its place says; a page over the limit.
        UnfitError: Arrow cannot decode the pages by themselves.
    """
    arrays, n_bytes = [], 0
    for batch in _batches(located, min(_BATCH, limit // COPIES_OF_ONE)):
        runs = []
        for pages in batch:
            if (read := together.get(pages.chunks.footer.file.path)) is not None:
                runs.append(check_run(pages, *read.gather(pages.ranges), limit))
                continue
            with OpenFile(pages.chunks.footer) as file:
                runs.append(check_run(pages, *file.gather(pages.ranges), limit))
            n_bytes += file.bytes_read
        values = texts.take(runs) if texts.plain(runs) else numbers.take(runs)
        if values is not None:
            arrays.append(values)
            continue
        column, at, begin = unwrap(_decode(runs).column(0), batch[0].chunks.leaf.depth), list[Int64Array](), 0
        _check_values(runs, column)
        for pages in batch:
            at.append(pages.positions + begin)
            begin += pages.n_rows
        arrays += _take(column, np.concatenate(at))
    return arrays, n_bytes


def _batches(located: Sequence[Pages], room: int) -> Iterator[list[Pages]]:
    """Cut pages, in order, into batches of about `room` decompressed bytes; each has one page at least."""
    batch: list[Pages] = []
    left = float(room)
    for pages in located:
        used, ratio = pages.used, pages.chunks.ratio
        sizes = pages.places[:, SIZE] * ratio[pages.places[:, CHUNK]]
        sizes[pages.starts] += pages.dictionaries[used, 1] * ratio[used]
        before, begin, ends = 0.0, 0, np.cumsum(sizes)
        while begin < len(ends):
            end = max(int(np.searchsorted(ends, before + left, side="right")), begin + (not batch))
            if end > begin:
                batch.append(pages.part(begin, end))
                left -= ends[end - 1] - before
                before = ends[end - 1]
            if end < len(ends):
                yield batch
                batch, left = [], float(room)
            begin = end
    if batch:
        yield batch


def _decode(runs: list[Run]) -> pa.Table:
    """Have Arrow read pages; dictionaries stay such where their texts, written out, could be many times the pages."""
    chunks = runs[0].pages.chunks
    text = chunks.leaf.physical == BYTE_ARRAY and len(chunks.leaf.path) == 1
    coded = text and max(_written_out(run) for run in runs) > 8 * _BATCH
    body = _as_file(runs)
    try:
        with pq.ParquetFile(pa.BufferReader(body), read_dictionary=list(chunks.leaf.path) if coded else None) as file:
            table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise outside_trouble(error) or UnfitError(why_undecodable(error)) from error
    if table.num_columns != 1:
        raise UnfitError("its schema makes no column")
    if table.num_rows != sum(run.pages.n_rows for run in runs):
        raise UnfitError(f"its pages decode to {table.num_rows:,} rows, not {sum(run.pages.n_rows for run in runs):,}")
    return table


def _written_out(run: Run) -> int:
    """Bytes that values of one chunk take at most if each is the whole dictionary."""
    rows = np.add.reduceat(run.pages.places[:, ROWS], run.pages.starts)
    return max(int(size) * int(n) for size, n in zip(run.dictionaries[:, headers.PAGE_UNCOMPRESSED], rows, strict=True))


def _check_values(runs: Sequence[Run], values: pa.ChunkedArray) -> None:
    """Hold the values of pages against what is stated of them: all at once, and one by one where something is amiss."""
    stated, begin, leaf = stated_of(runs), 0, runs[0].pages.chunks.leaf
    if not unproven_of(values, 0, stated, leaf):
        return
    for run in runs:
        for n_rows, chunk in run.pages.places[:, [ROWS, CHUNK]].tolist():
            of_page = [statistics.overlapping(begin, n_rows) for statistics in stated]
            check_values(values.slice(begin, n_rows), begin, of_page, leaf, run.pages.chunks[chunk].place)
            begin += n_rows


def _as_file(runs: list[Run]) -> bytes:
    """A file with a row group for the pages of each chunk."""
    body, groups = list[memoryview](), list[list[StoredChunk]]()
    for run in runs:
        chunks, used, raw = run.pages.chunks, run.pages.used.tolist(), run.body.data
        for i, (begin, end) in enumerate(pairwise([*run.pages.starts.tolist(), len(run.heads)])):
            coded = int(run.dictionaries[i, BODY] > 0)
            heads = np.concatenate([run.dictionaries[i : i + coded], run.heads[begin:end]])
            ends = heads[:, BODY] + heads[:, headers.PAGE_COMPRESSED]
            body += [raw[at:after] for at, after in zip(heads[:, AT].tolist(), ends.tolist(), strict=True)]
            values, rows = int(heads[coded:, headers.PAGE_VALUES].sum()), int(run.pages.places[begin:end, ROWS].sum())
            codec = int(chunks.facts[used[i], kernels.CODEC])
            groups.append([stored_chunk(chunks.leaf, codec, rows, values, heads)])
    return image(runs[0].pages.chunks.leaf.chain, groups, body)


def _take(column: pa.ChunkedArray, at: Int64Array) -> list[pa.Array]:
    """Take rows chunk by chunk, and only then widen: nothing is ever concatenated with 32-bit offsets."""
    arrays, begin = [], 0
    for chunk in column.chunks:
        mine = at[np.searchsorted(at, begin) : np.searchsorted(at, begin + len(chunk))] - begin
        if mine.size:
            arrays.append(chunk.take(pa.array(mine)).cast(wide_type(chunk.type)))
        begin += len(chunk)
    return arrays
