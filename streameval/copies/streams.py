"""Rows that come once, as Arrow batches: of readers, relations of DuckDB, datasets, lazy frames of Polars, queries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.copies import TABLES, Unread, rows_at_once
from streameval.errors import InputError
from streameval.labelling.duckdb_session import in_batches
from streameval.labelling.readers import IN_MEMORY
from streameval.rows.lake import call_library
from streameval.rows.options import NEEDS_SCORE, RankingOptions

READS = "Arrow readers, relations of DuckDB, datasets, lazy frames"
_NAME = "the rows that were given"
_AT_ONCE = rows_at_once(256)


def accepts(source: Any) -> bool:
    """Tell whether rows come from it, and it is no table that lies in memory."""
    if type(source).__name__ in TABLES:
        return False
    return hasattr(source, "__arrow_c_stream__") or _reader_of(source) is not None


@contextmanager
def open_list(source: Any, options: RankingOptions) -> Iterator[RowsOnce]:
    """Ask for the rows."""
    make_reader = _reader_of(source) or (lambda: pa.RecordBatchReader.from_stream(source))
    yield RowsOnce((IN_MEMORY,), options, call_library(_NAME, make_reader))


def _reader_of(source: Any) -> Any:
    """Give what makes a reader of things that give rows in batches, where the Arrow protocol may hold all of them."""
    duckdb, polars, datasets = (sys.modules.get(library) for library in ("duckdb", "polars", "pyarrow.dataset"))
    if duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation):
        return lambda: in_batches(source, _AT_ONCE)
    if datasets is not None and isinstance(source, datasets.Dataset):
        return lambda: source.scanner(batch_size=_AT_ONCE).to_reader()
    if polars is not None and isinstance(source, polars.LazyFrame):
        return lambda: _of_frame(source)
    return None


def _of_frame(frame: Any) -> pa.RecordBatchReader:
    schema = frame.collect_schema().to_frame().to_arrow().schema
    batches = (batch for part in frame.collect_batches(maintain_order=True) for batch in part.to_arrow().to_batches())
    return pa.RecordBatchReader.from_batches(schema, batches)


class RowsOnce(Unread):
    """Rows of a reader, which can be read once."""

    def __init__(
        self, places: tuple[str, ...], options: RankingOptions, reader: pa.RecordBatchReader, content: str | None = None
    ) -> None:
        self.places, self.options, self.content, self._reader = places, options, content, reader
        if places == (IN_MEMORY,):
            self.without_rows = "a reader gives its rows once: make a new one, if this was read before"

    @property
    def name(self) -> str:
        """Say how messages call it."""
        return _NAME if self.places == (IN_MEMORY,) else super().name

    @property
    def schema(self) -> pa.Schema:
        """Of the reader; what only Arrow knows is what it is stored as."""
        return pa.schema([(field.name, _storage_type(field.type)) for field in self._reader.schema])

    def check(self) -> None:
        """Refuse types that Parquet has no place for, too."""
        super().check()
        for field in self.schema:
            if pa.types.is_duration(field.type) or pa.types.is_interval(field.type) or pa.types.is_union(field.type):
                raise InputError(f"{self.name}: column '{field.name}' is {field.type}, which Parquet cannot hold",
                                 f"leave it out, or cast it: CAST({field.name} AS VARCHAR)")  # fmt: skip

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read what comes; an `InputError` at the first row without a score, unless such rows come last."""
        schema, rows = self.schema, 0
        while (batch := call_library(self.name, self._next)) is not None:
            stored = batch.cast(schema)
            self._refuse_missing(stored, rows)
            rows += stored.num_rows
            yield stored

    def _refuse_missing(self, batch: pa.RecordBatch, before: int) -> None:
        score = self.options.score
        if score is None or self.options.nan == "last":
            return
        if (row := pc.index(pc.is_null(batch.column(score), nan_is_null=True), True).as_py()) >= 0:
            raise InputError(f"{self.name}: row {before + row + 1:,} has no {score}",
                             NEEDS_SCORE)  # fmt: skip

    def _next(self) -> pa.RecordBatch | None:
        try:
            return self._reader.read_next_batch()
        except StopIteration:
            return None


def _storage_type(kind: pa.DataType) -> pa.DataType:
    """Give what a type is stored as: an extension as its storage, a view as what it views, codes as their values."""
    if isinstance(kind, pa.BaseExtensionType):
        return _storage_type(kind.storage_type)
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    return _storage_type(kind.value_type) if pa.types.is_dictionary(kind) else kind
