"""Marks of plan.json and evaluation.json: the kind of study, and the number of their format."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streameval.errors import StudyError
from streameval.stores.own_files import read_json

FORMAT = 1
# of files that name none: plans are as they were, and results had the middle of the bounds for an estimate
_UNNAMED = {"plan.json": 1, "evaluation.json": 0}
# kinds of files that name none: by method, and whether they are of many rankings
_KINDS = {("exact", False): "labelled_list", ("exact", True): "rankings", ("top_items", True): "drawn_rankings"}


def format_mark(kind: str) -> dict[str, Any]:
    """Say what a file says of itself."""
    return {"kind": kind, "format": FORMAT}


def read_header(path: Path, hint: str) -> dict[str, Any]:
    """Read plan.json or evaluation.json.

    Args:
        hint: What to do where it cannot be used.

    Raises:
        FileNotFoundError, StudyError, OutsideError: As `read_json`; also a file of another format.
    """
    header = read_json(path, hint)
    file_format, writer = header.get("format", _UNNAMED[path.name]), f"streameval {header.get('version')}"
    if file_format < FORMAT:
        again = f"evaluate {shlex.quote(str(path.parent))}" if (path.parent / "plan.json").exists() else ""
        raise StudyError(f"{path}: {writer} wrote it, in an earlier format than is read now",
                         f"run `streameval {again}`: it keeps every label" if again else
                         "run `streameval exact` again, into this folder")  # fmt: skip
    if file_format > FORMAT:
        raise StudyError(f"{path}: {writer} wrote format {file_format}, and this version reads format {FORMAT}",
                         f"use {writer}, or {hint}")  # fmt: skip
    return {**format_mark(_kind(header)), **header}


def read_kind(path: Path) -> tuple[str, Mapping[str, Any]]:
    """Read the kind of study that a plan.json or evaluation.json of any format is of, and what its plan notes.

    Raises:
        FileNotFoundError, StudyError, OutsideError: As `read_json`.
    """
    header = read_json(path, "")
    notes = header.get("notes")
    return _kind(header), notes if isinstance(notes, Mapping) else {}


def _kind(header: Mapping[str, Any]) -> str:
    notes = header.get("notes")
    several = "per" in header or (isinstance(notes, Mapping) and "per" in notes)
    return str(header.get("kind", _KINDS.get((str(header.get("method")), several), "curve")))
