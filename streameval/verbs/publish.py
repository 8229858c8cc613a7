"""Publish: copy a finished evaluation to where others read it, its manifest last."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval import __version__
from streameval.errors import InputError, StudyError
from streameval.kinds import results_of
from streameval.options import takes
from streameval.printed import Printed
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Paragraph
from streameval.stores import PathOrURI, is_remote, locks
from streameval.stores.claims import claimed, ended_runs, remove_unfinished
from streameval.stores.own_files import read_bytes
from streameval.stores.transfer import get, put, remove
from streameval.study import Study
from streameval.study.plan_files import file_names

if TYPE_CHECKING:
    from streameval.kinds.results import StudyResult

MANIFEST = "manifest.json"
_PLAIN = re.compile(r"\w[\w.-]*")  # no folder, and nothing that leads out of one


@dataclass(frozen=True, repr=False)
class Published(ShowsItself):
    """Files that were published.

    Attributes:
        manifest: `evaluation_id`, `study`, `version`, and for each of `files` its `name`, `bytes` and `sha256`.
        already_there: Whether the same set was there before: nothing was written.
    """

    place: str
    manifest: dict[str, Any]
    already_there: bool

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say where the files are, and whether they were there before."""
        return [f"Published: {self.place}{', where they were already' if self.already_there else ''}"]


@takes()
def publish(study: str | os.PathLike[str], place: PathOrURI) -> Published:
    """Copy results to a store.

    Or to a folder: their manifest.json last.

    Example: streameval publish my-study s3://bucket/results

    Args:
        study: Folder of an evaluated study. In Python also of what `exact` wrote.
        place: Folder or object store (s3://bucket/folder). In Python also `gs://…` and `az://…`; a folder is
            made if need be.

    Returns:
        Published: The manifest goes last, and a former one goes first: where it lies, the set is whole, and every file
            has the hash it names. The same evaluation again writes nothing; remove the manifest to have it written once
            more. One run at a time writes to a place: on this machine a second one waits, on an object store it is
            refused.

    Raises:
        StudyError: There are no results, or they are a mixed set.
        InputError, OutsideError: The place cannot be written to; another run writes there; the store does not answer.
    """
    folder = Study(Path(study))
    if not os.fspath(place):
        raise InputError("the place is empty", "name a folder, or s3://bucket/folder")
    if (Path(place) / "votes").exists():
        raise InputError(f"{os.fspath(place)}: is a study with labels of its own", "publish to another folder")
    alone = not folder.exists and (folder.folder / "evaluation.json").exists()
    with locks.one_at_a_time(folder.folder) if alone else folder.changing():
        results = results_of(folder)
        bodies = _bodies(folder.folder, published_names(folder, results))
    return _copy(bodies, results.evaluation_id, results.summary["study"], place)


def printed(done: Published, study: Path, place: str) -> Printed:
    """Print where the files are, and whether they were there before."""
    files = done.manifest["files"]
    facts = {"place": done.place, "already_there": done.already_there, "files": files}
    stage = {"bytes": 0 if done.already_there else sum(file["bytes"] for file in files), **facts}
    return Printed({"study": str(study), **facts}, done.paragraphs, stage)


def published_names(folder: Study, results: StudyResult) -> list[str]:
    """Names of the files that are copied, in the order in which they are best read."""
    plan = folder.plan() if folder.exists else None
    planned = [] if plan is None else file_names(plan)
    return [*planned, *results.written(plan)]


def _copy(bodies: Mapping[str, bytes], identity: str, study: str | None, place: PathOrURI) -> Published:
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
    former = _parse_manifest(get(f"{root}/{MANIFEST}"))
    if all(former.get(key) == manifest[key] for key in ("evaluation_id", "study", "version")):
        return Published(root, former, True)
    with _exclusive_run(root) as refuse_lost:
        there = get(f"{root}/{MANIFEST}")
        if there is not None:
            remove(f"{root}/{MANIFEST}")
        for name, digest in _digests_in(_parse_manifest(there)).items():
            if name not in bodies and hashlib.sha256(get(f"{root}/{name}") or b"").hexdigest() == digest:
                remove(f"{root}/{name}")  # of another kind of study: it would seem to belong to this one
        for name, body in bodies.items():
            put(f"{root}/{name}", body)
        refuse_lost()
        put(f"{root}/{MANIFEST}", (json.dumps(manifest, indent=2) + "\n").encode())
    return Published(root, manifest, False)


@contextmanager
def _exclusive_run(root: str) -> Iterator[Callable[[], None]]:
    """Be the one run that writes to a place.

    Yields:
        callable: Raises an `OutsideError` where that is so no longer.
    """
    if not is_remote(root):
        os.makedirs(root, exist_ok=True)
        with locks.one_at_a_time_without_trace(Path(root)):
            yield lambda: None
        return
    with claimed(root, partial(remove_unfinished, root)) as claim:
        for run in ended_runs(root):
            remove_unfinished(root, run)
        yield claim.refuse_lost


def _digests_in(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """SHA-256 of the files that a manifest lists, by plain name; others write there too, so it may be anything."""
    listed = manifest.get("files")
    files = [file for file in listed if isinstance(file, dict)] if isinstance(listed, list) else []
    return {name: file.get("sha256") for file in files if _PLAIN.fullmatch(name := str(file.get("name")))}


def _parse_manifest(raw: bytes | None) -> dict[str, Any]:
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
