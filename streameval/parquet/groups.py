"""Columns of a whole row group, decoded by a library that sees our own footer and pages that were checked.

In memory at once (`read_group`), which is how scans read scores, labels and keys; or batch by batch (`stream_group`),
which is how long columns are copied.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.parquet.checks import SoundChunk, check_bytes, check_headers, check_length
from streameval.parquet.chunks import Chunk, Chunks, OpenFile
from streameval.parquet.footers import Footer
from streameval.parquet.images import ending, image
from streameval.parquet.schema import BYTE_ARRAY, schema_for, wide_type
from streameval.parquet.statistics import check_values
from streameval.stores.objects import Stream
from streameval.stores.store import State
from streameval.struct_fields import unwrap

_KEPT, _MOST_KEPT, _KEPT_BYTES = 16, 64, 1 << 22  # more where footers are small: threads look several files ahead
_STREAM = 1 << 20
_SHARE = 8  # of the limit, that a row group may take as it is stored; larger ones are read piece by piece


class _FooterCache:
    """Cache of the places of columns in the last few files: footers are read once, not per row group."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[tuple[str, ...], dict[str, list[Chunks]]] = OrderedDict()
        self._size = 0  # bytes of footers

    def chunks_of(self, file: OpenFile, footer: Footer, columns: Sequence[str]) -> list[list[Chunks]]:
        """Chunks of a file by column and leaf."""
        key = footer.file.path, footer.digest, footer.verify, str(footer.limit)
        with self._lock:
            by_column = self._found.get(key, {})
            lacking = [name for name in columns if name not in by_column]
        if lacking:
            added = zip(lacking, file.chunks(footer, range(footer.row_group_rows.size), lacking), strict=True)
            with self._lock:
                self._size += 0 if key in self._found else footer.length
                by_column = self._found[key] = {**self._found.get(key, by_column), **dict(added)}
                while len(self._found) > (_KEPT if self._size > _KEPT_BYTES else _MOST_KEPT):
                    self._size -= next(iter(self._found.popitem(last=False)[1].values()))[0].footer.length
        return [by_column[name] for name in columns]


KNOWN = _FooterCache()


def read_group(footer: Footer, group: int, columns: Sequence[str]) -> pa.Table:
    """Decode columns of a row group, checksums verified, values held against statistics.

    Raises:
        InputError: See `check_bytes` and `check_values`.
        pyarrow.ArrowException, OSError: Damage that only decoding shows.
    """
    with OpenFile(footer) as file:
        chunks = [leaf[group] for column in KNOWN.chunks_of(file, footer, columns) for leaf in column]
        checked, body = _image(file, chunks)
    for sound in checked:
        check_length(sound.chunk, sound.stored.values, sound.pages, footer.limit)
        _check_size(sound.stored.uncompressed, footer.limit, sound.chunk.place)
    large = _large(checked, chunks[0].n_rows, footer.limit)
    with pq.ParquetFile(pa.BufferReader(body), read_dictionary=large, pre_buffer=False) as decoder:
        table = _without_structs(decoder.read(use_threads=False), checked)
    _check_values(checked, table, 0)
    table = as_stored(table, footer)
    for name in large:
        at, where = table.schema.get_field_index(name), f"{footer.file.path}: row group {group}, column {name}"
        _check_size(_expanded_size(table.column(at)), footer.limit, where)
        table = table.set_column(at, name, table.column(at).cast(wide_type(table.schema.field(at).type)))
    return table


def advise_groups(footer: Footer, groups: Sequence[int], columns: Sequence[str]) -> None:
    """Have the system fetch columns of row groups ahead."""
    with OpenFile(footer) as file:
        leaves = [leaf for column in KNOWN.chunks_of(file, footer, columns) for leaf in column]
        ranges = [np.stack([leaf.begin[groups], leaf.facts[groups, kernels.COMPRESSED]], axis=1) for leaf in leaves]
        file.advise(np.concatenate(ranges))


def _check_values(checked: Sequence[SoundChunk], table: pa.Table, first: int) -> None:
    """Hold rows of a row group, from `first` on, against what is stated of them."""
    for name, column in groupby(checked, lambda sound: sound.chunk.leaf.column):
        for number, sound in enumerate(column):
            check_values(table.column(name), first, sound.stated, sound.chunk.leaf, sound.chunk.place, number)


@contextmanager
def stream_group(footer: Footer, group: int, columns: Sequence[str], rows: int) -> Iterator[Iterator[pa.Table]]:
    """Decode columns of a row group, at most `rows` rows at a time, checksums verified; errors as in `read_group`."""
    with OpenFile(footer) as file:
        chunks = [leaf[group] for column in KNOWN.chunks_of(file, footer, columns) for leaf in column]
        source: Any
        verify = False
        if sum(chunk.end - chunk.begin for chunk in chunks) <= footer.limit // _SHARE:
            checked, body = _image(file, chunks)
            source = pa.BufferReader(body)
        else:
            checked = [check_headers(file, chunk) for chunk in chunks]
            places = [chunk.begin for chunk in chunks]
            end = ending(_schema(checked), [[sound.stored for sound in checked]], places)
            source, verify = pa.PythonFile(Stream(_Renewed(file, end)), mode="r"), footer.verify == "on"
        for sound in checked:
            check_length(sound.chunk, min(rows, sound.stored.values), sound.pages, footer.limit)
        large = _large(checked, min(rows, chunks[0].n_rows), footer.limit)
        with pq.ParquetFile(
            source,
            read_dictionary=large,
            pre_buffer=False,
            buffer_size=_STREAM,
            page_checksum_verification=verify,
        ) as decoder:
            yield _decode_stored(decoder, checked, rows, large)


