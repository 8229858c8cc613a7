"""Join a label table that covers the head of the list back to the plan."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.case import Case, Context
from benchmarks.data import labels
from benchmarks.windows import planned

_MOST_ROWS = 100_000_000
_BLOCK = 1 << 20


def _rows(context: Context) -> int:
    return min(_MOST_ROWS, context.n_items)


def _table(context: Context) -> Path:
    """The label table: (rank, label) for the first ranks, every rank in a scattered place."""
    path = context.scratch / "labels.parquet"
    if not path.exists():
        temporary, n = path.with_suffix(".part"), _rows(context)
        with pq.ParquetWriter(temporary, pa.schema([("rank", pa.int64()), ("label", pa.int8())])) as writer:
            for begin in range(0, n, _BLOCK):
                place = np.arange(begin, min(begin + _BLOCK, n))
                ranks = 1 + place * 1_000_003 % n if n % 1_000_003 else place + 1
                writer.write_table(pa.table({"rank": ranks, "label": labels(ranks, context.n_items, context.seed)}))
        os.replace(temporary, path)
    return path


def _ours(context: Context) -> Callable[[], pa.Table]:
    from streameval.labelling.reading import read_votes
    from streameval.methods import create

    path, plan = _table(context), create("paula", {}).plan(context.n_items)
    return lambda: read_votes(str(path), plan).table.select(["rank", "value"]).rename_columns(["rank", "label"])


def _duckdb(context: Context) -> Callable[[], pa.Table]:
    import duckdb

    path, ranks = _table(context), pa.table({"rank": planned(context.n_items)})

    def run() -> pa.Table:
        with duckdb.connect(config={"threads": context.threads}) as connection:
            connection.register("plan", ranks)
            return connection.sql(f"SELECT rank, label FROM '{path}' SEMI JOIN plan USING (rank)").to_arrow_table()

    return run


def _polars(context: Context) -> Callable[[], pa.Table]:
    import polars as pl

    path, ranks = _table(context), pl.DataFrame({"rank": planned(context.n_items)}).lazy()
    return lambda: pl.scan_parquet(path).join(ranks, on="rank", how="semi").collect(engine="streaming").to_arrow()


def _pyarrow(context: Context) -> Callable[[], pa.Table]:
    import pyarrow.dataset as ds

    path, ranks = _table(context), pa.table({"rank": planned(context.n_items)})
    return lambda: ds.dataset(path).join(ds.dataset(ranks), "rank", join_type="left semi").to_table()


def _check(context: Context, found: pa.Table) -> dict[str, Any]:
    found = found.sort_by("rank")
    ranks = planned(context.n_items)
    ranks = ranks[ranks <= _rows(context)]
    assert np.array_equal(found.column("rank").to_numpy(), ranks)
    assert np.array_equal(found.column("label").to_numpy(), labels(ranks, context.n_items, context.seed))
    return {}


CASE = Case(
    title="Join labels of the first ranks (up to 100,000,000) to the plan for {n}",
    runners={
        "streameval (checks every rank, hashes the file)": _ours,
        "DuckDB, semi-join": _duckdb,
        "Polars, streaming semi-join": _polars,
        "pyarrow, semi-join": _pyarrow,
    },
    datasets=lambda context: [],
    check=partial(_check),
)
