"""A plan as two files: plan.parquet, its table, and plan.json, all else; the JSON is written last.

A plan by slices has a third, slice_counts.parquet: how many items of each slice are among the first items of the list.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streameval import __version__
from streameval.errors import StudyError
from streameval.stores import atomic
from streameval.types import Plan

_PLAN_KEYS = ("method", "parameters", "n_items", "seed", "ranking", "notes", "location")


def read_plan(folder: Path) -> Plan:
    """Read the plan of a study.

    Raises
    ------
    StudyError
        No study there, or its plan was changed by hand.
    """
    path = folder / "plan.json"
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
        table = pq.read_table(folder / "plan.parquet").replace_schema_metadata(None)
        sliced = "slices" in header["notes"]
        marks = pq.read_table(folder / "slice_counts.parquet").replace_schema_metadata(None) if sliced else None
        plan = Plan(table=table, marks=marks, **{key: header[key] for key in _PLAN_KEYS})
    except FileNotFoundError as error:
        raise StudyError(
            f"{error.filename or folder / 'plan.parquet'}: no such file, so {folder} is no study",
            "make one with `streameval plan`",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise StudyError(f"{path}: the plan cannot be read ({error})", "restore it, or plan anew") from error
    if plan.plan_id != header["plan_id"]:
        raise StudyError(
            f"{path}: says plan {header['plan_id']}, but plan.json and plan.parquet make {plan.plan_id}",
            "one of them was changed; restore both (plans/ has those that it grew from), or plan into a new folder",
        )
    return plan


def plan_files(folder: Path, plan: Plan, name: str) -> dict[Path, atomic.Writer]:
    """Both files of a plan; the JSON last, because it makes the study."""
    header = {"plan_id": plan.plan_id, **plan.header(), "location": dict(plan.location), "version": __version__}
    tags = {"plan_id": plan.plan_id}
    marks = {} if plan.marks is None else {folder / "slice_counts.parquet": atomic.parquet(plan.marks, tags)}
    return {
        **marks,
        folder / f"{name}.parquet": atomic.parquet(plan.table, tags),
        folder / f"{name}.json": atomic.text(json.dumps(header, indent=2, ensure_ascii=False) + "\n"),
    }


def difference(there: Plan, new: Plan) -> str:
    """Name the first thing in which two plans differ."""
    old, now = _flat(there.header()), _flat(new.header())
    for key in [*now, *old]:
        if old.get(key) != now.get(key):
            return f"{key} is {old.get(key)} there, and {now.get(key)} now"
    return "its ranks differ"


def _flat(header: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in header.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif not prefix.startswith("notes") or key == "by":
            flat[prefix + key] = value
    return flat
