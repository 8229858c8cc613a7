"""How other libraries fetch items at ranks: by the row groups that hold them, or by a query over the whole list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Reader = Callable[[], pa.Table]


@dataclass(frozen=True)
class RowGroup:
    """Wanted rows of one row group: `first` is its first row in the file, `rows` count from there."""

    path: Path
    metadata: Any
    index: int
    first: int
    rows: np.ndarray


def row_groups(files: list[Path], ranks: np.ndarray) -> Iterator[RowGroup]:
    """Row groups that hold ranks, from footers alone."""
    end = 0
    for path in files:
        metadata, first = pq.read_metadata(path), 0
        for index in range(metadata.num_row_groups):
            begin, end = end, end + metadata.row_group(index).num_rows
            rows = ranks[np.searchsorted(ranks, begin + 1) : np.searchsorted(ranks, end, side="right")] - begin - 1
            if rows.size:
                yield RowGroup(path, metadata, index, first, rows)
            first += end - begin


def pyarrow_row_groups(
    files: list[Path], ranks: np.ndarray, columns: list[str], threads: int
) -> Callable[[], pa.Table]:
    def read(group: RowGroup) -> pa.Table:
        with pq.ParquetFile(group.path, metadata=group.metadata) as file:
            return file.read_row_group(group.index, columns=columns, use_threads=False).take(pa.array(group.rows))

    def run() -> pa.Table:
        with ThreadPoolExecutor(threads) as pool:
            return pa.concat_tables(pool.map(read, row_groups(files, ranks)))

    return run


def polars_row_groups(files: list[Path], ranks: np.ndarray, columns: list[str], threads: int) -> Reader:
    import polars as pl

    def read(group: RowGroup) -> pl.DataFrame:
        begin, end = int(group.rows[0]), int(group.rows[-1]) + 1
        scan = pl.scan_parquet(group.path, glob=False).select(columns)
        return scan.slice(group.first + begin, end - begin).collect()[group.rows - begin]

    def run() -> pa.Table:
        with ThreadPoolExecutor(threads) as pool:
            return pl.concat(pool.map(read, row_groups(files, ranks))).to_arrow()

    return run


def windows(ranks: np.ndarray) -> list[tuple[int, int]]:
    """Runs of consecutive ranks: first rank, length."""
    cuts = np.flatnonzero(np.diff(ranks) > 1) + 1
    return [(int(run[0]), run.size) for run in np.split(ranks, cuts)]


def polars_slices(files: list[Path], ranks: np.ndarray, columns: list[str], threads: int) -> Reader:
    import polars as pl

    def run() -> pa.Table:
        scan = pl.scan_parquet(files).select(columns)
        return pl.concat([scan.slice(first - 1, size).collect() for first, size in windows(ranks)]).to_arrow()

    return run


def duckdb_join(files: list[Path], ranks: np.ndarray, columns: list[str], threads: int) -> Reader:
    import duckdb

    def run() -> pa.Table:
        rows = np.array([pq.read_metadata(path).num_rows for path in files])
        with duckdb.connect(config={"threads": threads}) as connection:
            connection.register("wanted", pa.table({"rank": ranks}))
            offsets = pa.table({"filename": [str(path) for path in files], "before": np.cumsum(rows) - rows})
            connection.register("offsets", offsets)
            return connection.sql(
                f"""SELECT {", ".join(columns)}
                    FROM (SELECT *, before + file_row_number + 1 AS rank
                          FROM read_parquet($files, file_row_number = true, filename = true)
                          JOIN offsets USING (filename))
                    SEMI JOIN wanted USING (rank) ORDER BY rank""",
                params={"files": [str(path) for path in files]},
            ).to_arrow_table()

    return run
