"""Values of items as texts and as JSON, the same in every format."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

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


def records(tasks: pa.Table) -> Iterator[dict[str, Any]]:
    """Give one task after another, as JSON-ready values."""
    for batch in tasks.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            yield {name: plain(value) for name, value in row.items()}


def dumps(value: Any) -> str:
    """Write a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
