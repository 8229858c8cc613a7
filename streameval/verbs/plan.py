"""Plan: choose the ranks to label."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from streameval.errors import InputError
from streameval.judges.classes import asked, refuse_accuracy_alone
from streameval.judges.values import Judge
from streameval.labelling.votes import Votes
from streameval.methods import Method, create, refuse_alpha_with_budget
from streameval.options import option, own, takes
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.rows.options import RankingOptions, described
from streameval.slices.judge import judged
from streameval.slices.plan import draw_by_slices
from streameval.study import Study
from streameval.study.planning import fresh_seed, known_seed, planned_ids, planned_study, save_unless_planned
from streameval.study.reuse import Reuse, drawn_by_key
from streameval.types import Plan


@dataclass(frozen=True)
class JudgeColumn:
    """The judge that answers in a column of the list."""

    judge: str | None = option(
        None,
        "Column that says of every item whether it is positive: 0/1, yes/no or a probability. It may be wrong "
        "anywhere: the better it is, the narrower the bounds.",
    )
    judge_classes: str | Sequence[float] | None = option(
        None, "Thresholds, at most 6, that put a judge's probabilities into classes, as in 0.05,0.5,0.95 (default 0.5)."
    )


@takes(RankingOptions, JudgeColumn, Reuse)
def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = "loguniform",
    seed: int | None = None,
    options: RankingOptions | None = None,
    by: str | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Plan:
    """Choose the ranks of a ranking to label, and write them to a study.

    Args:
        ranking: A Parquet file, a folder of partitions, a glob, or a list of these; or a table of Arrow, Polars or
            pandas, a relation of DuckDB, a pyarrow dataset or reader: these are read into memory. Its stored order is
            the ranking, without `score`.
        study: Folder of the study; made if it is not there. The same plan again changes nothing. Another one takes its
            place only while nothing was made of it (`Study.is_begun`).
        method: Name of the method.
        seed: Seed of what is random: the draw, and the shuffle of the tasks. By default that of the plan that is there,
            else a fresh one of the system's entropy (`known_seed`, `fresh_seed`); plan.json keeps it. Draws by key have
            nothing in common unless all versions share a seed: there, it has to be given.
        options: The fields of `RankingOptions` at once; each may be given by itself, as `score` and `key`.
        by: Column whose values are slices: each gets ranks, a curve and metrics of its own (`draw_by_slices`).
        progress (callable(done, total)): Rows read, of a list in slices or drawn by key: nothing is read of any other.
        **parameters: Of the method (`streameval.methods`), and fields of `RankingOptions`, of `JudgeColumn` (`judge` is
            read once, here, so that it cannot depend on labels that come later; with the parameter `judge_sample` of
            loguniform there is no column: `select` hands out the items, `judge` takes the answers), and of
            `streameval.study.reuse.Reuse` (`draw_by` and `reuse`).

    Raises:
        InputError: Whatever is wrong with the ranking or a parameter.
        StudyError: The folder holds a different plan, of which something was made.
        OutsideError: Another command has planned this study otherwise meanwhile: it was told that its plan
            is there.
    """
    if "per" in parameters:
        raise InputError("plan is of one ranking", "plan_rankings draws from a list that holds many (per)")
    asked_for, folder = described(options, parameters), planned_study(study)
    before, how = planned_ids(folder), drawing(folder, method, seed, by, parameters)
    if how.reuse is not None:
        how.reuse.refuse_unsaid()
    drawn = draw(ranking, how, asked_for, parameters, progress)
    with folder.planning():
        save_unless_planned(folder, before, drawn.plan)
        if drawn.votes is not None:
            folder.labels.add([drawn.votes])
    return drawn.plan


@dataclass(frozen=True)
class Drawing:
    """What chooses the ranks.

    Attributes:
        by: Column of the slices; None where the list is one.
        judge: None where there is none.
        reuse: How items are drawn by their key; None where ranks are.
    """

    method: str
    seed: int
    by: str | None = None
    judge: Judge | None = None
    reuse: Reuse | None = None

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.reuse is not None and self.judge is not None:
            raise InputError("a judge does not go with draws by key", "leave out judge, or what draws by key")
        if self.reuse is not None and self.by is not None:
            raise InputError("slices do not go with draws by key", "leave out by, or what draws by key")
        if self.by is not None and self.judge is not None:
            raise InputError("a judge does not go with slices", "leave out judge, or by")


def drawing(study: Study, method: str, seed: int | None, by: str | None, parameters: dict[str, Any]) -> Drawing:
    """Take what chooses the ranks out of the parameters that were given, and find its seed."""
    column, reuse = own(JudgeColumn, parameters), own(Reuse, parameters)
    sample = parameters.get("judge_sample") is not None
    if sample and column.judge is not None:
        raise InputError("a judge is either a column or asked about a sample", "leave out judge, or judge-sample")
    name = "judge" if sample else column.judge
    if name is None and column.judge_classes is not None:
        raise InputError("judge-classes were given without a judge", "name its column")
    if name is None:
        refuse_accuracy_alone(parameters)
    judge = None if name is None else Judge.of(name, column.judge_classes)
    known, keyed = known_seed(study, seed), reuse if reuse != Reuse() else None
    chosen = keyed.seed(known) if keyed is not None else fresh_seed() if known is None else known
    return Drawing(method, chosen, by, judge, keyed)


@dataclass(frozen=True)
class Drawn:
    """A plan, the ranking that was opened for it, and the labels that its items have already."""

    plan: Plan
    ranking: Ranking
    votes: Votes | None = None


def draw(
    ranking: Any,
    how: Drawing,
    options: RankingOptions,
    parameters: dict[str, Any],
    progress: Progress = silent,
) -> Drawn:
    """Choose ranks and write nothing; errors as in `plan`."""
    refuse_alpha_with_budget(parameters)
    chosen = create(how.method, parameters)
    opened = open_ranking(ranking, options)
    if how.reuse is not None:
        made, votes = drawn_by_key(opened, chosen, how.reuse, how.seed, options.memory, progress)
        return Drawn(made, opened, votes)
    if how.by is not None:
        return Drawn(draw_by_slices(opened, how.by, chosen, how.seed, progress), opened)
    return Drawn(_by_rank(opened, chosen, how, progress), opened)


def _by_rank(opened: Ranking, chosen: Method, how: Drawing, progress: Progress) -> Plan:
    """Draw ranks, and look up what a judge says of them."""
    drawn = replace(chosen.plan(opened.n_items, how.seed), ranking=opened.description(), location=located(opened))
    if how.judge is None:
        return drawn
    return asked(drawn, how.judge) if chosen.judge_sample else judged(opened, drawn, how.judge, progress)
