"""Tasks as CSV: RFC 4180, UTF-8 with the mark by which Excel knows it, an empty `label` column to fill in.

A spreadsheet runs a cell that begins with =, +, -, @, a tab or a line break as a formula. Texts that do so get an
apostrophe before them, which spreadsheets take for "this is text"; numbers stay as they are.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.labelling.exports import Files, unambiguous
from streameval.labelling.exports.cells import text

SUFFIX = ".csv"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def files(tasks: pa.Table, path: Path) -> Files:
    """One file, with a `label` column to fill in; lists and structs become JSON text."""
    return {path: lambda temporary: _write(tasks, temporary)}


def _write(tasks: pa.Table, path: str) -> None:
    with open(path, "w", encoding="utf-8-sig", newline="", errors="replace") as stream:
        out = csv.writer(stream)
        out.writerow([*(_harmless(name) for name in unambiguous(tasks).column_names), "label"])
        for batch in tasks.to_batches(max_chunksize=4096):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                out.writerow([*(_cell(value) for value in row), ""])


def _cell(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return _harmless(text(value))


def _harmless(cell: str) -> str:
    return "'" + cell if cell.lstrip(" ").startswith(_FORMULA) else cell
