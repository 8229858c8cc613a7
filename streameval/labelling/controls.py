"""Control items: items of known answer, shown among the tasks to check annotators. They need not be of the list."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, did_you_mean
from streameval.labelling import expressions as sql
from streameval.labelling.duckdb_session import Connection, one_line_errors
from streameval.labelling.key_forms import (
    ambiguous,
    is_number,
    is_whole,
    item_value,
    refuse_ambiguous,
    refuse_unreadable_items,
)
from streameval.labelling.readers import ROW, database_for, distinct, name_of, open_source, source_column


def read_controls(source: Any, columns: Sequence[str], schema: pa.Schema, key: Sequence[str]) -> pa.Table:
    """Read control items.

    Args:
        source: Of the kinds that label tables have, with the items' columns and `label`.
        columns: The items' columns that the tasks show.
        schema: Their types.
        key: Columns that tell items apart; those of whole numbers may.

    Returns:
        pyarrow.Table: `columns`, `expected` float64 and `content` (a hash, by which the same item is recognised).

    Raises:
        InputError: A column is missing or of another type, a key is a float that is no exact whole number, or a label
            is not there or cannot be read.
    """
    name = name_of(source)
    with one_line_errors(name), database_for(source) as connection:
        opened = open_source(connection, source)
        names = dict(zip(opened.columns, distinct(list(opened.columns)), strict=True))
        for column in (*columns, "label"):
            if column not in names:
                raise InputError(f"{name}: the control items have no column '{column}'", did_you_mean(column, names))
        kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE se_given").fetchall()}
        stored = _refuse_inexact(connection, {c: (names[c], kinds[names[c]]) for c in columns}, schema, key, name)
        value, state = _answer(source_column(names["label"]), kinds[names["label"]])
        cells = [_whole_text(source_column(names[c]), kinds[names[c]], stored[c]) for c in columns]
        shown = "".join(f"{cell} AS c{i}, " for i, cell in enumerate(cells))
        table = connection.sql(
            f"SELECT {shown} ({value})::DOUBLE AS expected, {state} AS state FROM se_given ORDER BY {ROW}"
        ).to_arrow_table()
    state = table.column("state").to_pylist()
    unknown = [i for i, cell_state in enumerate(state, 1) if cell_state != "answer"]
    if unknown:
        raise InputError(f"{name}: row {unknown[0]:,} has no answer in 'label'", "a control item needs a known one")
    return _as_typed(table, columns, schema, name)


def _answer(label: str, kind: str) -> tuple[str, str]:
    """SQL of a label and of its state; that of a list of one is its element, as in tables of labels."""
    return sql.value_of(sql.single(label, kind), kind if is_number(kind) or kind == "BOOLEAN" else "VARCHAR")


def _refuse_inexact(
    connection: Connection, given_as: Mapping[str, tuple[str, str]], schema: pa.Schema, key: Sequence[str], name: str
) -> dict[str, str]:
    """Refuse keys that may have been another item's.

    Args:
        given_as: Of each column, its name in the source and its SQL type there.

    Returns:
        dict: SQL type of each column of the items.
    """
    refuse_unreadable_items(pa.schema([schema.field(column) for column in given_as]), "the study's items")
    connection.register("se_types", schema.empty_table())
    stored = {row[0]: row[1] for row in connection.execute("DESCRIBE se_types").fetchall()}
    for column, (there, kind) in given_as.items():
        unclear = (
            ambiguous(source_column(there), kind, stored[column])
            if column in key or is_whole(stored[column])
            else "false"
        )
        refuse_ambiguous(connection, [(there, kind)], unclear, name)
    return stored


def _whole_text(cell: str, kind: str, item_type: str) -> str:
    """Give SQL of a cell: a text of a whole number, such as 14.0, is that number where the items have whole numbers."""
    return (
        f"coalesce({item_value(cell, kind, item_type)}::VARCHAR, {cell})"
        if is_whole(item_type) and kind == "VARCHAR"
        else cell
    )


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast a column; DuckDB gives UUIDs as text, and bytes are one too."""
    if kind != pa.uuid():
        return pc.cast(column, kind)
    texts = [value.hex() if isinstance(value, bytes) else value for value in column.to_pylist()]
    stored = [None if value is None else UUID(str(value).strip()).bytes for value in texts]
    return pa.chunked_array([pa.array(stored, kind)])


def _as_typed(table: pa.Table, columns: Sequence[str], schema: pa.Schema, name: str) -> pa.Table:
    typed: dict[str, Any] = {}
    for i, column in enumerate(columns):
        try:
            typed[column] = _cast(table.column(f"c{i}"), schema.field(column).type)
        except (pa.ArrowException, ValueError) as error:
            kind, text = schema.field(column).type, " ".join(str(error).split())
            raise InputError(
                f"{name}: column '{column}' of the control items is not {kind} ({text})",
                "give it as the items of the list have it",
            ) from None
    rows = pa.table({**typed, "expected": table.column("expected")})
    content = [hashlib.sha256(repr(row).encode()).hexdigest()[:16] for row in rows.to_pylist()]
    return rows.append_column("content", pa.array(content, pa.string()))
