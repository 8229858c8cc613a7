"""Temporary folders that do not outlive their process for long: the next one of the same name removes what was left.

A folder is locked while its process works, and whoever makes the next one removes those of the same name that nobody
has locked: the leftovers of killed processes, and nothing else. Where there are no locks, nothing is removed.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from streameval.errors import OutsideError, outside_trouble
from streameval.process.system import reserve
from streameval.stores import locks
from streameval.typing import UInt8Array

_ENDING = ".part"


@contextmanager
def temporary_folder(name: str, parent: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Make an empty folder `.NAME.random.part`, by default in the system's for temporary files; remove it at the end.

    Raises:
        OSError: It cannot be made.
        OutsideError: The system's folder for temporary files is full, or there is none.
    """
    place = os.fspath(parent) if parent is not None else _systems()
    remove_left(name, place)
    path, handle = _make(name, place)
    try:
        yield Path(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def mapped_bytes(path: Path, size: int) -> UInt8Array:
    """Make a file of `size` zero bytes, and map it; an `OutsideError` where the disk is full.

    A file with holes would be made at once, and end the process by a signal when a hole cannot be filled.
    """
    try:
        with open(path, "wb") as file:
            reserve(file, size)
    except OSError as error:
        raise outside_trouble(error, path.parent) or error from error
    return np.memmap(path, dtype=np.uint8, mode="r+", shape=(size,))


def _systems() -> str:
    """The system's folder for temporary files, which Python takes for missing where not even a byte can be written."""
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        where = os.environ.get("TMPDIR") or os.environ.get("TEMP") or "/tmp"
        raise OutsideError(
            f"{where}: no temporary file can be written", "make room, or set TMPDIR to a folder that can be written to"
        ) from error


def _make(name: str, place: str) -> tuple[str, int | None]:
    """Make a folder and lock it; once more, where it was removed before it was locked."""
    while True:
        path = tempfile.mkdtemp(prefix=f".{name}.", suffix=_ENDING, dir=place)
        handle = locks.open_folder(path)
        if handle is not None and locks.lock(handle) != "busy" and os.path.isdir(path):
            return path, handle
        if handle is None and os.path.isdir(path):
            return path, None
        if handle is not None:
            os.close(handle)


def remove_left(name: str, place: str | os.PathLike[str]) -> None:
    """Remove the folders of this name that killed processes have left."""
    pattern = re.compile(rf"\.{re.escape(name)}\.[a-z0-9_]{{8}}{re.escape(_ENDING)}")
    with os.scandir(place) as entries:
        folders = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
    for path in folders:
        handle = locks.open_folder(path)
        if handle is not None:
            if locks.lock(handle) == "held":
                shutil.rmtree(path, ignore_errors=True)
            os.close(handle)
