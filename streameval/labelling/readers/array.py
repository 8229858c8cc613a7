"""JSON arrays of objects, one or several after one another: what label tools export, taken apart object by object."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection
from streameval.labelling.readers import Opened, file_digest, first_byte, open_text
from streameval.labelling.readers.memory import register
from streameval.labelling.tools import flatten
from streameval.text.json_objects import KEEP_ONE, RepeatedKeyError, with_keys_once

READS = "JSON"
_SPACE = " \t\r\n"


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether a text begins with an array."""
    return head is not None and b"\0" not in head and first_byte(head) == b"["


def read(connection: Connection, source: Any) -> Opened:
    """Register one row per object, or per annotation where a tool nests them."""
    path = os.fspath(source)
    rows = [row for record in _records(path) for row in flatten(record)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise InputError(f"{path}: the table has no rows")
    table = pa.table({name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in names})
    opened = register(connection, table, path)
    return Opened(path, file_digest(path), opened.columns)


def _records(path: str) -> Iterator[dict[str, Any]]:
    """Decode one object after another, so that only one stands in memory beside the text.

    After an array may come another, or objects: exports that were put together into one file.
    """
    try:
        with open_text(path) as stream:
            text = stream.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start:,}", "export it again") from error
    at = number = 0
    inside = False  # an array
    while (at := _past(text, at, _SPACE)) < len(text):
        if not inside and text[at] == "[":
            at, inside = _past(text, at + 1, _SPACE), True
            if text[at : at + 1] == "]":
                at, inside = at + 1, False
            continue
        number += 1
        record, at = _object(path, text, at, number)
        yield record
        if inside:
            at = _past(text, at, _SPACE)
            if text[at : at + 1] not in (",", "]"):
                raise InputError(f"{path}: cut off after object {number:,}{_line(text, at)}", "export it again")
            at, inside = at + 1, text[at] == ","
    if inside:
        raise InputError(f"{path}: cut off after object {number:,}{_line(text, at)}", "export it again")


def _object(path: str, text: str, at: int, number: int) -> tuple[dict[str, Any], int]:
    """Decode the object that begins at a place; also the place where it ends."""
    try:
        record, end = json.JSONDecoder(object_pairs_hook=with_keys_once).raw_decode(text, at)
    except RepeatedKeyError as error:
        raise InputError(f"{path}: object {number:,}{_line(text, at)} has {error}", KEEP_ONE) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: object {number:,} is not JSON ({error})", "export it again") from error
    if not isinstance(record, dict):
        raise InputError(
            f"{path}: entry {number:,}{_line(text, at)} is not an object", "a table is an array of objects"
        )
    return record, end


def _line(text: str, at: int) -> str:
    return f" (line {text.count(chr(10), 0, at) + 1:,})"


def _past(text: str, at: int, characters: str) -> int:
    while at < len(text) and text[at] in characters:
        at += 1
    return at


def _text(value: Any) -> str | None:
    """A value as text; lone surrogates, which JSON can spell and UTF-8 cannot, are replaced."""
    text = value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return None if text is None else text.encode("utf-8", "replace").decode()
