"""Folders and patterns of an object store."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import cast

from streameval.errors import InputError
from streameval.stores import store_of
from streameval.stores.objects import ObjectStore
from streameval.stores.trouble import with_retries


def kind_of(path: str) -> str:
    """Return what lies there: "file", "folder" or "nothing".

    Raises `InputError` where there is no such bucket or access is denied, `OutsideError` where the store does not
    answer.
    """
    from pyarrow.fs import FileType

    store = cast(ObjectStore, store_of(path))
    kinds = {FileType.File: "file", FileType.Directory: "folder"}
    kind = with_retries(path, lambda: store.filesystem.get_file_info(store.key(path))).type
    if kind == FileType.NotFound:
        root = path[: len(path) - len(store.key(path))] + store.key(path).split("/", 1)[0]
        there = with_retries(root, lambda: store.filesystem.get_file_info(store.key(root))).type
        if there == FileType.NotFound:
            raise InputError(f"{path}: there is no such bucket")
    return kinds.get(kind, "nothing")


def walk(folder: str) -> list[str]:
    """Paths of all files below a folder, sorted; one request a thousand of them; errors as in `kind_of`."""
    from pyarrow.fs import FileSelector, FileType

    store = cast(ObjectStore, store_of(folder))
    selector = FileSelector(store.key(folder), allow_not_found=True, recursive=True)
    entries = with_retries(folder, lambda: store.filesystem.get_file_info(selector))
    return sorted(f"{store.scheme}://{entry.path}" for entry in entries if entry.type == FileType.File)


def matches(path: str, pattern: str) -> bool:
    """Tell whether a path matches a pattern as a shell would have it: `*` stays within a folder, `**` does not.

    >>> matches("s3://b/a/2.parquet", "s3://b/*/*.parquet"), matches("s3://b/a/c/2.parquet", "s3://b/*.parquet")
    (True, False)
    >>> matches("s3://b/a/c/2.parquet", "s3://b/**/*.parquet")
    True
    """
    return _matches(path.split("/"), pattern.split("/"))


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_matches(parts[i:], patterns[1:]) for i in range(len(parts) + 1))
    if not parts or (parts[0].startswith(".") and not patterns[0].startswith(".")):
        return False
    return bool(re.match(fnmatch.translate(patterns[0]), parts[0])) and _matches(parts[1:], patterns[1:])
