"""sqlite:///FILE#QUERY and postgresql://…#QUERY: any query, by ADBC, straight into Arrow (extra `[db]`)."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StreamevalError, installed_by
from streameval.labelling.duckdb_session import Connection, quote
from streameval.labelling.readers import ROW, Opened, distinct, split_query
from streameval.text.credentials import masked_source, without_secrets

READS = "sqlite:///FILE#QUERY, postgresql://...#QUERY"
_DRIVERS = {
    "sqlite": "adbc_driver_sqlite.dbapi",
    "postgresql": "adbc_driver_postgresql.dbapi",
    "postgres": "adbc_driver_postgresql.dbapi",
}
SCHEMES = tuple(_DRIVERS)
_DOWN = ("could not connect", "connection refused", "connection to server", "timeout", "server closed",
         "terminating connection")  # fmt: skip
_NAMELESS = ("could not translate host name", "name resolution", "name or service not known")
_REFUSED = ("authentication failed", "does not exist", "no password supplied", "permission denied")


def read(connection: Connection, source: Any) -> Opened:
    """Stream the query's rows into a temporary table, which may spill to disk; errors as of `answer_batches`."""
    with answer_batches(source) as stream:
        names = list(stream.schema.names)
        connection.register("stream", stream)
        aliases = ", ".join(quote(name) for name in distinct(names))
        connection.execute(
            f"CREATE TEMP TABLE se_given AS SELECT *, row_number() OVER () AS {ROW} FROM stream AS asked({aliases})"
        )
        connection.unregister("stream")
    return Opened(masked_source(source.partition("#")[0]), None, tuple(names))


@contextmanager
def answer_batches(source: str) -> Iterator[pa.RecordBatchReader]:
    """Give the rows of the query as they come.

    Raises:
        InputError: A driver that is not installed, a file that is not there, a query that fails; a password with
            characters that an address gives another meaning.
        OutsideError: A server that does not answer, or no longer.

    What goes wrong while rows come is raised by the reader; where DuckDB reads it, and tells of it in words of its own,
    it is raised at the end of the block.
    """
    _refuse_odd_login(source)
    address, query = split_query(source)
    kind = address.partition(":")[0]
    shown = masked_source(address)
    if kind == "sqlite" and _goes_on(query):
        raise InputError(f"{shown}: several queries behind the #", "ask one: its driver would answer the first alone")
    target, driver = _target(kind, address), _driver(kind, shown)
    broken: list[StreamevalError] = []

    def batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except (pa.ArrowException, OSError) as error:
            broken.append(_trouble(shown, address, error))
            raise broken[0] from None

    try:
        with driver.connect(target) as database, database.cursor() as cursor:
            cursor.execute(query)
            reader = cursor.fetch_record_batch()
            yield pa.RecordBatchReader.from_batches(reader.schema, batches(reader))
    except Exception as error:
        if broken:
            raise broken[0] from None
        if isinstance(error, driver.Error | pa.ArrowException | OSError):
            raise _trouble(shown, address, error) from None  # what it quotes is no one's to read
        raise


def _goes_on(query: str) -> bool:
    """Tell whether more than a comment follows a statement's end."""
    import sqlite3

    ends = (i + 1 for i, sign in enumerate(query) if sign == ";" and sqlite3.complete_statement(query[: i + 1]))
    rest = query[next(ends, len(query)) :]
    return bool(re.sub(r"--.*|(?s:/\*.*?\*/)|[\s;]", "", rest))


def _trouble(shown: str, address: str, error: Exception) -> StreamevalError:
    """Give what a driver says, in one line without secrets."""
    text = without_secrets(" ".join(str(error).split()), [address])[:300]
    if any(sign in text.lower() for sign in _DOWN) and not any(sign in text.lower() for sign in _REFUSED):
        return OutsideError(f"{shown}: {text}", "run the command again when the server is up")
    if any(sign in text.lower() for sign in _NAMELESS):
        return OutsideError(f"{shown}: {text}", "check the name of the host; if it is right, try again later")
    secret = "" if address.startswith("sqlite") else ", the password"
    return InputError(f"{shown}: {text}", f"check the address{secret} and the query")


def _refuse_odd_login(source: str) -> None:
    address, _, query = source.partition("#")
    login = address.partition("://")[2].rpartition("@")[0]
    if address.startswith("postgres") and (re.match(r"\S*@", query) or re.search(r"[/?@\s]", login)):
        hint = "write @ # / ? : and spaces there as %40 %23 %2F %3F %3A %20"
        raise InputError(f"{masked_source(source)}: its user name or password holds such a character", hint)


def _driver(kind: str, shown: str) -> Any:
    try:
        return importlib.import_module(_DRIVERS[kind])
    except ImportError as error:
        raise InputError(f"{shown}: no driver for {kind} is installed", installed_by("db")) from error


def _target(kind: str, address: str) -> str:
    """Say what the driver takes; SQLite would make a file that is not there."""
    if kind != "sqlite":
        return address
    path = address.removeprefix("sqlite:///")
    if not os.path.isfile(path):
        hint = "an address is sqlite:///FILE#QUERY, with four slashes where FILE begins at the root"
        raise InputError(f"{path}: no such SQLite file", hint)
    return path
