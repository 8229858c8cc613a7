"""What a Parquet footer says, read from its bytes alone: no library sees a footer before it is known to be sound.

Libraries end the process over statistics that are too short, level histograms that do not fit the schema, values
counted wrongly. Here every number is held against the size of the file and the schema first, and what libraries get to
see is a footer of our own that has neither statistics nor indexes (`writing`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import interpreted
from streameval.kernels.thrift import list_head, zigzag
from streameval.parquet.schema import Column, Leaf, columns_of
from streameval.parquet.writing import MAGIC, ending
from streameval.typing import Int64Array

CORRUPT = "the file is corrupt there, or its writer is at fault; write it again"
# a data page takes at least this many bytes and says how many values it holds in 31 bits
_LEAST_PAGE_BYTES = 12
_MOST_PAGE_VALUES = 2**31 - 1
_MOST_ORDINAL = 2**15  # ordinals are numbers of 16 bits


def read_columns(path: str, raw: bytes) -> tuple[Column, ...]:
    """Read the columns of a footer's schema.

    Args:
        raw: FileMetaData.

    Raises:
        InputError: There is no schema, a column's name is no text, or two columns have one name.
    """
    try:
        columns = columns_of(schema_bytes(raw))
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: a column has a name that is not UTF-8 ({error.object[:40]!r})", "rename it where it is written"
        ) from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: its Parquet schema cannot be read ({error})", CORRUPT) from error
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise InputError(f"{path}: two columns are named '{column.name}'", "rename one where the file is written")
        seen.add(column.name)
    return columns


def schema_bytes(raw: bytes) -> bytes:
    """The list of schema elements, as a footer holds it; empty where there is none."""
    return _field(raw, 2)


def key_values(raw: bytes) -> bytes:
    """The list of key-value pairs, as a footer holds it; empty where there is none."""
    return _field(raw, 5)


def _field(raw: bytes, number: int) -> bytes:
    with interpreted(len(raw)):
        begin, end = kernels.find_field(np.frombuffer(raw, np.uint8), number)
    return raw[begin:end] if begin >= 0 else b""


def arrow_schema(path: str, raw: bytes) -> pa.Schema:
    """Have Arrow name the types of a schema; an `InputError` where it cannot.

    Of its metadata what pandas says of its frame is kept.
    """
    plain = MAGIC + ending(schema_bytes(raw), 0, [], key_values(raw))
    try:
        # Thrift's containers are counted before they are allocated: a footer cannot claim more entries than bytes
        with pq.ParquetFile(
            pa.BufferReader(plain), thrift_string_size_limit=len(plain), thrift_container_size_limit=len(plain)
        ) as file:
            frame = (file.metadata.metadata or {}).get(b"pandas")
            return file.metadata.schema.to_arrow_schema().with_metadata({b"pandas": frame} if frame else None)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: its Parquet schema cannot be read ({error})") from error


def read_row_groups(
    path: str, raw: bytes, leaves: tuple[Leaf, ...], size: int
) -> Iterator[tuple[int, Int64Array]]:  # fmt: skip
    """Read every row group: its rows, and the facts of its column chunks (`streameval.kernels.parquet.chunk_facts`).

    Facts are overwritten by those of the next row group.

    Args:
        size: Bytes of the file.

    Raises:
        InputError: Counts or sizes that the file cannot hold, or that contradict one another.
    """
    view = np.frombuffer(raw, np.uint8)
    total_at, _ = kernels.find_field(view, 3)
    at, _ = kernels.find_field(view, 4)
    count, _, at = list_head(view, at)
    if total_at < 0 or at < 0:
        raise InputError(f"{path}: its Parquet footer is corrupt (it has no row groups)")
    wanted, own = np.arange(len(leaves), dtype=np.int64), np.empty(3, np.int64)
    facts = np.empty((len(leaves), kernels.N_FACTS), dtype=np.int64)
    kinds = np.array([leaf.physical for leaf in leaves], dtype=np.int64)
    total = 0
    for index in range(count):
        where = f"{path}: row group {index}"
        at = kernels.row_group(view, at, wanted, facts, own)
        if at < 0 or own[kernels.COLUMNS] != len(leaves):
            raise InputError(f"{where} cannot be read: the Parquet footer is corrupt there")
        if own[kernels.ORDINAL] not in (kernels.ABSENT, index) and index < _MOST_ORDINAL:
            raise InputError(f"{where} says that it is row group {own[kernels.ORDINAL]}", CORRUPT)
        rows = int(own[kernels.ROWS])
        if rows < 0:
            raise InputError(f"{where} claims {rows:,} rows")
        if rows:
            _check_chunks(where, facts, rows, kinds, leaves, size)
        total += rows
        yield rows, facts
    claimed = int(zigzag(view, total_at)[0])
    if total != claimed or total >= 2**62:
        raise InputError(f"{path}: the footer claims {claimed:,} rows, its row groups {total:,}")


def _check_chunks(
    where: str, facts: Int64Array, rows: int, kinds: Int64Array, leaves: tuple[Leaf, ...], size: int
) -> None:
    """Refuse counts and sizes that the file cannot hold, before any memory is taken on their word."""
    compressed, values = facts[:, kernels.COMPRESSED], facts[:, kernels.VALUES]
    data, dictionary = facts[:, kernels.DATA_AT], facts[:, kernels.DICTIONARY_AT]
    start = np.where(dictionary > 0, np.minimum(data, dictionary), data)
    foreign = facts[:, kernels.FOREIGN] != 0
    outside = (np.minimum(np.minimum(compressed, values), start) < 0) | (compressed > size - start)
    most = (compressed // _LEAST_PAGE_BYTES) * _MOST_PAGE_VALUES
    flat = np.array([not leaf.max_rep for leaf in leaves], dtype=np.bool_)
    crowded = (values > most) | (values < rows) | (flat & (values != rows))
    other = facts[:, kernels.TYPE] != kinds
    levels = np.array([(leaf.max_rep + 1, leaf.max_def + 1) for leaf in leaves], dtype=np.int64).reshape(-1, 2)
    counted = facts[:, [kernels.REPETITIONS, kernels.DEFINITIONS]]
    unfit = np.any((counted > 0) & (counted != levels), axis=1)
    nulls = facts[:, kernels.NULLS]
    uncounted = (nulls != kernels.ABSENT) & ((nulls < 0) | (nulls > values))
    for i in np.flatnonzero(~foreign & (outside | crowded | other | unfit | uncounted))[:1].tolist():
        place = f"{where}, column {'.'.join(leaves[i].path)}"
        if outside[i]:
            begin = int(start[i])
            end = begin + int(compressed[i])
            raise InputError(f"{place}: claims bytes {begin:,}..{end:,} of a file of {size:,}", CORRUPT)
        if crowded[i]:
            raise InputError(
                f"{place}: claims {rows:,} rows and {values[i]:,} values in {compressed[i]:,} bytes", CORRUPT
            )
        if uncounted[i]:
            raise InputError(f"{place}: claims {nulls[i]:,} nulls among {values[i]:,} values", CORRUPT)
        if unfit[i]:
            raise InputError(f"{place}: its statistics are of other levels than those in the schema", CORRUPT)
        raise InputError(f"{place}: has physical type {facts[i, kernels.TYPE]}, but {kinds[i]} in the schema", CORRUPT)
