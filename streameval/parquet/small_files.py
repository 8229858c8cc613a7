"""Many small files of one row group each, decoded at once: to open one and call a library takes longer than its rows.

They are read whole, one after another into one piece of memory. Their pages are found and checked there as in
`checks`, and a footer of our own makes them a single file. Where anything is unusual or amiss nothing comes of it, and
`groups` decodes one after another, or says what is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.kernels import label_chunks as label
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import small
from streameval.kernels.row_groups import FILE_SIZE
from streameval.parquet.checks import DICTIONARY_PAGE, is_overlong, overfull, stored_chunk
from streameval.parquet.chunks import OpenFile
from streameval.parquet.footers import Footer, FooterBytes, read_row_groups
from streameval.parquet.groups import as_stored
from streameval.parquet.images import StoredChunk, ending
from streameval.parquet.layout import schema_bytes
from streameval.parquet.plain_chunks import sound_pages, statements
from streameval.parquet.schema import BYTE_ARRAY, Leaf, leaves_of_schema, named_columns, schema_for
from streameval.parquet.statistics import WHOLE, Statistics, begin_of, check_values
from streameval.stores.store import LAST
from streameval.struct_fields import unwrap
from streameval.typing import Int64Array, UInt8Array

_PAGE_STEPS = 400  # of plain Python, to look at a chunk of one page


@dataclass(frozen=True, eq=False)
class _SmallChunks:
    """A leaf column of some row groups of files that lie in memory, sound as far as is known.

    Attributes:
        facts (int64 array, shape (row groups, N_FACTS)): See `streameval.kernels.parquet.chunk_facts`.
        chunks, pages, cuts: See `streameval.kernels.label_chunks.sound_chunks`.
        stated: What is said of their values, one row group after another.
    """

    leaf: Leaf
    facts: Int64Array
    chunks: Int64Array
    pages: Int64Array
    cuts: Int64Array
    stated: Sequence[Statistics]

    @cached_property
    def entries(self) -> Int64Array:
        """Bytes of the dictionary of each, decompressed; 0 without one."""
        first = self.pages[self.cuts[:-1]]
        return np.where(first[:, headers.PAGE_TYPE] == DICTIONARY_PAGE, first[:, headers.PAGE_UNCOMPRESSED], 0)

    def fit(self, limit: int) -> bool:
        """Tell whether dictionaries hold what they claim, and all made of the chunks is within a limit, bytes."""
        first = self.pages[self.cuts[:-1]]
        dictionaries, rows = first[first[:, headers.PAGE_TYPE] == DICTIONARY_PAGE], self.chunks[:, label.ROWS]
        if overfull(self.leaf, dictionaries) >= 0 or is_overlong(self.leaf, int(rows.sum()), self.pages, limit):
            return False
        written_out = int(self.entries @ rows) if self.leaf.physical == BYTE_ARRAY else 0
        held = int(self.pages[:, headers.PAGE_UNCOMPRESSED].sum())
        return max(written_out, 2 * held) <= limit

    def describe(self) -> list[StoredChunk]:
        """Describe them for a footer."""
        codecs, rows = self.facts[:, kernels.CODEC].tolist(), self.chunks[:, label.ROWS].tolist()
        return [
            stored_chunk(self.leaf, codec, n_rows, n_rows, self.pages[first:last])
            for codec, n_rows, (first, last) in zip(codecs, rows, pairwise(self.cuts.tolist()), strict=True)
        ]


def read_small(footers: Sequence[Footer], columns: Sequence[str]) -> pa.Table | None:
    """Decode columns of files of one row group that has rows; None: decode them one by one.

    Raises what `OpenFile` does.
    """
    if any(pa.types.is_nested(footers[0].schema.field(name).type) for name in columns):
        return None
    tails, begins = _read_whole(footers)
    described = schema_bytes(tails.footer(0))
    by_name = named_columns(described)
    leaves = [leaf for name in columns for leaf in by_name[name].leaves]
    if any(leaf.max_rep or len(leaf.path) != 1 + leaf.depth for leaf in leaves):
        return None
    read = list[_SmallChunks]()
    with small((sum(tails.lengths) + _PAGE_STEPS * len(footers)) * len(leaves)):
        for leaf in leaves:
            if (chunks := _chunks(footers, tails, described, leaf, begins)) is None:
                return None
            read.append(chunks)
    if not all(chunks.fit(footers[0].limit) for chunks in read):
        return None
    table = _decode(tails.raw, schema_for(described, tuple(columns)), read)
    return None if table is None or not _keeps_statistics(table, read) else as_stored(table, footers[0])


def _read_whole(footers: Sequence[Footer]) -> tuple[FooterBytes, Int64Array]:
    """Read files whole into one piece of memory; and where each begins there."""
    contents = []
    for footer in footers:
        with OpenFile(footer) as file:
            contents += file.read([(0, footer.size)])
        end = contents[-1][footer.size - footer.length - LAST :]
        if hashlib.sha256(end).hexdigest() != footer.digest:
            raise file.changed()
    ends = np.cumsum([footer.size for footer in footers])
    begins = ends - [footer.size for footer in footers]
    spans = np.stack([ends - LAST - [footer.length for footer in footers], ends - LAST, ends - begins], axis=1)
    states = [(footer.size, footer.changed_ns) for footer in footers]
    raw = np.frombuffer(b"".join(contents), np.uint8)
    digests = [footer.digest for footer in footers]
    return FooterBytes([footer.file for footer in footers], states, digests, raw, spans), begins


def _chunks(
    footers: Sequence[Footer], tails: FooterBytes, described: bytes, leaf: Leaf, begins: Int64Array
) -> _SmallChunks | None:
    """Find and check the chunks of a leaf; None where they may not be sound.

    Args:
        described: The schema elements of the first file, which all have to share.
        begins: Where each file begins.
    """
    row_groups = read_row_groups(tails, described, leaves_of_schema(described), leaf.index)
    if row_groups.fault is not None or row_groups.ends.size < len(footers):
        return None
    facts, rows, sizes = row_groups.of_leaf, row_groups.rows, tails.spans[:, FILE_SIZE]
    first, size = begin_of(facts), facts[:, kernels.COMPRESSED]
    inside = (first >= 0) & (size >= 0) & (first + size <= sizes)
    if not np.all(inside & (facts[:, kernels.FOREIGN] == 0) & (facts[:, kernels.VALUES] == rows)):
        return None
    paths = facts[:, [kernels.PATH_AT, kernels.PATH_END]] + tails.spans[:, :1]
    if any(tails.raw.data[path:end] != leaf.named for path, end in paths.tolist()):
        return None
    verified = footers[0].verify == "on"
    index = facts[:, [kernels.COLUMN_INDEX_AT, kernels.COLUMN_INDEX_SIZE]]
    has_index = (index[:, 0] > 0) & verified
    if np.any(has_index & ((index[:, 1] < 0) | (index.sum(axis=1) > sizes))):
        return None
    index[:, 0] = np.where(has_index, index[:, 0] + begins, -1)
    chunks = np.stack([begins + first, size, rows, rows, *index.T, facts[:, kernels.CODEC]], axis=1)
    if (sound := sound_pages(footers[0], chunks, tails.raw)) is None:
        return None
    starts = np.cumsum(rows) - rows
    whole = Statistics(WHOLE, starts, rows, tails.raw.data, facts[:, kernels.NULLS : kernels.NULLS + kernels.N_STATED])
    stated = statements(chunks, tails.raw, *sound, whole) if verified else []
    return None if stated is None else _SmallChunks(leaf, facts, chunks, *sound, stated)


def _decode(raw: UInt8Array, schema: bytes, read: Sequence[_SmallChunks]) -> pa.Table | None:
    """Have Arrow decode chunks where they lie; None where it cannot, or finds another number of rows."""
    groups = list(zip(*(chunks.describe() for chunks in read), strict=True))
    places = np.stack([chunks.chunks[:, label.BEGIN] for chunks in read], axis=1).ravel().tolist()
    body = pa.BufferReader(b"".join([raw.data, ending(schema, groups, places)]))
    try:
        with pq.ParquetFile(body, pre_buffer=False) as decoder:
            table = decoder.read(use_threads=False)
    except (pa.ArrowException, OSError, ValueError):
        return None
    if table.num_rows != int(read[0].chunks[:, label.ROWS].sum()):
        return None
    fields = zip(table.columns, (chunks.leaf for chunks in read), strict=True)
    return pa.table({leaf.column: unwrap(values, leaf.depth) if leaf.depth else values for values, leaf in fields})


def _keeps_statistics(table: pa.Table, read: Sequence[_SmallChunks]) -> bool:
    """Tell whether values are shown to keep to what is stated of them."""
    try:
        for column, chunks in zip(table.columns, read, strict=True):
            check_values(column, 0, chunks.stated, chunks.leaf, "")
    except InputError:
        return False
    return True
