"""Judge: take what a judge said of its sample, for good and before there are labels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError, check_price
from streameval.judges.classes import asked_judge, awaits_judge, counts_of, with_answers
from streameval.kinds import answering
from streameval.labelling.options import AnswerColumns, LabelColumns
from streameval.labelling.readers import place_of
from streameval.methods import DrawsIndependently, method_of
from streameval.options import split, takes
from streameval.printed import Printed
from streameval.progress import Progress, silent
from streameval.reporting.next_step import export_tasks
from streameval.serving.items import Access, judged_items
from streameval.serving.program import JudgeProgram, asked_of
from streameval.study import Study
from streameval.study.judge_sample import read_answers, refuse_other_answers
from streameval.text import number_of
from streameval.types import Plan
from streameval.typing import FloatArray


@takes(AnswerColumns)
def judge(
    study: str | os.PathLike[str],
    answers: Sequence[Any] | Any = (),
    *,
    command: str | None = None,
    rate: float | None = None,
    columns: str | Sequence[str] | None = None,
    price_per_label: float | None = None,
    ranking: Any = None,
    progress: Progress = silent,
    **read: Any,
) -> Plan:
    """Take a judge's answers in.

    For good, and before there are labels: what it said of the items that it was asked about.

    In Python as on the command line the same answers again change nothing. From here on the plan covers what the judge
    said, and `select` hands out the tasks of people.

    Example: streameval judge my-study judge.csv
    Example: streameval judge my-study --command ./ask.sh --rate 20 --price-per-label 0.002

    Args:
        study: Folder of a study that was planned with --judge sample=ITEMS; select --export writes what to ask.
        answers: What the judge said, in any format that evaluate takes: 0/1, yes/no or a probability. Items without an
            answer are a class of their own. In Python also tables; what cannot be read is no answer.
        command: Program to ask instead: it reads a line of JSON for each item, and writes {"se_task": …, "label": …}.
            Answers are kept as they come; the same command goes on. In Python too (`streameval.serving.program`) each
            answer is on the disk as it comes; if the program ends early, the same call asks for the rest, and nothing
            is frozen before every item has an answer; once it is, the same call asks nothing. One that writes a hundred
            lines in a row that are no answers is stopped.
        rate: Items that the program is given in a second at most.
        columns: The items' columns that it is given, as in select.
        price_per_label: Adds what its answers cost. In Python it is only checked: the plan says how many there are.
        ranking: In Python alone: the ranking that was planned, where it lies in memory: as of `select`.
        progress: In Python: is told how many items have an answer.
        read: In Python by name: `on`, `label`, `positive`, `negative`: columns and words of `answers`
            (`AnswerColumns`).

    Returns:
        Plan: The study's plan, with what the judge said.

    Raises:
        InputError: A source that cannot be read, answers outside [0, 1], two answers to one item, or about items that
            the judge was not asked about; fewer than half of the items have an answer; there are labels already,
            which the judge might have seen; or a program that failed, or left items out.
        StudyError: The plan has no sample for a judge, or it has answered already, otherwise.
    """
    check_price(price_per_label)
    answering(study, "judge")
    folder = Study(Path(study))
    (how,) = split([AnswerColumns], read, "judge")
    several = isinstance(answers, Sequence) and not isinstance(answers, str)
    sources = list(answers) if several else [answers]
    if (command is None) == (not sources):
        raise InputError("judge takes answers from files or from a program", "name files or --command, and not both")
    plan = folder.plan()
    _refuse_no_sample(folder, plan)
    if command is None:
        answer_sources = {"places": [place_of(source) for source in sources],
                 "flags": {key: value for key, value in read.items() if value is not None}}  # fmt: skip
        with folder.changing():
            plan = folder.plan()
            return _frozen(folder, plan, read_answers(folder, plan, sources, LabelColumns(**vars(how))), answer_sources)
    program = JudgeProgram(command, rate)
    if not awaits_judge(plan):
        if plan.location.get("judge_answers", {"flags": {}})["flags"].get("command") == command:
            return plan  # it was asked, and all that it said is frozen
        raise StudyError(f"{study}: its judge has answered already, and its answers are frozen",
                         "another judge is another study: plan into a new folder")  # fmt: skip
    _, tasks, _ = judged_items(folder, plan, Access(ranking, columns))
    judged = asked_of(folder, plan, tasks, program, progress)
    with folder.changing():
        return _frozen(folder, folder.plan(), judged, {"places": [], "flags": {"command": command}})


def printed(plan: Plan, study: Path, price_per_label: float | None = None, **_: Any) -> Printed:
    """Print what the judge said, what it cost, and what to run next."""
    counts = counts_of(plan)
    items, missing = sum(counts.values()), counts.get("no answer", 0)
    summary = ", ".join(f"{name}: {number:,}" for name, number in counts.items() if number)
    lines = [f"The judge's answers are frozen ({number_of(items, 'item')}; {summary})."]
    if missing:
        lines.append(f"{missing / items:.1%} of the items have no answer: they stay a class of their own for good.")
    price = None if price_per_label is None else items * price_per_label
    if price_per_label is not None:
        lines.append(f"At {price_per_label:,g} each, they cost {price:,.2f}.")
    following = export_tasks(str(study)).command
    facts = {"study": str(study), "plan_id": plan.plan_id, "judge": counts, "price": price, "next": following}
    return Printed(facts, [*lines, f"Next: {following}"])


def _refuse_no_sample(folder: Study, plan: Plan) -> None:
    method = method_of(plan)
    if asked_judge(plan) is None or method.judge_sample is None:
        sample = min(200_000, plan.n_items)
        raise StudyError(f"{folder.folder}: its plan has no sample for a judge",
                         f"a plan with --judge=sample={sample}, say, has one")  # fmt: skip
    if awaits_judge(plan) and folder.labels.sources():
        raise InputError(f"{folder.folder}: there are labels already, and its judge may have seen them",
                         "a judge answers first: plan into a new folder")  # fmt: skip


def _frozen(folder: Study, plan: Plan, judged: FloatArray, answer_sources: Mapping[str, Any]) -> Plan:
    """Freeze what a judge said of its sample."""
    judge_sample, method = asked_judge(plan), method_of(plan)
    if judge_sample is None or not isinstance(method, DrawsIndependently):
        raise ValueError("no judge was asked")
    codes = judge_sample.codes(pa.chunked_array([pa.array(judged)]), "the judge's answers")
    if not awaits_judge(plan):
        refuse_other_answers(folder, plan, judged)
        return plan
    _refuse_no_sample(folder, plan)
    missing = int(np.sum(np.isnan(judged)))
    if 2 * missing > judged.size:
        raise InputError(f"{folder.folder}: its judge answered {judged.size - missing:,} of {judged.size:,} items, "
                         "fewer "
                         "than half, and none can be added once the answers are frozen",
                         "give all of its answers at once; judge takes several files")  # fmt: skip
    frozen = with_answers(plan, method.reserve(plan)[0], codes, judged).with_notes(grown_from=list(plan.study_ids))
    frozen = replace(frozen, location={**frozen.location, "judge_answers": answer_sources})
    folder.grow_plan(frozen)
    return frozen
