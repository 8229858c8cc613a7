"""Parquet footers: what a file says it holds, believed only as far as its size allows.

Of each footer only row counts, the score's minima and maxima and a digest are kept: 10⁵ files fit in little memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, did_you_mean
from streameval.rankings.files import DataFile
from streameval.rankings.paging.schema import wide_type
from streameval.stores import LAST, State, store_of
from streameval.types import Int64Array

T = TypeVar("T")
_MAGIC = b"PAR1"
_MAX_FOOTER = 1 << 30
# a data page takes at least this many bytes and says how many values it holds in 31 bits
_LEAST_PAGE_BYTES = 12
_MOST_PAGE_VALUES = 2**31 - 1


@dataclass(frozen=True)
class Footer:
    """What is kept of one file's footer.

    Attributes
    ----------
    file : DataFile
    size : int
        Bytes.
    changed_ns : int
        Time of change (of an object: a hash of its tag), guarding within a run only.
    digest : str
        SHA-256 of the footer's bytes, its length and the magic number, hex.
    length : int
        Bytes of the footer, without these.
    schema : pyarrow.Schema
    row_group_rows : int64 array, shape (row groups,)
    indexed : bool
        Whether it seems to have a page index; a column or row group may still be without.
    score_bounds : tuple of ((min, max) or None), one per row group
        Statistics of the score column; None where the file has none, or nulls. Empty where the order has no score.
    score_bytes : tuple of (first byte, bytes), one per row group
        Where the score column lies; empty where the order has no score.
    """

    file: DataFile
    size: int
    changed_ns: int
    digest: str
    length: int
    schema: pa.Schema
    row_group_rows: Int64Array
    indexed: bool
    score_bounds: tuple[tuple[Any, Any] | None, ...]
    score_bytes: tuple[tuple[int, int], ...] = ()


def read_footers(files: Sequence[DataFile], score: str | None, threads: int) -> list[Footer]:
    """Read every footer, several at once.

    Raises
    ------
    InputError
        A file that is no Parquet file, is truncated, or claims what its size cannot hold; named.
    """
    with ThreadPoolExecutor(threads) as pool:
        footers = list(pool.map(lambda file: read_footer(file, score), files))
    # one schema for all who share it: 100,000 copies would take gigabytes
    first = footers[0].schema
    return [replace(one, schema=first) if one.schema.equals(first) else one for one in footers]


def read_footer(file: DataFile, score: str | None) -> Footer:
    """Read and check one footer."""
    state, raw = _footer_bytes(file.path)
    metadata = _parse(file.path, raw)
    rows = check_claims(file.path, metadata, state[0])
    schema = _arrow_schema(file.path, metadata)
    return Footer(
        file,
        *state,
        hashlib.sha256(raw).hexdigest(),
        len(raw) - 8,
        schema,
        rows,
        bool(rows.size and metadata.num_columns and metadata.row_group(0).column(0).has_offset_index),
        _of_score(metadata, score, _bounds, None) if score else (),
        _of_score(metadata, score, _place, (0, 0)) if score else (),
    )


def _footer_bytes(path: str) -> tuple[State, bytes]:
    def need(size: int, last: bytes) -> int:
        if size < 12:
            raise InputError(f"{path}: {size} bytes are no Parquet file", "it is truncated or empty")
        if last[4:] != _MAGIC:
            what = "an encrypted Parquet footer" if last[4:] == b"PARE" else "no Parquet file, or a truncated one"
            raise InputError(f"{path}: {what} (it ends in {last[4:]!r}, not {_MAGIC!r})")
        length = int.from_bytes(last[:4], "little")
        if not 0 < length <= min(size - 12, _MAX_FOOTER):
            raise InputError(f"{path}: claims a footer of {length:,} bytes in a file of {size:,}")
        return length + LAST

    try:
        return store_of(path).tail(path, need)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error


def _parse(path: str, raw: bytes) -> pq.FileMetaData:
    try:
        # Thrift's containers are counted before they are allocated: a footer cannot claim more entries than bytes
        limit = len(raw)
        return pq.ParquetFile(
            pa.BufferReader(raw), thrift_string_size_limit=limit, thrift_container_size_limit=limit
        ).metadata
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: its Parquet footer is corrupt ({error})") from error


def _arrow_schema(path: str, metadata: pq.FileMetaData) -> pa.Schema:
    try:
        return metadata.schema.to_arrow_schema().remove_metadata()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: its Parquet schema cannot be read ({error})") from error


def check_claims(path: str, metadata: pq.FileMetaData, size: int) -> Int64Array:
    """Refuse a footer whose counts or sizes the file cannot hold, before any memory is taken on its word.

    Parameters
    ----------
    metadata : pyarrow.parquet.FileMetaData
        Or anything with `num_rows`, `num_row_groups`, `row_group(i)`.
    size : int
        Bytes of the file.

    Returns
    -------
    int64 array
        Rows of each row group.
    """
    rows = [_check_row_group(path, metadata.row_group(i), i, size) for i in range(metadata.num_row_groups)]
    total = sum(rows)
    if total != metadata.num_rows or total >= 2**62:
        raise InputError(f"{path}: the footer claims {metadata.num_rows:,} rows, its row groups {total:,}")
    return np.array(rows, dtype=np.int64)


def _check_row_group(path: str, group: Any, index: int, size: int) -> int:
    where = f"{path}: row group {index}"
    rows = int(group.num_rows)
    if rows < 0:
        raise InputError(f"{where} claims {rows:,} rows")
    for i in range(group.num_columns if rows else 0):
        chunk = group.column(i)
        compressed, values = int(chunk.total_compressed_size), int(chunk.num_values)
        start = int(chunk.dictionary_page_offset or chunk.data_page_offset)
        if min(compressed, values, start) < 0 or start + compressed > size:
            raise InputError(
                f"{where}, column {chunk.path_in_schema}: claims bytes {start:,}..{start + compressed:,} "
                f"of a file of {size:,}"
            )
        if values > (compressed // _LEAST_PAGE_BYTES) * _MOST_PAGE_VALUES or rows > values:
            raise InputError(
                f"{where}, column {chunk.path_in_schema}: claims {rows:,} rows and {values:,} values "
                f"in {compressed:,} bytes"
            )
    return rows


def _of_score(metadata: pq.FileMetaData, score: str, fact: Callable[[Any], T], absent: T) -> tuple[T, ...]:
    """A fact of the score column's chunk in each row group."""
    names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    groups: int = metadata.num_row_groups
    if score not in names:
        return (absent,) * groups
    column: int = names.index(score)
    return tuple(fact(metadata.row_group(i).column(column)) for i in range(groups))


