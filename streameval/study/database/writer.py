"""Write the tables of a study as one DuckDB file that DuckDB 1.2 and later open."""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import duckdb
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.labelling.duckdb_session import literal, quote, tables_of_ours, unique_names
from streameval.study.database.comments import BOUNDS, TABLES, comment_of
from streameval.study.database.macros import READ, Kinds, Place, statements

_STORAGE = "STORAGE_VERSION 'v1.2.0', BLOCK_SIZE 16384"
"""Small blocks: with those of 256 KiB, a database of small tables is six times as large and takes longer to write."""
_STORED = {
    pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
    pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.string(): "VARCHAR", pa.large_string(): "VARCHAR",
}  # fmt: skip
"""What every version calls types that it stores: to ask for one takes a tenth as long as to write all tables."""
_FEW_ROWS = 1024
"""To choose how to compress each column of such tables takes longer than to write them, and saves a twentieth."""
_TEMPLATE = "streameval_template_"
_TEMPLATES = 16  # that a process keeps, of some 100 KB each
_WRITTEN = itertools.count(1)


@dataclass(frozen=True)
class Database:
    """The database of whatever a folder holds, made from its checked files.

    Attributes:
        write (callable(path)): Writes the whole file.
        identity: Of the results and of the columns of their items.
        macros (callable(name) -> list of str): What creates the macros for a connection that has it attached under a
            name; none for many rankings.
    """

    write: Callable[[str], None]
    identity: str
    macros: Callable[[str], list[str]] = lambda name: []


def database(tables: Mapping[str, pa.Table], caution: str = "") -> Callable[[str], None]:
    """Give the writer of a study's database.

    Args:
        tables (mapping of name to pyarrow.Table): Of the names in `comments.TABLES`; those of the macros (curve,
            envelope, provenance) have to be there.
        caution: What the comments of bounds, their tables and macros say besides.

    Returns:
        callable(path): Writes the whole file at a path; what is there is replaced.
    """
    (identity,) = tables["provenance"].column("evaluation_id").to_pylist()

    def write(path: str) -> None:
        stored_types = dict(_STORED)
        with new_database(path) as connection:
            stored, catalog = dict[str, pa.Table](), list[str]()
            for name, table in tables.items():
                rows = table
                if name in READ and "evaluation_id" not in table.column_names:
                    rows = table.append_column("evaluation_id", pa.array([identity] * table.num_rows, pa.string()))
                stored[name] = storable(connection, rows, stored_types)
                types = [stored_types[column.type] for column in stored[name].columns]
                catalog += _create_statements((name, rows.column_names), stored[name].column_names, types, caution)
            _copy_template(connection, ";\n".join(catalog))
            for name, rows in stored.items():
                _with_given(connection, f"INSERT INTO {name} SELECT * FROM se_given", rows)
            if all(rows.num_rows <= _FEW_ROWS for rows in stored.values()):
                connection.execute("SET force_compression = 'uncompressed'")
            connection.execute(";\n".join(macro_statements(tables, caution)))

    return write


def macro_statements(tables: Mapping[str, pa.Table], caution: str = "", name: str = "") -> list[str]:
    """Say what creates the macros over these tables.

    Args:
        tables, caution: As of `database`.
        name: Of the database that the tables are attached as, for temporary macros NAME_precision_at and so on; empty:
            for macros in the file itself.
    """
    columns = ["evaluation_id", "misses", "misses_upper"]
    (about,) = tables["provenance"].select(columns).to_pylist()
    slices = _kind(tables["slice_curve"]) if "slice_curve" in tables else "absent"
    missed = "known" if about["misses"] == about["misses_upper"] else "bounded"
    kinds = Kinds(_kind(tables["curve"]), slices, missed)
    return statements(kinds, Place(about["evaluation_id"], name), caution)


