"""Which ranks of one ranking to label."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streameval.errors import InputError
from streameval.methods import create, refuse_alpha_with_budget
from streameval.methods.judge import asked, refuse_accuracy_alone
from streameval.methods.judge_values import Judge
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.rows.options import RankingOptions
from streameval.slices.judge import judged
from streameval.slices.plan import draw_by_slices
from streameval.study.planning import fresh_seed, known_seed, planned_ids, planned_study, save_unless_planned
from streameval.types import Plan


def planned(
    ranking: Any, study: str | os.PathLike[str], given: Mapping[str, Any], seed: int | None,
    options: RankingOptions | None, progress: Progress,
) -> Plan:  # fmt: skip
    """Choose the ranks to label, and write them to a study; errors as of `streameval.plan`."""
    parameters = dict(given)
    method, by, judge, classes = (parameters.pop(name, None) for name in ("method", "by", "judge", "judge_classes"))
    folder = planned_study(study)
    before, known = planned_ids(folder), known_seed(folder, seed)
    if parameters.get("judge_sample") is not None and judge is not None:
        raise InputError("a judge is either a column or asked about a sample", "leave out judge, or judge-sample")
    judges = _judge(judge if parameters.get("judge_sample") is None else "judge", classes)
    how = Drawing(method or "loguniform", fresh_seed() if known is None else known, by, judges)
    drawn, _ = draw(ranking, how, options, parameters, progress)
    save_unless_planned(folder, before, drawn)
    return drawn


def _judge(column: str | None, classes: str | Sequence[float] | None) -> Judge | None:
    """The judge that answers in a column; None where there is none."""
    if column is None and classes is not None:
        raise InputError("judge-classes were given without a judge", "name its column")
    return None if column is None else Judge.of(column, classes)


@dataclass(frozen=True)
class Drawing:
    """What chooses the ranks.

    Attributes:
        by: Column of the slices; None where the list is one.
        judge: None where there is none.
    """

    method: str
    seed: int
    by: str | None = None
    judge: Judge | None = None


def draw(
    ranking: Any,
    how: Drawing,
    options: RankingOptions | None,
    parameters: dict[str, Any],
    progress: Progress = silent,
) -> tuple[Plan, Ranking]:
    """Choose ranks and write nothing: the plan, and the ranking that was opened for it; errors as in `plan`."""
    refuse_alpha_with_budget(parameters)
    if how.judge is None:
        refuse_accuracy_alone(parameters)
    chosen = create(how.method, parameters)
    opened = open_ranking(ranking, options)
    if how.by is not None:
        if how.judge is not None and chosen.judge_sample is None:
            raise InputError("a judge does not go with slices", "leave out judge, or by")
        return draw_by_slices(opened, how.by, chosen, how.seed, progress), opened
    drawn = replace(chosen.plan(opened.n_items, how.seed), ranking=opened.description(), location=located(opened))
    if how.judge is None:
        return drawn, opened
    return asked(drawn, how.judge) if chosen.judge_sample else judged(opened, drawn, how.judge, progress), opened
