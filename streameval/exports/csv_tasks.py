"""Tasks as CSV: RFC 4180, UTF-8, one row a task, an empty `label` column to fill in."""

from __future__ import annotations

import csv
import json
from typing import Any

import pyarrow as pa

SUFFIX = ".csv"


def write(tasks: pa.Table, path: str) -> None:
    """Write `tasks` and a `label` column to fill in; lists and structs become JSON text.

    An item's own `label` becomes `label_item`.
    """
    with open(path, "w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream)
        names = [f"{name}_item" if name.lower() == "label" else name for name in tasks.column_names]
        out.writerow([*names, "label"])
        for batch in tasks.to_batches(max_chunksize=4096):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                out.writerow([*(_cell(value) for value in row), ""])


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value
