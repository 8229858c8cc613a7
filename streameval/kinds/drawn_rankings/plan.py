"""Of a list that holds many rankings, draw some, to label the first items of each."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from streameval.errors import InputError
from streameval.progress import Progress
from streameval.queries.draw import draw_rankings, plan_table
from streameval.queries.options import RankingsDraw
from streameval.queries.predicted import predicted, with_predictions
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study.list_copy import materialize, with_copy
from streameval.study.planning import (
    fresh_seed,
    known_seed,
    planned_ids,
    planned_study,
    refuse_unjoinable,
    save_unless_planned,
)
from streameval.types import Plan

METHOD = "top_items"  # as plan.json calls the draw


def planned(
    ranking: Any,
    study: str | os.PathLike[str],
    how: RankingsDraw,
    seed: int | None,
    given: tuple[RankingOptions, Progress],
) -> Plan:
    """Draw rankings uniformly from a list that holds many, and plan the first items of each to be labelled.

    Args:
        given: Options of the ranking, and who is told how many rows were read.

    Returns:
        Plan: Its ranks are stored rows, from 1.
    """
    asked, progress = given
    names, ranks, judge = how.per, how.cutoffs, how.judge
    folder = planned_study(study)
    before, fixed_seed = planned_ids(folder), known_seed(folder, seed)
    chosen = fresh_seed() if fixed_seed is None else fixed_seed
    source = materialize(folder, ranking, asked, progress)
    opened = open_ranking(source, asked)
    refuse_unjoinable(opened, (*names, *asked.key))
    for name in (*(names or ("",)), *([] if judge is None else [judge])):
        if name not in opened.rows.all_names():
            raise InputError(f"the ranking has no column '{name}'", opened.rows.hint_for(name))
        if name in names and name in ("items", "labelled"):
            raise InputError(f"--per is {name}: a column of rankings.parquet has that name", "rename the column")
    drawn = draw_rankings(opened, names, (how.drawn_of, ranks[-1], chosen), progress)
    opened.rows.check_unchanged()
    # items are found where they are stored: to open the list again needs no score
    stored = open_ranking(source, replace(asked, score=None, ascending=False, key=(), nan="refuse"))
    description = stored.description() if asked.score is None else {**stored.description(), "order": "score"}
    notes = {
        "per": list(names),
        "rankings": drawn.total,
        "cutoffs": list(ranks),
        "score": asked.score,
        "ascending": asked.ascending,
    }
    parameters = {"confidence": how.confidence, "rankings": len(drawn.names), "at": ranks[-1]}
    made = Plan(METHOD, parameters, opened.n_items, chosen, plan_table(drawn), description, notes, stored.location(),
                kind="drawn_rankings")  # fmt: skip
    if judge is not None:
        known_of_all = predicted(opened, judge, (names, ranks), drawn.chosen, progress)
        opened.rows.check_unchanged()
        made = with_predictions(made, judge, known_of_all, ranks)
    made = with_copy(made, folder)
    save_unless_planned(folder, before, made)
    return made
