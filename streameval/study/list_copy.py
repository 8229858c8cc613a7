"""The list of a study that is no Parquet: read once into STUDY/ranking, which later verbs read in its place.

What the plan remembers of it (`location`): `copied`, which is what was read, and `source`, the folder in the study.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from streameval.copies import Unread, kind_of, open_list
from streameval.copies.write import record_of, replace_copy, write_copy
from streameval.errors import StudyError
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.plan_files import LIST_COPY
from streameval.types import Plan

_ELSEWHERE = "plan into another folder, or repeat the plan that is there"


def materialize(
    folder: Study, ranking: Any, options: RankingOptions, progress: Progress = silent, copy: Path | None = None
) -> Any:
    """Give what to open for a ranking: the ranking itself, or its copy in the study, which is made if it is not there.

    A query, and rows that come once, are read each time: only so is it known whether they are the same. While nothing
    was made of the plan that is there, another list takes the place of its copy.

    Args:
        copy: Folder of the copy (default: that of the list that is planned).

    Raises:
        StudyError: Something was made of the plan, and the source holds another list.
        InputError, OutsideError: What reading the source raises.
    """
    kind = kind_of(ranking)
    if kind is None:
        return ranking
    place = Path(os.path.abspath(copy or folder.list_copy))
    with open_list(ranking, kind, options) as unread:
        there = record_of(place)  # None of what is not as it was written
        if there is not None and unread.content is not None and there["content"] == unread.content:
            return str(place)
        if (
            folder.is_begun
            and (there is None or unread.content is not None)
            and not (there is None and _is_of(folder, place, unread))
        ):
            raise StudyError(f"{folder.folder} holds a plan of another list than {unread.name}, or of another score",
                             _ELSEWHERE)  # fmt: skip
        unread.check()
        with folder.planning():
            room = place.with_name(f".{place.name}.part")
            write_copy(unread, room, progress)
            if folder.is_begun:
                _refuse_other(folder, unread, room, place if there else None)
            if room.exists():
                replace_copy(room, place)
    return str(place)


def _is_of(folder: Study, place: Path, unread: Unread) -> bool:
    """Whether this may be the list that was planned, whose copy is not there as it was written."""
    location = folder.plan().location
    content = location.get("copied" if place.name == LIST_COPY else "against_copied", {}).get("content", "")
    return bool(content == unread.content) and (content is not None or "against" not in location)


def _refuse_other(folder: Study, unread: Unread, room: Path, copy: Path | None) -> None:
    """Refuse rows that are not those of the copy; what was read to compare them is removed, unless the copy is lost."""
    if copy is None and "against" in folder.plan().location:
        return  # a plan has one fingerprint of both its lists; of a lost one the content is the same
    fingerprint = open_ranking(str(room)).fingerprint
    planned = open_ranking(str(copy)).fingerprint if copy else folder.plan().ranking["fingerprint"]
    if copy or fingerprint != planned:
        shutil.rmtree(room)
    if fingerprint != planned:
        raise StudyError(f"{unread.name}: gives other rows, or another order, than when {folder.folder} was planned",
                         f"{_ELSEWHERE}; ORDER BY makes the order of a query certain")  # fmt: skip


def with_copy(plan: Plan, folder: Study) -> Plan:
    """Let a plan remember what its list was read from, where that is a copy in the study."""
    if plan.location["source"] != [os.path.abspath(folder.list_copy)]:
        return plan
    return replace(plan, location={**plan.location, "copied": record_of(folder.list_copy)})
