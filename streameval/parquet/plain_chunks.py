"""A column of a whole row group without a library: labels as bits, and plain numbers as they lie on their pages.

Everything is checked as in `groups`. Where anything is unusual or amiss (nulls, other encodings, labels other than 0
and 1, values that break a statement) nothing comes of it, and `groups` decodes the column, or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels import plain_pages as plain
from streameval.kernels.bits import counts_at
from streameval.kernels.codecs import SLACK
from streameval.kernels.jit import Kernel, worth_compiling
from streameval.parquet.check_values import pages_hold
from streameval.parquet.checks import BODY, DATA_PAGE, DICTIONARY_PAGE, SoundChunk, check_bytes
from streameval.parquet.chunks import Chunk, OpenFile, UnfitError
from streameval.parquet.codecs import BROTLI, LZ4, UNCOMPRESSED, decompress
from streameval.parquet.footers import Footer
from streameval.parquet.groups import KNOWN, read_group
from streameval.parquet.statistics import NUMBERS, number_type
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt64Array

_BOOLEAN = 0
_ROW = 1e-8  # seconds that Arrow takes longer for a row
# a kernel, given pages, where they lie, what it is told, and values before them: values after them, -1 where unfit
_ChunkKernel = Callable[[UInt8Array, Int64Array, Int64Array, UInt8Array, int], int]


def read_bits(footer: Footer, group: int, column: str) -> UInt64Array | None:
    """Labels of a row group (`streameval.kernels.bits`), where all are 0 or 1, or booleans; None: decode them.

    Raises:
        InputError: As of `check_bytes`.
    """
    kind = footer.schema.field(column).type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)) or not _pays(plain.chunk_bits, footer, group):
        return None
    if (found := _read(footer, group, column)) is None:
        return None
    checked, raw = found
    stored = np.dtype(np.int8) if pa.types.is_boolean(kind) else number_type(NUMBERS[checked.chunk.leaf.physical], kind)
    if (told := _told(checked, raw, stored)) is None:
        return None
    pages = checked.pages[checked.pages[:, headers.PAGE_TYPE] == DATA_PAGE]
    words = np.zeros(checked.chunk.n_rows // 64 + 2, np.uint64)

    def pack(raw: UInt8Array, some: Int64Array, told: Int64Array, room: UInt8Array, row: int) -> int:
        return plain.chunk_bits(raw, some, told, room, row, words)

    if not _decoded(checked.chunk, pages, raw, told, pack):
        return None
    values = pages[:, headers.PAGE_VALUES]
    ones = np.diff(counts_at(words, np.cumsum(np.append(0, values))))
    low, high = ones == values, ones > 0
    if not pages_hold(checked.stated, low.astype(stored), high.astype(stored)):
        return None
    return words


def read_numbers(footer: Footer, group: int, column: str, room: UInt64Array, order: str) -> AnyArray | None:
    """Numbers of a row group as they are stored, put into `room`, where none is null; None: decode them.

    Where they are "sorted", or no one may use them, only the first and the last of a page are held against what is
    stated; in "any" `order`, all.

    Raises:
        InputError: As of `check_bytes`.
    """
    kind = footer.schema.field(column).type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    if not _pays(plain.chunk_numbers, footer, group):
        return _by_arrow(footer, group, column, room, order)
    if (found := _read(footer, group, column)) is None or (physical := found[0].chunk.leaf.physical) not in NUMBERS:
        return None
    checked, raw = found
    stored, n_rows = number_type(NUMBERS[physical], kind), checked.chunk.n_rows
    if room.nbytes < n_rows * stored.itemsize or (told := _told(checked, raw, stored)) is None or told[plain.ENTRIES]:
        return None
    pages = checked.pages[checked.pages[:, headers.PAGE_TYPE] == DATA_PAGE]

    def put(raw: UInt8Array, some: Int64Array, told: Int64Array, scratch: UInt8Array, row: int) -> int:
        return plain.chunk_numbers(raw, some, told, scratch, row, room.view(np.uint8))

    if not _decoded(checked.chunk, pages, raw, told, put) or pages[:, headers.PAGE_VALUES].min(initial=1) < 1:
        return None
    values = room.view(stored)[:n_rows]
    end = np.cumsum(pages[:, headers.PAGE_VALUES])
    begin = end - pages[:, headers.PAGE_VALUES]
    if order == "sorted":
        low, high = np.minimum(values[begin], values[end - 1]), np.maximum(values[begin], values[end - 1])
    else:
        low, high = np.minimum.reduceat(values, begin), np.maximum.reduceat(values, begin)
        if np.any(np.isnan(low)):  # then nothing is known here of the others
            return None
    return values if pages_hold(checked.stated, low, high) else None


def _pays(kernel: Kernel[..., int], footer: Footer, group: int) -> bool:
    """Whether a kernel decodes a column of a row group: it is compiled, or Arrow has taken as long as that takes."""
    return kernel.ready or worth_compiling(_ROW * int(footer.row_group_rows[group]), kernel)


def _by_arrow(footer: Footer, group: int, column: str, room: UInt64Array, order: str) -> AnyArray | None:
    """Numbers of a row group, put into `room`; None where some are null, or NaN in "any" order."""
    with OpenFile(footer) as file:
        physical = KNOWN.of(file, footer, [column])[1][0][0].leaf.physical
    if physical not in NUMBERS:
        return None
    found = read_group(footer, group, [column]).column(0)
    stored = number_type(NUMBERS[physical], footer.schema.field(column).type)
    if found.null_count or room.nbytes < len(found) * stored.itemsize:
        return None
    values = room.view(stored)[: len(found)]
    values[:] = found.to_numpy()
    return None if order == "any" and np.any(np.isnan(values.min(initial=0))) else values


def _read(footer: Footer, group: int, column: str) -> tuple[SoundChunk, memoryview] | None:
    """Read and check a chunk of one value a row, in plain data pages; None where it is another."""
    with OpenFile(footer) as file:
        leaves = KNOWN.of(file, footer, [column])[1][0]
        chunk = leaves[0][group]
        leaf, codec = chunk.leaf, int(chunk.facts[kernels.CODEC])
        if len(leaves) > 1 or len(leaf.path) > 1 or leaf.max_rep or leaf.max_def > 1 or codec in _SLOW:
            return None
        if leaf.physical != _BOOLEAN and leaf.physical not in NUMBERS:
            return None
        raw, *index = file.read([(chunk.begin, chunk.end - chunk.begin), *chunk.column_index])
    checked = check_bytes(chunk, raw, index)
    kinds = checked.pages[:, headers.PAGE_TYPE]
    return (checked, raw) if np.all((kinds == DATA_PAGE) | (kinds == DICTIONARY_PAGE)) else None


def _told(checked: SoundChunk, raw: memoryview, stored: np.dtype[np.generic]) -> Int64Array | None:
    """What the kernels are told of a chunk; None where its dictionary holds other values than 0 and 1, once each."""
    chunk = checked.chunk
    told = np.zeros(plain.N_TOLD, np.int64)
    told[plain.IS_LZ4], told[plain.OPTIONAL] = chunk.facts[kernels.CODEC] == LZ4, chunk.leaf.max_def
    told[plain.WIDTH] = 0 if chunk.leaf.physical == _BOOLEAN else stored.itemsize
    if chunk.leaf.physical == _BOOLEAN:
        told[[plain.ENTRIES, plain.SECOND]] = 2, 1
    if checked.dictionary:
        # of booleans there is none, and its own entries are plain
        if chunk.leaf.physical == _BOOLEAN or checked.pages[0, headers.ENCODING] not in _ENTRIES_ENCODED:
            return None
        _, size, plain_size, entries, begin = checked.pages[0, _DICTIONARY].tolist()
        try:
            page = decompress(int(chunk.facts[kernels.CODEC]), raw[begin : begin + size], plain_size)
        except (pa.ArrowException, OSError, ValueError, UnfitError):
            return None
        values = np.frombuffer(page, stored, count=min(entries, len(page) // stored.itemsize)).tolist()
        if values not in ([0], [1], [0, 1], [1, 0]) or len(values) != entries:
            return None
        told[plain.ENTRIES], told[[plain.FIRST, plain.SECOND]] = entries, (values * 2)[:2]
    return told


def _decoded(chunk: Chunk, pages: Int64Array, raw: memoryview, told: Int64Array, kernel: _ChunkKernel) -> bool:
    """Have a kernel take all pages of a chunk; whether it could."""
    largest = int(pages[:, headers.PAGE_UNCOMPRESSED].max(initial=0))
    room, row = np.empty(largest + SLACK if told[plain.IS_LZ4] else 0, np.uint8), 0
    try:
        for body, some in _plain(int(chunk.facts[kernels.CODEC]), pages, raw):
            row = kernel(body, some, told, room, row)
            if row < 0:
                return False
    except (pa.ArrowException, OSError, ValueError, UnfitError):
        return False
    return row == chunk.n_rows


def _plain(codec: int, pages: Int64Array, raw: memoryview) -> Iterator[tuple[UInt8Array, Int64Array]]:
    """Pages, and where they lie: all of them at once where a kernel decompresses them, else one at a time."""
    if codec in (UNCOMPRESSED, LZ4):
        yield np.frombuffer(raw, np.uint8), pages
        return
    for page in pages:
        begin, size = int(page[BODY]), int(page[headers.PAGE_COMPRESSED])
        body = np.frombuffer(
            decompress(codec, raw[begin : begin + size], int(page[headers.PAGE_UNCOMPRESSED])), np.uint8
        )
        alone = page[None].copy()
        alone[0, [BODY, headers.PAGE_COMPRESSED]] = 0, body.size
        yield body, alone


_ENTRIES_ENCODED = (plain.PLAIN, plain.PLAIN_DICTIONARY)
_SLOW = (BROTLI,)  # decompressed twice, since it does not say how much there is
_DICTIONARY = [headers.PAGE_TYPE, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED, headers.PAGE_VALUES, BODY]
