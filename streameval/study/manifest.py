"""Manifests: what each verb read and wrote, for whoever asks later what a result was made from."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from streameval import __version__
from streameval.stores import atomic, is_remote
from streameval.stores.transfer import get
from streameval.text.credentials import masked_values


def save(
    study: str | os.PathLike[str], verb: str, read: Mapping[str, Any], written: Sequence[Path | str]
) -> dict[str, Any]:
    """Write `STUDY/manifests/VERB.json`; it holds no time of day, so equal files make equal manifests.

    Args:
        read (mapping of str to JSON values): What was read: sources, fingerprint, rows, bytes.
        written: Files that were written; small ones, where they lie on an object store.

    Returns:
        dict: `read` as given; `written`: `path`, `bytes`, `sha256` of each file.
    """
    facts = {"read": masked_values(read), "written": [_file(os.fspath(path)) for path in written]}
    text = json.dumps({"verb": verb, "version": __version__, **facts}, indent=2, ensure_ascii=False)
    atomic.write_all({Path(study) / "manifests" / f"{verb}.json": atomic.text(text + "\n")})
    return facts


def _file(path: str) -> dict[str, Any]:
    if is_remote(path):
        body = get(path) or b""
        return {"path": path, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"path": path, "bytes": os.path.getsize(path), "sha256": digest}
