"""Evaluate a fully labelled list in stored order: average precision, AUC and every other metric, tie-exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.case import Case, Context
from benchmarks.data import Dataset

PEER_ITEMS = 100_000_000
SMALL = 10_000


def _whole(context: Context) -> Dataset:
    return context.dataset()


def _peers(context: Context) -> Dataset:
    return context.dataset("narrow", min(PEER_ITEMS, context.n_items))


def ours(
    dataset_of: Callable[[Context], Dataset], score: str | None, memory: float = 2.0
) -> Callable[[Context], Callable[[], dict[str, float]]]:
    def prepare(context: Context) -> Callable[[], dict[str, float]]:
        from streameval import RankingOptions, exact

        def run(dataset: Dataset) -> dict[str, float]:
            options = RankingOptions(score=score, threads=context.threads, memory=memory)
            found = exact(str(dataset.folder), label="label", options=options)
            rows = {(row["metric"], row["argument"]): row for row in found.metrics.to_pylist()}
            ap = rows["average_precision", "positives"]
            return {"n": dataset.n_items, "ap": ap["estimate"], "low": ap["lower"], "high": ap["upper"],
                    "auc": rows["roc_auc", ""]["estimate"]}  # fmt: skip

        small = Dataset(context.scratch, SMALL, dataset_of(context).kind)
        small.make()
        run(small)  # what is imported and loaded once is before the clock runs
        return lambda: run(dataset_of(context))

    return prepare


def decode(dataset_of: Callable[[Context], Dataset], columns: list[str]) -> Callable[[Context], Callable[[], int]]:
    """The floor: decode the same columns with the same threads, and do nothing with them."""

    def prepare(context: Context) -> Callable[[], int]:
        from concurrent.futures import ThreadPoolExecutor

        import polars as pl

        def rows(path: Any) -> int:
            return min(pl.scan_parquet(path).select(column).collect().height for column in columns)

        def run() -> int:
            with ThreadPoolExecutor(context.threads) as pool:
                return sum(pool.map(rows, dataset_of(context).files))

        return run

    return prepare


def decode_pyarrow(
    dataset_of: Callable[[Context], Dataset], columns: list[str]
) -> Callable[[Context], Callable[[], int]]:
    """The same with pyarrow."""

    def prepare(context: Context) -> Callable[[], int]:
        from concurrent.futures import ThreadPoolExecutor

        import pyarrow.parquet as pq

        def rows(path: Any) -> int:
            return min(int(pq.read_table(path, columns=[column], use_threads=False).num_rows) for column in columns)

        def run() -> int:
            with ThreadPoolExecutor(context.threads) as pool:
                return sum(pool.map(rows, dataset_of(context).files))

        return run

    return prepare


def scikit_learn(dataset_of: Callable[[Context], Dataset]) -> Callable[[Context], Callable[[], dict[str, float]]]:
    def prepare(context: Context) -> Callable[[], dict[str, float]]:
        import polars as pl
        from sklearn.metrics import average_precision_score, roc_auc_score

        dataset = dataset_of(context)

        def run() -> dict[str, float]:
            table = pl.read_parquet(dataset.files, columns=["score", "label"])
            score, label = table["score"].to_numpy(), table["label"].to_numpy()
            ap = float(average_precision_score(label, score))
            return {"n": dataset.n_items, "ap": ap, "low": ap, "high": ap, "auc": float(roc_auc_score(label, score))}

        return run

    return prepare


_SQL = """
WITH groups AS (SELECT score, count(*) AS n, sum(label)::BIGINT AS p FROM read_parquet('{files}') GROUP BY score),
     ends AS (SELECT n, p, sum(n) OVER w AS r, sum(p) OVER w AS y FROM groups WINDOW w AS (ORDER BY score DESC))
SELECT sum(p * y::DOUBLE / r) / sum(p), sum((n - p) * (y - p / 2.0)) / (sum(p)::DOUBLE * sum(n - p)) FROM ends
"""


def duckdb_groups(dataset_of: Callable[[Context], Dataset]) -> Callable[[Context], Callable[[], dict[str, float]]]:
    def prepare(context: Context) -> Callable[[], dict[str, float]]:
        import duckdb

        dataset = dataset_of(context)

        def run() -> dict[str, float]:
            with duckdb.connect(config={"threads": context.threads}) as connection:
                row = connection.execute(_SQL.format(files=f"{dataset.folder}/part-*.parquet")).fetchone()
            assert row is not None
            return {"n": dataset.n_items, "ap": row[0], "low": row[0], "high": row[0], "auc": row[1]}

        return run

    return prepare


def check(context: Context, found: dict[str, float] | int) -> dict[str, Any]:
    """Hold both metrics against those of the first 10⁷ ranks' generator where the list is that short."""
    if isinstance(found, int) or found["n"] > 10_000_000:
        return {}
    n = int(found["n"])
    dataset = Dataset(context.root, n, "narrow", context.seed)
    from streameval import average_precision_score, roc_auc_score

    table = dataset.items(np.arange(1, n + 1))
    label, score = table.column("label").to_numpy(), table.column("score").to_numpy()
    expected = average_precision_score(label, score), roc_auc_score(label, score)
    assert found["low"] * (1 - 1e-9) <= expected[0] <= found["high"] * (1 + 1e-9)
    assert abs(found["auc"] - expected[1]) < 1e-6
    return {}


CASE = Case(
    title="Every metric of {n} labelled items in stored order; peers at 10⁸ at most",
    runners={
        "streameval exact, ties by score": ours(_whole, "score"),
        "streameval exact, stored order is the ranking": ours(_whole, None),
        "decode score and label, Polars": decode(_whole, ["score", "label"]),
        "decode score and label, pyarrow": decode_pyarrow(_whole, ["score", "label"]),
        "decode label, Polars": decode(_whole, ["label"]),
        "decode label, pyarrow": decode_pyarrow(_whole, ["label"]),
        "streameval exact, at the peers' size": ours(_peers, "score"),
        "DuckDB, groups and windows (AP, AUC)": duckdb_groups(_peers),
        "scikit-learn (AP, AUC)": scikit_learn(_peers),
    },
    datasets=lambda context: [_whole(context), _peers(context)],
    check=check,
)
