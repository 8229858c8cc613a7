"""Pictures of items, as addresses that a browser shows: from a path, a web address, or the bytes themselves."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streameval.errors import InputError

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
    path = next((one for one in paths if one and Path(one).is_relative_to(folder) and os.path.isfile(one)), None)
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
    """The same, and where there is no such picture, what is wrong with it: one of them must not hold up people."""
    try:
        return address(value, root)
    except InputError as error:
        return error.what


def _holding(content: bytes, name: str) -> str:
    kind = next((kind for kind, begins in _KINDS.items() if begins.match(content)), None)
    if kind is None:
        raise InputError(f"{name}: is no image that browsers show", _FORMATS)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
