"""Row groups of which many rows are wanted: decoded whole, batch by batch, which is quicker than page by page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StreamevalError, outside_trouble
from streameval.parquet.check_values import check_text
from streameval.parquet.footers import refuse_changed
from streameval.parquet.groups import stream_group
from streameval.parquet.parts import Part
from streameval.parquet.schema import wide_type
from streameval.parquet.undecodable import UNDECODABLE, why_undecodable

_SHARE = 4  # a page is decoded four times as quickly with its neighbours as by itself


def worthwhile(part: Part, columns: Sequence[str]) -> bool:
    """Whether to decode columns of the whole row group: a good part of it is wanted, and none of them is nested."""
    stored = _stored(part, columns)
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
    for table in _decoded(part, _stored(part, columns), rows):
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


def _stored(part: Part, columns: Sequence[str]) -> list[str]:
    return [name for name in columns if name in part.footer.schema.names]


def _decoded(part: Part, columns: list[str], rows: int) -> Iterator[pa.Table]:
    fields = [part.footer.schema.field(name) for name in columns]
    # some of the types that files have can be cast but not taken from
    wide = pa.schema([field.with_type(wide_type(field.type)) for field in fields])
    try:
        refuse_changed(part.footer)
        with stream_group(part.footer, part.row_group, columns, rows) as tables:
            for table in tables:
                yield table.select(columns).cast(wide)
        refuse_changed(part.footer)
    except StreamevalError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise outside_trouble(error) or InputError(
            f"{part.place} cannot be decoded ({why_undecodable(error)})", UNDECODABLE
        ) from error


def _with_keys(part: Part, columns: Sequence[str], table: pa.Table) -> pa.Table:
    keys = dict(part.footer.file.keys)
    for name in columns:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([keys[name]] * table.num_rows, pa.large_string()))
    return table.select(columns)
