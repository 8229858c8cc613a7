"""Decode row groups whole, batch by batch, and take the wanted rows.

Of a row group of which many rows are wanted, that is quicker than page by page (`batches`); of a column whose pages
cannot be decoded alone, it is the only way (`read_whole`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.parquet.chunks import Chunk, OpenFile
from streameval.parquet.footers import Footer, refuse_changed
from streameval.parquet.groups import stream_group
from streameval.parquet.pages import Part
from streameval.parquet.schema import wide_type
from streameval.parquet.statistics import check_text
from streameval.parquet.undecodable import UNDECODABLE, decoding
from streameval.typing import Int64Array

_SHARE = 4  # a page is decoded four times as quickly with its neighbours as by itself
_BATCH_ROWS = 1 << 16
# a batch takes its rows' share of the decompressed bytes: as pages, as Arrow and taken, and room for uneven rows
_COPIES = 8


def worthwhile(part: Part, columns: Sequence[str]) -> bool:
    """Tell whether to decode columns of the whole row group: much of it is wanted, and none of them is nested."""
    stored = _stored_names(part, columns)
    nested = any(pa.types.is_nested(part.footer.schema.field(name).type) for name in stored)
    return bool(stored) and not nested and _SHARE * part.rows.size >= part.n_group_rows


def batches(part: Part, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
    """Wanted items of a row group, in stored order.

    Args:
        columns: Stored ones, at least one of them, and partition keys.
        rows: Rows to decode at a time.

    Raises:
        InputError: A damaged file, named with the row group, one that changed since the list was opened, or text that
            is not UTF-8.
    """
    done = 0
    for table in _decode(part, _stored_names(part, columns), rows):
        for name in table.column_names:
            check_text(table.column(name), name, ((part.place, done + i) for i in range(table.num_rows)))
        first, end = np.searchsorted(part.rows, [done, done + table.num_rows])
        if end - first == table.num_rows:
            yield _with_keys(part, columns, table)
        elif end > first:
            yield _with_keys(part, columns, table.take(pa.array(part.rows[first:end] - done)))
        done += table.num_rows
    if done != part.n_group_rows:
        raise InputError(f"{part.place} holds {done:,} rows, not {part.n_group_rows:,}")


def _stored_names(part: Part, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name in part.footer.schema.names]


def _decode(part: Part, columns: list[str], rows: int) -> Iterator[pa.Table]:
    fields = [part.footer.schema.field(name) for name in columns]
    # some of the types that files have can be cast but not taken from
    wide = pa.schema([field.with_type(wide_type(field.type)) for field in fields])
    with decoding(part.place):
        refuse_changed(part.footer)
        with stream_group(part.footer, part.row_group, columns, rows) as tables:
            for table in tables:
                yield table.select(columns).cast(wide)
        refuse_changed(part.footer)


def _with_keys(part: Part, columns: Sequence[str], table: pa.Table) -> pa.Table:
    keys = dict(part.footer.file.keys)
    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([keys[name]] * table.num_rows, pa.large_string()))
    return table.select(columns)


def read_whole(
    footer: Footer, group: int, column: str, rows: Int64Array, limit: int
) -> tuple[list[pa.Array], int, int]:
    """Stream one column of one row group up to the last wanted row, checksums verified, and take the wanted rows.

    Args:
        rows (int64 array, strictly increasing): Wanted rows within the row group.
        limit: Bytes that may be taken beyond what is returned.

    Returns:
        list of pyarrow.Array: Of the wide type of the column.
        int: Rows decoded.
        int: Bytes of the column.

    Raises:
        InputError: The column cannot be decoded; file, row group and column are named.
    """
    kind = wide_type(footer.schema.field(column).type)
    n_rows, arrays, begin = int(footer.row_group_rows[group]), [], 0
    with OpenFile(footer) as file:
        chunks = [leaf[0] for leaf in file.chunks(footer, [group], [column])[0]]
    place = f"{footer.file.path}: row group {group}, column {column}:"
    with (
        decoding(place, f"{UNDECODABLE}: leave the column out"),
        stream_group(footer, group, [column], _batch_rows(chunks, n_rows, limit)) as tables,
    ):
        for table in tables:
            mine = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, begin + table.num_rows)] - begin
            if mine.size:
                arrays += [part.cast(kind) for part in table.column(column).take(pa.array(mine)).chunks]
            begin += table.num_rows
            if begin > rows[-1]:
                return arrays, begin, sum(chunk.end - chunk.begin for chunk in chunks)
        raise OSError(f"{begin:,} rows instead of {n_rows:,}")


def _batch_rows(chunks: list[Chunk], n_rows: int, limit: int) -> int:
    row_bytes = sum(int(chunk.facts[kernels.UNCOMPRESSED]) for chunk in chunks) / max(1, n_rows)
    return max(1, min(_BATCH_ROWS, int(limit / (_COPIES * max(1, row_bytes)))))
