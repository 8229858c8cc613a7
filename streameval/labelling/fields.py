"""Fields of structs, and of objects of JSON, as columns of a label table, by names such as `meta.id`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.labelling.readers import ROW, Opened

_WHOLE = "se_given_whole"


def with_fields(connection: Connection, opened: Opened, names: Iterable[str | None]) -> Opened:
    """Add to `se_given` those of some names that are no columns of it, but fields of one.

    A column comes before a field of the same name; fields are found whatever the capitals of their column.
    """
    kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE se_given").fetchall() if row[0] != ROW}
    there = {name.lower() for name in (*kinds, *opened.columns)}
    fields = {name: _field(connection, kinds, name) for name in names if name and name.lower() not in there}
    found = {name: field for name, field in fields.items() if field is not None}
    if not found:
        return opened
    connection.execute(f"ALTER VIEW se_given RENAME TO {_WHOLE}")
    columns = ", ".join(f"{field} AS {quote(name)}" for name, field in found.items())
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT * EXCLUDE ({ROW}), {columns}, {ROW} FROM {_WHOLE}")
    return replace(opened, columns=(*opened.columns, *found))


def _field(connection: Connection, kinds: dict[str, str], name: str) -> str | None:
    """SQL of a field; None where no column has it."""
    for column, kind in kinds.items():
        if not name.lower().startswith(f"{column.lower()}."):
            continue
        path = name[len(column) + 1 :].split(".")
        if kind.startswith("STRUCT"):
            field = ".".join([quote(column), *map(quote, path)])
        elif kind in ("VARCHAR", "JSON"):
            pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
            valid = f"CASE WHEN json_valid({quote(column)}) THEN {quote(column)} END"
            field = f"json_extract_string({valid}, {literal(pointer)})"
        else:
            continue
        if _is_there(connection, field):
            return field
    return None


def _is_there(connection: Connection, field: str) -> bool:
    """Whether a struct has a field, or any object one."""
    import duckdb

    try:
        found = connection.execute(f"SELECT 1 FROM se_given WHERE {field} IS NOT NULL LIMIT 1").fetchall()
    except duckdb.BinderException:
        return False
    return bool(found)
