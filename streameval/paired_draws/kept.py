"""Rows that a scan keeps because they may be drawn: columns that merge, and the table that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.order.item_keys import shown
from streameval.paired_draws.top_rows import TopRows, second_hashes
from streameval.text import short
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt64Array

_NAMED = 3  # keys that a refusal names
KeptColumns = Mapping[str, AnyArray]


def kept_columns(rows: TopRows, u: UInt64Array, kept: BoolArray) -> KeptColumns:
    """Columns of some rows.

    They are `u`, `second` (another hash of the key), `position`, `predicted`, `first 0` and so on for each order, and
    `key 0` and so on for each column of the key.
    """
    at = np.flatnonzero(kept)
    keys = rows.keys.take(pa.array(at))
    first = {f"first {i}": one[at] for i, one in enumerate(rows.first)}
    named = {f"key {i}": column.to_numpy() for i, column in enumerate(keys.columns)}
    return {"u": u[at], "second": second_hashes(keys), "position": rows.position[at],
            "predicted": rows.predicted[at], **first, **named}  # fmt: skip


def joined(parts: Sequence[KeptColumns]) -> dict[str, AnyArray]:
    """Columns of several parts, one after another; none of no part."""
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def some(columns: KeptColumns, at: Int64Array | BoolArray) -> dict[str, AnyArray]:
    """Some of the rows."""
    return {name: values[at] for name, values in columns.items()}


def in_draw_order(columns: KeptColumns, key: pa.Schema, where: str) -> dict[str, AnyArray]:
    """Rows in the order of `u`, and of `second` where two are equal; an `InputError` names keys of several rows."""
    columns = some(columns, np.lexsort([columns["second"], columns["u"]]))
    same = (columns["u"][1:] == columns["u"][:-1]) & (columns["second"][1:] == columns["second"][:-1])
    again = 1 + np.flatnonzero(same)
    if not again.size:
        return columns
    first = again[np.argsort(columns["position"][again], kind="stable")]
    raise repeated_keys(keys_of(some(columns, first), key), again.size, key, where)


def repeated_keys(values: pa.Array, count: int, key: pa.Schema, where: str) -> InputError:
    """Make the error of keys that stand at several rows; `values` are keys of `count` of the rows."""
    named = list(dict.fromkeys(f"'{short(text_of(value))}'" for value in values.to_pylist()))[:_NAMED]
    return InputError(
        f"{where}: key '{', '.join(key.names)}' does not tell items apart: {count:,} of the rows read have the key of "
        f"another (first: {', '.join(named)})",
        "name columns that are unique together",
    )


def text_of(key: object) -> str:
    """A key as messages show it."""
    return ", ".join(map(shown, key.values())) if isinstance(key, dict) else shown(key)


def keys_of(columns: KeptColumns, key: pa.Schema) -> pa.Array:
    """The key of each row: a struct where several columns are the key."""
    return keys_of_table(pa.table([pa.array(columns[f"key {i}"], field.type) for i, field in enumerate(key)], key))


def keys_of_table(table: pa.Table) -> pa.Array:
    """The same of a table of the key columns."""
    parts = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return parts[0] if len(parts) == 1 else pa.StructArray.from_arrays(parts, names=table.column_names)
