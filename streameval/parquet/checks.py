"""Check the pages of a whole column chunk before a library decodes them: sizes, counts, checksums."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import small
from streameval.parquet.chunks import Chunk, OpenFile
from streameval.parquet.layout import CORRUPT
from streameval.parquet.schema import BYTE_ARRAY
from streameval.parquet.statistics import Statistics, of_headers, of_pages
from streameval.parquet.writing import ChunkPlace
from streameval.typing import Int64Array

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)
AT, BODY = headers.N_HEADER, headers.N_HEADER + 1  # columns after the header: where a page and its body begin
_HEADER_GUESS = 512
_LARGEST_HEADER = 1 << 26
# bytes that one value of a dictionary takes at least, by physical type
_LEAST_BYTES = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, BYTE_ARRAY: 4}
COPIES = 2  # pages decompressed, and what is made of them


@dataclass(frozen=True)
class SoundChunk:
    """A chunk whose pages are sound.

    Attributes:
        size, uncompressed: Bytes of its pages, headers included, as stored and decompressed.
        dictionary: Bytes of its dictionary page; 0 without one.
        entries: The same decompressed.
        pages (int64 array, shape (pages, N_HEADER + 2)): Their headers, where each begins, and where its body does.
        stated: What is said of its values: of all of them, and of pages.
    """

    chunk: Chunk
    size: int
    uncompressed: int
    dictionary: int
    entries: int
    pages: Int64Array = field(repr=False)
    stated: tuple[Statistics, ...] = ()

    def placed(self, at: int) -> ChunkPlace:
        """As a column chunk that begins at some byte."""
        facts = self.chunk.facts
        return ChunkPlace(
            at, self.size, self.uncompressed, int(facts[kernels.VALUES]), self.dictionary, int(facts[kernels.CODEC])
        )


def check_bytes(chunk: Chunk, raw: memoryview, index: Sequence[memoryview]) -> SoundChunk:
    """Check a chunk that is in memory, checksums included.

    Raises:
        InputError: A page that is damaged, fails its checksum or contradicts the footer, or takes more memory than is
            allowed.
    """
    view, room, values = np.frombuffer(raw, np.uint8), 256, int(chunk.facts[kernels.VALUES])
    while True:
        pages = np.empty((room, headers.N_HEADER + 2), np.int64)
        with small(8 * room):
            count = int(headers.page_headers(view, values, pages))
        if count <= room:
            break
        room *= 16
    if count < 0:
        last = pages[-count - 2]
        at = chunk.begin + (int(last[BODY] + last[headers.PAGE_COMPRESSED]) if count < -1 else 0)
        raise InputError(f"{chunk.place}: there is no valid page at {at:,} of the file", CORRUPT)
    pages = pages[:count]
    if chunk.footer.verify == "on":
        begin = chunk.begin
        for body, size, crc in pages[:, [BODY, headers.PAGE_COMPRESSED, headers.CRC]].tolist():
            if crc != kernels.ABSENT:
                check_crc(chunk, begin + body, raw[body : body + size], crc)
    return _check(chunk, pages, raw, index)


def check_crc(chunk: Chunk, at: int, body: memoryview, crc: int) -> None:
    """Hold a page's body against its checksum."""
    if zlib.crc32(body) != crc:
        raise InputError(
            f"{chunk.place}: the page at {at:,} of the file fails its checksum",
            "its bytes were damaged after they were written; restore the file",
        )


def check_headers(file: OpenFile, chunk: Chunk) -> SoundChunk:
    """Check a chunk from page to page without reading their content or checksums; errors as in `check_bytes`."""
    found: list[Int64Array] = []
    file.stream(chunk.begin, chunk.end)
    at, held, values = chunk.begin, 0, int(chunk.facts[kernels.VALUES])
    while held < values:
        header = np.empty(headers.N_HEADER + 2, np.int64)
        length = read_header(file, chunk, at, header[: headers.N_HEADER])
        header[AT], header[BODY] = at - chunk.begin, at - chunk.begin + length
        at += length + int(header[headers.PAGE_COMPRESSED])
        if at > chunk.end:
            raise InputError(f"{chunk.place}: a page at {at:,} ends after its column's bytes", CORRUPT)
        if header[headers.PAGE_TYPE] in (DATA_PAGE, DATA_PAGE_V2):
            if not 0 <= header[headers.PAGE_VALUES] <= values - held:
                raise InputError(f"{chunk.place}: its pages hold more than {values:,} values", CORRUPT)
            held += int(header[headers.PAGE_VALUES])
        found.append(header)
    return _check(chunk, np.array(found).reshape(-1, headers.N_HEADER + 2), None, file.read(chunk.column_index))


