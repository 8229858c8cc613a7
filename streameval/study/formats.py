"""What plan.json and evaluation.json say of themselves: the kind of study, and the number of their format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streameval.errors import StudyError
from streameval.stores.own_files import read_json

FORMAT = 1
# of files from before kinds were written: by method, and whether they are of many rankings
_KINDS = {("exact", False): "labelled_list", ("exact", True): "rankings", ("top_items", True): "drawn_rankings"}


def marked(kind: str) -> dict[str, Any]:
    """What a file says of itself."""
    return {"kind": kind, "format": FORMAT}


def read_header(path: Path, hint: str) -> dict[str, Any]:
    """Read plan.json or evaluation.json; one that names neither `kind` nor `format` is of the first format.

    Args:
        hint: What to do where it cannot be used.

    Raises:
        FileNotFoundError, StudyError, OutsideError: As `read_json`; also a file of another format.
    """
    header = read_json(path, hint)
    if header.get("format", FORMAT) != FORMAT:
        made = f"streameval {header.get('version')}"
        raise StudyError(f"{path}: {made} wrote format {header['format']}, and this version reads format {FORMAT}",
                         f"use {made}, or {hint}")  # fmt: skip
    return {**marked(_told(header)), **header}


def _told(header: Mapping[str, Any]) -> str:
    """Kind of a study that does not name it."""
    notes = header.get("notes")
    several = "per" in header or (isinstance(notes, Mapping) and "per" in notes)
    return _KINDS.get((str(header.get("method")), several), "curve")
