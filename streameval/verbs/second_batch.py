"""Second batch: put the rest of an adaptive plan where the labels of the first batch say it is needed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from streameval.errors import InputError, StudyError
from streameval.methods import method_of
from streameval.methods.stages import LooksAtFirst
from streameval.study import Study
from streameval.study.judging import last_judging, tally_stored
from streameval.types import Plan

_REQUEST = {"second_batch": True}


def second_batch(study: str | os.PathLike[str]) -> Plan:
    """Add the second batch to a study that was planned with `adaptive`; asked again, nothing changes.

    Every item of the first batch must have been answered or skipped: which of them have an answer must not depend on
    labels further down the list. An item that was skipped is unknown, and widens the bounds.

    Returns:
        Plan: Both batches together; `batch` says which of them a rank came with.

    Raises:
        InputError: The first batch is not complete.
        StudyError: No study, or one that was not planned with `adaptive`.
    """
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        method = method_of(plan)
        if not method.adaptive or not isinstance(method, LooksAtFirst):
            raise StudyError(f"{study}: its plan has no second batch", "plan --adaptive makes one that has")
        if _REQUEST in plan.grown_by:
            return plan
        tallied = tally_stored(folder, plan, last_judging(folder), folder.labels.sources())
        if left := int(np.sum(~tallied.answered)):
            raise InputError(f"{study}: {left:,} of the {tallied.answered.size:,} tasks of its first batch are open",
                             "finish it first; skipping an item is an answer")  # fmt: skip
        grown = method.continued(plan, tallied.labels)
        grown = grown.with_notes(grown_from=list(plan.study_ids), grown_by=[*plan.grown_by, _REQUEST])
        folder.grow_plan(grown)
        return grown
