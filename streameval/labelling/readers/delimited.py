"""CSV and TSV: RFC 4180, with the delimiter of the first line.

DuckDB's own guessing is switched off: a table must not be read otherwise because of what people wrote into it.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import itertools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection, literal
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
    is_binary,
    never_build,
    one_path,
    open_bytes,
    open_text,
)
from streameval.typing import Int64Array

READS = "CSV, TSV"
_MOST_LINES = 1_000_000
_CHUNK = 1 << 20
_ENDS = {"\n": "LF", "\r\n": "CR LF", "\r": "CR"}
_DELIMITERS = ",\t;|"
_SEPARATOR = re.compile(r'"?sep=([,\t;|])"?\s*', re.IGNORECASE)


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether it is a text that is not JSON."""
    return head is not None and not head.startswith(b"PAR1") and not is_binary(head) and first_byte(head) not in b"{["


def read(connection: Connection, source: Any) -> Opened:
    """Make the view; every column is text."""
    path = os.fspath(source)
    delimiter, names, lead = _header(path)
    if _several_ends(path):
        _refuse_mixed_rows(path, delimiter)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in distinct(names))
    reader = (
        f"read_csv({one_path(path)}, auto_detect = false, header = true, skip = {lead}, "
        f"delim = {literal(delimiter)}, quote = '\"', escape = '\"', columns = {{{columns}}}, max_line_size = {LINE}, "
        f"buffer_size = {LINE}, ignore_errors = true, store_rejects = true, "
        f"compression = {literal(compression(path))})"
    )
    never_build(connection)
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT *, row_number() OVER () AS {ROW} FROM {reader}")
    return Opened(
        name=path,
        digest=_digest(path),
        columns=tuple(names),
        rejected=lambda: _rejected_rows(connection, path, delimiter, lead),
        lines=lambda rows: _Lines.in_file(path, delimiter, lead, int(rows.max(initial=0))).line_of(rows),
    )


def _header(path: str) -> tuple[str, list[str], int]:
    """Delimiter, column names, and how many lines stand before them: blank ones, and the `sep=;` of spreadsheets."""
    csv.field_size_limit(LINE)
    try:
        with open_text(path) as stream:
            lead, delimiter = 0, None
            for line in stream:
                match = _SEPARATOR.fullmatch(line)
                if line.strip() and (match is None or delimiter is not None):
                    break
                delimiter, lead = match[1] if match else delimiter, lead + 1
            else:
                raise StopIteration
            delimiter = delimiter or max(_DELIMITERS, key=line.count)
            names = next(csv.reader(itertools.chain([line], stream), delimiter=delimiter))
    except StopIteration:
        raise InputError(f"{path}: the table has no column names") from None
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except csv.Error as error:
        raise InputError(f"{path}: its first line is not a row of column names ({error})") from error
    return delimiter, [name.strip() for name in names], lead


def _several_ends(path: str) -> bool:
    """Tell whether line ends of several kinds are in a text, within cells or not."""
    kinds = [False] * 3
    with open_bytes(path) as stream:
        while chunk := stream.read(_CHUNK):
            if b"\r" not in chunk:  # as in most texts: to count takes much longer
                kinds[1] = kinds[1] or b"\n" in chunk
                continue
            chunk += stream.read(1) if chunk.endswith(b"\r") else b""
            both = chunk.count(b"\r\n")
            counts = (both, chunk.count(b"\n") - both, chunk.count(b"\r") - both)
            kinds = [before or count > 0 for before, count in zip(kinds, counts, strict=True)]
    return sum(kinds) > 1


def _refuse_mixed_rows(path: str, delimiter: str) -> None:
    """Refuse rows that end in several ways: DuckDB would make one of two, or stop without saying where."""
    last, first = [""], ""

    def kept(line: str) -> str:
        last[0] = line
        return line

    with open_text(path, errors="replace") as stream:
        reader = csv.reader(map(kept, stream), delimiter=delimiter)
        try:
            for _ in reader:
                end = last[0][len(last[0].rstrip("\r\n")) :]
                first = first or end
                if end not in ("", first):
                    raise _mixed_error(path, reader.line_num, end, first)
        except csv.Error:
            pass  # a cell beyond every limit, which is told of elsewhere


