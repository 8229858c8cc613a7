"""DuckDB as every part of this package uses it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa


def in_batches(answer: duckdb.DuckDBPyRelation, rows: int) -> pa.RecordBatchReader:
    """Read an answer, so many rows at a time; DuckDB 1.4 has an older name for it."""
    return answer.to_arrow_reader(rows) if hasattr(answer, "to_arrow_reader") else answer.fetch_record_batch(rows)


@contextmanager
def connected(spill: str | None = None, memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory: moments are UTC, and nothing is printed.

    Args:
        spill: Folder for what does not fit into memory.
        memory: Memory that it may take, such as "1GB".
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        # The bar would go to standard output, where `--json` promises one object. In a notebook without ipywidgets it
        # is off, and DuckDB refuses the very word.
        if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
            connection.execute("SET enable_progress_bar = false")
        if spill is not None:
            connection.execute("SET temp_directory = '" + spill.replace("'", "''") + "'")
        if memory is not None:
            connection.execute(f"SET memory_limit = '{memory}'")
        yield connection
