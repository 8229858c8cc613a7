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
from streameval.copies.write import finish_replacing, is_half_replaced, record_of, replace_copy, write_copy
from streameval.errors import StudyError
from streameval.progress import Progress, silent
from streameval.rankings.copied import EVERY, OF_FEW_VALUES, Copied, copied_lists, fingerprint_of
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.types import Plan


def materialize(
    folder: Study, ranking: Any, options: RankingOptions, progress: Progress = silent, copy: Path | None = None
) -> Any:
    """Give what to open for a ranking: the ranking itself, or its copy in the study, which is made if it is not there.

    A query, and rows that come once, are read each time: only so is it known whether they are the same. While nothing
    was made of the plan that is there, another list takes the place of its copy; afterwards only the list that was
    planned does, where its copy is lost: gone, damaged, or that of another list.

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
    if is_half_replaced(place):
        with folder.planning():
            finish_replacing(place)
    with open_list(ranking, kind, options) as unread:
        planned = _planned_copy(folder, place)
        if planned is not None:
            _refuse_other_content(folder, planned, unread)
        if not _is_copied(unread, place, planned):
            unread.check()
            with folder.planning():
                _copy(folder, unread, place, planned, progress)
    return str(place)


def _planned_copy(folder: Study, place: Path) -> Copied | None:
    """Give the list whose copy belongs in a place; None while nothing was made of the plan, so that any may.

    Raises:
        StudyError: Something was made of a plan that reads no copy there, or that cannot be read, nor can its copy.
    """
    if not folder.is_begun:
        return None
    try:
        plan = folder.plan()
    except StudyError:  # repeating the plan restores it, and its copy tells what it is of
        record = record_of(place)
        if record is None:
            raise
        return Copied(str(place), ", ".join(record["source"]), record["content"], fingerprint_of(place),
                      record.get("dictionaries", EVERY))  # fmt: skip
    copies = {copy.folder: copy for copy in copied_lists(plan)}
    if str(place) not in copies:
        raise StudyError(f"{folder.folder} holds a plan of a list that was not read into {place.name}",
                         "plan into another folder, or repeat the plan that is there")  # fmt: skip
    return copies[str(place)]


def _refuse_other_content(folder: Study, planned: Copied, unread: Unread) -> None:
    """Refuse a source whose content is known to be another than that of the list that was planned."""
    if unread.content is not None and planned.content is not None and unread.content != planned.content:
        raise StudyError(
            f"{folder.folder} holds a plan of another list than {unread.name}, or of another score",
            f"plan into another folder, or repeat the plan that is there: of {planned.source}",
        )


def _is_copied(unread: Unread, place: Path, planned: Copied | None) -> bool:
    """Tell whether a place holds the copy of a source, as it was written, and no row has to be read to know that."""
    record = record_of(place)
    is_same = record is not None and unread.content is not None and record["content"] == unread.content
    return is_same and (planned is None or planned.is_there())


def _copy(folder: Study, unread: Unread, place: Path, planned: Copied | None, progress: Progress) -> None:
    """Read a source, and put it in its place unless the same rows are there.

    Raises:
        StudyError: Something was made of the plan, and these are not its rows.
    """
    room = place.with_name(f".{place.name}.part")
    write_copy(unread, room, progress, OF_FEW_VALUES if planned is None else planned.dictionaries)
    planned = _planned_copy(folder, place)
    if planned is not None and fingerprint_of(room) != planned.fingerprint:
        shutil.rmtree(room)
        raise StudyError(f"{unread.name}: gives other rows, or another order, than when {folder.folder} was planned",
                         f"plan into another folder, or repeat the plan that is there: of {planned.source}; ORDER BY "
                         "makes the order of a query certain")  # fmt: skip
    if planned is not None and record_of(place) is not None and planned.is_there():
        shutil.rmtree(room)
    else:
        replace_copy(room, place)


def with_copy(plan: Plan, folder: Study) -> Plan:
    """Let a plan remember what its list was read from, where that is a copy in the study."""
    if plan.location["source"] != [os.path.abspath(folder.list_copy)]:
        return plan
    return replace(plan, location={**plan.location, "copied": record_of(folder.list_copy)})
