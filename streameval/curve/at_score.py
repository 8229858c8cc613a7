"""Ranks that a score stands for: a cutoff at a score keeps every item of that score and better."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.typing import Int64Array


def ranks_at_score(table: pa.Table | None, score: Any, n_items: int) -> tuple[int, int]:
    """First and last rank that the cutoff at a score may be: 0 is none of the items.

    Args:
        table: `rank`, `score` at the ranks whose scores are known; None where none are.

    Raises:
        InputError: No score is known, or `score` is none of its type.
    """
    from streameval.order.count_at_score import as_score  # only here: curves need nothing of how scores are counted

    if table is None:
        raise InputError(
            "no score of this list is known",
            "ask for a rank; of a list planned by score, `streameval select` and `evaluate` read the scores",
        )
    ranks, scores = known_scores(table)
    if not ranks.size:
        raise InputError("no item of this list has a score")
    values = np.array(scores.to_pylist())
    ascending = bool(values[0] < values[-1])
    wanted = as_score(score, scores.type, ascending)
    kept = int(np.count_nonzero(values <= wanted if ascending else values >= wanted))  # they lie in rank order
    after = int(ranks[kept]) - 1 if kept < ranks.size else n_items
    return (int(ranks[kept - 1]) if kept else 0), after


def score_at(table: pa.Table | None, rank: int) -> tuple[Any, Any, Any]:
    """Least score that the item at a rank may have, its score, and the largest; None what is not known."""
    if table is None:
        return None, None, None
    ranks, scores = known_scores(table)
    after, before = int(np.searchsorted(ranks, rank)), int(np.searchsorted(ranks, rank, side="right")) - 1
    if before < 0 or after == ranks.size:  # beyond the last item that has a score
        return None, None, None
    sides = [scores[before].as_py(), scores[after].as_py()]
    return min(sides), sides[0] if sides[0] == sides[1] else None, max(sides)


def known_scores(score: pa.Table) -> tuple[Int64Array, pa.ChunkedArray]:
    """Ranks whose score was read, and those scores; no score (null or NaN) is none."""
    import pyarrow.compute as pc

    column = score.column("score")
    kept = pc.fill_null(pc.invert(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))), False)
    rows = score.filter(kept)
    return rows.column("rank").to_numpy(), rows.column("score")
