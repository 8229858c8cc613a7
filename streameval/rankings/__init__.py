"""Rankings: rows in an order. They know no methods, no labels, and no kind of storage from another."""

from __future__ import annotations

from typing import Any

from streameval.rankings.ranking import Ranking
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions


def open_ranking(source: Any, options: RankingOptions | None = None) -> Ranking:
    """Open a ranking of any kind of storage, in stored order or by score.

    Args:
        source: A Parquet file, a folder of partitions, a glob, or a list of them, on disk or on an object store;
            `iceberg:CATALOG.NAMESPACE.TABLE[@SNAPSHOT]`, `delta:PATH[@VERSION]`; a pyarrow Table, a Polars DataFrame or
            LazyFrame, a pandas DataFrame.

    Raises:
        InputError: If the source is of no known kind, is missing or damaged, or its stored order is not what `options`
            say.
    """
    options = options or RankingOptions()
    rows = open_rows(source, options)
    if options.score is None:
        return Ranking(rows, options)
    from streameval.order.by_score import by_score

    return Ranking(rows, options, by_score(rows, options))
