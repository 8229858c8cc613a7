"""Values of items as texts and as JSON, the same in every format; pictures as addresses that a browser shows."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.errors import InputError

_SHORT = 100  # characters of a line
_NUL, _SHOWN = "\0", "␀"  # no format of tables can hold the first
# formats that browsers show and that hold no script, by how their bytes begin
_KINDS = {
    "png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "jpeg": re.compile(rb"\xff\xd8\xff"),
    "gif": re.compile(rb"GIF8[79]a"),
    "webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
    "bmp": re.compile(rb"BM"),
    "avif": re.compile(rb"....ftypavi[fs]", re.DOTALL),
}
_FORMATS = "PNG, JPEG, GIF, WebP, AVIF and BMP are shown"
_LARGEST = 50_000_000  # bytes of a file
_WEB = re.compile(r"https?://", re.IGNORECASE)


def plain(value: Any) -> Any:
    """Turn a value into what JSON has: dates in ISO form, bytes in hex, decimals in their digits, NaN as null."""
    if isinstance(value, str):
        return value.replace(_NUL, _SHOWN)
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, decimal.Decimal | datetime.timedelta) else value


def text(value: Any) -> str:
    """Turn a value into text; lists and structs become JSON."""
    shown = plain(value)
    if shown is None:
        return ""
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False, default=str)


def records(tasks: pa.Table, images: Collection[str] = ()) -> Iterator[dict[str, Any]]:
    """Give one task after another, as JSON-ready values.

    Args:
        images: Columns that are given as they are.
    """
    for batch in tasks.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            yield {name: value if name in images else plain(value) for name, value in row.items()}


def is_drawn(shown: str | None) -> bool:
    """Tell whether a text has several short lines, as code and drawings do; page.js tests the same."""
    lines = (shown or "").split("\n")
    return len(lines) > 1 and max(map(len, lines)) <= _SHORT


def dumps(value: Any) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)


def address(value: Any, root: str) -> str:
    """Address of a picture: of bytes, and of a file, one that holds them; empty where there is none.

    Args:
        value: Bytes, a path, a web address, or `{"bytes": …, "path": …}` as data sets for learning have it.
        root: Folder that files have to be in, to which paths are relative; or they are to the working folder.

    Raises:
        InputError: No picture in that folder: whether there is anything at a path elsewhere is not said. One of more
            than 50 MB; bytes that are no picture.

    >>> address("https://example.org/a.png", "."), address(None, ".")
    ('https://example.org/a.png', '')
    """
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if not value:
        return ""
    if isinstance(value, bytes | bytearray):
        return _holding(bytes(value), "an image among the items")
    name = str(value)
    if _WEB.match(name):
        return name
    return _holding(_content(name, root), name)


def _content(name: str, root: str) -> bytes:
    """Bytes of a file within a folder; of any other path the same error, whatever is there."""
    named, folder = name.removeprefix("file://"), os.path.realpath(root)
    paths = (_real(os.path.join(before, named)) for before in (folder, os.getcwd()))
    path = next(
        (
            candidate
            for candidate in paths
            if candidate and Path(candidate).is_relative_to(folder) and os.path.isfile(candidate)
        ),
        None,
    )
    if path is None:
        raise InputError(f"{name}: no picture in the folder of the list", "--image-root names the folder of pictures")
    try:
        if os.path.getsize(path) > _LARGEST:
            raise InputError(f"{name}: has more than {_LARGEST // 1_000_000} MB")
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: {error.strerror or 'cannot be read'}") from error


def _real(path: str) -> str | None:
    """A path without links; None of one that cannot be."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def address_or_why(value: Any, root: str) -> str:
    """Give the same, and where there is no such picture, what is wrong with it: one of them must not hold up people."""
    try:
        return address(value, root)
    except InputError as error:
        return error.what


def _holding(content: bytes, name: str) -> str:
    kind = next((kind for kind, begins in _KINDS.items() if begins.match(content)), None)
    if kind is None:
        raise InputError(f"{name}: is no image that browsers show", _FORMATS)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
