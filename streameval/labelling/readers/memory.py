"""Tables in memory: Arrow, Polars, pandas, and whatever else speaks the Arrow PyCapsule protocol."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection
from streameval.labelling.readers import ROW, Opened, distinct, name_of

READS = "tables in memory"


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether it is a table in memory."""
    return head is None and (hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect_schema"))


def read(connection: Connection, source: Any) -> Opened:
    """Register the table; a lazy one is collected first."""
    try:
        table = pa.table(source.collect() if hasattr(source, "collect") else source)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(f"labels in memory: {' '.join(str(error).split())[:200]}") from error
    return register(connection, table, name_of(source))


def register(connection: Connection, table: pa.Table, name: str) -> Opened:
    """Make the view `se_given` over an Arrow table."""
    names = table.column_names
    connection.register("given", table.rename_columns(distinct(names)))
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT *, row_number() OVER () AS {ROW} FROM given")

    def digest() -> str:
        sha = hashlib.sha256()
        for batch in table.combine_chunks().to_batches():
            sha.update(batch.serialize())
        return sha.hexdigest()

    return Opened(name, digest, tuple(names))
