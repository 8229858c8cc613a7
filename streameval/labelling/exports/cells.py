"""Values of items as texts and as JSON, the same in every format."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

_SHORT = 100  # characters of a line
_NUL, _SHOWN = "\0", "␀"  # no format of tables can hold the first


def plain(value: Any) -> Any:
    """Turn a value into what JSON has: dates in ISO form, bytes in hex, decimals in their digits, NaN as null."""
    if isinstance(value, str):
        return value.replace(_NUL, _SHOWN)
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
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
    """Whether a text is of several short lines, as code and drawings are; page.js asks the same of what it shows."""
    lines = (shown or "").split("\n")
    return len(lines) > 1 and max(map(len, lines)) <= _SHORT


def dumps(value: Any) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
