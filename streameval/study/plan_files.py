"""A plan as two files: plan.parquet, its table, and plan.json, all else; the JSON is written last.

A plan by slices has a third, slice_counts.parquet: how many items of each slice are among the first items of the list;
one with a judge has judge_counts.parquet: how many items of each block are in each class; one whose judge answers for a
sample, or that may grow where its labels say, has judge_sample.parquet: the ranks, and their classes.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.copies import LIST_COPY
from streameval.errors import StudyError
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.own_files import UNUSABLE, read_json, unusable
from streameval.study.formats import format_mark, read_header
from streameval.text import short
from streameval.types import SIDE_TABLES, Plan

AGAINST_COPY = "against"  # folder that holds the list with which `LIST_COPY` is compared, if it had to be copied too
_COPIES = {"copied": ("source", LIST_COPY), "against_copied": ("against", AGAINST_COPY)}  # by what tells of them
_MAY_BE_EMPTY = ("paired",)  # kinds of study that may have an answer without a label
_RESTORE = "restore it, or repeat the plan with its --seed"
_RESTORE_HEADER = "restore it, or repeat the plan with its --seed, which `plan` printed and report.html shows"
_DIFFERENCES = 4  # that a message names
_NOTES = ("by", "per", "cutoffs", "questions")  # of a plan, that a message names
_OF_THE_ORDER = ("order", "score", "ascending", "tie_rule")  # one phrase says them
_RANKS = {"rank": pa.int64()}
_PLAN_KEYS = ("method", "parameters", "n_items", "seed", "ranking", "notes", "location")


def read_plan(folder: Path) -> Plan:
    """Read the plan of a study; a `StudyError` where there is none, or it was changed by hand."""
    path = folder / "plan.json"
    try:
        header = read_header(path, _RESTORE_HEADER)
        values = {key: header[key] for key in _PLAN_KEYS}
        for place, name in _copies(values["location"]).items():  # in the study, wherever that lies by now
            values["location"][place] = [os.path.abspath(folder / name)]
        plan = Plan(table=_ranks(folder, header), kind=header["kind"], **_side_tables(folder, header), **values)
        _refuse_invented(plan)
    except FileNotFoundError as error:
        raise _without_plan(folder, error.filename) from error
    except StudyError:
        raise
    except UNUSABLE as error:
        raise unusable(path, error, _RESTORE_HEADER) from error
    if plan.plan_id != header["plan_id"]:
        raise StudyError(
            f"{path}: says plan {header['plan_id']}, but plan.json and plan.parquet make {plan.plan_id}",
            "one of them was changed; restore both (plans/ has those that it grew from), or plan into a new folder",
        )
    return plan


def plan_ids(folder: Path) -> tuple[str, ...]:
    """Read the ids of a study's plan and of those that it grew from (`Plan.study_ids`), without reading its ranks."""
    path = folder / "plan.json"
    try:
        header = read_json(path, _RESTORE_HEADER)
        return (str(header["plan_id"]), *header["notes"].get("grown_from", ()))
    except FileNotFoundError as error:
        raise _without_plan(folder, error.filename) from error
    except (LookupError, TypeError, AttributeError) as error:
        raise unusable(path, error, _RESTORE_HEADER) from error


def _without_plan(folder: Path, missing: str | None) -> StudyError:
    """Give what a folder without a plan is: exact results, or no study."""
    if (folder / "evaluation.json").exists() and not any(
        (folder / name).exists() for name in ("plan.parquet", "votes")
    ):
        return StudyError(f"{folder}: every item has a label there, so nothing is planned, and nothing left to label",
                          f"`streameval show {shlex.quote(str(folder))}` says what is known")  # fmt: skip
    if any((folder / name).exists() for name in ("plan.json", "plan.parquet", "votes")):
        hint = "restore it" if missing == str(folder / "plan.json") else _RESTORE
        return StudyError(f"{missing} is missing from this study", hint)
    return StudyError(f"{missing or folder / 'plan.parquet'}: no such file, so {folder} is not a study",
                      "make one with `streameval plan`")  # fmt: skip


