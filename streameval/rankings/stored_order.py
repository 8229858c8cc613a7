"""Doubts that a list is one ranking, stated before a label is spent on it.

It may be stored in the order of no score, or hold the rankings of several queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import StreamevalError
from streameval.kernels.sorted_sets import unique
from streameval.labelling.names import SCORES, has_word
from streameval.rankings.ranking import Ranking
from streameval.typing import Int64Array

_LOOKED_AT = 12  # rows, evenly spaced: without any order they stand in a column's once in 10⁸ lists
_MOST_COLUMNS = 8
_RUN = {"query", "document", "rank", "score", "run"}  # columns of a TREC run


def describe_place(ranking: Ranking) -> dict[str, Any]:
    """Give a ranking's place (`Ranking.location`), and the `doubt` that it is one, if there is any."""
    return {**ranking.location(), **doubt_of(ranking)}


def doubt_of(ranking: Ranking) -> dict[str, str]:
    """A `doubt` that a list is one ranking; empty where there is none."""
    doubt = _queries_doubt(ranking) or ("" if ranking.order is not None else order_doubt(ranking))
    return {"doubt": doubt} if doubt else {}


def _queries_doubt(ranking: Ranking) -> str:
    """A sentence where a list is a TREC run of several queries, as some of its rows say; else empty."""
    if not _RUN.issubset(ranking.columns()):
        return ""
    try:
        queries = set(ranking.rows.take(_some(ranking), ["query"]).table.column("query").to_pylist())
    except StreamevalError:
        return ""
    if len(queries) < 2:
        return ""
    return "This run has several queries, and is planned as one list: with --per query, each is a ranking of its own."


def _some(ranking: Ranking) -> Int64Array:
    """Positions of some rows, evenly spaced."""
    return unique(np.linspace(0, ranking.n_items - 1, _LOOKED_AT).astype(np.int64))


def order_doubt(ranking: Ranking) -> str:
    """A sentence where a list lies in the order of none of its columns that may be scores; else empty.

    These are the numbers whose name says so, or where there are none all floats. Nothing is said of what cannot be
    read: `select` will refuse it.
    """
    schema = ranking.rows.schema
    named = [field.name for field in schema if _is_number(field.type) and has_word(field.name, SCORES)]
    names = named or [field.name for field in schema if pa.types.is_floating(field.type)]
    if not names:
        return ""
    try:
        table = ranking.rows.take(_some(ranking), names[:_MOST_COLUMNS]).table
    except StreamevalError:
        return ""
    values = {
        name: [value for value in table.column(name).to_pylist() if value is not None] for name in table.column_names
    }
    steps = {name: np.diff(np.array(of, np.float64)) for name, of in values.items()}
    varied = [name for name, step in steps.items() if np.count_nonzero(step) > 1]
    if not varied or any(_is_best_first(steps[name], bool(named)) for name in varied):
        return ""
    what = f"not by {varied[0]}" if named else f"by none of its columns {', '.join(varied)}"
    hint = f"--score {varied[0]}" if named else "--score COLUMN"
    return f"The stored order is taken as best first, and it is {what}: {hint} would rank by it."


def _is_best_first(steps: Any, largest: bool) -> bool:
    """Tell whether values fall throughout, or rise where these may be distances."""
    return bool(np.all(steps <= 0)) or (not largest and bool(np.all(steps >= 0)))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_integer(kind))
