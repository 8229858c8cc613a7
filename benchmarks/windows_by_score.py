"""Fetch PAULA's planned items of a shuffled list by score; peers have to sort."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.case import Case, Context
from benchmarks.data import Dataset
from benchmarks.windows import planned

_PEER_ITEMS = 100_000_000  # a tenth of a billion: more does not fit where peers sort


def _shuffled(context: Context) -> Dataset:
    return context.dataset("shuffled", max(1, context.n_items // 2))


def _peers(context: Context) -> Dataset:
    return context.dataset("shuffled", min(_PEER_ITEMS, max(1, context.n_items // 2)))


def ours(dataset_of: Callable[[Context], Dataset]) -> Callable[[Context], Callable[[], pa.Table]]:
    def prepare(context: Context) -> Callable[[], pa.Table]:
        from streameval.rankings import open_ranking
        from streameval.rows.options import RankingOptions

        def fetch(dataset: Dataset) -> pa.Table:
            options = RankingOptions(score="score", threads=context.threads, memory=0.4)
            ranking = open_ranking(str(dataset.folder), options)
            return ranking.fetch(planned(dataset.n_items), ["id"]).table

        small = Dataset(context.scratch, 10_000, dataset_of(context).kind)
        small.make()
        fetch(small)  # what is imported and loaded once is before the clock runs, on a list of its own
        return lambda: fetch(dataset_of(context))

    return prepare


def read_column(
    dataset_of: Callable[[Context], Dataset], column: str = "score"
) -> Callable[[Context], Callable[[], int]]:
    """The floor: read a column once and do nothing with it."""

    def prepare(context: Context) -> Callable[[], int]:
        from concurrent.futures import ThreadPoolExecutor

        import polars as pl

        def rows(path: Any) -> int:
            return pl.scan_parquet(path).select(column).collect().height

        def run() -> int:
            with ThreadPoolExecutor(context.threads) as pool:
                return sum(pool.map(rows, dataset_of(context).files))

        return run

    return prepare


def _polars(context: Context) -> Callable[[], pa.Table]:
    import polars as pl

    dataset = _peers(context)
    ranks = planned(dataset.n_items)

    def run() -> pa.Table:
        lazy = pl.scan_parquet(dataset.files).select("score", "id").sort("score", descending=True, maintain_order=True)
        return lazy.collect()[ranks - 1].to_arrow()

    return run


def _duckdb(context: Context) -> Callable[[], pa.Table]:
    import duckdb

    dataset = _peers(context)
    ranks = pa.table({"rank": planned(dataset.n_items)})

    def run() -> pa.Table:
        with duckdb.connect(config={"threads": context.threads}) as connection:
            connection.register("plan", ranks)
            return connection.sql(
                f"""SELECT id, score FROM (SELECT id, score, row_number() OVER (ORDER BY score DESC) AS rank
                    FROM read_parquet('{dataset.folder}/part-*.parquet')) SEMI JOIN plan USING (rank)"""
            ).to_arrow_table()

    return run


def _pyarrow(context: Context) -> Callable[[], pa.Table]:
    dataset = _peers(context)
    ranks = planned(dataset.n_items)

    def run() -> pa.Table:
        table = ds.dataset([str(path) for path in dataset.files]).to_table(columns=["score", "id"])
        return table.sort_by([("score", "descending")]).take(pa.array(ranks - 1))

    return run


def check(dataset_of: Callable[[Context], list[Dataset]], context: Context, found: pa.Table | int) -> dict[str, Any]:
    """Hold every score against the generator's, which falls with the rank; which of equal ones differs by tie rule."""
    if isinstance(found, int):
        return {}
    got = np.sort(found.column("score").to_numpy())[::-1]
    assert any(np.array_equal(got, one.scores(planned(one.n_items))) for one in dataset_of(context))
    return {}


def _both(context: Context) -> list[Dataset]:
    return [_shuffled(context), _peers(context)]


CASE = Case(
    title="PAULA's items of half of {n}, shuffled, by score; peers (and ours beside them) at 10⁸ at most",
    runners={
        "streameval, counting scans": ours(_shuffled),
        "read the score column once": read_column(_shuffled),
        "read the id column once": read_column(_shuffled, "id"),
        "streameval, at the peers' size": ours(_peers),
        "Polars, sort": _polars,
        "DuckDB, row_number": _duckdb,
        "pyarrow, sort": _pyarrow,
    },
    datasets=_both,
    check=partial(check, _both),
)
