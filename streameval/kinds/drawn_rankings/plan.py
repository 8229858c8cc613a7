"""Of a list that holds many rankings, draw some, to label the first items of each."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from streameval.errors import InputError
from streameval.judges.options import column_alone
from streameval.kinds.planning import Drawn, PlanRequest
from streameval.per_query.draw import draw_rankings, plan_table
from streameval.per_query.options import RankingsDraw
from streameval.per_query.predicted import predict_all, with_predictions
from streameval.per_query.widths import rankings_for
from streameval.rankings import open_ranking
from streameval.types import Plan

METHOD = "top_items"  # as plan.json calls the draw


def draw_tops(ranking: object, how: RankingsDraw, request: PlanRequest) -> Drawn:
    """Draw rankings uniformly from a list that holds many, and plan the first items of each to be labelled.

    Returns:
        Drawn: The ranks of its plan are stored rows, from 1.
    """
    names, ranks, judge = how.per, how.cutoffs, None if how.judge is None else column_alone(how.judge)
    ranking_options, progress, chosen = request.options, request.progress, request.drawing_seed
    source = request.openable(ranking)
    opened = request.open(source, names)
    for name in (*(names or ("",)), *([] if judge is None else [judge])):
        if name not in opened.rows.all_names():
            raise InputError(f"the ranking has no column '{name}'", opened.rows.hint_for(name))
        if name in names and name in ("items", "labelled"):
            raise InputError(f"--per is {name}: a column of rankings.parquet has that name", "rename the column")
    drawn = draw_rankings(opened, names, (partial(_number_drawn, how), ranks[-1], chosen), progress)
    opened.rows.check_unchanged()
    # items are found where they are stored: to open the list again needs no score
    stored = open_ranking(source, replace(ranking_options, score=None, ascending=False, key=(), nan="refuse"))
    description = stored.description() if ranking_options.score is None else {**stored.description(), "order": "score"}
    notes = {
        "per": list(names),
        "rankings": drawn.total,
        "cutoffs": list(ranks),
        "score": ranking_options.score,
        "ascending": ranking_options.ascending,
    }
    parameters = {"confidence": how.confidence, "rankings": len(drawn.names), "at": ranks[-1]}
    plan = Plan(METHOD, parameters, opened.n_items, chosen, plan_table(drawn), description, notes, stored.location(),
                kind="drawn_rankings")  # fmt: skip
    if judge is not None:
        known_of_all = predict_all(opened, judge, (names, ranks), drawn.chosen, progress)
        opened.rows.check_unchanged()
        plan = with_predictions(plan, judge, known_of_all, ranks)
    return Drawn(plan, opened)


def _number_drawn(how: RankingsDraw, total: int) -> int:
    """Tell how many rankings to draw of so many."""
    if how.half_width is None:
        return how.drawn_of(total)
    return rankings_for(how.half_width, total, how.confidence, len(how.cutoffs))
