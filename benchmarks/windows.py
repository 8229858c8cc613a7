"""Fetch PAULA's planned items of a list in stored order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import peers
from benchmarks.case import Case, Context, Runner
from benchmarks.data import Dataset

_COLUMNS = ["id", "score", "label"]
WARM_ITEMS = 10_000


def planned(n_items: int) -> np.ndarray:
    from streameval.methods import create

    return create("paula", {}).plan(n_items).ranks


def ours(dataset: Dataset, columns: list[str], context: Context) -> peers.Reader:
    from streameval.rankings import open_ranking
    from streameval.rows.options import RankingOptions

    options = RankingOptions(threads=context.threads)

    def run() -> pa.Table:
        return open_ranking(str(dataset.folder), options).fetch(planned(dataset.n_items), columns).table

    # what is imported and loaded once is before the clock runs, on a list of its own
    small = Dataset(context.scratch, WARM_ITEMS, dataset.kind, index=dataset.index)
    small.make()
    open_ranking(str(small.folder), options).fetch(planned(WARM_ITEMS), columns)
    return run


def theirs(
    reader: Callable[..., Any], dataset: Dataset, columns: list[str], context: Context
) -> Callable[[], pa.Table]:
    reader(dataset.files[:1], np.array([1]), columns, context.threads)
    return reader(dataset.files, planned(dataset.n_items), columns, context.threads)


def runners(dataset_of: Callable[[Context], Dataset], columns: list[str], names: list[str]) -> dict[str, Runner]:
    readers = {
        "pyarrow, row groups": peers.pyarrow_row_groups,
        "Polars, row groups": peers.polars_row_groups,
        "Polars, slices of the list": peers.polars_slices,
        "DuckDB, join on the row number": peers.duckdb_join,
    }

    def runner(make: Callable[..., Any], context: Context) -> Callable[[], Any]:
        return make(dataset_of(context), columns, context)

    found = {"streameval, pages": partial(runner, ours)}
    return found | {name: partial(runner, partial(theirs, readers[name])) for name in names}


def check(
    dataset_of: Callable[[Context], Dataset], columns: list[str], context: Context, found: pa.Table
) -> dict[str, Any]:
    """Hold every item against the generator, and count the bytes of the pages that hold them."""
    dataset = dataset_of(context)
    ranks = planned(dataset.n_items)
    truth = dataset.items(ranks)
    for name in columns:
        got = found.column(name).combine_chunks()
        assert got.cast(truth.column(name).type).equals(truth.column(name).combine_chunks()), name
    return {"needed": page_bytes(dataset, ranks, columns)}


def page_bytes(dataset: Dataset, ranks: np.ndarray, columns: list[str]) -> int:
    from streameval.parquet.read_items import find_job
    from streameval.rankings import open_ranking

    ranking = open_ranking(str(dataset.folder))
    job = find_job(ranking.rows.parts(ranks - 1), columns)
    return job.size


def _narrow(context: Context) -> Dataset:
    return context.dataset()


_PEERS = [
    "pyarrow, row groups", "Polars, row groups", "Polars, slices of the list", "DuckDB, join on the row number"
]  # fmt: skip
CASE = Case(
    title="PAULA's items of {n} in stored order: id, score, label",
    runners=runners(_narrow, _COLUMNS, _PEERS),
    datasets=lambda context: [context.dataset()],
    check=partial(check, _narrow, _COLUMNS),
)
