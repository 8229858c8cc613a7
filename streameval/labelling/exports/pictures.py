"""Pictures of items, as addresses that a browser shows: from a path, a web address, or the bytes themselves."""

from __future__ import annotations

import base64
import re
import stat
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


def address(value: Any) -> str:
    """Address of a picture: of bytes, and of a file, one that holds them; empty where there is none.

    Args:
        value: Bytes, a path, a web address, or `{"bytes": …, "path": …}` as data sets for learning have it.

    Raises:
        InputError: A file that is not there, is none (such as a device) or has more than 50 MB; bytes that are no
            picture.

    >>> address("https://example.org/a.png"), address(None)
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
    path = Path(name.removeprefix("file://"))
    try:
        found = path.stat()
        usable = stat.S_ISREG(found.st_mode) and found.st_size <= _LARGEST
        content = path.read_bytes() if usable else b""
    except (OSError, ValueError) as error:
        why, hint = (
            getattr(error, "strerror", None) or "cannot be read",
            "pictures are paths from here, web addresses or bytes",
        )
        raise InputError(f"{name}: {why}", hint) from error
    if not usable:
        raise InputError(f"{name}: is no file of at most {_LARGEST // 1_000_000} MB")
    return _holding(content, name)


def address_or_why(value: Any) -> str:
    """The same, and where there is no such picture, what is wrong with it: one of them must not hold up people."""
    try:
        return address(value)
    except InputError as error:
        return error.what


def _holding(content: bytes, name: str) -> str:
    kind = next((kind for kind, begins in _KINDS.items() if begins.match(content)), None)
    if kind is None:
        raise InputError(f"{name}: is no image that browsers show", _FORMATS)
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