def _place(chunk: Any) -> tuple[int, int]:
    return int(chunk.dictionary_page_offset or chunk.data_page_offset), int(chunk.total_compressed_size)


def _bounds(chunk: Any) -> tuple[Any, Any] | None:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or not statistics.has_min_max:
        return None
    if not statistics.has_null_count or statistics.null_count:
        return None
    low, high = statistics.min, statistics.max
    # a NaN in the statistics says nothing about order (and equals nothing)
    return (low, high) if low == low and high == high else None


def common_schema(footers: Sequence[Footer], score: str | None = None) -> pa.Schema:
    """Return the schema that all files share; the order of columns and their dictionaries do not matter.

    The type of the score column may differ: `streameval.rankings.ordering.scores.order_of` judges it.

    Raises
    ------
    InputError
        Names the first file that differs, and in what.
    """
    first = footers[0]
    for footer in footers:
        _refuse_doubled(footer)
    expected = _wide(first.schema)
    for footer in footers[1:]:
        if footer.schema.equals(first.schema):
            continue
        found = _wide(footer.schema)
        for name in [*expected, *found]:
            if expected.get(name) != found.get(name) and not (name == score and name in expected and name in found):
                raise InputError(
                    f"{footer.file.path}: column '{name}' is {_type(footer.schema, name)}, "
                    f"but {_type(first.schema, name)} in {first.file.path}",
                    "the files of a ranking share one schema",
                )
    return first.schema


def _refuse_doubled(footer: Footer) -> None:
    """Refuse a file in which two columns have one name: neither could be asked for."""
    names = footer.schema.names
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{footer.file.path}: two columns are called '{name}'", "write them under names of their own")


def _wide(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {field.name: wide_type(field.type) for field in schema}


def _type(schema: pa.Schema, name: str) -> str:
    return str(schema.field(name).type) if name in schema.names else "absent"


def refuse_changed(footer: Footer) -> None:
    """Refuse a file that is not what its footer was read from."""
    path = footer.file.path
    if store_of(path).state(path) != (footer.size, footer.changed_ns):
        raise InputError(f"{path}: changed while it was read", "run the command again")


def check_column(schema: pa.Schema, name: str, where: str) -> None:
    """Refuse a column that is not there."""
    if name not in schema.names:
        raise InputError(f"{where}: there is no column '{name}'", did_you_mean(name, schema.names))


def fingerprint(footers: Sequence[Footer]) -> str:
    """Hash (relative path, size, footer digest) of the files in order: sixteen hex digits."""
    digest = hashlib.sha256()
    for footer in footers:
        digest.update(f"{footer.file.name}\0{footer.size}\0{footer.digest}\n".encode())
    return digest.hexdigest()[:16]
