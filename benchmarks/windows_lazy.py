"""Ask a lazy frame for PAULA's planned items: that of the ranking, and Polars' own of the files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows import WARM_ITEMS, check, ours, planned

_COLUMNS = ["id"]

Query = Callable[[Dataset, np.ndarray, int], pa.Table]


def _scan_ranking(dataset: Dataset, ranks: np.ndarray, threads: int) -> pa.Table:
    import polars as pl

    import streameval

    frame = streameval.scan_ranking(str(dataset.folder), threads=threads)
    return frame.filter(pl.col("rank").is_in(pl.Series(ranks).implode())).select(_COLUMNS).collect().to_arrow()


def _duckdb(dataset: Dataset, ranks: np.ndarray, threads: int) -> pa.Table:
    import duckdb

    import streameval

    with duckdb.connect(config={"threads": threads}) as connection:
        connection.register("items", streameval.scan_ranking(str(dataset.folder), threads=threads))
        listed = ", ".join(map(str, ranks.tolist()))
        query = f"SELECT {', '.join(_COLUMNS)} FROM items WHERE rank IN ({listed}) ORDER BY rank"
        return connection.sql(query).to_arrow_table()


def _scan_parquet(dataset: Dataset, ranks: np.ndarray, threads: int) -> pa.Table:
    import polars as pl

    frame = pl.scan_parquet(dataset.files, row_index_name="rank", row_index_offset=1)
    wanted = pl.Series(ranks, dtype=pl.get_index_type()).implode()
    return frame.filter(pl.col("rank").is_in(wanted)).select(_COLUMNS).collect().to_arrow()


def _runner(query: Query, context: Context) -> Callable[[], Any]:
    small = Dataset(context.scratch, WARM_ITEMS, "narrow")
    small.make()
    query(small, planned(WARM_ITEMS), context.threads)
    dataset = context.dataset()
    return lambda: query(dataset, planned(dataset.n_items), context.threads)


def _narrow(context: Context) -> Dataset:
    return context.dataset()


CASE = Case(
    title="PAULA's items of {n} in stored order from a lazy frame: id",
    runners={
        "streameval, scan_ranking": partial(_runner, _scan_ranking),
        "streameval, fetch": lambda context: ours(context.dataset(), _COLUMNS, context),
        "streameval, scan_ranking in DuckDB, IN": partial(_runner, _duckdb),
        "Polars, scan_parquet with a row index": partial(_runner, _scan_parquet),
    },
    datasets=lambda context: [context.dataset()],
    check=partial(check, _narrow, _COLUMNS),
)
