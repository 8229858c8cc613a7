"""A question asked of a study that there is: a study of its own in a folder within, which begins with what is known.

Labels that the study has, of its curve or of questions before, make their items known: these are not asked again, and
count as what they are, now and whenever the question is evaluated: what is forgotten or corrected counts no more. Of
other items they are no evidence: a question may be chosen by what they show. An
answer to a task that was open when the question was planned does not count, for what is drawn depends on which items
are known.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from streameval.errors import InputError, StudyError
from streameval.judges.classes import asked_judge
from streameval.judges.values import Judge
from streameval.kernels.sorted_sets import isin
from streameval.kinds import kind_of, results_of
from streameval.kinds.planning import Drawn, PlanRequest, fresh_seed
from streameval.kinds.question.before import number_of_several, refuse_asked_before
from streameval.kinds.question.plan import drawn_plan
from streameval.kinds.question.tree import asked_of, known_in, known_of, new_place, root_of, tree_of
from streameval.questions import Condition
from streameval.questions.asking import Asking
from streameval.rankings import open_planned
from streameval.rankings.ranking import Ranking
from streameval.sequential import KnownItems
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from streameval.text import number_of
from streameval.types import Plan


def add_question(study: str | os.PathLike[str], question: tuple[Asking, Judge | None], seed: int | None) -> Plan:
    """Plan a question of a study's ranking; the same command again gives the one that is there.

    One of which nothing was handed out yet is drawn anew where labels have come since: they are known then. None of
    them was of its draw.

    Returns:
        Plan: `location["beside"]` is the folder that it was written to.

    Raises:
        InputError: A question that was asked of this list before, or a seed that drew from it; one of those that hold
            together, at another confidence than these.
        StudyError: No study there, or one of many rankings.
    """
    folder, (asking, judge) = Study(Path(study)), question
    plan, kind = folder.plan(), kind_of(folder.folder)
    if kind.name not in ("curve", "question"):
        raise StudyError(f"{folder.folder} is {kind.about}, and a question is asked of one ranking",
                         "plan that ranking into a folder of its own")  # fmt: skip
    with root_of(folder).changing():
        tree = tree_of(folder)
        known_items = known_in(tree)
        place, before = _same_question(asked_of(folder), asking, judge, seed) or (new_place(folder), None)
        if before is not None and (Study(place).is_begun or _is_known_to(before, known_items)):
            return _with_folder(before, place)
        others = [branch for branch in tree if before is None or branch[0] != place]
        refuse_asked_before(others, asking)
        if seed is not None and seed in {branch.seed for _, branch in others}:
            raise InputError(f"--seed {seed} has drawn from this ranking before", "leave it out: a fresh one is drawn")
        number = number_of_several([branch for _, branch in others], asking)
        certain = asking.of_several(number)
        _refuse_answered(folder, plan, certain)
        opened = _open_list(plan)
        chosen = fresh_seed() if seed is None else seed  # never that of a plan whose place it takes
        request = PlanRequest.parse(place, chosen, opened.options, KnownLabels(items=known_items))
        new_plan = drawn_plan(opened, asking, judge, request, number)
        return _with_folder(request.save(Drawn(new_plan, opened)), place)


def _same_question(
    questions: Iterable[tuple[Path, Plan]], asking: Asking, judge: Judge | None, seed: int | None
) -> tuple[Path, Plan] | None:
    """The question that was asked by the same command."""
    return next(
        (
            question
            for question in questions
            if _is_asked(question[1], asking, judge) and seed in (None, question[1].seed)
        ),
        None,
    )


def _is_known_to(before: Plan, known_items: KnownItems) -> bool:
    """Tell whether a question was planned with all that is known now."""
    then = known_of(before)
    return np.array_equal(then.rank, known_items.rank) and np.array_equal(then.label, known_items.label)


def unlabelled_lines(folder: Study, question_plan: Plan) -> Iterator[str]:
    """Say that labels which come to the study later do not count for a question that was asked of it."""
    plan = folder.plan()
    if open_ := int((~isin(plan.ranks, known_of(question_plan).rank)).sum()):
        has, they = ("have", "labels that they get") if open_ > 1 else ("has", "a label that it gets")
        yield (f"{number_of(open_, 'task')} of {folder.folder} {has} no label yet; {they} later will not count here. "
               "If that is to count, label first, then repeat this command.")  # fmt: skip


def _refuse_answered(folder: Study, plan: Plan, asking: Asking) -> None:
    """Refuse conditions that the study's own bounds have decided already, at the confidence that is asked for."""
    surer = Fraction(str(asking.confidence)) > Fraction(str(plan.parameters.get("confidence", 0)))
    if surer or not all(isinstance(part.demand, Condition) for part in asking.asked):
        return
    try:
        result = results_of(folder)
        if not result.claim.confidence or result.claim.coverage != "simultaneous":
            return
        outcomes = {
            result.decide(part, result.bounds(part)).outcome for question in asking.asked for part in question.each()
        }
    except (StudyError, InputError):
        return  # it has no results yet, or none about this
    if "fail" in outcomes or outcomes == {"pass"}:
        conditions = [str(part) for part in asking.asked]
        raise InputError(f"{folder.folder} has answered this already", shlex.join(
            ["streameval", "check", str(folder.folder), *conditions]))  # fmt: skip


def _open_list(plan: Plan) -> Ranking:
    if plan.location["source"] is None:
        raise StudyError("this study's ranking was a table in memory, and a question is asked of files",
                         "ask it of the table, in a study of its own: plan(table, study, questions=...)")  # fmt: skip
    return open_planned(plan)


def _is_asked(before: Plan, asking: Asking, judge: Judge | None) -> bool:
    """Tell whether a plan asks the same, in the same way."""
    typed = {"together": False, **before.parameters}
    if typed["together"]:
        typed |= {"confidence": typed["together"], "together": True}
    same = all(value == getattr(asking, name) for name, value in typed.items())
    return same and asked_judge(before) == judge and before.questions == tuple(map(str, asking.asked))


def _with_folder(plan: Plan, place: Path) -> Plan:
    return replace(plan, location={**plan.location, "beside": str(place)})
