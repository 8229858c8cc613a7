"""Judge: take what a judge said of its sample, for good and before there are labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError
from streameval.judges.classes import answered, asked_judge, awaits_judge
from streameval.kinds import answering
from streameval.labelling.options import AnswerColumns, LabelColumns
from streameval.labelling.readers import place_of
from streameval.methods import DrawsIndependently, method_of
from streameval.options import split, takes
from streameval.study import Study
from streameval.study.judge_sample import read_answers, refuse_other_answers
from streameval.types import Plan


@takes(AnswerColumns)
def judge(study: str | os.PathLike[str], answers: Sequence[Any] | Any, **columns: Any) -> Plan:
    """Take the answers of a judge for the sample of a plan with `judge_sample`; the same ones again change nothing.

    Items that it says nothing of, or nothing that can be read, are a class of their own. From here on the plan covers
    what the judge said, and `select` hands out the tasks of people.

    Args:
        answers: What came back, as labels do to `evaluate`; the column `label` has 0/1, a boolean or a probability.
        columns: `on`, `label`, `positive`, `negative`: columns and words (`AnswerColumns`).

    Returns:
        Plan: The study's plan, with what the judge said.

    Raises:
        InputError: A source that cannot be read, answers outside [0, 1], two answers to one item, or about items that
            the judge was not asked about; fewer than half of the items have an answer; or there are labels already,
            which the judge might have seen.
        StudyError: The plan has no sample for a judge, or it has answered already, otherwise.
    """
    answering(study, "judge")
    folder = Study(Path(study))
    (how,) = split([AnswerColumns], columns, "judge")
    several = isinstance(answers, Sequence) and not isinstance(answers, str)
    sources = list(answers) if several else [answers]
    with folder.changing():
        plan = folder.plan()
        asked, method = asked_judge(plan), method_of(plan)
        if asked is None or method.judge_sample is None or not isinstance(method, DrawsIndependently):
            raise StudyError(f"{study}: its plan has no sample for a judge", "plan with --judge-sample 200000")
        said = read_answers(folder, plan, sources, LabelColumns(**vars(how)))
        codes = asked.codes(pa.chunked_array([pa.array(said)]), "the judge's answers")
        if not awaits_judge(plan):
            refuse_other_answers(folder, plan, said)
            return plan
        if folder.labels.sources():
            raise InputError(f"{study}: there are labels already, and its judge may have seen them",
                             "a judge answers first: plan into a new folder")  # fmt: skip
        missing = int(np.sum(np.isnan(said)))
        if 2 * missing > said.size:
            raise InputError(f"{study}: its judge answered {said.size - missing:,} of {said.size:,} items, fewer than "
                             "half, and none can be added once the answers are frozen",
                             "give all of its answers at once; judge takes several files")  # fmt: skip
        frozen = answered(plan, method.reserve(plan)[0], codes, said).with_notes(grown_from=list(plan.study_ids))
        given = {"places": [place_of(one) for one in sources],
                 "flags": {key: value for key, value in columns.items() if value is not None}}  # fmt: skip
        frozen = replace(frozen, location={**frozen.location, "judge_answers": given})
        folder.grow_plan(frozen)
        return frozen
