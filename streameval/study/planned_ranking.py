"""The ranking of a study, opened again: as it was planned, with the scans that the study keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.engines import engine_of
from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.methods import grid_of
from streameval.rankings import open_planned
from streameval.rankings.copied import read_from_copies
from streameval.rankings.ranking import Ranking
from streameval.scans.checkpoints import Scans
from streameval.scans.jobs import Engine
from streameval.study import Study
from streameval.types import Plan
from streameval.typing import Int64Array

if TYPE_CHECKING:
    from streameval.order.by_score import ByScore


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
        return unique(plan.marks.column("rank").to_numpy())
    return grid_of(plan)


def counted_at(plan: Plan, score: Any, ranking: Any = None) -> int:
    """Count the items of a list that have a score or a better one, by one scan that statistics prune.

    Args:
        ranking: The ranking that was planned, where it lies in memory.

    Raises:
        InputError: A list without scores, a score that is none of its type, or one that no item has.
    """
    count = items_at(open_planned(plan, ranking).order if plan.ranking.get("score") is not None else None, score)
    if not count:
        raise InputError(f"no item has score {score} or a better one", "the best is `streameval show STUDY score@1`")
    return count


def items_at(order: ByScore | None, score: Any) -> int:
    """Count the items of an order that have a score or a better one; an `InputError` where there are no scores."""
    from streameval.order.count_at_score import count_at_score

    if order is None:
        raise InputError("this list has no scores", "ask for a rank; lists planned with --score have scores")
    return count_at_score(order, score)


def score_at(plan: Plan, rank: int, ranking: Any = None, known_score: Any = None) -> Any:
    """Score of the item at a rank, as text where it is no finite number.

    Args:
        known_score: The score, where it is kept: the list is not opened.

    Returns:
        None where the order has no scores, or the list lies in memory and was not given.
    """
    if plan.ranking.get("score") is None:
        return None
    score = known_score
    if score is None and (ranking is not None or plan.location.get("source") is not None):
        opened = open_planned(plan, ranking)
        with read_from_copies(plan):
            fetched = opened.fetch(np.array([rank]), [])
        score = fetched.table.column("score")[0].as_py()
    plain = isinstance(score, int) or (isinstance(score, float) and math.isfinite(score))
    return score if score is None or plain else str(score)
