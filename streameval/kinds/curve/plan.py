"""Which ranks of one ranking to label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from streameval.errors import InputError
from streameval.judges.classes import asked, refuse_accuracy_alone
from streameval.judges.options import JudgeColumn
from streameval.judges.values import Judge, judge_in
from streameval.kinds.planning import Drawn, PlanRequest
from streameval.methods import Method, create, refuse_alpha_with_budget
from streameval.options import own
from streameval.order.scores import missing_rows
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.rows.options import RankingOptions
from streameval.scans.units import parts_of
from streameval.study import Study
from streameval.study.planning import fresh_seed, known_seed, refuse_unjoinable
from streameval.study.reuse import Reuse, drawn_by_key
from streameval.text import those_with
from streameval.types import Plan


def draw_ranks(ranking: Any, parameters: dict[str, Any], request: PlanRequest) -> Drawn:
    """Choose the ranks to label; errors as of `streameval.plan`."""
    method, by = parameters.pop("method", "loguniform"), parameters.pop("by", None)
    how = drawing(request.study, method, request.seed, by, parameters)
    if how.reuse is not None:
        how.reuse.refuse_unsaid()
    return draw(request.materialized(ranking), how, request.options, request.progress)


@dataclass(frozen=True)
class Drawing:
    """What chooses the ranks.

    Attributes:
        by: Column of the slices; None where the list is one.
        judge: None where there is none.
        reuse: How items are drawn by their key; None where ranks are.
    """

    method: Method
    seed: int
    by: str | None = None
    judge: Judge | None = None
    reuse: Reuse | None = None

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.reuse is not None and self.judge is not None:
            raise InputError("a judge does not go with draws by key", "leave out --judge, or what draws by key")
        if self.reuse is not None and self.by is not None:
            raise InputError("slices do not go with draws by key", "leave out --by, or what draws by key")
        if self.by is not None and self.judge is not None:
            raise InputError("a judge does not go with slices", "leave out --judge, or --by")


def drawing(study: Study, method: str, seed: int | None, by: str | None, parameters: dict[str, Any]) -> Drawing:
    """Make what chooses the ranks of the parameters that were given, and find its seed; reads no list."""
    column, reuse = own(JudgeColumn, parameters), own(Reuse, parameters)
    sample = parameters.get("judge_sample") is not None
    if sample and column.judge is not None:
        raise InputError("a judge is either a column or asked about a sample", "leave out --judge, or --judge-sample")
    judge = judge_in(replace(column, judge="judge") if sample else column)
    if judge is None:
        refuse_accuracy_alone(parameters)
    fixed_seed, keyed = known_seed(study, seed), reuse if reuse != Reuse() else None
    chosen = keyed.seed(fixed_seed) if keyed is not None else fresh_seed() if fixed_seed is None else fixed_seed
    refuse_alpha_with_budget(parameters)
    return Drawing(create(method, parameters), chosen, by, judge, keyed)


def draw(ranking: Any, how: Drawing, options: RankingOptions, progress: Progress = silent) -> Drawn:
    """Choose ranks and write nothing; errors as in `plan`."""
    opened = open_ranking(ranking, options)
    _refuse_nulls(opened)
    refuse_unjoinable(opened, (*options.key, *(how.reuse.key if how.reuse is not None else ())))
    if how.reuse is not None:
        made, votes = drawn_by_key(opened, how.method, how.reuse, how.seed, options.memory, progress)
        return Drawn(made, opened, votes)
    if how.by is not None:
        from streameval.slices.plan import draw_by_slices

        return Drawn(draw_by_slices(opened, how.by, how.method, how.seed, progress), opened)
    return Drawn(_by_rank(opened, how, progress), opened)


def _refuse_nulls(opened: Ranking) -> None:
    """Refuse scores of which footers count nulls, which `select` would refuse after its scans."""
    score, nan = opened.options.score, opened.options.nan
    if score is None or nan != "refuse":
        return
    nulls = {file: count for file, count in opened.rows.nulls(score).items() if count}
    if nulls:
        units = [*parts_of(opened.rows.units())]
        there = [unit for unit in units if unit.place.startswith(f"{next(iter(nulls))}: ")]
        first = next(missing_rows(there or units, lambda unit: unit.read([score]).column(0)))
        raise InputError(f"{those_with(sum(nulls.values()), 'item')} no {score} (null), first: {first}",
                         "every item needs a score, or put these last with --nan=last")  # fmt: skip


def _by_rank(opened: Ranking, how: Drawing, progress: Progress) -> Plan:
    """Draw ranks, and look up what a judge says of them."""
    drawn = replace(how.method.plan(opened.n_items, how.seed), ranking=opened.description(), location=located(opened))
    if how.judge is None:
        return drawn
    if how.method.judge_sample:
        return asked(drawn, how.judge)
    from streameval.slices.judge import judged

    return judged(opened, drawn, how.judge, progress)
