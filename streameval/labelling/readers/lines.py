"""JSON lines: one object a line, read line by line so that a bad one costs no other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.labelling.readers import (
    LINE,
    REJECTED,
    ROW,
    Opened,
    Rejected,
    chunks,
    compression,
    distinct,
    first_byte,
    never_build,
    one_path,
    open_text,
)
from streameval.labelling.readers.delimited import refuse_mixed_lines, rejected_rows
from streameval.text.json_objects import KEEP_ONE, first_repeated

READS = "JSONL"
_MOST_TEXT = 1 << 28  # characters in which a document that goes over lines is looked for
_AN_OBJECT_A_LINE = "write one object a line, as `jq -c . FILE` does"
_MOST_KEYS = 10_000  # a table has columns; objects that are keyed by their content have none


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether a text begins with an object."""
    return head is not None and b"\0" not in head and first_byte(head) == b"{"


def read(connection: Connection, source: Any) -> Opened:
    """Make the view; every key of any object is a column of text, nested values as JSON."""
    path = os.fspath(source)
    never_build(connection)
    connection.execute(
        f"CREATE TEMP VIEW lines AS SELECT CASE WHEN json_valid(line) AND json_type(line) = 'OBJECT' THEN line END AS"
        f" object, line, row_number() OVER () AS {ROW} FROM {lines_of(path)}"
    )
    names = _names(connection, path)
    columns = ", ".join(
        f"json_extract_string(object, {_path(name)}) AS {quote(alias)}"
        for name, alias in zip(names, distinct(names), strict=True)
    )
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT {columns}, {ROW} FROM lines WHERE object IS NOT NULL")
    return Opened(path, _digest(path), tuple(names), lambda: _rejected_lines(connection, path), lambda rows: rows)


def lines_of(path: str) -> str:
    """Lines of a text in a column `line`, as SQL; an `InputError` where they end in several ways."""
    refuse_mixed_lines(path)
    return (
        f"read_csv({one_path(path)}, auto_detect = false, header = false, delim = '\x01', quote = '', escape = '', "
        f"columns = {{'line': 'VARCHAR'}}, max_line_size = {LINE}, buffer_size = {LINE}, "
        f"ignore_errors = true, store_rejects = true, compression = {literal(compression(path))})"
    )


def _digest(path: str) -> Callable[[], str]:
    def digest() -> str:
        sha = hashlib.sha256()
        for chunk in chunks(path):
            sha.update(chunk)
        return sha.hexdigest()

    return digest


def _path(name: str) -> str:
    """A key as a JSON pointer: nothing in a name is syntax there but ~ and /."""
    pointer = "/" + name.replace("~", "~0").replace("/", "~1")
    return "'" + pointer.replace("'", "''") + "'"


def _names(connection: Connection, path: str) -> list[str]:
    """Keys of all objects, in the order in which they first stand there: one that appears late is no less a column."""
    keys_of_all: dict[str, None] = {}
    alike = connection.execute(  # objects of a table have few sets of keys
        f"SELECT keys, min({ROW}) FROM (SELECT json_keys(object) AS keys, {ROW} FROM lines WHERE object IS NOT NULL) "
        f"GROUP BY keys ORDER BY min({ROW})"
    )
    while sets := alike.fetchmany(1000):
        for keys, row in sets:
            _refuse_repeated(connection, path, keys, row)
        keys_of_all |= dict.fromkeys(name for keys, _ in sets for name in keys if name and "\0" not in name)
        if len(keys_of_all) > _MOST_KEYS:
            raise InputError(
                f"{path}: its objects have more than {_MOST_KEYS:,} different keys", "give every object the same keys"
            )
    if not keys_of_all:
        raise InputError(f"{path}: none of its lines is a JSON object", _AN_OBJECT_A_LINE)
    return list(keys_of_all)


def _refuse_repeated(connection: Connection, path: str, keys: list[str], row: int) -> None:
    """Refuse an object that has a key twice: DuckDB would read the first of its values, Python the last."""
    if (repeated := first_repeated(keys)) is not None:
        (line,) = rejected_rows(connection, 0).renumber(np.array([row])).tolist()
        raise InputError(f"{path}: line {line:,} has the key '{repeated}' twice", KEEP_ONE)


def _rejected_lines(connection: Connection, path: str) -> Rejected:
    """Lines that are no object, and lines that could not be read at all.

    Raises:
        InputError: The first of them begins an array or object that is valid: more than a line holds was to be read.
    """
    bad = connection.sql(
        f"""SELECT {ROW} AS row, left('no JSON object: ' || line, 200) AS said FROM lines
            WHERE object IS NULL AND trim(coalesce(line, '')) != ''"""
    ).to_arrow_table()
    undecodable = rejected_rows(connection, 0)
    rows = undecodable.renumber(bad.column("row").to_numpy())
    if rows.size and not undecodable.uncounted.size:
        _refuse_documents(path, int(rows.min()))
    table = pa.concat_tables([bad.set_column(0, "row", pa.array(rows)).cast(REJECTED), undecodable.table])
    return Rejected(table, undecodable.uncounted)


def _refuse_documents(path: str, line: int) -> None:
    """Refuse a text in which an array or object begins on a line, and is not one object on one line."""
    with open_text(path) as stream:
        next(islice(stream, line - 1, line - 1), None)
        text = stream.read(_MOST_TEXT)
    try:
        document, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        return
    if isinstance(document, dict | list):
        raise InputError(
            f"{path}: line {line:,} is not one object", f"{_AN_OBJECT_A_LINE}; or put all of them in arrays"
        )
