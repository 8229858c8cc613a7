"""JSON lines: one object a line, read line by line so that a bad one costs no other."""

from __future__ import annotations

import json
import os
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.readers import (
    REJECTED,
    ROW,
    Opened,
    Rejected,
    distinct,
    file_digest,
    first_byte,
    never_build,
    one_path,
    quote,
)
from streameval.labelling.readers.delimited import rejected

_LINE = 16 << 20  # bytes of a row: items may carry whole documents
_SNIFFED = 1000  # objects whose keys become columns


def accepts(source: Any, head: bytes | None) -> bool:
    """Whether a text begins with an object."""
    return head is not None and b"\0" not in head and first_byte(head) == b"{"


def read(connection: duckdb.DuckDBPyConnection, source: Any) -> Opened:
    """Make the view; every key of the first objects is a column of text, nested values as JSON."""
    path = os.fspath(source)
    names = _names(path)
    reader = (
        f"read_csv({one_path(path)}, auto_detect = false, header = false, delim = '\x01', quote = '', escape = '', "
        f"columns = {{'line': 'VARCHAR'}}, max_line_size = {_LINE}, buffer_size = {_LINE}, "
        "ignore_errors = true, store_rejects = true)"
    )
    never_build(connection)
    connection.execute(
        f"CREATE TEMP VIEW lines AS SELECT CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN line END AS"
        f" object, line, row_number() OVER () AS {ROW} FROM {reader}"
    )
    columns = ", ".join(
        f"json_extract_string(object, {_path(name)}) AS {quote(alias)}"
        for name, alias in zip(names, distinct(names), strict=True)
    )
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT {columns}, {ROW} FROM lines WHERE object IS NOT NULL")
    return Opened(path, file_digest(path), tuple(names), lambda: _rejected(connection), lambda rows: rows)


def _path(name: str) -> str:
    """A key as a JSON pointer: nothing in a name is syntax there but ~ and /."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    return "'" + pointer.replace("'", "''") + "'"


def _names(path: str) -> list[str]:
    found: dict[str, None] = {}
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        for line in islice(stream, _SNIFFED):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                found |= dict.fromkeys(name for name in record if name and "\0" not in name)
    if not found:
        raise InputError(f"{path}: none of its first lines is a JSON object", "write one object a line")
    return list(found)


def _rejected(connection: duckdb.DuckDBPyConnection) -> Rejected:
    """Lines that are no object, and lines that could not be read at all."""
    bad = connection.sql(
        f"""SELECT {ROW} AS row, left('no JSON object: ' || line, 200) AS said FROM lines
            WHERE object IS NULL AND trim(coalesce(line, '')) != ''"""
    ).to_arrow_table()
    undecodable = rejected(connection, 0)
    rows = pa.array(undecodable.renumber(bad.column("row").to_numpy()))
    table = pa.concat_tables([bad.set_column(0, "row", rows).cast(REJECTED), undecodable.table])
    return Rejected(table, undecodable.uncounted)
