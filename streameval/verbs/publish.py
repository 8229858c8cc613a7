"""Publish: copy a finished evaluation to where others read it, its manifest last."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streameval import __version__
from streameval.errors import StudyError
from streameval.stores.own_files import read_bytes
from streameval.stores.transfer import get, put, remove
from streameval.study import Study, published
from streameval.study.rankings_files import FILES, RankingsEvaluation
from streameval.study.rankings_sample import SAMPLE_FILES, is_sample, read_sample
from streameval.study.result_files import EXACT, Evaluation

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Published:
    """What was published.

    Attributes:
        manifest: `evaluation_id`, `study`, `version`, and for each of `files` its `name`, `bytes` and `sha256`.
        already_there: Whether the same set was there before: nothing was written.
    """

    place: str
    manifest: dict[str, Any]
    already_there: bool


def publish(study: str | os.PathLike[str], place: str | os.PathLike[str]) -> Published:
    """Copy the plan and results of an evaluated study to a folder or an object store.

    The manifest goes last, and a former one goes first: where it lies, the set is whole, and every file has the hash it
    names. The same evaluation again writes nothing; remove the manifest to have it written once more.

    Args:
        place (path or URI): Folder, made if need be, or `s3://…`, `gs://…`, `az://…`.

    Raises:
        StudyError: There are no results, or they are a mixed set.
        InputError, OutsideError: The place cannot be written to; the store does not answer.
    """
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        if is_sample(folder.folder):
            identity, names = read_sample(folder.folder).evaluation_id, ["plan.parquet", "plan.json", *SAMPLE_FILES]
        else:
            identity, names = folder.evaluation().evaluation_id, published(plan)
        bodies = _bodies(folder.folder, names)
    return _copy(bodies, identity, plan.plan_id, place)


def publish_exact(
    evaluation: Evaluation | RankingsEvaluation, folder: str | os.PathLike[str], place: str | os.PathLike[str]
) -> Published:
    """Copy what `exact` wrote into a folder, of one ranking or of many, in the same way as `publish`."""
    names = EXACT if isinstance(evaluation, Evaluation) else FILES
    return _copy(_bodies(Path(folder), names), evaluation.evaluation_id, None, place)


def _copy(bodies: Mapping[str, bytes], identity: str, study: str | None, place: str | os.PathLike[str]) -> Published:
    root = os.fspath(place).rstrip("/")
    manifest = {
        "evaluation_id": identity,
        "study": study,
        "version": __version__,
        "files": [
            {"name": name, "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
            for name, body in bodies.items()
        ],
    }
    there = get(f"{root}/{MANIFEST}")
    former = _parsed(there)
    if all(former.get(key) == manifest[key] for key in ("evaluation_id", "study", "version")):
        return Published(root, former, True)
    if there is not None:
        remove(f"{root}/{MANIFEST}")
    for name, body in bodies.items():
        put(f"{root}/{name}", body)
    put(f"{root}/{MANIFEST}", (json.dumps(manifest, indent=2) + "\n").encode())
    return Published(root, manifest, False)


def _parsed(raw: bytes | None) -> dict[str, Any]:
    try:
        manifest = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _bodies(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Content of files, each as it was written and from nowhere but the folder."""
    try:
        return {name: read_bytes(folder / name, "make it again") for name in names}
    except FileNotFoundError as error:
        raise StudyError(f"{error.filename}: no such file", "make it again") from error
