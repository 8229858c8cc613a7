"""Manifests: what each verb read and wrote, for whoever asks later what a result was made from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streameval import __version__, atomic


def save(study: str | os.PathLike[str], verb: str, read: Mapping[str, Any], written: Sequence[Path]) -> dict[str, Any]:
    """Write `STUDY/manifests/VERB.json`; it holds no time of day, so equal files make equal manifests.

    Parameters
    ----------
    study : path
    verb : str
    read : mapping of str to JSON values
        What was read: sources, fingerprint, rows, bytes.
    written : sequence of Path
        Files that were written.

    Returns
    -------
    dict
        `read` as given; `written`: `path`, `bytes`, `sha256` of each file.
    """
    facts = {"read": dict(read), "written": [_file(Path(path)) for path in written]}
    text = json.dumps({"verb": verb, "version": __version__, **facts}, indent=2, ensure_ascii=False)
    atomic.write_all({Path(study) / "manifests" / f"{verb}.json": atomic.text(text + "\n")})
    return facts


def _file(path: Path) -> dict[str, Any]:
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": digest}
