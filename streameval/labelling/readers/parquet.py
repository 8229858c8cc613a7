"""Parquet files."""

from __future__ import annotations

import os
from typing import Any

from streameval.labelling.duckdb_session import Connection
from streameval.labelling.readers import ROW, Opened, file_digest, one_path

READS = "Parquet"


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether a file begins as Parquet does."""
    return head is not None and head.startswith(b"PAR1")


def read(connection: Connection, source: Any) -> Opened:
    """Make the view; row numbers are the file's own, so that nothing has to be counted."""
    path = os.fspath(source)
    reader = f"read_parquet({one_path(path)}, file_row_number = true)"
    connection.execute(
        f"CREATE TEMP VIEW se_given AS SELECT * EXCLUDE (file_row_number), file_row_number + 1 AS {ROW} FROM {reader}"
    )
    names = [row[0] for row in connection.execute("DESCRIBE se_given").fetchall()]
    return Opened(path, file_digest(path), tuple(n for n in names if n != ROW))
