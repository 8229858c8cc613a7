"""duckdb:FILE#QUERY: a query over a DuckDB file, opened read-only."""

from __future__ import annotations

import os
from typing import Any

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.labelling.readers import ROW, Opened, distinct, split_query

READS = "duckdb:FILE#QUERY"
SCHEMES = ("duckdb",)
_MAGIC, _MAGIC_AT = b"DUCK", 8


def read(connection: Connection, source: Any) -> Opened:
    """Make the view over the query; the database streams it."""
    address, query = split_query(source)
    path = address.removeprefix("duckdb:").removeprefix("//")
    if not os.path.isfile(path):
        raise InputError(f"{path}: no such DuckDB file", "an address is duckdb:FILE#QUERY")
    with open(path, "rb") as file:
        if file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] != _MAGIC:
            raise InputError(f"{path}: not a DuckDB file", "a table in a file of its own is named without duckdb:")
    connection.execute(f"ATTACH {literal(path)} AS given (READ_ONLY)")
    connection.execute("USE given")  # its own names are the query's; what is temporary comes before them
    n_statements = len(connection.extract_statements(query))
    if n_statements != 1:
        raise InputError(f"{path}: {n_statements} queries behind the #", "ask one")
    names = [row[0] for row in connection.execute(f"DESCRIBE {query}").fetchall()]
    aliases = ", ".join(quote(name) for name in distinct(names))
    connection.execute(
        f"CREATE TEMP VIEW se_given AS SELECT *, row_number() OVER () AS {ROW} FROM (\n{query}\n) AS asked({aliases})"
    )
    return Opened(address, None, tuple(names))
