"""Plan: choose the ranks to label."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streameval.errors import InputError, OutsideError, StudyError
from streameval.judge.classes import asked
from streameval.judge.values import Judge
from streameval.methods import create, refuse_alpha_with_budget
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import located
from streameval.rows.options import RankingOptions, refuse_described
from streameval.slices.judge import judged
from streameval.slices.plan import draw_by_slices
from streameval.study import Study
from streameval.types import Plan


def plan(
    ranking: Any,
    study: str | os.PathLike[str],
    *,
    method: str = "loguniform",
    seed: int | None = None,
    options: RankingOptions | None = None,
    by: str | None = None,
    judge: str | None = None,
    judge_classes: str | Sequence[float] | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Plan:
    """Choose the ranks of a ranking to label, and write them to a study.

    Args:
        ranking: A Parquet file, a folder of partitions, a glob, or a list of these; or a table of Arrow, Polars or
            pandas, a relation of DuckDB, a pyarrow dataset or reader: these are read into memory. Its stored order is
            the ranking, or the order that `options` describe.
        study: Folder of the study; made if it is not there. The same plan again changes nothing. Another one takes its
            place only while nothing was made of it (`Study.is_begun`).
        method: Name of the method.
        seed: Seed of what is random: the draw, and the shuffle of the tasks. By default that of the plan that is there,
            else a fresh one of the system's entropy (`known_seed`, `fresh_seed`); plan.json keeps it.
        options: Score, key, order of files, memory, threads.
        by: Column whose values are slices: each gets ranks, a curve and metrics of its own (`draw_by_slices`).
        judge: Column that says of every item whether it is positive: 0/1, yes/no or a probability, null where it has
            no answer. It may be wrong anywhere: only the width of the bounds depends on it. It is read once, here, so
            that it cannot depend on labels that come later.
        judge_classes: Thresholds that put probabilities into classes, at most 6, by default 0.5. With the parameter
            `judge_sample` of loguniform there is no column: `select` hands out the items, `freeze_judge` takes the
            answers.
        progress (callable(done, total)): Rows read, of a list in slices: nothing is read of any other.
        **parameters: Of the method (`streameval.methods`).

    Raises:
        InputError: Whatever is wrong with the ranking or a parameter.
        StudyError: The folder holds a different plan, of which something was made.
        OutsideError: Another command has planned this study otherwise meanwhile: it was told that its plan
            is there.
    """
    if "per" in parameters:
        raise InputError("plan is of one ranking", "plan_rankings draws from a list that holds many (per)")
    refuse_described(parameters)
    folder = planned_study(study)
    before, known = planned_ids(folder), known_seed(folder, seed)
    if parameters.get("judge_sample") is not None and judge is not None:
        raise InputError("a judge is either a column or asked about a sample", "leave out judge, or judge-sample")
    judges = _judge(judge if parameters.get("judge_sample") is None else "judge", judge_classes)
    how = Drawing(method, fresh_seed() if known is None else known, by, judges)
    drawn, _ = draw(ranking, how, options, parameters, progress)
    save_unless_planned(folder, before, drawn)
    return drawn


def _judge(column: str | None, classes: str | Sequence[float] | None) -> Judge | None:
    """The judge that answers in a column; None where there is none."""
    if column is None and classes is not None:
        raise InputError("judge-classes were given without a judge", "name its column")
    return None if column is None else Judge.of(column, classes)


def refuse_accuracy_alone(parameters: Mapping[str, Any]) -> None:
    """Refuse `judge_accuracy` without a judge: it would plan a judge's labels, and bounds without one."""
    if parameters.get("judge_accuracy") is not None and parameters.get("judge_sample") is None:
        raise InputError("judge-accuracy was given without a judge",
                         "name one with judge or judge-sample, or leave out judge-accuracy")  # fmt: skip


def planned_study(study: str | os.PathLike[str]) -> Study:
    """Give the study to plan into; an `InputError` where its name is empty: that would be the current folder."""
    if not os.fspath(study):
        raise InputError("the study's name is empty", "name a folder; '.' is the current one")
    return Study(Path(study))


def save_unless_planned(study: Study, before: tuple[str, ...], plan: Plan) -> None:
    """Save a new plan, unless another command has planned otherwise since the study held the ids `before`."""
    with study.planning():
        now = planned_ids(study)
        if now != before and plan.plan_id not in now:
            raise OutsideError(
                f"{study.folder}: another command has just planned it differently", "run the same command again"
            )
        study.save_plan(plan)


def planned_ids(study: Study) -> tuple[str, ...]:
    """Ids of the plan that a study holds; none where there is none that can be read."""
    try:
        return study.plan().study_ids if study.exists else ()
    except StudyError:
        return ()


def known_seed(study: Study, given: int | None) -> int | None:
    """Seed that was given, else that of the plan that the study holds; None where there is neither."""
    if given is not None or not study.exists:
        return given
    return study.plan().seed


def fresh_seed() -> int:
    """53 bits of the system's entropy, so that readers of plan.json that know no integers but doubles keep them all.

    A draw bounds a list only if nobody had its ranks in hand when the list was made. With one seed for every list, what
    was found wrong in last night's sample, and mended, is tonight's sample.
    """
    return secrets.randbits(53)


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
