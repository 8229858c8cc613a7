"""Check pages before a library decodes them: sizes, counts, checksums; of whole column chunks, or single ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import read_only, small
from streameval.kernels.page_index import CHUNK
from streameval.kernels.wanted_pages import sound_pages
from streameval.parquet.chunks import Chunk, OpenFile, UnfitError
from streameval.parquet.codecs import decompress
from streameval.parquet.images import StoredChunk
from streameval.parquet.layout import CORRUPT
from streameval.parquet.pages import Pages, Run
from streameval.parquet.schema import FIXED_LEN_BYTE_ARRAY, Leaf
from streameval.parquet.statistics import Statistics, of_headers, of_pages
from streameval.typing import Int64Array, UInt8Array

DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 = range(4)
AT, BODY = headers.N_HEADER, headers.N_HEADER + 1  # columns after the header: where a page and its body begin
_HEADER_GUESS = 512
_LARGEST_HEADER = 1 << 26
COPIES = 2  # pages decompressed, and what is made of them
# memory taken while a single page is decoded, in its decompressed bytes: as read, as copied, decompressed, as Arrow
COPIES_OF_ONE = 4
_HEADER = 100  # bytes of a page's header, or so


@dataclass(frozen=True)
class SoundChunk:
    """A chunk whose pages are sound.

    Attributes:
        entries: Bytes of its dictionary, decompressed; 0 without one.
        pages (int64 array, shape (pages, N_HEADER + 2)): Their headers, where each begins, and where its body does.
        stated: What is said of its values: of all of them, and of pages.
    """

    chunk: Chunk
    stored: StoredChunk
    entries: int
    pages: Int64Array = field(repr=False)
    stated: tuple[Statistics, ...] = ()


def stored_chunk(leaf: Leaf, codec: int, rows: int, values: int, pages: Int64Array) -> StoredChunk:
    """Add up pages to a chunk: all of its pages, or a dictionary, if there is one, and some of the others.

    Args:
        pages (int64 array, shape (pages, N_HEADER + 2)): See `SoundChunk`.
    """
    headers_size = pages[:, BODY] - pages[:, AT]
    sizes = headers_size + pages[:, headers.PAGE_COMPRESSED]
    plain = int((headers_size + pages[:, headers.PAGE_UNCOMPRESSED]).sum())
    return StoredChunk(leaf, rows, int(sizes.sum()), plain, values, int(sizes[0]) if is_coded(pages) else 0, codec)


def is_coded(pages: Int64Array) -> bool:
    """Tell whether pages begin with a dictionary."""
    return len(pages) > 0 and int(pages[0, headers.PAGE_TYPE]) == DICTIONARY_PAGE


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
    if chunk.footer.verify == "on" and (failed := failed_checksum(raw, pages)) >= 0:
        raise _checksum_failed(chunk, chunk.begin + int(pages[failed, BODY]))
    return _check(chunk, pages, raw, index)


def failed_checksum(raw: memoryview, pages: Int64Array) -> int:
    """Find the first page whose body in `raw` fails its checksum; -1 where none does."""
    summed = np.flatnonzero(pages[:, headers.CRC] != kernels.ABSENT)
    bodies = pages[summed][:, [BODY, headers.PAGE_COMPRESSED, headers.CRC]].tolist()
    for page, (begin, size, crc) in zip(summed.tolist(), bodies, strict=True):
        if zlib.crc32(raw[begin : begin + size]) != crc:
            return int(page)
    return -1


def _checksum_failed(chunk: Chunk, at: int) -> InputError:
    return InputError(
        f"{chunk.place}: the page at {at:,} of the file fails its checksum",
        "its bytes were damaged after they were written; restore the file",
    )


def check_headers(file: OpenFile, chunk: Chunk) -> SoundChunk:
    """Check a chunk from page to page without reading their content or checksums; errors as in `check_bytes`."""
    pages: list[Int64Array] = []
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
        pages.append(header)
    return _check(chunk, np.array(pages).reshape(-1, headers.N_HEADER + 2), None, file.read(chunk.column_index))


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
    with small(len(pages)):
        largest = int(headers.plain_pages(pages, int(chunk.facts[kernels.CODEC])))
    coded = is_coded(pages)
    data = pages[int(coded) :] if largest >= 0 else _check_unusual(chunk, pages)
    if overfull(chunk.leaf, pages[: int(coded)]) >= 0:
        raise _overfull(chunk, pages[0])
    entries = int(pages[0, headers.PAGE_UNCOMPRESSED]) if coded else 0
    used = int(pages[:, headers.PAGE_UNCOMPRESSED].max(initial=0)) + entries
    _check_memory(chunk, used, COPIES, chunk.footer.limit)
    values, codec = chunk.facts[[kernels.VALUES, kernels.CODEC]].tolist()
    stored = stored_chunk(chunk.leaf, codec, chunk.n_rows, values, pages)
    return SoundChunk(chunk, stored, entries, pages, _statistics(chunk, data, raw, index))


def overfull(leaf: Leaf, dictionaries: Int64Array) -> int:
    """Find the first dictionary page that claims fewer than no values, or more than it has bytes for; -1: none does.

    Args:
        dictionaries (int64 array, shape (pages, N_HEADER + 2)): See `SoundChunk`.
    """
    claimed, size = dictionaries[:, headers.PAGE_VALUES], dictionaries[:, headers.PAGE_UNCOMPRESSED]
    wrong = np.flatnonzero((claimed < 0) | (claimed > size // max(1, leaf.least_bytes)))
    return int(wrong[0]) if wrong.size else -1


def _overfull(chunk: Chunk, dictionary: Int64Array) -> InputError:
    claimed, size = dictionary[[headers.PAGE_VALUES, headers.PAGE_UNCOMPRESSED]].tolist()
    return InputError(f"{chunk.place}: its dictionary claims {claimed:,} values in {size:,} bytes", CORRUPT)


def is_overlong(leaf: Leaf, values: int, pages: Int64Array, limit: int) -> bool:
    """Tell whether values of one length take more than a limit, bytes, and each of them more than any page.

    The length is wrong, or all of them are null: in Arrow a null takes as much as a value.

    Args:
        pages (int64 array, shape (pages, N_HEADER + 2)): See `SoundChunk`.
    """
    if leaf.physical != FIXED_LEN_BYTE_ARRAY or values * leaf.least_bytes <= limit:
        return False
    return leaf.least_bytes > int(pages[:, headers.PAGE_UNCOMPRESSED].max(initial=0))


def check_length(chunk: Chunk, values: int, pages: Int64Array, limit: int) -> None:
    """Refuse a chunk if the values that are decoded of it at a time are overlong; see `is_overlong`."""
    if is_overlong(chunk.leaf, values, pages, limit):
        raise _overlong(chunk)


def _overlong(chunk: Chunk) -> InputError:
    return InputError(
        f"{chunk.place}: claims values of {chunk.leaf.least_bytes:,} bytes each, but none of its pages is as long",
        "the file is corrupt there, or the column has nothing but nulls: leave it out",
    )


def _check_memory(chunk: Chunk, size: int, copies: int, limit: int) -> None:
    """Refuse a page that takes some bytes decompressed, if its copies take more than is allowed."""
    if size * copies > limit:
        raise InputError(
            f"{chunk.place}: one of its pages takes {size / 1e9:.3g} GB decompressed, too much for the memory limit",
            f"give more with --memory, at least {size * copies / 1e9:.2g} for each thread",
        )


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


def _statistics(
    chunk: Chunk, pages: Int64Array, raw: memoryview | None, index: Sequence[memoryview]
) -> tuple[Statistics, ...]:
    if chunk.footer.verify == "off" or chunk.leaf.max_rep:  # where values repeat, pages do not begin with rows
        return (chunk.stated,) if chunk.footer.verify == "on" else ()
    rows = pages[:, headers.PAGE_VALUES]
    first = np.cumsum(rows) - rows
    in_headers = of_headers(raw, pages[:, AT], (first, rows), pages) if raw is not None else []
    return (chunk.stated, *(of_pages(column_index, first, rows, chunk.place) for column_index in index), *in_headers)


def check_run(pages: Pages, raw: UInt8Array, at: Int64Array, limit: int) -> Run:
    """Check pages: all at once, and one by one where something is unusual or amiss.

    Args:
        raw, at (uint8 array, int64 array): What was read, and where in it each of `Pages.ranges` begins.
        limit: Bytes that may be taken beyond what is returned.

    Raises:
        InputError: A page that fails its checksum, or holds other rows than its place says; a page over the limit.
        UnfitError: A page whose rows cannot be counted.
    """
    coded = pages.dictionaries[pages.used, 1] > 0
    heads = _all_at_once(pages, raw, at, limit)
    if heads is None:
        heads = _one_by_one(pages, raw, at, limit)
    dictionaries = np.zeros((len(coded), heads.shape[1]), np.int64)
    n_coded = len(heads) - len(pages.places)
    leaf = pages.chunks.leaf
    if (wrong := overfull(leaf, heads[:n_coded])) >= 0:
        raise _overfull(pages.chunks[pages.used[coded][wrong]], heads[wrong])
    if is_overlong(leaf, int(heads[n_coded:, headers.PAGE_VALUES].sum()), heads, limit):
        raise _overlong(pages.chunks[pages.used[0]])
    dictionaries[coded] = heads[:n_coded]
    return Run(pages, raw, heads[n_coded:], dictionaries)


def _all_at_once(pages: Pages, raw: UInt8Array, at: Int64Array, limit: int) -> Int64Array | None:
    """Headers of sound pages of values that do not repeat; None where any of them is another."""
    if pages.chunks.leaf.max_rep:
        return None
    heads = np.empty((len(at), headers.N_HEADER + 2), np.int64)
    with small(_HEADER * len(at)):
        sums = int(sound_pages(raw, at, pages.ranges, pages.places, limit // COPIES_OF_ONE, heads))
    if sums < 0:
        return None
    sound = not sums or pages.chunks.footer.verify == "off" or failed_checksum(raw.data, heads) < 0
    return heads if sound else None


def _one_by_one(pages: Pages, raw: UInt8Array, begins: Int64Array, limit: int) -> Int64Array:
    """Give the same of pages of any kind; says what is wrong."""
    heads = np.empty((len(begins), headers.N_HEADER + 2), np.int64)
    used = pages.used.tolist()
    chunks = {i: pages.chunks[i] for i in used}
    coded = [i for i in used if pages.dictionaries[i, 1]]
    ends = begins + pages.ranges[:, 1]
    spans = [raw.data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    for header, i, page in zip(heads, coded, spans, strict=False):
        chunk, at = chunks[i], int(pages.dictionaries[i, 0])
        _check_page(chunk, at, page, header)
        if header[headers.PAGE_TYPE] != DICTIONARY_PAGE:
            raise InputError(f"{chunk.place}: there is no dictionary at {at:,} of the file", CORRUPT)
        _check_memory(chunk, int(header[headers.PAGE_UNCOMPRESSED]), COPIES_OF_ONE, limit)
    for header, place, page in zip(heads[len(coded) :], pages.places.tolist(), spans[len(coded) :], strict=True):
        chunk, (at, size, first, n_rows) = chunks[place[CHUNK]], place[:CHUNK]
        length = _check_page(chunk, at, page, header)
        _check_memory(chunk, int(header[headers.PAGE_UNCOMPRESSED]), COPIES_OF_ONE, limit)
        held = _rows_held(chunk, page[length:], header)
        if length + header[headers.PAGE_COMPRESSED] != size or held != n_rows:
            raise InputError(
                f"{chunk.place}: the page at {at:,} of the file has {held:,} rows in "
                f"{length + int(header[headers.PAGE_COMPRESSED]):,} bytes, but is said to have {n_rows:,} from row "
                f"{first:,} in {size:,}",
                CORRUPT,
            )
    heads[:, [AT, BODY]] += begins[:, None]
    return heads


def _check_page(chunk: Chunk, at: int, page: memoryview, header: Int64Array) -> int:
    """Read a page's header and hold its content against its checksum, if it has one; the header's length."""
    with small(_HEADER):
        length = int(headers.page_header(np.frombuffer(page, np.uint8), header[: headers.N_HEADER]))
    header[AT], header[BODY] = 0, length
    body = page[length : length + int(header[headers.PAGE_COMPRESSED])]
    if length < 0 or len(body) < header[headers.PAGE_COMPRESSED]:
        raise InputError(f"{chunk.place}: there is no page at {at:,} of the file", CORRUPT)
    if chunk.footer.verify == "on" and failed_checksum(page, header[None]) >= 0:
        raise _checksum_failed(chunk, at)
    return length


def _rows_held(chunk: Chunk, body: memoryview, header: Int64Array) -> int:
    """Number of rows of a page, from its header, or counted in its repetition levels."""
    kind = header[headers.PAGE_TYPE]
    if kind == DATA_PAGE_V2:
        rows, values = int(header[headers.PAGE_ROWS]), int(header[headers.PAGE_VALUES])
        if chunk.leaf.max_rep and (size := repetitions(header)):
            return rows_in_levels(chunk, body[:size], header)
        return rows if chunk.leaf.max_rep or rows == values else -1
    if kind != DATA_PAGE or not chunk.leaf.max_rep:
        return int(header[headers.PAGE_VALUES]) if kind == DATA_PAGE else -1
    try:
        levels = decompress(int(chunk.facts[kernels.CODEC]), body, int(header[headers.PAGE_UNCOMPRESSED]))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise outside_trouble(error) or UnfitError("a page cannot be decompressed") from error
    plain = memoryview(levels)
    length = int.from_bytes(plain[:4].tobytes(), "little")
    return rows_in_levels(chunk, plain[4 : 4 + length], header)


def repetitions(header: Int64Array) -> int:
    """Bytes of repetition levels that have to be counted, of a page of version 2 whose values repeat; 0 for none.

    Arrow up to 8 wrote the number of values for that of rows: where the two are one, the header proves nothing.
    """
    rows, values, size = header[[headers.PAGE_ROWS, headers.PAGE_VALUES, headers.REPETITION_BYTES]].tolist()
    return int(size) if rows == values and 0 <= size <= header[headers.PAGE_COMPRESSED] else 0


def rows_in_levels(chunk: Chunk, levels: memoryview, header: Int64Array) -> int:
    """Count rows in the repetition levels of a page; -1 where they are none."""
    plain, width = read_only(np.frombuffer(levels, np.uint8)), chunk.leaf.max_rep.bit_length()
    return int(headers.count_rows(plain, width, int(header[headers.PAGE_VALUES])))
