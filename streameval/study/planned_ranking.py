"""The ranking of a study, opened again: as it was planned, with the scans that the study keeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from streameval.engines import Engine, engine_of
from streameval.errors import InputError
from streameval.methods import grid_of
from streameval.order.checkpoints import Scans
from streameval.rankings import open_planned
from streameval.rankings.ranking import Ranking
from streameval.study import Study
from streameval.types import Plan
from streameval.typing import Int64Array


def planned_ranking(
    folder: Study, plan: Plan, ranking: Any = None, engine: Engine | str = "local"
) -> tuple[Ranking, Scans]:
    """Open the ranking of a study again; where scans find its ranks, `engine` runs them, and the study keeps them."""
    opened = open_planned(plan, ranking)
    runs = engine_of(engine)
    if opened.order is None and runs != engine_of("local"):
        raise InputError(
            "the stored order is the ranking, or it lies in memory: no scan that an engine could run", "leave it out"
        )
    return opened, Scans(folder.scans, runs)


def method_cutoffs(plan: Plan) -> Int64Array | None:
    """Ranks that the curve's table will show, where the order has scores."""
    if plan.ranking.get("score") is None:
        return None
    if plan.marks is not None:
        return np.unique(plan.marks.column("rank").to_numpy())
    if plan.questions:
        return np.array(plan.notes["cutoffs"], np.int64)
    return grid_of(plan)


def counted_at(plan: Plan, score: Any, ranking: Any = None) -> int:
    """Count the items of a list that have a score or a better one, by one scan that statistics prune.

    Args:
        ranking: The ranking that was planned, where it lies in memory.

    Raises:
        InputError: A list without scores, a score that is none of its type, or one that no item has.
    """
    from streameval.order.count_at_score import count_at_score

    order = open_planned(plan, ranking).order if plan.ranking.get("score") is not None else None
    if order is None:
        raise InputError("this list has no scores", "ask for a rank; lists planned with --score have scores")
    count = count_at_score(order, score)
    if not count:
        raise InputError(f"no item has score {score} or a better one", "the best is `streameval show STUDY score@1`")
    return count
