"""Freeze the judge: take what it said of its sample, for good and before there are labels."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError
from streameval.judge.classes import answered, asked_judge, awaits_judge
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import place_of
from streameval.methods import DrawsIndependently, method_of
from streameval.options import split
from streameval.study import Study
from streameval.study.judge_sample import read_answers, refuse_other_answers
from streameval.types import Plan


def freeze_judge(study: str | os.PathLike[str], labels: Sequence[Any] | Any, **options: Any) -> Plan:
    """Take the answers of a judge for the sample of a plan with `judge_sample`; the same ones again change nothing.

    Items that it says nothing of, or nothing that can be read, are a class of their own. From here on the plan covers
    what the judge said, and `select` hands out the tasks of people.

    Args:
        labels: What came back, as for `evaluate`; the column `label` has 0/1, a boolean or a probability.
        options: `on`, `label`, `positive`, `negative`: columns and words (`streameval.labelling.options.LabelColumns`).

    Returns:
        Plan: The study's plan, with what the judge said.

    Raises:
        InputError: A source that cannot be read, answers outside [0, 1], two answers to one item, or about items that
            the judge was not asked about; fewer than half of the items have an answer; or there are labels already,
            which the judge might have seen.
        StudyError: The plan has no sample for a judge, or it has answered already, otherwise.
    """
    folder = Study(Path(study))
    (columns,) = split([LabelColumns], options, "freeze_judge")
    sources = [labels] if isinstance(labels, str | os.PathLike) or not isinstance(labels, Sequence) else list(labels)
    with folder.changing():
        plan = folder.plan()
        judge, method = asked_judge(plan), method_of(plan)
        if judge is None or method.judge_sample is None or not isinstance(method, DrawsIndependently):
            raise StudyError(f"{study}: its plan has no sample for a judge", "plan with --judge-sample 200000")
        said = read_answers(folder, plan, sources, columns)
        codes = judge.codes(pa.chunked_array([pa.array(said)]), "the judge's answers")
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
                             "give all of its answers at once; --judge-labels takes several files")  # fmt: skip
        frozen = answered(plan, method.reserve(plan)[0], codes, said).with_notes(grown_from=list(plan.study_ids))
        given = {"places": [place_of(one) for one in sources],
                 "flags": {key: value for key, value in options.items() if value is not None}}  # fmt: skip
        frozen = replace(frozen, location={**frozen.location, "judge_answers": given})
        folder.grow_plan(frozen)
        return frozen
