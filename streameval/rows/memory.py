"""Rankings in memory: Arrow tables, Polars frames (lazy ones too) and pandas frames, their rows best first or by score.

A lazy frame is run once, batch by batch, and kept as Arrow.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, did_you_mean
from streameval.parquet.footers import check_column
from streameval.parquet.forecast import Forecast
from streameval.progress import Progress, silent
from streameval.rankings import Fetched, Ranking, check_ranks
from streameval.rankings.opening import by_score
from streameval.rows.options import RankingOptions
from streameval.rows.parquet import free_name
from streameval.typing import Int64Array

_SLICE_ROWS = 1 << 20


@dataclass(frozen=True)
class TableRanking:
    """A table whose row order is the ranking.

    Attributes
    ----------
    table : pyarrow.Table
    options : RankingOptions
    """

    table: pa.Table
    options: RankingOptions

    @property
    def n_items(self) -> int:
        """N."""
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

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready."""
        return {"fingerprint": self.fingerprint, "files": 0, "order": "stored"}

    def location(self) -> dict[str, Any]:
        """No place: whoever selects has to give the table again."""
        return {"source": None, "file_order": None, "memory": self.options.memory, "threads": self.options.threads}

    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.table.column_names)

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Nothing is read: the table is in memory."""
        return Forecast()

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
    ) -> Fetched:
        """Take the rows at `ranks`."""
        check_ranks(ranks, self.n_items)
        for name in columns:
            if name not in self.table.column_names:
                raise InputError(f"there is no column '{name}'", did_you_mean(name, self.table.column_names))
        rows = self.table.select(list(dict.fromkeys(columns))).take(pa.array(ranks - 1))
        found = pa.table({"rank": ranks})
        for name in columns:
            found = found.append_column(free_name(name, found.column_names), rows.column(name))
        return Fetched(found, rows_read=ranks.size)


@dataclass(frozen=True)
class TableSlice:
    """Some rows of a table, as a scan reads them."""

    table: pa.Table
    first_position: int
    rows: int
    score_bytes: int = 0

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"the table from row {self.first_position:,} on"

    def advise(self) -> None:
        """Nothing to fetch."""

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Slice columns: nothing is copied."""
        return self.table.select(list(columns)).slice(self.first_position, self.rows)


def table_slices(table: pa.Table) -> list[TableSlice]:
    """All rows, as scans read them."""
    starts = range(0, table.num_rows, _SLICE_ROWS)
    return [TableSlice(table, first, min(_SLICE_ROWS, table.num_rows - first)) for first in starts]


def as_table(source: Any) -> pa.Table | None:
    """Turn what holds a table into Arrow; None for anything else."""
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    # asked of modules that the caller has loaded: nobody has a frame of a library that was never imported
    polars, pandas = sys.modules.get("polars"), sys.modules.get("pandas")
    if polars is not None and isinstance(source, polars.LazyFrame):
        frames = list(source.collect_batches(maintain_order=True))
        return polars.concat(frames).to_arrow() if frames else source.collect().to_arrow()
    if polars is not None and isinstance(source, polars.DataFrame):
        return source.to_arrow()
    if pandas is not None and isinstance(source, pandas.DataFrame):
        return pa.Table.from_pandas(source, preserve_index=False)
    return None


@dataclass(frozen=True)
class _Opener:
    def accepts(self, source: Any) -> bool:
        kinds = {"Table", "RecordBatch", "LazyFrame", "DataFrame"}
        return type(source).__name__ in kinds

    def open(self, source: Any, options: RankingOptions) -> Ranking:
        table = as_table(source)
        if table is None:
            raise InputError(f"a {type(source).__module__}.{type(source).__name__} is no ranking")
        if table.num_rows == 0:
            raise InputError("the table has no rows", "a ranking needs at least one item")
        if options.where is not None:
            raise InputError("--where chooses files by partition", "filter the table before it is given")
        rows = TableRanking(table, options)
        if options.score is None:
            return rows
        check_column(table.schema, options.score, "the table")
        types = [("the table", table.schema.field(options.score).type)]
        return by_score(rows, table_slices(table), table.schema, types, options)


OPENER = _Opener()
