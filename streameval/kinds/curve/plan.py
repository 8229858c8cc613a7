"""Choice of the ranks of one ranking to label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from streameval.errors import InputError
from streameval.judges.classes import assign_judge
from streameval.judges.options import JudgeColumn
from streameval.judges.values import Judge, judge_in
from streameval.kinds.planning import Drawn, PlanRequest, fresh_seed, refuse_unjoinable
from streameval.labelling.options import ReuseOptions
from streameval.methods import DrawsIndependently, Method, refuse_alpha_with_budget
from streameval.methods.stages import refuse_stages
from streameval.methods.values import method_value
from streameval.options import listed, make_own
from streameval.order.scores import missing_rows
from streameval.progress import Progress
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import describe_place
from streameval.rows.options import NEEDS_SCORE
from streameval.scans.units import parts_of
from streameval.text import those_with
from streameval.types import Plan


def draw_ranks(ranking: object, options: Sequence[Any], request: PlanRequest) -> Drawn:
    """Choose the ranks to label; errors as of `streameval.plan`."""
    how = drawing(options, request)
    request.known_labels.refuse_unsaid()
    return draw(request.openable(ranking), how, request)


@dataclass(frozen=True)
class Drawing:
    """Settings of a draw of ranks.

    Attributes:
        by: Column of the slices; None where the list is one.
        judge: None where there is none.
        key: Columns by whose hash items are drawn; none where ranks are.
    """

    method: Method
    seed: int
    by: str | None = None
    judge: Judge | None = None
    key: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.key and self.judge is not None:
            raise InputError("a judge does not go with draws by key", "leave out --judge, or what draws by key")
        if self.key and self.by is not None:
            raise InputError("slices do not go with draws by key", "leave out --by, or what draws by key")
        if self.by is not None and self.judge is not None:
            raise InputError("a judge does not go with slices", "leave out --judge, or --by")


def drawing(options: Sequence[Any], request: PlanRequest) -> Drawing:
    """Make what chooses the ranks of the options that were given, and find its seed; reads no list."""
    parameters, reuse = options
    method, by = parameters.pop("method", "loguniform"), parameters.pop("by", None)
    column = make_own(JudgeColumn, parameters)
    judge = judge_in(column.judge)
    parameters |= {} if judge is None else judge.parameters
    key, chosen = _key_and_seed(reuse, request)
    refuse_alpha_with_budget(parameters)
    return Drawing(method_value(method).create(parameters), chosen, by, judge, key)


def _key_and_seed(reuse: ReuseOptions, request: PlanRequest) -> tuple[tuple[str, ...], int]:
    """Columns to draw by, and the seed that all versions share: as given, or those of the study that is reused.

    No column where no option asks for a draw by key.
    """
    known_labels, seed = request.known_labels, request.seed
    if all(value is None for value in vars(reuse).values()):
        return (), request.drawing_seed
    key, earlier = listed(reuse.on or ""), None if known_labels.study is None else known_labels.study.plan()
    if earlier is not None:
        key, seed = key or earlier.key_columns, earlier.seed if seed is None else seed
    elif not key and known_labels.source is not None:
        raise InputError("labels are reused, but no column says which item each is about", "name it with --on COL")
    if seed is None:
        raise InputError(
            "versions of a ranking share a draw by key only if they share a seed, and none was given",
            f"--seed {fresh_seed()} (or any other) for the first version; later ones take the seed in its plan.json",
        )
    if not key:
        raise InputError("no column to draw by", "name one that tells items apart with --on")
    return key, seed


def draw(ranking: object, how: Drawing, request: PlanRequest) -> Drawn:
    """Choose ranks and write nothing; errors as in `plan`."""
    opened = open_ranking(ranking, request.options)
    _refuse_nulls(opened)
    refuse_unjoinable(opened, (*request.options.key, *how.key))
    if how.key:
        return _by_key(opened, how, request)
    if how.by is not None:
        from streameval.slices.plan import draw_by_slices

        return Drawn(draw_by_slices(opened, how.by, how.method, how.seed, request.progress), opened)
    return Drawn(_by_rank(opened, how, request.progress), opened)


def _by_key(opened: Ranking, how: Drawing, request: PlanRequest) -> Drawn:
    """Choose ranks by the hashes of their items' keys; every label that is known counts for an item that is drawn.

    Raises:
        InputError: A method that does not draw every rank by itself, a key that does not tell items apart.
    """
    from streameval.rankings.draw_by_key import draw_by_key

    method, known_labels = how.method, request.known_labels
    if not isinstance(method, DrawsIndependently):
        raise InputError(
            f"method {method.name} does not draw each rank by itself", "items are drawn by key with --method=loguniform"
        )
    refuse_stages(method, "draws by key", ("later", "adaptive", "sample"))
    rates = method.rates(opened.n_items)
    rank = draw_by_key(opened, rates, how.key, how.seed, request.options.memory, request.progress)
    drawn = method.drawn(opened.n_items, how.seed, rank)
    plan = replace(drawn, ranking=opened.description(), location=describe_place(opened))
    plan = plan.with_notes(draw_by=list(how.key), **known_labels.notes)
    return Drawn(plan, opened, known_labels.known_by(how.key[:1]).taken_over(plan, opened))


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
                         NEEDS_SCORE)  # fmt: skip


def _by_rank(opened: Ranking, how: Drawing, progress: Progress) -> Plan:
    """Draw ranks, and look up what a judge says of them."""
    drawn = replace(
        how.method.plan(opened.n_items, how.seed), ranking=opened.description(), location=describe_place(opened)
    )
    if how.judge is None:
        return drawn
    if how.method.judge_sample:
        return assign_judge(drawn, how.judge)
    from streameval.slices.judge import count_classes

    return count_classes(opened, drawn, how.judge, progress)