@contextmanager
def new_database(path: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Write a DuckDB file, which is whole when the block ends; what is there is replaced."""
    os.unlink(path) if os.path.exists(path) else None
    name = f"study_{next(_WRITTEN)}"  # threads that write at once attach to one database
    try:
        with tables_of_ours() as ours:
            # all goes into the file, and not into a log before
            ours.execute("SET checkpoint_threshold = '1 byte'; SET force_compression = 'auto'")
            ours.execute(f"ATTACH {literal(path)} AS {name} ({_STORAGE})")
            try:
                with ours.cursor() as connection:  # closed, it leaves no transaction behind
                    connection.execute(f"USE {name}")
                    connection.begin()  # one for all tables and comments: each alone would be logged, and synced
                    yield connection
                    connection.commit()
            finally:
                ours.execute(f"DETACH {name}")
    except duckdb.Error as error:
        raise outside_trouble(error, "study.duckdb") or InputError(
            f"study.duckdb cannot be written ({error})"
        ) from error
    finally:
        if os.path.exists(f"{path}.wal"):
            os.unlink(f"{path}.wal")


def _kind(curve: pa.Table) -> str:
    if "score" not in curve.column_names:
        return "none"
    kind = curve.schema.field("score").type
    if not pa.types.is_floating(kind):
        return "other"
    return "double" if kind == pa.float64() else "float"


def _create_statements(
    names: tuple[str, Sequence[str]], columns: Sequence[str], types: Sequence[str], caution: str
) -> list[str]:
    """Give what creates a table, with comments on its columns, which the files may call otherwise."""
    table_name, in_files = names
    bounds = caution if table_name in BOUNDS else ""
    typed = ", ".join(f"{quote(column)} {kind}" for column, kind in zip(columns, types, strict=True))
    result = [f"CREATE TABLE {table_name} ({typed})"]
    result.append(f"COMMENT ON TABLE {table_name} IS {literal(f'{TABLES[table_name]} {bounds}'.strip())}")
    for old, new in zip(in_files, columns, strict=True):
        bound = bounds if old.endswith(("lower", "upper")) else ""
        comment = f"{comment_of(table_name, old)} {bound}".rstrip() + (f" In the files: {old!r}." if new != old else "")
        result.append(f"COMMENT ON COLUMN {table_name}.{quote(new)} IS {literal(comment)}")
    return result


def _copy_template(connection: duckdb.DuckDBPyConnection, catalog: str) -> None:
    """Create tables as a copy of those of a database in memory that holds none but them, without rows.

    Every comment is a statement: to run them takes ten times as long as to copy what they made. So a process runs those
    of a catalog once, whatever number of studies have it.

    Args:
        catalog: What creates the tables, and their comments.
    """
    ((study,),) = connection.execute("SELECT current_database()").fetchall()
    name = f"{_TEMPLATE}{hashlib.sha256(catalog.encode()).hexdigest()[:16]}"
    with _copying(os.getpid()), connection.cursor() as ours:  # a transaction writes to one database alone
        query = "SELECT database_name FROM duckdb_databases() WHERE starts_with(database_name, ?) ORDER BY database_oid"
        there = [template for (template,) in ours.execute(query, [_TEMPLATE]).fetchall()]
        if name not in there:
            for template in there[: max(0, len(there) - _TEMPLATES + 1)]:
                ours.execute(f"DETACH {template}")
            _make_template(ours, name, catalog)
        connection.execute(f"COPY FROM DATABASE {name} TO {study} (SCHEMA)")


def _make_template(ours: duckdb.DuckDBPyConnection, name: str, catalog: str) -> None:
    ours.execute(f"ATTACH ':memory:' AS {name}")
    try:
        with ours.cursor() as connection:  # closed, it leaves no transaction behind
            connection.execute(f"USE {name}")
            connection.execute(f"BEGIN;\n{catalog};\nCOMMIT")
    except BaseException:
        ours.execute(f"DETACH {name}")
        raise


@functools.cache
def _copying(process: int) -> Lock:
    """Give what a thread holds while it copies a template, so that it is whole, and there; each process has its own."""
    return Lock()


def _with_given(connection: duckdb.DuckDBPyConnection, statement: str, se_given: Any) -> None:
    """Run a statement that reads `se_given`: DuckDB finds it among the variables here, sooner than it makes a view."""
    connection.execute(statement)


def storable(connection: duckdb.DuckDBPyConnection, table: pa.Table, stored_types: dict[pa.DataType, str]) -> pa.Table:
    """Give columns names that SQL tells apart whatever their capitals, and types that DuckDB 1.2 stores.

    Args:
        stored_types: DuckDB's names of types that were tried, "" where they are not stored; this table's are added.
    """
    names = unique_names([field.name.replace("\0", "") or "column" for field in table.schema])
    values = [column.cast(pa.float32()) if pa.types.is_float16(column.type) else column for column in table.columns]
    for kind in dict.fromkeys(column.type for column in values):
        stored_types[kind] = stored_types[kind] if kind in stored_types else _type_stored(connection, kind)
    columns = [column if stored_types[column.type] else _as_text(column) for column in values]
    return pa.table(columns, names=names)


def _type_stored(connection: duckdb.DuckDBPyConnection, kind: pa.DataType) -> str:
    """Give DuckDB's word for a type; none where version 1.2 does not store it."""
    try:
        empty = pa.table({"column": pa.array([], kind)})
        with connection.cursor() as apart:  # an error would end the transaction that all tables are written in
            apart.register("se_empty", empty)
            apart.execute("CREATE OR REPLACE TEMP TABLE se_stored AS SELECT * FROM se_empty")
            ((column_type,),) = apart.execute("SELECT column_type FROM (DESCRIBE se_stored)").fetchall()
        later = str(column_type).startswith(("VARIANT", "GEOMETRY", "BIGNUM", "VARINT", "TIME_NS"))
        return "" if later else str(column_type)
    except (duckdb.Error, pa.ArrowException, NotImplementedError) as error:
        if (trouble := outside_trouble(error)) is not None:
            raise trouble from error  # says nothing about the type
        return ""


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        if (trouble := outside_trouble(error)) is not None:
            raise trouble from error
        return pa.chunked_array([pa.nulls(len(column), pa.string())])


def plain_database(read_tables: Callable[[], Mapping[str, Any]], comments: Mapping[str, str]) -> Callable[[str], None]:
    """Give the writer of a DuckDB file of some tables, or readers of them, each with a comment."""

    def write(path: str) -> None:
        with new_database(path) as connection:
            for name, rows in read_tables().items():
                _with_given(connection, f"CREATE TABLE {name} AS SELECT * FROM se_given", rows)
                connection.execute(f"COMMENT ON TABLE {name} IS {literal(comments[name])}")

    return write
