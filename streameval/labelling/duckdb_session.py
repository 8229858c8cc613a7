"""DuckDB as every part of this package uses it."""

from __future__ import annotations

import functools
import gzip
import itertools
import os
import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from streameval.errors import InputError, outside_trouble

if TYPE_CHECKING:
    import duckdb

    Connection: TypeAlias = duckdb.DuckDBPyConnection
else:
    Connection = Any  # who plans needs no database, and it takes long to import

_TIMES = "TimeZone = 'UTC'"
_NO_BAR = "SET enable_progress_bar = false"
DAMAGED = "the file is cut short or damaged: get it again"
_OF_THE_SYSTEM = re.compile(r'Did you mean "(pg_|sqlite_|duckdb_|pragma_|information_schema\.)')  # tables of no user


@contextmanager
def open_session(spill: str | None = None, memory: str | None = None) -> Iterator[Connection]:
    """Open a database in memory: moments are UTC, and nothing is printed.

    Args:
        spill: Folder for what does not fit into memory.
        memory: Memory that it may take, such as "1GB".
    """
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"SET {_TIMES}")
        if _shows_bar(connection):
            connection.execute(_NO_BAR)
        if spill is not None:
            connection.execute(f"SET temp_directory = {literal(spill)}")
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory}'")
        yield connection


@contextmanager
def tables_of_ours() -> Iterator[Connection]:
    """As `open_session`, for queries over small tables: every block has its own temporary tables and views.

    To open a database takes longer than most of these queries do, so that a process opens one for all of them.
    """
    import duckdb

    try:
        database, shows_bar = _database_of(os.getpid())
        with database.cursor() as connection:
            if shows_bar:
                connection.execute(_NO_BAR)
            yield connection
    except (duckdb.FatalException, duckdb.InternalException):
        _database_of.cache_clear()  # DuckDB answers nothing in that one any more
        raise


@functools.cache
def _database_of(process: int) -> tuple[Connection, bool]:
    """The database of a process, and whether its connections show a bar.

    A child of the process must not use its parent's, whose threads it does not have.
    """
    import duckdb

    # files that it reads are other ones a moment later
    database = duckdb.connect(config={"enable_external_file_cache": "false"})
    database.execute(f"SET GLOBAL {_TIMES}")
    with database.cursor() as connection:
        return database, _shows_bar(connection)


def _shows_bar(connection: Connection) -> bool:
    """Tell whether a connection shows how far a query is: on standard output, where `--json` promises one object.

    In a notebook without ipywidgets it does not, and DuckDB refuses the very word that would turn it off.
    """
    return bool(connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)])


@contextmanager
def one_line_errors(
    source: str, hint: str = "correct it there, or give the labels as a table of one row a label (CSV, Parquet)"
) -> Iterator[None]:
    """Turn DuckDB's errors about a source, and those of its compression, into one line of ours."""
    import duckdb

    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{source}: cannot be read ({_first_line(error)})", DAMAGED) from error
    except duckdb.Error as error:
        raise outside_trouble(error) or InputError(f"{source}: cannot be read ({_first_line(error)})", hint) from error


def _first_line(error: BaseException) -> str:
    """DuckDB's message, without the query and the advice for its own interface."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not _OF_THE_SYSTEM.match(line)]
    kept = list(itertools.takewhile(lambda line: not line.startswith(("LINE ", "Possible", "*", "CREATE ")), lines))
    return "; ".join(kept[:3])[:300] if kept else type(error).__name__


def in_batches(answer: duckdb.DuckDBPyRelation, rows: int) -> pa.RecordBatchReader:
    """Read an answer, so many rows at a time; DuckDB 1.4 has an older name for it."""
    return answer.to_arrow_reader(rows) if hasattr(answer, "to_arrow_reader") else answer.fetch_record_batch(rows)


def quote(name: str) -> str:
    """Quote an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Quote a string for SQL."""
    return "'" + text.replace("'", "''") + "'"


def unique_names(names: Sequence[str], first: int = 2, reserved: Collection[str] = ()) -> list[str]:
    """Number names that come again, whatever their capitals, from `first` on.

    >>> unique_names(["a", "b", "A"])
    ['a', 'b', 'A_2']
    """
    used, unique = set(reserved), list[str]()
    for name in names:
        numbered = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(first)))
        unique.append(next(candidate for candidate in numbered if candidate.lower() not in used))
        used.add(unique[-1].lower())
    return unique
