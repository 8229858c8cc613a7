"""Write the tables of a study as one DuckDB file that DuckDB 1.2 and later open."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from streameval.errors import InputError, outside_trouble
from streameval.labelling.duckdb_session import literal, quote, tables_of_ours, unique_names
from streameval.study.database.comments import BOUNDS, TABLES, comment_of
from streameval.study.database.macro import READ, Place
from streameval.study.database.macros import Kinds, statements

_STORAGE = "STORAGE_VERSION 'v1.2.0', BLOCK_SIZE 16384"
"""Small blocks: with those of 256 KiB, a database of small tables is six times as large and takes longer to write."""
_STORED = (pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.string(),
           pa.large_string())  # fmt: skip
"""Types that every version stores: to try one takes a tenth as long as to write all tables."""
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
        known = dict.fromkeys(_STORED, True)
        with new_database(path) as connection:
            for name, table in tables.items():
                rows = table
                if name in READ and "evaluation_id" not in table.column_names:
                    rows = table.append_column("evaluation_id", pa.array([identity] * table.num_rows, pa.string()))
                stored = storable(connection, rows, known)
                _add(connection, (name, rows.column_names), stored, caution if name in BOUNDS else "")
            connection.execute(";\n".join(macro_statements(tables, caution)))

    return write


def macro_statements(tables: Mapping[str, pa.Table], caution: str = "", name: str = "") -> list[str]:
    """What creates the macros over these tables.

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
            ours.execute("SET checkpoint_threshold = '1 byte'")  # all goes into the file, and not into a log before
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


def _add(
    connection: duckdb.DuckDBPyConnection, names: tuple[str, Sequence[str]], stored: pa.Table, caution: str
) -> None:
    """Add a table, with comments on its columns, which the files may call otherwise."""
    table_name, in_files = names
    connection.register("se_given", stored)
    connection.execute(f"CREATE TABLE {table_name} AS SELECT * FROM se_given")
    connection.unregister("se_given")
    comments = [f"COMMENT ON TABLE {table_name} IS {literal(f'{TABLES[table_name]} {caution}'.strip())}"]
    for old, new in zip(in_files, stored.column_names, strict=True):
        bound = caution if old.endswith(("lower", "upper")) else ""
        comment = f"{comment_of(table_name, old)} {bound}".rstrip() + (f" In the files: {old!r}." if new != old else "")
        comments.append(f"COMMENT ON COLUMN {table_name}.{quote(new)} IS {literal(comment)}")
    connection.execute(";\n".join(comments))


def storable(connection: duckdb.DuckDBPyConnection, table: pa.Table, known: dict[pa.DataType, bool]) -> pa.Table:
    """Give columns names that SQL tells apart whatever their capitals, and types that DuckDB 1.2 stores.

    Args:
        known: Types that were tried, and whether they are stored; those of this table are added.
    """
    names = unique_names([field.name.replace("\0", "") or "column" for field in table.schema])
    values = [one.cast(pa.float32()) if pa.types.is_float16(one.type) else one for one in table.columns]
    for kind in dict.fromkeys(column.type for column in values):
        known[kind] = known[kind] if kind in known else _stores(connection, kind)
    columns = [column if known[column.type] else _as_text(column) for column in values]
    return pa.table(columns, names=names)


def _stores(connection: duckdb.DuckDBPyConnection, kind: pa.DataType) -> bool:
    try:
        empty = pa.table({"column": pa.array([], kind)})
        with connection.cursor() as apart:  # an error would end the transaction that all tables are written in
            apart.register("se_empty", empty)
            apart.execute("CREATE OR REPLACE TEMP TABLE se_stored AS SELECT * FROM se_empty")
            ((column_type,),) = apart.execute("SELECT column_type FROM (DESCRIBE se_stored)").fetchall()
        return not str(column_type).startswith(("VARIANT", "GEOMETRY", "BIGNUM", "VARINT", "TIME_NS"))
    except (duckdb.Error, pa.ArrowException, NotImplementedError) as error:
        if (trouble := outside_trouble(error)) is not None:
            raise trouble from error  # says nothing about the type
        return False


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except pa.ArrowException as error:
        if (trouble := outside_trouble(error)) is not None:
            raise trouble from error
        return pa.chunked_array([pa.nulls(len(column), pa.string())])


def plain_database(given: Callable[[], Mapping[str, Any]], comments: Mapping[str, str]) -> Callable[[str], None]:
    """Give the writer of a DuckDB file of some tables, or readers of them, each with a comment."""

    def write(path: str) -> None:
        with new_database(path) as connection:
            for name, rows in given().items():
                connection.register("se_given", rows)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM se_given")
                connection.unregister("se_given")
                connection.execute(f"COMMENT ON TABLE {name} IS {literal(comments[name])}")

    return write
