"""Open a list as a ranking by score: files, or anything that is read in units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.rankings import Ranking, RankingOptions
from streameval.rankings.footers import check_column
from streameval.rankings.ordering.groups import key_bounds, row_groups
from streameval.rankings.ordering.scores import order_of, widest
from streameval.rankings.ordering.ties import check_key
from streameval.rankings.ordering.units import Unit
from streameval.rankings.scored import ScoredRanking
from streameval.rankings.stored import StoredRanking, open_stored

_LEAST_MEMORY = 0.05  # GB: bins and a few row groups


def open_scored(source: Any, options: RankingOptions) -> ScoredRanking:
    """Open Parquet files as a ranking by score.

    Raises
    ------
    InputError
        See `open_stored` and `scored_from`.
    """
    return scored_from(open_stored(source, options), options)


def scored_from(rows: StoredRanking, options: RankingOptions) -> ScoredRanking:
    """Order opened files by score.

    Raises
    ------
    InputError
        A score or key column that is missing, or of a type that cannot be ordered or hashed.
    """
    score = options.score or ""
    check_column(rows.schema, score, rows.source[0])
    types = [(footer.file.path, footer.schema.field(score).type) for footer in rows.footers]
    ranking = by_score(rows, row_groups(rows.footers), rows.schema, types, replace(options, threads=rows.threads))
    # a NaN that comes last can lie in any row group: a float's statistics do not tell
    anywhere = options.nan == "last" and ranking.order.kind.startswith("float")
    return replace(ranking, bounds=None if anywhere else key_bounds(rows.footers, ranking.order, score))


def by_score(
    rows: Ranking,
    units: Sequence[Unit],
    schema: pa.Schema,
    types: list[tuple[str, pa.DataType]],
    options: RankingOptions,
) -> ScoredRanking:
    """Order a list by score.

    Parameters
    ----------
    rows : Ranking
        The list in stored order.
    units : sequence of Unit
        All of it, in stored order.
    schema : pyarrow.Schema
    types : list of (place, type)
        Of the score column, wherever it may differ.
    options : RankingOptions
        With a score.

    Raises
    ------
    InputError
        A score or key column that is missing, or of a type that cannot be ordered or hashed; too little memory.
    """
    score, (where, _) = options.score or "", types[0]
    order = order_of(types, score, options.ascending, options.nan)
    for name in options.key:
        check_column(schema, name, where)
        check_key(schema.field(name).type, name)
    if options.memory < _LEAST_MEMORY:
        raise InputError(
            f"{options.memory:g} GB of memory is too little to count scores", f"give --memory {_LEAST_MEMORY} or more"
        )
    return ScoredRanking(rows, tuple(units), options, order, score, widest([kind for _, kind in types], order))
