"""What every way of planning a study needs: its folder, its seed, and a plan that takes no other one's place."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StudyError
from streameval.study import REPEAT, Study
from streameval.types import Plan

if TYPE_CHECKING:
    from streameval.rankings.ranking import Ranking


def planned_study(study: str | os.PathLike[str]) -> Study:
    """Give the study to plan into; an `InputError` where its name is empty: that would be the current folder."""
    if not os.fspath(study):
        raise InputError("the study's name is empty", "name a folder; '.' is the current one")
    return Study(Path(study))


def save_unless_planned(study: Study, before: tuple[str, ...], plan: Plan, instead: str = REPEAT) -> None:
    """Save a new plan, unless another command has planned otherwise since the study held the ids `before`.

    Args:
        instead: What to do where the study holds another plan that is begun.
    """
    with study.planning():
        now = planned_ids(study)
        if now != before and plan.plan_id not in now:
            raise OutsideError(
                f"{study.folder}: another command has just planned it differently", "run the same command again"
            )
        study.save_plan(plan, instead)


def refuse_unjoinable(ranking: Ranking, columns: Iterable[str]) -> None:
    """Refuse (`InputError`) a plan by keys of a type by which no labels could be joined, before anybody labels."""
    from streameval.labelling.key_forms import refuse_unreadable_items

    schema = ranking.rows.schema
    keys = pa.schema([schema.field(name) for name in columns if name in schema.names])
    refuse_unreadable_items(keys, ranking.rows.name)


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