def refuse_mixed_lines(path: str) -> None:
    """Refuse a text without cells whose lines end in several ways: DuckDB stops, or loses one of them."""
    if not _several_ends(path):
        return
    with open_text(path, errors="replace") as stream:
        first = ""
        for number, line in enumerate(stream, 1):
            end = line[len(line.rstrip("\r\n")) :]
            first = first or end
            if end not in ("", first):
                raise _mixed_error(path, number, end, first)


def _mixed_error(path: str, line: int, end: str, first: str) -> InputError:
    return InputError(
        f"{path}: line {line:,} ends in {_ENDS[end]}, those before it in {_ENDS[first]}",
        "save the table with line ends of one kind",
    )


def _digest(path: str) -> Callable[[], str]:
    """Content hash of a file, made when it is first used; the file has to be UTF-8."""

    def digest() -> str:
        sha, decoder, clean = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")(), True
        for chunk in chunks(path):
            sha.update(chunk)
            try:
                if not (clean and chunk.isascii()):
                    decoder.decode(chunk)
                    clean = not decoder.getstate()[0]
            except UnicodeDecodeError:
                raise _not_utf8(path) from None
        if not clean:
            raise _not_utf8(path)
        return sha.hexdigest()

    return digest


def _not_utf8(path: str) -> InputError:
    """Say on which line a text stops being UTF-8."""
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):  # noqa: B007 - a file that ends amid a character ends on this line
            try:
                line.decode()
            except UnicodeDecodeError:
                break
    return InputError(f"{path}: line {number:,} is not UTF-8", "save the table as CSV UTF-8")


@dataclass(frozen=True)
class _Lines:
    """Lines at which rows begin: a cell may hold line breaks, and a blank line is no row, so that they must be counted.

    Attributes:
        begins (int64 array): Line on which row i begins, from 1; the head is row 0. Ends with the last row asked for.
        blank (int64 array): Places of blank lines among rows and blank lines, the head at 1: DuckDB counts them.
    """

    begins: Int64Array
    blank: Int64Array

    @staticmethod
    def in_file(path: str, delimiter: str, lead: int, last: int) -> _Lines:
        begins, blank, line = [], [], lead + 1
        with open_text(path, errors="replace") as stream:
            for _ in range(lead):
                next(stream)
            reader = csv.reader(stream, delimiter=delimiter)
            try:
                for place, row in enumerate(reader, 1):
                    if row:
                        begins.append(line)
                    else:
                        blank.append(place)
                    if len(begins) > min(last, _MOST_LINES):
                        break
                    line = lead + reader.line_num + 1
            except csv.Error:
                pass  # lines beyond this one stay unknown
        return _Lines(np.array(begins, dtype=np.int64), np.array(blank, dtype=np.int64))

    def line_of(self, rows: Int64Array) -> Int64Array:
        near = (rows >= 0) & (rows < self.begins.size)
        return np.where(near, self.begins[np.where(near, rows, 0)], -1)


def _rejected_rows(connection: Connection, path: str, delimiter: str, lead: int) -> Rejected:
    put_aside = rejected_rows(connection, lead + 1)
    if not put_aside.uncounted.size:
        return put_aside
    place = put_aside.uncounted + 1
    blank = _Lines.in_file(path, delimiter, lead, int(place[-1])).blank
    rows = put_aside.uncounted - np.searchsorted(blank, place)
    return Rejected(put_aside.table.set_column(0, "row", pa.array(rows)), rows)


def rejected_rows(connection: Connection, head: int = 1) -> Rejected:
    """Rows that DuckDB put aside, in the file's own count; `head` lines are no rows."""
    if ("reject_errors",) not in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE temporary"
    ).fetchall():
        return Rejected.none()
    # a source is scanned several times, and every scan puts the same rows aside
    put_aside = connection.sql(
        f"""SELECT line::BIGINT - {head} AS row, left(min(error_type::VARCHAR || ': ' || csv_line), 200) AS said
            FROM reject_errors GROUP BY line ORDER BY row"""
    ).to_arrow_table()
    return Rejected(put_aside.cast(REJECTED), put_aside.column("row").to_numpy())
