"""Files of a study, read: whole, unchanged since they were written, and from nowhere but the study.

A study may come from somebody else. So a link that leads out of the folder, or a device, is refused before it is read.
How these files are written: `streameval.stores.atomic`; tables: `streameval.parquet.own_tables`.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.errors import StudyError, outside_trouble
from streameval.stores import checksum

UNUSABLE = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, MemoryError,
    pa.ArrowException,
)  # fmt: skip
"""What reading damaged or invented content raises."""


def read_bytes(path: Path, hint: str, root: Path | None = None) -> bytes:
    """Read a file of a study and compare it with its checksum.

    Args:
        hint: What to do where it cannot be used.
        root: Folder that the file has to lie in, links resolved; by default the one it is named in.

    Raises:
        FileNotFoundError: There is none.
        StudyError: It cannot be read, lies elsewhere, is no file, or its bytes do not have its checksum.
        OutsideError: The disk fails.
    """
    refuse_elsewhere(path, root or path.parent, hint)
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise ValueError("it is not a file")
            content = file.read()
        checksum.check(content)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise unusable(path, error, hint) from error
    return content


def read_json(path: Path, hint: str, root: Path | None = None) -> dict[str, Any]:
    """Read a JSON object of a study, without its checksum.

    Raises:
        FileNotFoundError, StudyError, OutsideError: See `read_bytes`; also what is no object.
    """
    content = read_bytes(path, hint, root)
    try:
        document = json.loads(content)
        if not isinstance(document, dict):
            raise ValueError("it is not an object")
    except UNUSABLE as error:
        raise unusable(path, error, hint) from error
    document.pop(checksum.KEY, None)
    return document


def refuse_elsewhere(path: Path, root: Path, hint: str) -> None:
    """Refuse a path that a link leads out of a folder (`StudyError`)."""
    if path.parent == root and path.name != os.pardir and not path.is_symlink():
        return  # it lies there by its name: to follow all parts of both takes as long as to read a small file
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise StudyError(f"{path}: a link leads out of the study, and is not followed", hint)


def unusable(path: Path, error: BaseException, hint: str) -> StudyError:
    """Say in one line that a file of a study cannot be used, once; trouble of the disk is raised as that."""
    if isinstance(error, StudyError):
        return error
    if isinstance(error, NotADirectoryError):
        return StudyError(f"{path.parent}: is a file, and no folder of a study", "make one with `streameval plan`")
    if isinstance(error, OSError | MemoryError) and (trouble := outside_trouble(error)) is not None:
        raise trouble from error
    return StudyError(f"{path}: cannot be read ({' '.join(str(error).split())[:160]})", hint)