def _image(file: OpenFile, chunks: Sequence[Chunk]) -> tuple[list[SoundChunk], bytes]:
    """Read chunks, check them, and make them a file of their own."""
    of_indexes = [chunk.column_index for chunk in chunks]
    read = file.read([*((chunk.begin, chunk.end - chunk.begin) for chunk in chunks), *chain(*of_indexes)])
    pieces, indexes = read[: len(chunks)], iter(read[len(chunks) :])
    checked = [
        check_bytes(chunk, raw, list(islice(indexes, len(ranges))))
        for chunk, raw, ranges in zip(chunks, pieces, of_indexes, strict=True)
    ]
    pages = [piece[: sound.stored.size] for piece, sound in zip(pieces, checked, strict=True)]
    return checked, image(_schema(checked), [[sound.stored for sound in checked]], pages)


def _decode_stored(
    decoder: pq.ParquetFile, checked: Sequence[SoundChunk], rows: int, large: Sequence[str]
) -> Iterator[pa.Table]:  # fmt: skip
    first = 0
    for batch in decoder.iter_batches(rows, use_threads=False):
        table = _without_structs(pa.Table.from_batches([batch]), checked)
        _check_values(checked, table, first)
        yield from _slice_table(table, large, checked[0].chunk.footer)
        first += batch.num_rows


def _slice_table(table: pa.Table, large: Sequence[str], footer: Footer) -> Iterator[pa.Table]:
    """Cut a table until its dictionaries, written out, are within the limit."""
    if table.num_rows > 1 and sum(_expanded_size(table.column(name)) for name in large) > footer.limit // 2:
        half = table.num_rows // 2
        yield from _slice_table(table.slice(0, half), large, footer)
        yield from _slice_table(table.slice(half), large, footer)
    else:
        yield as_stored(table, footer)


class _Renewed:
    """A file whose end is ours."""

    def __init__(self, file: OpenFile, end: bytes) -> None:
        self._file, self._end = file, end
        self.state: State = (file.size + len(end), 0)

    def read(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """Read ranges, each of the file or of its new end."""
        size = self._file.size
        pieces = []
        for at, wanted in ranges:
            unchanged = self._file.read([(at, min(wanted, size - at))])[0] if at < size else b""
            new = self._end[max(0, at - size) : max(0, at + wanted - size)]
            pieces.append(memoryview(unchanged if not new else bytes(unchanged) + new))
        return pieces


def _schema(checked: Sequence[SoundChunk]) -> bytes:
    """A schema of the columns that the leaves of chunks are of."""
    columns = tuple(dict.fromkeys(sound.chunk.leaf.column for sound in checked))
    return schema_for(checked[0].chunk.schema, columns)


def _without_structs(table: pa.Table, checked: Sequence[SoundChunk]) -> pa.Table:
    """Take fields that were read by themselves out of their structs."""
    for leaf in (sound.chunk.leaf for sound in checked):
        if leaf.depth:
            at = table.schema.get_field_index(leaf.column)
            table = table.set_column(at, leaf.column, unwrap(table.column(at), leaf.depth))
    return table


def as_stored(table: pa.Table, footer: Footer) -> pa.Table:
    """Bring columns to the types that the file's own schema gives them; dictionaries stay such."""
    fields = []
    for field in table.schema:
        kind = footer.schema.field(field.name).type
        coded = pa.types.is_dictionary(field.type) or pa.types.is_dictionary(kind)
        fields.append(field if coded else field.with_type(kind))
    schema = pa.schema(fields)
    return table if schema.equals(table.schema) else table.cast(schema)


def _large(checked: Sequence[SoundChunk], rows: int, limit: int) -> list[str]:
    """Text columns whose dictionaries, written out for every row, could take more than is allowed."""
    return [
        sound.chunk.leaf.column
        for sound in checked
        if sound.chunk.leaf.physical == BYTE_ARRAY and len(sound.chunk.leaf.path) == 1 and sound.entries * rows > limit
    ]


def _expanded_size(column: pa.ChunkedArray) -> int:
    """Bytes of a dictionary column's values, written out."""
    import pyarrow.compute as pc

    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            total += pc.sum(pc.binary_length(chunk.dictionary).take(chunk.indices).cast(pa.int64())).as_py() or 0
    return int(total)


def _check_size(size: int, limit: int, where: str) -> None:
    if size > limit:
        raise InputError(
            f"{where}: its values take {size / 1e9:.3g} GB, too much for the memory limit",
            f"give more with --memory, at least {size / 1e9:.2g} for each thread",
        )