def read_header(file: OpenFile, chunk: Chunk, at: int, header: Int64Array) -> int:
    """Read the header of the page at some byte of the file; its length. An `InputError` where there is no page."""
    room = _HEADER_GUESS
    while at < chunk.end:
        room = min(room, chunk.end - at)
        length = headers.page_header(np.frombuffer(file.read([(at, room)])[0], np.uint8), header)
        if length > 0:
            return int(length)
        if room == chunk.end - at or room >= _LARGEST_HEADER:
            break
        room *= 16
    raise InputError(f"{chunk.place}: there is no page at {at:,} of the file", CORRUPT)


def _check(chunk: Chunk, pages: Int64Array, raw: memoryview | None, index: Sequence[memoryview]) -> SoundChunk:
    """Hold pages against one another, the footer and the memory limit."""
    totals = np.empty(3, np.int64)
    with small(len(pages)):
        usual = headers.plain_pages(pages, int(chunk.facts[kernels.CODEC]), totals)
    coded = len(pages) > 0 and int(pages[0, headers.PAGE_TYPE]) == DICTIONARY_PAGE
    data = pages[int(coded) :] if usual else _check_unusual(chunk, pages)
    largest, uncompressed, header = totals.tolist() if usual else _sizes(pages)
    entries, claimed = pages[0, [headers.PAGE_UNCOMPRESSED, headers.PAGE_VALUES]].tolist() if coded else (0, 0)
    if coded and not 0 <= claimed * _LEAST_BYTES.get(chunk.leaf.physical, 0) <= entries:
        raise InputError(f"{chunk.place}: its dictionary claims {claimed:,} values", CORRUPT)
    used = largest + entries
    if used * COPIES > chunk.footer.limit:
        raise InputError(
            f"{chunk.place}: one of its pages takes {used / 1e9:.3g} GB decompressed, too much for the memory limit",
            f"give more with --memory, at least {used * COPIES / 1e9:.2g} for each thread",
        )
    ends = pages[[0, -1], BODY] + pages[[0, -1], headers.PAGE_COMPRESSED] if len(pages) else np.zeros(2, np.int64)
    dictionary, end = int(ends[0]) if coded else 0, int(ends[1])
    stated = _stated(chunk, data, raw, index)
    return SoundChunk(chunk, end, uncompressed + header, dictionary, entries, pages, stated)


def _sizes(pages: Int64Array) -> tuple[int, int, int]:
    """Bytes of the largest page decompressed, of all, and of their headers."""
    plain = pages[:, headers.PAGE_UNCOMPRESSED]
    return int(plain.max(initial=0)), int(plain.sum()), int((pages[:, BODY] - pages[:, AT]).sum())


def _check_unusual(chunk: Chunk, pages: Int64Array) -> Int64Array:
    """Check pages of any kind; returns those that hold data."""
    kind, size, plain = (pages[:, i] for i in (headers.PAGE_TYPE, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED))
    data: Int64Array = pages[(kind == DATA_PAGE) | (kind == DATA_PAGE_V2)]
    second = pages[kind == DATA_PAGE_V2]
    if np.any(kind > DATA_PAGE_V2) or np.any(kind[1:] == DICTIONARY_PAGE):
        raise InputError(f"{chunk.place}: it has a page where none belongs", CORRUPT)
    if not chunk.facts[kernels.CODEC] and np.any(size != plain):
        raise InputError(f"{chunk.place}: its pages are not compressed, but have two sizes", CORRUPT)
    levels = second[:, [headers.REPETITION_BYTES, headers.DEFINITION_BYTES]]
    room = np.minimum(second[:, headers.PAGE_COMPRESSED], second[:, headers.PAGE_UNCOMPRESSED])
    if np.any(levels < 0) or np.any(levels.sum(axis=1) > room):
        raise InputError(f"{chunk.place}: the levels of a page are longer than the page", CORRUPT)
    rows, values = second[:, headers.PAGE_ROWS], second[:, headers.PAGE_VALUES]
    flat = not chunk.leaf.max_rep
    uneven = np.any(rows != values) if flat else np.any(rows > values)
    # of values that repeat, Arrow up to 8 wrote their number for that of rows: whoever decodes counts these
    counted = len(second) == len(data) and (flat or np.any(rows != values))
    total = int(rows.sum()) if counted else chunk.n_rows
    if uneven or np.any(rows < 0) or total != chunk.n_rows:
        raise InputError(f"{chunk.place}: its pages hold {total:,} rows, its row group {chunk.n_rows:,}", CORRUPT)
    return data


def _stated(
    chunk: Chunk, pages: Int64Array, raw: memoryview | None, index: Sequence[memoryview]
) -> tuple[Statistics, ...]:
    if chunk.footer.verify == "off" or chunk.leaf.max_rep:  # where values repeat, pages do not begin with rows
        return (chunk.stated,) if chunk.footer.verify == "on" else ()
    rows = pages[:, headers.PAGE_VALUES]
    first = np.cumsum(rows) - rows
    told = of_headers(raw, pages[:, AT], (first, rows), pages) if raw is not None else []
    return (chunk.stated, *(of_pages(one, first, rows, chunk.place) for one in index), *told)
