"""Fields of structs under names of their own: `meta.score` is the field `score` of the column `meta`.

A schema lists them behind its columns, so whoever looks a name up finds either. Where a column is itself called so, the
name is that column's. Only what has one value a row can be named: no list, and nothing within one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import did_you_mean

_OF = b"field of"


def with_fields(schema: pa.Schema) -> pa.Schema:
    """Add the fields of structs to a schema, behind its columns.

    >>> with_fields(pa.schema([("meta", pa.struct([("score", pa.float64()), ("tags", pa.list_(pa.string()))]))])).names
    ['meta', 'meta.score']
    """
    columns, names = list(schema), set(schema.names)
    for column in schema:
        for name, kind in _fields(column.name, column.type) if _column_of(column) is None else ():
            if name not in names:
                names.add(name)
                columns.append(pa.field(name, kind, metadata={_OF: column.name.encode()}))
    return pa.schema(columns, schema.metadata) if len(columns) > len(schema) else schema


def _fields(above: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    for field in kind if pa.types.is_struct(kind) else ():
        name = f"{above}.{field.name}"
        if not _is_nested(field.type):
            yield name, field.type
        yield from _fields(name, field.type)


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind))


def _column_of(field: pa.Field) -> str | None:
    """The column that a field is of; None of a column itself."""
    name = (field.metadata or {}).get(_OF)
    return None if name is None else str(name.decode())


def own_columns(schema: pa.Schema) -> list[str]:
    """Names of the columns themselves."""
    return [field.name for field in schema if _column_of(field) is None]


def columns_with(schema: pa.Schema, names: Iterable[str]) -> list[str]:
    """Columns that hold what is named, each once."""
    return list(dict.fromkeys(_column_of(schema.field(name)) or name for name in names))


def pick(table: pa.Table, schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """Take columns and fields from a table of the columns that hold them; a field of a null struct is null."""
    if not any(_column_of(schema.field(name)) for name in names):
        return table.select(list(names))
    return pa.table([_values(table, schema.field(name)) for name in names], names=list(names))


def _values(table: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    column = _column_of(field)
    if column is None:
        return table.column(field.name)
    values = table.column(column)
    return pc.struct_field(values, _path(column, values.type, field.name))


def _path(above: str, kind: pa.DataType, name: str) -> list[int] | None:
    """Numbers of the fields that lead to a name, whose parts may themselves have dots."""
    for number, field in enumerate(kind if pa.types.is_struct(kind) else ()):
        here = f"{above}.{field.name}"
        if here == name and not _is_nested(field.type):
            return [number]
        if name.startswith(f"{here}.") and (rest := _path(here, field.type, name)) is not None:
            return [number, *rest]
    return None


def unwrap(values: pa.ChunkedArray, depth: int) -> pa.ChunkedArray:
    """Take the field out of structs of one field each, so many of them one in the other."""
    return pc.struct_field(values, [0] * depth) if depth else values


def hint_for(name: str, schema: pa.Schema, names: Iterable[str]) -> str:
    """Hint at why there is no such name among those that are known, or at the closest of them.

    >>> hint_for("tags.element", pa.schema([("tags", pa.list_(pa.string()))]), ["tags"])
    "'tags' is a list<item: string>: only fields with one value for each item have a name"
    """
    for field in schema:
        nested = _nested_at(field.name, field.type, name)
        if nested is not None:
            if fields := [path for path, _ in _fields(*nested)]:
                return f"'{nested[0]}' is a struct: name one of its fields, such as {fields[0]}"
            return f"'{nested[0]}' is a {nested[1]}: only fields with one value for each item have a name"
    return did_you_mean(name, names)


def _nested_at(here: str, kind: pa.DataType, name: str) -> tuple[str, pa.DataType] | None:
    """Find where a name ends in what has no name of its own: a list that it goes into, or what is nested at its end."""
    if not _is_nested(kind) or not f"{name}.".startswith(f"{here}."):
        return None
    if name == here or not pa.types.is_struct(kind):
        return here, kind
    return next((nested for field in kind if (nested := _nested_at(f"{here}.{field.name}", field.type, name))), None)
