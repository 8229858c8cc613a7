"""The threshold of a cut, applied to another list: what a model that was evaluated once does to tonight's scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.order.by_score import by_score
from streameval.order.count_at_score import count_at_score
from streameval.questions.cutoffs import Cutoff
from streameval.rankings.ranking import Ranking
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.study.cut_files import Cut
from streameval.types import Claim, Plan


def apply_cut(found: Cut, other: Any) -> Cut:
    """Keep the items of another list that score at least as well as the last one above a cutoff.

    Args:
        found: Its score, or the one that was asked for, is the threshold. The other list has to have the same score
            column; all of its items with that very score are kept.
        other: As `streameval.open_ranking` takes it.

    Returns:
        Cut: Of the other list. It promises nothing: `proof` is what holds, of the list that the study is about.

    Raises:
        InputError: A list without scores, the study's own list, another type of score, or no item above the threshold.
    """
    target = Cutoff.of(found.asked["cutoff"])
    threshold = target.value if target.kind == "score" else found.score
    if threshold is None:
        raise InputError(
            f"{found.study}: no score is known at rank {found.rank:,}", "only lists that were planned by score have one"
        )
    options = replace(RankingOptions.of(found.plan), key=(), where=None, file_order=None)
    rows = open_rows(other, options)
    place = ", ".join(rows.source or ["the list in memory"])
    if rows.fingerprint == found.plan.ranking["fingerprint"]:
        raise InputError(f"{place} is the list that the study is about", "leave out --apply")
    order = by_score(rows, options)
    count = count_at_score(order, threshold)
    if not count:
        raise InputError(f"{place}: no item has score {threshold} or a better one")
    nothing = pa.table({"rank": pa.array([], pa.int64())})
    location = Ranking(rows, options, order).location()
    plan = Plan(found.plan.method, {}, rows.n_rows, 0, nothing, order.description(), location=location)
    return replace(
        found,
        rank=count,
        score=threshold,
        holds=dict.fromkeys(found.holds),
        claim=Claim("none", None, "nothing: no item of this list was labelled"),
        asked={**found.asked, "apply": place},
        plan=plan,
        estimates="none",
        proof=found,
        _ranking=None if rows.source else other,
    )
