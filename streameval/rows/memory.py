"""Tables in memory: of Arrow, Polars, pandas, DuckDB, or whatever hands out Arrow data; readers and datasets too.

What is lazy (a Polars LazyFrame, a relation of DuckDB, a reader, a dataset) is run once and kept as Arrow.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, NoRowsError
from streameval.progress import Progress, silent
from streameval.rows import Rows, Taken
from streameval.rows.options import RankingOptions
from streameval.struct_fields import pick, with_fields
from streameval.typing import Int64Array

_SLICE_ROWS = 1 << 20


@dataclass(frozen=True)
class TableRows(Rows):
    """Rows of an Arrow table."""

    table: pa.Table

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return int(self.table.num_rows)

    @property
    def fingerprint(self) -> str:
        """Hash of names, types and content: sixteen hex digits."""
        digest = hashlib.sha256()
        for field, column in zip(self.table.schema, self.table.columns, strict=True):
            digest.update(f"{field.name}\0{field.type}\n".encode())
            for part in range(0, max(1, len(column)), _SLICE_ROWS):
                piece = pa.table({"": column.slice(part, _SLICE_ROWS).combine_chunks()}).combine_chunks()
                for batch in piece.to_batches():
                    digest.update(batch.serialize())
        return digest.hexdigest()[:16]

    @cached_property
    def schema(self) -> pa.Schema:  # type: ignore[override]
        """Of the table."""
        return with_fields(self.table.schema)

    def nulls(self, column: str) -> Mapping[str, int]:
        """Arrow counts them."""
        return {"a table in memory": self._pick([column]).column(0).null_count}

    def read(self, first: int, count: int, columns: Sequence[str]) -> pa.Table:
        """Slice columns: nothing is copied."""
        return self._pick(columns).slice(first, count)

    def _pick(self, columns: Sequence[str]) -> pa.Table:
        return pick(self.table, self.schema, columns)

    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Take rows."""
        for name in columns:
            if name not in self.schema.names:
                raise InputError(f"there is no column '{name}'", self.hint_for(name))
        return Taken(self._pick(columns).take(pa.array(positions)), rows_read=positions.size)


def as_table(source: Any) -> pa.Table | None:
    """Turn what holds a table into Arrow; None for anything else."""
    if isinstance(source, pa.Table):
        return source
    # asked of modules that the caller has loaded: nobody has a frame of a library that was never imported
    polars, pandas = sys.modules.get("polars"), sys.modules.get("pandas")
    if polars is not None and isinstance(source, polars.LazyFrame):
        from streameval.rows.lake import call_library

        return call_library("the lazy frame", lambda: _collect(source, polars))
    if polars is not None and isinstance(source, polars.DataFrame):
        return source.to_arrow()
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return _from_pandas(source)
    if _is_dataset(source):
        return source.to_table()
    return pa.table(source) if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch) else None


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(
            f"the pandas frame: no type of Arrow holds a column of it ({' '.join(str(error).split())})",
            "give each column one type, such as numbers beyond 64 bits as text",
        ) from None


def _without_views(table: pa.Table) -> pa.Table:
    """Give views of text and bytes as what they view: Arrow takes no rows of them."""
    kinds = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    schema = pa.schema([field.with_type(kinds.get(field.type, field.type)) for field in table.schema])
    return table if schema.equals(table.schema) else table.cast(schema)


def _is_dataset(source: Any) -> bool:
    datasets = sys.modules.get("pyarrow.dataset")
    return datasets is not None and isinstance(source, datasets.Dataset)


def _collect(source: Any, polars: Any) -> pa.Table:
    frames = list(source.collect_batches(maintain_order=True))
    return polars.concat(frames).to_arrow() if frames else source.collect().to_arrow()


@dataclass(frozen=True)
class _MemoryOpener:
    def accepts(self, source: Any) -> bool:
        kinds = {"Table", "RecordBatch", "LazyFrame", "DataFrame"}
        named = type(source).__name__ in kinds
        return named or hasattr(source, "__arrow_c_stream__") or _is_dataset(source)

    def open(self, source: Any, options: RankingOptions) -> Rows:
        table = as_table(source)
        if table is None:
            raise InputError(f"a {type(source).__module__}.{type(source).__name__} is not a ranking")
        if table.num_rows == 0:
            raise NoRowsError("the table has no rows", "a ranking needs at least one item")
        if options.where is not None:
            raise InputError("--where chooses files by partition", "filter the table before it is given")
        return TableRows(_without_views(table))


OPENER = _MemoryOpener()
