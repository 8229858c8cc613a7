"""CSV and TSV: RFC 4180, the delimiter told from the first line.

DuckDB's own guessing is switched off: a label table must not be read otherwise because of what people wrote into it.
"""

from __future__ import annotations

import csv
import os
from typing import Any

import duckdb
import numpy as np

from streameval.errors import InputError
from streameval.labelling.readers import (
    REJECTED,
    ROW,
    Opened,
    Rejected,
    distinct,
    file_digest,
    first_byte,
    is_binary,
    literal,
    one_path,
)
from streameval.types import Int64Array

_LINE = 64 << 20  # bytes of a row: items may carry whole documents
_MOST_LINES = 1_000_000
_DELIMITERS = ",\t;|"


def accepts(source: Any, head: bytes | None) -> bool:
    """Whether it is a text that is not JSON."""
    return head is not None and not head.startswith(b"PAR1") and not is_binary(head) and first_byte(head) not in b"{["


def read(connection: duckdb.DuckDBPyConnection, source: Any) -> Opened:
    """Make the view; every column is text."""
    path = os.fspath(source)
    delimiter, names = _header(path)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in distinct(names))
    reader = (
        f"read_csv({one_path(path)}, auto_detect = false, header = true, delim = {literal(delimiter)}, quote = '\"', "
        f"escape = '\"', columns = {{{columns}}}, max_line_size = {_LINE}, ignore_errors = true, store_rejects = true)"
    )
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT *, row_number() OVER () AS {ROW} FROM {reader}")
    return Opened(
        path, file_digest(path), tuple(names), lambda: rejected(connection), lambda rows: _lines(path, delimiter, rows)
    )


def _header(path: str) -> tuple[str, list[str]]:
    """Delimiter and column names."""
    csv.field_size_limit(_LINE)
    try:
        with open(path, encoding="utf-8-sig", newline="", errors="replace") as stream:
            first = next(line for line in stream if line.strip())
            delimiter = max(_DELIMITERS, key=first.count)
            stream.seek(0)
            names = next(row for row in csv.reader(stream, delimiter=delimiter) if row)
    except StopIteration:
        raise InputError(f"{path}: the label table has no column names") from None
    except csv.Error as error:
        raise InputError(f"{path}: its first line is no row of column names ({error})") from error
    return delimiter, [name.strip() for name in names]


def _lines(path: str, delimiter: str, rows: Int64Array) -> Int64Array:
    """Lines on which rows begin: a cell may hold line breaks, so that they have to be counted."""
    found = np.full(rows.size, -1, dtype=np.int64)
    if not rows.size or rows.min() > _MOST_LINES:
        return found
    last = min(int(rows.max()), _MOST_LINES)
    begins = np.full(last + 1, -1, dtype=np.int64)
    with open(path, encoding="utf-8-sig", newline="", errors="replace") as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        number, line = -1, 1
        try:
            for row in reader:
                number += bool(row)  # a blank line is no row
                if row and number <= last:
                    begins[number] = line
                if number >= last:
                    break
                line = reader.line_num + 1
        except csv.Error:
            pass  # lines beyond this one stay unknown
    near = rows <= last
    found[near] = begins[rows[near]]
    return found


def rejected(connection: duckdb.DuckDBPyConnection, head: int = 1) -> Rejected:
    """Rows that DuckDB put aside, in the file's own count; `head` lines are no rows."""
    tables = {row[0] for row in connection.execute("SHOW TABLES").fetchall()}
    if "reject_errors" not in tables:
        return Rejected.none()
    # a source is scanned several times, and every scan puts the same rows aside
    found = connection.sql(
        f"""SELECT line::BIGINT - {head} AS row, left(min(error_type::VARCHAR || ': ' || csv_line), 200) AS said
            FROM reject_errors GROUP BY line ORDER BY row"""
    ).to_arrow_table()
    return Rejected(found.cast(REJECTED), found.column("row").to_numpy())
