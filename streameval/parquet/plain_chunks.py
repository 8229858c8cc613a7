"""A column of a whole row group without a library: labels as bits, and plain numbers as they lie on their pages.

Everything is checked as in `groups`. Where anything is unusual or amiss (nulls, other encodings, labels other than 0
and 1, values that break a statement) nothing comes of it, and `groups` decodes the column, or says what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels import label_chunks as label
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels import plain_pages as plain
from streameval.kernels.jit import is_small, read_only
from streameval.kernels.page_index import column_index
from streameval.parquet.checks import BODY, COPIES, DATA_PAGE, SoundChunk, check_bytes, failed_checksum
from streameval.parquet.chunks import Chunk, Chunks, OpenFile, UnfitError
from streameval.parquet.codecs import BROTLI, UNCOMPRESSED, decompress
from streameval.parquet.footers import Footer
from streameval.parquet.groups import KNOWN, read_group
from streameval.parquet.schema import Leaf
from streameval.parquet.statistics import IN_INDEX, NUMBERS, Statistics, number_type, of_headers, unproven
from streameval.parquet.thrift import varint
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt64Array

_BOOLEAN = 0
_ROWS = 100  # for which Arrow takes a step longer (see `is_small`)
_SLOW = (BROTLI,)  # decompressed twice, since it does not say how much there is
_DAMAGE = (pa.ArrowException, OSError, ValueError, UnfitError)
_PLACE = [BODY, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED, headers.PAGE_VALUES]


def read_bits(footer: Footer, groups: Sequence[int], column: str) -> UInt64Array | None:
    """Labels of row groups, one after another (`streameval.kernels.bits`), where all are 0 or 1, or booleans.

    None: decode them, or several one by one; whoever does says what is amiss.
    """
    kind = footer.schema.field(column).type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)) or not _pays(footer, groups):
        return None
    with OpenFile(footer) as file:
        leaves = KNOWN.chunks_of(file, footer, [column])[0]
        codecs = set(leaves[0].facts[groups, kernels.CODEC].tolist())
        if len(codecs) > 1 or not _is_plain(leaves, codec := codecs.pop()):
            return None
        chunks, ranges = _places(leaves[0], groups)
        raw, at = file.gather(ranges)
    raw = read_only(raw)
    chunks[:, label.BEGIN] = at[: len(chunks)]
    chunks[chunks[:, label.INDEX] > 0, label.INDEX] = at[len(chunks) :]
    if (sound := sound_pages(footer, chunks, raw)) is None:
        return None
    words, row = np.zeros(int(chunks[:, label.ROWS].sum()) // 64 + 2, np.uint64), 0
    coding, ones, done = _told_of_labels(leaves[0].leaf), np.empty(len(sound[0]), np.int64), 0
    try:
        for bodies, some, pages, cuts in _bodies(codec, raw, chunks, *sound):
            row = label.label_chunks(bodies, some, pages, cuts, coding, words, row, ones[done : done + len(pages)])
            done += len(pages)
            if row < 0:
                return None
    except _DAMAGE:
        return None
    return words if footer.verify == "off" or _hold(leaves[0], groups, kind, (chunks, raw, *sound, ones)) else None


def _hold(
    leaf: Chunks, groups: Sequence[int], kind: pa.DataType,
    packed: tuple[Int64Array, UInt8Array, Int64Array, Int64Array, Int64Array],
) -> bool:  # fmt: skip
    """Tell whether labels, none of them null, are shown to keep to what is stated of their chunks and pages.

    Args:
        kind: Of the column.
        packed: See `label.label_chunks`: chunks, where their headers and column indexes lie, pages, cuts and ones.
    """
    chunks, raw, pages, cuts, ones = packed
    whole = leaf.stated.chosen(np.array(groups))
    stated = statements(chunks, raw, pages, cuts, replace(whole, first=np.cumsum(whole.rows) - whole.rows))
    if stated is None:
        return False
    data = pages[:, headers.PAGE_TYPE] == DATA_PAGE
    rows, ones = pages[data, headers.PAGE_VALUES], ones[data]
    begin = np.cumsum(rows) - rows
    bound = number_type(NUMBERS.get(leaf.leaf.physical, "<i1"), kind)
    low, high = (ones == rows).astype(bound), (ones > 0).astype(bound)
    return bool(rows.min() > 0) and not unproven(begin, low, high, stated)


def statements(
    chunks: Int64Array, raw: UInt8Array, pages: Int64Array, cuts: Int64Array, whole: Statistics
) -> list[Statistics] | None:
    """Gather what is stated of chunks and of their pages, rows counted from the first chunk on.

    None where a column index cannot be read; arguments as of `_hold`, and what is stated of whole chunks.
    """
    fields = np.full((len(pages), kernels.N_STATED), kernels.ABSENT)
    data = pages[:, headers.PAGE_TYPE] == DATA_PAGE
    for i, (at, size) in enumerate(chunks[:, [label.INDEX, label.INDEX_SIZE]].tolist()):
        first = cuts[i] + (not data[cuts[i]])
        if at >= 0 and column_index(raw[: at + size], at, fields[first : cuts[i + 1]]) < 0:
            return None
    pages = pages[data]
    rows = pages[:, headers.PAGE_VALUES]
    begin = np.cumsum(rows) - rows
    in_index = Statistics(IN_INDEX, begin, rows, raw.data, fields[data])
    return [whole, in_index, *of_headers(raw.data, pages[:, label.AT], (begin, rows), pages)]


def _places(leaf: Chunks, groups: Sequence[int]) -> tuple[Int64Array, Int64Array]:
    """Chunks as kernels take them, and where they and then their column indexes lie in the file."""
    facts, chunks = leaf.facts[groups], np.zeros((len(groups), label.N_CHUNK), np.int64)
    index = facts[:, [kernels.COLUMN_INDEX_AT, kernels.COLUMN_INDEX_SIZE]]
    index[(index[:, 0] <= 0) | (leaf.footer.verify == "off")] = -1
    chunks[:, label.SIZE], chunks[:, label.VALUES] = facts[:, kernels.COMPRESSED], facts[:, kernels.VALUES]
    chunks[:, label.ROWS], chunks[:, label.COMPRESSED] = leaf.n_rows[groups], facts[:, kernels.CODEC]
    chunks[:, [label.INDEX, label.INDEX_SIZE]] = index
    whole = np.stack([leaf.begin[groups], facts[:, kernels.COMPRESSED]], axis=1)
    return chunks, np.concatenate([whole, index[index[:, 0] > 0]])


def _told_of_labels(leaf: Leaf) -> Int64Array:
    coding = np.zeros(plain.N_TOLD, np.int64)
    coding[plain.OPTIONAL] = leaf.max_def
    if leaf.physical == _BOOLEAN:
        coding[[plain.ENTRIES, plain.SECOND]] = 2, 1
    else:
        coding[plain.WIDTH] = np.dtype(NUMBERS[leaf.physical]).itemsize
    return coding


def sound_pages(footer: Footer, chunks: Int64Array, raw: UInt8Array) -> tuple[Int64Array, Int64Array] | None:
    """Pages of chunks, and where those of each begin (see `label.sound_chunks`); None where they may not be sound."""
    cuts, room, most = np.empty(len(chunks) + 1, np.int64), 128 * len(chunks), footer.limit // COPIES
    while True:
        pages = np.empty((room, headers.N_HEADER + 2), np.int64)
        if (sums := label.sound_chunks(raw, chunks, most, pages, cuts)) != label.MORE:
            break
        room *= 16
    pages = pages[: cuts[-1]] if sums >= 0 else pages[:0]
    failed = sums > 0 and footer.verify == "on" and failed_checksum(raw.data, pages) >= 0
    return (pages, cuts) if sums >= 0 and not failed else None


def _bodies(
    codec: int, raw: UInt8Array, chunks: Int64Array, pages: Int64Array, cuts: Int64Array
) -> Iterator[tuple[UInt8Array, Int64Array, Int64Array, Int64Array]]:
    """Chunks, and where bodies of their pages lie: all of them where they are not compressed, else one by one."""
    if codec == UNCOMPRESSED:
        yield raw, chunks, pages, cuts
        return
    for i, (first, last) in enumerate(pairwise(cuts.tolist())):
        chunk_pages = pages[first:last].copy()
        places = chunk_pages[:, [BODY, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED]].tolist()
        bodies = [decompress(codec, raw.data[begin : begin + size], plain_size) for begin, size, plain_size in places]
        chunk_pages[:, headers.PAGE_COMPRESSED] = sizes = chunk_pages[:, headers.PAGE_UNCOMPRESSED]
        chunk_pages[:, BODY] = np.cumsum(sizes) - sizes
        yield np.frombuffer(b"".join(bodies), np.uint8), chunks[i : i + 1], chunk_pages, np.array([0, last - first])


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
    with OpenFile(footer) as file:
        leaves = KNOWN.chunks_of(file, footer, [column])[0]
        chunk, codec = leaves[0][group], int(leaves[0].facts[group, kernels.CODEC])
        if chunk.leaf.physical not in NUMBERS:
            return None
        stored = number_type(NUMBERS[chunk.leaf.physical], kind)
        if room.nbytes < chunk.n_rows * stored.itemsize:
            return None
        values, coded = room.view(stored)[: chunk.n_rows], chunk.facts[kernels.DICTIONARY_AT] > 0
        if coded or (codec == UNCOMPRESSED and not _pays(footer, [group])):
            return _by_arrow(footer, group, column, values, order)
        read = _read_plain(file, leaves, chunk)
    if read is None or not _put(*read, values):
        return None
    rows = read[0].pages[:, headers.PAGE_VALUES]
    end = np.cumsum(rows)
    begin = end - rows
    if order == "sorted":
        low, high = np.minimum(values[begin], values[end - 1]), np.maximum(values[begin], values[end - 1])
    else:
        low, high = np.minimum.reduceat(values, begin), np.maximum.reduceat(values, begin)
        if np.any(np.isnan(low)):  # then nothing is known here of the others
            return None
    return None if unproven(begin, low, high, read[0].stated) else values


def _pays(footer: Footer, groups: Sequence[int]) -> bool:
    """Tell whether a kernel should decode a column of row groups: Arrow has taken as long as it takes to load one."""
    return not is_small(int(footer.row_group_rows[groups].sum()) // _ROWS)


def _by_arrow(footer: Footer, group: int, column: str, values: AnyArray, order: str) -> AnyArray | None:
    """Numbers of a row group, put into `values`; None where some are null, or NaN in "any" order."""
    decoded = read_group(footer, group, [column]).column(0)
    if decoded.null_count:
        return None
    values[:] = decoded.to_numpy()
    return None if order == "any" and np.any(np.isnan(values.min(initial=0))) else values


def _is_plain(leaves: Sequence[Chunks], codec: int) -> bool:
    """Tell whether a column may have a number or boolean a row, in pages that are quickly decompressed."""
    leaf = leaves[0].leaf
    flat = len(leaves) == 1 and len(leaf.path) == 1 and not leaf.max_rep and leaf.max_def <= 1
    return flat and codec not in _SLOW and (leaf.physical == _BOOLEAN or leaf.physical in NUMBERS)


def _read_plain(file: OpenFile, leaves: Sequence[Chunks], chunk: Chunk) -> tuple[SoundChunk, memoryview] | None:
    """Read and check a chunk of one value a row, in plain data pages, none of them empty; None where it is another."""
    if not _is_plain(leaves, int(chunk.facts[kernels.CODEC])):
        return None
    raw, *index = file.read([(chunk.begin, chunk.end - chunk.begin), *chunk.column_index])
    checked = check_bytes(chunk, raw, index)
    kinds, rows = checked.pages[:, headers.PAGE_TYPE], checked.pages[:, headers.PAGE_VALUES]
    return None if np.any(kinds != DATA_PAGE) or rows.min(initial=1) < 1 else (checked, raw)


def _put(checked: SoundChunk, raw: memoryview, values: AnyArray) -> bool:
    """Put numbers of all pages one after another; whether they are plain, and as many."""
    chunk, pages = checked.chunk, checked.pages
    codec = int(chunk.facts[kernels.CODEC])
    try:
        if codec == UNCOMPRESSED:
            coding = np.zeros(plain.N_TOLD, np.int64)
            coding[[plain.OPTIONAL, plain.WIDTH]] = chunk.leaf.max_def, values.itemsize
            whole = read_only(np.frombuffer(raw, np.uint8))
            return plain.chunk_numbers(whole, pages, coding, values.view(np.uint8)) == values.size
        row = 0
        for numbers in _pages(checked, raw, values.dtype):
            values[row : row + numbers.size] = numbers
            row += numbers.size
    except _DAMAGE:
        return False
    return row == values.size


def _pages(checked: SoundChunk, raw: memoryview, stored: np.dtype[Any]) -> Iterator[AnyArray]:
    """Numbers of one page after another, decompressed by a library; `_DAMAGE` where they are not plain."""
    pages, nullable = checked.pages, checked.chunk.leaf.max_def > 0
    if not _are_plain(pages, nullable):
        raise UnfitError("its pages are not plain")
    for begin, size, whole, rows in pages[:, _PLACE].tolist():
        body = memoryview(decompress(int(checked.chunk.facts[kernels.CODEC]), raw[begin : begin + size], whole))
        levels = _every_level(rows) if nullable else b""
        if bytes(body[: len(levels)]) != levels:
            raise UnfitError("some are null, or a writer puts levels otherwise")
        yield np.frombuffer(body, stored, rows, len(levels))


def _are_plain(pages: Int64Array, nullable: bool) -> bool:
    """Tell whether headers of data pages say that values are plain."""
    levels = pages[:, [headers.LEVELS, headers.REPETITIONS]]
    return bool(
        np.all(pages[:, headers.ENCODING] == plain.PLAIN)
        and levels.min() >= 0  # a header names them, even where there are none
        and (not nullable or np.all(levels[:, 0] == plain.RLE))
    )


@lru_cache(maxsize=64)
def _every_level(rows: int) -> bytes:
    """Definition levels of a page without nulls, as writers put them: one run, after its length."""
    run = varint(rows << 1) + b"\x01"
    return len(run).to_bytes(4, "little") + run
