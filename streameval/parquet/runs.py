"""Check single pages that were read against their headers: sizes, rows, checksums."""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import read_only, small
from streameval.kernels.page_index import CHUNK
from streameval.kernels.wanted_pages import sound_pages
from streameval.parquet.checks import AT, BODY, DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, check_crc
from streameval.parquet.chunks import Chunk, UnfitError
from streameval.parquet.codecs import decompress
from streameval.parquet.layout import CORRUPT
from streameval.parquet.pages import Pages, Run
from streameval.typing import Int64Array, UInt8Array

# memory taken while a page is decoded, in its decompressed bytes: as read, as copied, decompressed, as Arrow
COPIES = 4
_HEADER = 100  # bytes of a page's header, or so


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
    dictionaries[coded] = heads[:n_coded]
    return Run(pages, raw, heads[n_coded:], dictionaries)


def _all_at_once(pages: Pages, raw: UInt8Array, at: Int64Array, limit: int) -> Int64Array | None:
    """Headers of sound pages of values that do not repeat; None where any of them is another."""
    if pages.chunks.leaf.max_rep:
        return None
    heads = np.empty((len(at), headers.N_HEADER + 2), np.int64)
    with small(_HEADER * len(at)):
        sums = int(sound_pages(raw, at, pages.ranges, pages.places, limit // COPIES, heads))
    if sums < 0:
        return None
    if sums and pages.chunks.footer.verify == "on":
        body = raw.data
        summed = heads[heads[:, headers.CRC] != kernels.ABSENT]
        for begin, size, crc in summed[:, [BODY, headers.PAGE_COMPRESSED, headers.CRC]].tolist():
            if zlib.crc32(body[begin : begin + size]) != crc:
                return None
    return heads


def _one_by_one(pages: Pages, raw: UInt8Array, begins: Int64Array, limit: int) -> Int64Array:
    """The same of pages of any kind; says what is wrong."""
    heads = np.empty((len(begins), headers.N_HEADER + 2), np.int64)
    used = pages.used.tolist()
    chunks = {i: pages.chunks[i] for i in used}
    coded = [i for i in used if pages.dictionaries[i, 1]]
    ends = begins + pages.ranges[:, 1]
    spans = [raw.data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
    for header, i, page in zip(heads, coded, spans, strict=False):
        chunk, at = chunks[i], int(pages.dictionaries[i, 0])
        _check(chunk, at, page, header)
        if header[headers.PAGE_TYPE] != DICTIONARY_PAGE:
            raise InputError(f"{chunk.place}: there is no dictionary at {at:,} of the file", CORRUPT)
        _check_limit(chunk, int(header[headers.PAGE_UNCOMPRESSED]), limit)
    for header, place, page in zip(heads[len(coded) :], pages.places.tolist(), spans[len(coded) :], strict=True):
        chunk, (at, size, first, n_rows) = chunks[place[CHUNK]], place[:CHUNK]
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
    heads[:, [AT, BODY]] += begins[:, None]
    return heads


def _check(chunk: Chunk, at: int, page: memoryview, header: Int64Array) -> int:
    """Read a page's header and hold its content against its checksum, if it has one; the header's length."""
    with small(_HEADER):
        length = int(headers.page_header(np.frombuffer(page, np.uint8), header[: headers.N_HEADER]))
    header[AT], header[BODY] = 0, length
    body = page[length : length + int(header[headers.PAGE_COMPRESSED])]
    if length < 0 or len(body) < header[headers.PAGE_COMPRESSED]:
        raise InputError(f"{chunk.place}: there is no page at {at:,} of the file", CORRUPT)
    if header[headers.CRC] != kernels.ABSENT and chunk.footer.verify == "on":
        check_crc(chunk, at, body, int(header[headers.CRC]))
    return length


def _check_limit(chunk: Chunk, size: int, limit: int) -> None:
    if size * COPIES > limit:
        raise InputError(
            f"{chunk.place}: one of its pages takes {size / 1e9:.3g} GB decompressed, too much for the memory limit",
            f"give more with --memory, at least {size * COPIES / 1e9:.2g} for each thread",
        )


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
