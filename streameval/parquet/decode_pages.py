"""Decode single pages: the pages of a leaf column become a small Parquet file in memory, which Arrow reads.

No Python library reads chosen pages of a column. But any run of pages, with the dictionary before it, is a valid column
chunk; so the pages are copied behind one another, a footer of our own says how many rows they hold, and every encoding,
codec and page version that Arrow knows is decoded by Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, outside_trouble
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import interpreted
from streameval.kernels.page_index import places
from streameval.parquet import deltas, texts
from streameval.parquet.check_values import all_hold, check_values
from streameval.parquet.checks import DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, check_crc
from streameval.parquet.chunks import Chunk, OpenFile, Pages, Run, UnfitError
from streameval.parquet.codecs import decompress
from streameval.parquet.layout import CORRUPT
from streameval.parquet.schema import BYTE_ARRAY, wide_type
from streameval.parquet.statistics import Stated, of_header
from streameval.parquet.writing import MAGIC, ChunkPlace, column_chunk, ending, row_group
from streameval.typing import Int64Array

# bytes decoded at once: enough to forget the cost of a footer, little enough to stay in the caches
_BATCH = 1 << 23
# memory taken while a page is decoded, in its decompressed bytes: as read, as copied, decompressed, as Arrow
_COPIES = 4
_HEADER = 100  # bytes of a page's header, or so


def read_pages(found: Sequence[Pages], limit: int) -> tuple[list[pa.Array], int]:
    """Decode pages of one leaf, and take the wanted rows.

    Args:
        found: By file and row group; their leaves are written alike (`Leaf.chain`).
        limit: Bytes that may be taken beyond what is returned.

    Returns:
        list of pyarrow.Array: Of wide types (`wide_type`); one after another they are the wanted rows.
        int: Bytes read.

    Raises:
        InputError: A page that fails its checksum, or holds other rows than its place says; a page over the limit.
        UnfitError: Arrow cannot decode the pages by themselves.
    """
    taken, n_bytes = [], 0
    for batch in _batches(found, min(_BATCH, limit // _COPIES)):
        runs = []
        for footer, group in groupby(batch, key=lambda pages: pages.chunk.footer):
            pieces = list(group)
            with OpenFile(footer) as file:
                ranges = [one for pages in pieces for one in pages.ranges]
                file.advise(ranges)
                raw = iter(file.read(ranges))
            runs += [_run(pages, raw, limit) for pages in pieces]
            n_bytes += file.bytes_read
        reader = texts if texts.plain(runs) else deltas if deltas.packed(runs) else None
        if reader is not None and (found_values := reader.take(runs, [pages.wanted for pages in batch])) is not None:
            taken.append(found_values)
            continue
        table, at, begin = _decode(runs), [], 0
        _check_values(runs, table.column(0))
        for pages in batch:
            with interpreted(len(pages.wanted) // 4 + len(pages.places)):
                at.append(places(pages.places, pages.wanted, begin))
            begin += pages.n_rows
        taken += _take(table.column(0), np.concatenate(at))
    return taken, n_bytes


def _batches(found: Sequence[Pages], room: int) -> Iterator[list[Pages]]:
    """Cut pages, in order, into batches of about `room` decompressed bytes; each has one page at least."""
    batch: list[Pages] = []
    left = float(room)
    for pages in found:
        begin, ratio = 0, pages.chunk.ratio
        left -= pages.dictionary[1] * ratio if pages.dictionary else 0
        for i, size in enumerate(pages.places[:, 1].tolist()):
            if size * ratio > left and (batch or i > begin):
                if i > begin:
                    batch.append(pages.part(begin, i))
                yield batch
                batch, begin, left = [], i, float(room)
            left -= size * ratio
        batch.append(pages.part(begin, len(pages.places)))
    if batch:
        yield batch


def _run(pages: Pages, raw: Iterator[memoryview], limit: int) -> Run:
    """Check pages against their headers."""
    header = np.empty(headers.N_HEADER, dtype=np.int64)
    chunk, body, heads, uncompressed, values, entries = pages.chunk, [], [], 0, 0, 0
    stated: list[tuple[Stated, ...]] = []
    if pages.dictionary:
        body.append(next(raw))
        length = _check(chunk, pages.dictionary[0], body[0], header)
        if header[headers.PAGE_TYPE] != DICTIONARY_PAGE:
            raise InputError(f"{chunk.place}: there is no dictionary at {pages.dictionary[0]:,} of the file", CORRUPT)
        _check_limit(chunk, int(header[headers.PAGE_UNCOMPRESSED]), limit)
        # bytes may lie between the dictionary and the first page
        body[0] = body[0][: length + int(header[headers.PAGE_COMPRESSED])]
        entries = int(header[headers.PAGE_UNCOMPRESSED])
        uncompressed += length + entries
    for i, (at, size, first, n_rows) in enumerate(pages.places.tolist()):
        page = next(raw)
        length = _check(chunk, at, page, header)
        _check_limit(chunk, int(header[headers.PAGE_UNCOMPRESSED]), limit)
        held = _rows_held(chunk, page[length:], header)
        if length + header[headers.PAGE_COMPRESSED] != size or held != n_rows:
            raise InputError(
                f"{chunk.place}: the page at {at:,} of the file has {held:,} rows in "
                f"{length + int(header[headers.PAGE_COMPRESSED]):,} bytes, but is said to have {n_rows:,} from row "
                f"{first:,} in {size:,}",
                CORRUPT,
            )
        body.append(page)
        heads.append(header.copy())
        if chunk.footer.verify == "on":
            told = of_header(page, (first, n_rows), header)
            stated.append((chunk.stated, *pages.stated[i : i + 1], *told))
        uncompressed += length + int(header[headers.PAGE_UNCOMPRESSED])
        values += int(header[headers.PAGE_VALUES])
    dictionary = len(body[0]) if pages.dictionary else 0
    return Run(pages, body, heads, stated, dictionary, entries, values, uncompressed)


def _check(chunk: Chunk, at: int, page: memoryview, header: Int64Array) -> int:
    """Read a page's header and hold its bytes against its checksum, if it has one; the header's length."""
    with interpreted(_HEADER):
        length = int(headers.page_header(np.frombuffer(page, np.uint8), header))
    body = page[length : length + int(header[headers.PAGE_COMPRESSED])]
    if length < 0 or len(body) < header[headers.PAGE_COMPRESSED]:
        raise InputError(f"{chunk.place}: there is no page at {at:,} of the file", CORRUPT)
    if header[headers.CRC] != kernels.ABSENT and chunk.footer.verify == "on":
        check_crc(chunk, at, body, int(header[headers.CRC]))
    return length


def _check_limit(chunk: Chunk, size: int, limit: int) -> None:
    if size * _COPIES > limit:
        raise InputError(
            f"{chunk.place}: one of its pages takes {size / 1e9:.3g} GB decompressed, too much for the memory limit",
            f"give more with --memory, at least {size * _COPIES / 1e9:.2g} for each thread",
        )


def _rows_held(chunk: Chunk, body: memoryview, header: Int64Array) -> int:
    """Number of rows of a page, from its header, or counted in its repetition levels."""
    kind = header[headers.PAGE_TYPE]
    if kind == DATA_PAGE_V2:
        rows, values = int(header[headers.PAGE_ROWS]), int(header[headers.PAGE_VALUES])
        return rows if chunk.leaf.max_rep or rows == values else -1
    if kind != DATA_PAGE or not chunk.leaf.max_rep:
        return int(header[headers.PAGE_VALUES]) if kind == DATA_PAGE else -1
    try:
        levels = decompress(int(chunk.facts[kernels.CODEC]), body, int(header[headers.PAGE_UNCOMPRESSED]))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise outside_trouble(error) or UnfitError(f"a page cannot be decompressed ({error})") from error
    plain = np.frombuffer(levels, np.uint8)
    length = int.from_bytes(plain[:4].tobytes(), "little")
    width = chunk.leaf.max_rep.bit_length()
    return int(headers.count_rows(plain[4 : 4 + length], width, int(header[headers.PAGE_VALUES])))


def _decode(runs: list[Run]) -> pa.Table:
    """Have Arrow read pages; dictionaries stay such where their texts, written out, could be many times the pages."""
    leaf = runs[0].pages.chunk.leaf
    long = max(run.entries * run.pages.n_rows for run in runs) > 8 * _BATCH
    coded = [".".join(leaf.path)] if long and len(leaf.path) == 1 and _is_text(runs[0].pages.chunk) else None
    body = b"".join([MAGIC, *(piece for run in runs for piece in run.body), _footer(runs)])
    try:
        with pq.ParquetFile(pa.BufferReader(body), read_dictionary=coded) as file:
            table = file.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise outside_trouble(error) or UnfitError(" ".join(str(error).split())) from error
    if table.num_columns != 1:
        raise UnfitError("its schema makes no column")
    if table.num_rows != sum(run.pages.n_rows for run in runs):
        raise UnfitError(f"its pages decode to {table.num_rows:,} rows, not {sum(run.pages.n_rows for run in runs):,}")
    return table


def _check_values(runs: Sequence[Run], values: pa.ChunkedArray) -> None:
    """Hold the values of pages against what is stated of them: all at once, and one by one where something is amiss."""
    rows = np.concatenate([run.pages.places[:, 3] for run in runs])
    told = [stated for run in runs for stated in run.stated]
    if not told or all_hold(values, rows, told, runs[0].pages.chunk.leaf):
        return
    begin = 0
    for run in runs:
        chunk = run.pages.chunk
        for (_, _, first, n_rows), stated in zip(run.pages.places.tolist(), run.stated, strict=True):
            check_values(values.slice(begin, n_rows), first, stated, chunk.leaf, chunk.place)
            begin += n_rows


def _is_text(chunk: Chunk) -> bool:
    return bool(chunk.facts[kernels.TYPE] == BYTE_ARRAY)


def _footer(runs: list[Run]) -> bytes:
    """The end of a file with a row group for each run."""
    groups, at = [], len(MAGIC)
    for run in runs:
        codec = int(run.pages.chunk.facts[kernels.CODEC])
        place = ChunkPlace(at, run.size, run.uncompressed, run.values, run.dictionary, codec)
        chunk = column_chunk(run.pages.chunk.leaf, place)
        groups.append(row_group([chunk], run.uncompressed, run.pages.n_rows))
        at += run.size
    return ending(runs[0].pages.chunk.leaf.chain, sum(run.pages.n_rows for run in runs), groups)


def _take(column: pa.ChunkedArray, at: Int64Array) -> list[pa.Array]:
    """Take rows chunk by chunk, and only then widen: nothing is ever concatenated with 32-bit offsets."""
    taken, begin = [], 0
    for chunk in column.chunks:
        mine = at[np.searchsorted(at, begin) : np.searchsorted(at, begin + len(chunk))] - begin
        if mine.size:
            taken.append(chunk.take(pa.array(mine)).cast(wide_type(chunk.type)))
        begin += len(chunk)
    return taken
