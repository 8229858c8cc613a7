"""Queries: a DuckDB file that is opened read-only, SQLite, PostgreSQL; their rows in the order in which they come."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from streameval.copies import rows_at_once
from streameval.copies.streams import RowsOnce
from streameval.labelling.duckdb_session import in_batches, one_line_errors, open_session
from streameval.labelling.readers import ROW, is_address, open_source
from streameval.labelling.readers.adbc import SCHEMES, answer_batches
from streameval.rows.options import RankingOptions
from streameval.stores.temporary import temporary_folder
from streameval.text.credentials import masked_source

READS = "duckdb:FILE#QUERY, sqlite:///FILE#QUERY, postgresql://...#QUERY"


def accepts(source: Any) -> bool:
    """Tell whether it is an address of a query."""
    return is_address(source)


@contextmanager
def open_list(source: Any, options: RankingOptions) -> Iterator[RowsOnce]:
    """Ask the query."""
    place = masked_source(source)
    with _answer(source, place.partition("#")[0], options) as reader:
        yield RowsOnce((place,), options, reader)


@contextmanager
def _answer(source: str, name: str, options: RankingOptions) -> Iterator[pa.RecordBatchReader]:
    if source.partition(":")[0] in SCHEMES:
        with answer_batches(source) as reader:
            yield reader
        return
    memory = f"{max(256, int(options.memory * 500))}MB"
    with (
        temporary_folder("streameval-work") as spill,
        open_session(str(spill), memory) as connection,
        one_line_errors(name, "correct the query"),
    ):
        opened = open_source(connection, source)
        rows = connection.sql(f"SELECT * EXCLUDE ({ROW}) FROM se_given")
        reader = in_batches(rows, rows_at_once(256))
        yield pa.RecordBatchReader.from_batches(
            pa.schema([field.with_name(name) for field, name in zip(reader.schema, opened.columns, strict=True)]),
            (batch.rename_columns(list(opened.columns)) for batch in reader),
        )
