"""Plan rankings: of a list that holds many, draw some, and label the first items of each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from streameval.errors import InputError, did_you_mean
from streameval.methods.top_items import TopItems
from streameval.options import listed
from streameval.progress import Progress, silent
from streameval.queries.draw import draw_rankings, plan_table
from streameval.queries.options import cutoffs_of
from streameval.queries.predicted import predicted, with_predictions
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study.planning import fresh_seed, known_seed, planned_ids, planned_study, save_unless_planned
from streameval.types import Plan


def plan_rankings(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    per: str | Sequence[str],
    rankings: int = 1_000,
    at: int = 10,
    cutoffs: Sequence[int] | str = (),
    confidence: float = 0.95,
    judge: str | None = None,
    seed: int | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
) -> Plan:
    """Draw rankings uniformly from a list that holds many, and plan the first `at` items of each to be labelled.

    `select` and exports work as with any study; `evaluate_rankings` bounds means over all rankings.

    Args:
        ranking, study, seed, options: As for `plan`. The score orders each ranking; without one, the stored order does.
            Items of one score are ordered by a hash of their stored position.
        per: Columns that name the ranking of a row.
        rankings: How many to draw, without replacement.
        at: Items of each, from its first on.
        cutoffs: Ranks k, `at` at most, whose means are bounded, all together; a longer list widens the bounds a
            little. By default `at` alone.
        confidence: With which the bounds on all means hold together.
        judge: Column that says of every item whether it is positive: 0/1, yes/no or a probability. It may be wrong
            anywhere: only the width of the bounds depends on it. It is read once, here, so that it cannot depend on
            labels that come later.

    Returns:
        Plan: Its ranks are stored rows, from 1.

    Raises:
        InputError: Fewer rankings than are to be drawn; names, scores or a judge's answers that are null; a column
            that is not there.
        StudyError: The folder holds a different plan, of which something was made.
    """
    names, wanted = listed(per), listed(cutoffs)
    method = TopItems(confidence, rankings, at)
    ranks = cutoffs_of(wanted, "cutoffs") if wanted else (at,)
    if ranks[-1] > at:
        raise InputError(f"cutoffs go to {ranks[-1]:,}, and the first {at:,} items of a ranking are labelled",
                         f"label more with --at {ranks[-1]}")  # fmt: skip
    asked = options or RankingOptions()
    folder = planned_study(study)
    before, known = planned_ids(folder), known_seed(folder, seed)
    chosen = fresh_seed() if known is None else known
    opened = open_ranking(ranking, asked)
    for name in (*(names or ("",)), *([] if judge is None else [judge])):
        if name not in opened.columns():
            raise InputError(f"the ranking has no column '{name}'", did_you_mean(name, opened.columns()))
        if name in names and name in ("items", "labelled"):
            raise InputError(f"per is {name}: a column of rankings.parquet has that name", "rename the column")
    drawn = draw_rankings(opened, names, (rankings, at, chosen), progress)
    opened.rows.check_unchanged()
    # items are found where they are stored: to open the list again needs no score
    stored = open_ranking(ranking, replace(asked, score=None, ascending=False, key=(), nan="refuse"))
    description = stored.description() if asked.score is None else {**stored.description(), "order": "score"}
    notes = {
        "per": list(names),
        "rankings": drawn.total,
        "cutoffs": list(ranks),
        "score": asked.score,
        "ascending": asked.ascending,
    }
    made = Plan(
        method.name, vars(method), opened.n_items, chosen, plan_table(drawn), description, notes,
        stored.location(),
    )  # fmt: skip
    if judge is not None:
        known_of_all = predicted(opened, judge, (names, ranks), drawn.chosen, progress)
        opened.rows.check_unchanged()
        made = with_predictions(made, judge, known_of_all, ranks)
    save_unless_planned(folder, before, made)
    return made