def _side_tables(folder: Path, header: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Tables that a plan has beside its own, as its notes say."""
    notes, judge = header["notes"], header["notes"].get("judge", {})
    wanted = {
        "slice_counts": ("slices" in notes, _RANKS),
        "judge_counts": ("judge" in notes and judge.get("answered", True), {"items": pa.int64()}),
        "judge_sample": ("sample" in judge or "reserve" in judge, _RANKS),
        **dict.fromkeys(("known", "ahead"), ("questions" in notes, _RANKS)),
    }
    tables = {}
    for name, (there, columns) in wanted.items():
        if there:
            file, former = (
                read_table(folder / f"{name}.parquet", _RESTORE, **columns),
                folder / "plans" / f"{name}.parquet",
            )
            if file.facts.get("plan_id") != header["plan_id"] and former.exists():  # growing it was interrupted
                file = read_table(former, _RESTORE, folder, **columns)
            tables[SIDE_TABLES[name]] = file.table
    return tables


def _ranks(folder: Path, header: Mapping[str, Any]) -> pa.Table:
    """Planned ranks; those that plan.json is of, where growing the plan was interrupted before it was replaced."""
    file = read_table(folder / "plan.parquet", _RESTORE, **_RANKS)
    former = folder / "plans" / f"{header['plan_id']}.parquet"
    if file.facts.get("plan_id") != header["plan_id"] and former.exists():
        file = read_table(former, _RESTORE, folder, **_RANKS)
    return file.table


def _refuse_invented(plan: Plan) -> None:
    """Refuse what no method plans: a `ValueError` or `TypeError` says what."""
    for name in ("parameters", "ranking", "notes", "location"):
        if not isinstance(getattr(plan, name), dict):
            raise TypeError(f"{name} is not an object")
    if not (
        isinstance(plan.kind, str)
        and isinstance(plan.method, str)
        and isinstance(plan.seed, int)
        and isinstance(plan.n_items, int)
    ):
        raise TypeError("method, seed or n_items is of another type")
    memory, threads = plan.location.get("memory", 2.0), plan.location.get("threads")
    if not (isinstance(memory, int | float) and isinstance(threads, int | None)):
        raise TypeError("memory or threads is not a number")
    ranks = plan.ranks
    if ranks.size == 0 and plan.kind in _MAY_BE_EMPTY:
        return
    if ranks.size == 0 or ranks[0] < 1 or ranks[-1] > plan.n_items or np.any(np.diff(ranks) <= 0):
        raise ValueError(f"its ranks are not among 1..{plan.n_items}")


def file_names(plan: Plan) -> list[str]:
    """Files that hold a plan in a study, in the order in which they are best read."""
    return [*(f"{name}.parquet" for name in plan.side_tables), "plan.parquet", "plan.json"]


def _copies(location: Mapping[str, Any]) -> dict[str, str]:
    """Lists that a study holds a copy of: how its location calls them, and the folder."""
    return {place: name for key, (place, name) in _COPIES.items() if key in location}


def plan_files(folder: Path, plan: Plan, name: str) -> dict[Path, atomic.Writer]:
    """Both files of a plan; the JSON last, because it makes the study."""
    copied = {place: [name] for place, name in _copies(plan.location).items()}
    header = {
        "plan_id": plan.plan_id,
        **format_mark(plan.kind),
        **plan.header(),
        "location": {**plan.location, **copied},
        "version": __version__,
    }
    tags = {"plan_id": plan.plan_id}
    return {
        **{folder / f"{key}.parquet": atomic.parquet(table, tags) for key, table in plan.side_tables.items()},
        folder / f"{name}.parquet": atomic.parquet(plan.table, tags),
        folder / f"{name}.json": atomic.json_object(header),
    }


def restores(folder: Path, plan: Plan) -> bool:
    """Tell whether the plan on disk cannot be read, but one of its files shows that it is this plan."""
    try:
        read_plan(folder)
    except StudyError:
        return plan.plan_id in _ids(folder)
    return False


def _ids(folder: Path) -> Iterator[object]:
    with suppress(StudyError, FileNotFoundError):
        yield read_json(folder / "plan.json", _RESTORE_HEADER).get("plan_id")
    with suppress(StudyError, FileNotFoundError):
        yield read_table(folder / "plan.parquet", _RESTORE).facts.get("plan_id")


def difference(there: Plan, new: Plan) -> str:
    """Say what two plans differ in, as it was then and is now: the first few things, and how many more."""
    old, now = _plan_facts(there), _plan_facts(new)
    keys = [key for key in {**now, **old} if _value_text(old.get(key)) != _value_text(now.get(key))]
    changes = [f"{_list_name(key, old.get(key))} then, {_value_text(now.get(key))} now" for key in keys[:_DIFFERENCES]]
    more = [f"and {len(keys) - _DIFFERENCES:,} more"] if len(keys) > _DIFFERENCES else []
    return "; ".join([*changes, *more]) or "its ranks differ"


def _plan_facts(plan: Plan) -> dict[str, Any]:
    """Say what was asked for, and of which list, by the names that options have."""
    from streameval.methods.stage_text import stages_typed

    stages = {"stages": stages_typed(plan.parameters), "growing": None, "adaptive": None}
    options = {key.replace("_", "-"): value for key, value in {**plan.parameters, **stages}.items()}
    options |= {key: plan.notes[key] for key in _NOTES if key in plan.notes}
    options |= _judge_of(plan.notes) | {key: value for key, value in plan.ranking.items() if key not in _OF_THE_ORDER}
    column = plan.ranking.get("score") or plan.notes.get("score")
    ascending = plan.ranking.get("ascending") or plan.notes.get("ascending")
    order = "stored order" if column is None else f"order by `{column}`{' ascending' * bool(ascending)}"
    whole = {"order": order, "method": plan.method, **options, "items": f"{plan.n_items:,}", "seed": str(plan.seed)}
    return {key: value for key, value in whole.items() if value not in (None, [], (), "refuse")}  # defaults


def _judge_of(notes: Mapping[str, Any]) -> dict[str, Any]:
    """The column and classes of the judge, where there is one."""
    judge = next((note for note in notes.values() if isinstance(note, Mapping) and "column" in note), {})
    return {"judge": judge.get("column"), "classes of the judge": judge.get("thresholds")}


def _list_name(name: str, value: Any) -> str:
    if name == "order":
        return str(value)
    return f"no {name}" if value is None else f"{name} {_value_text(value)}"


def _value_text(value: Any) -> str:
    """A value of a plan as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return " and ".join(map(_value_text, value))
    return "none" if value is None else short(str(value))
