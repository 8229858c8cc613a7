"""Tasks as CSV: RFC 4180, UTF-8 with the mark by which Excel knows it, an empty `label` column to fill in.

A spreadsheet runs a cell that begins with =, +, -, @, a tab or a line break as a formula. Texts that do so get an
apostrophe before them, which spreadsheets take for "this is text"; numbers stay as they are.
"""

from __future__ import annotations

import csv
from typing import Any

import pyarrow as pa

from streameval.labelling.exports import TaskQuestion, unambiguous
from streameval.labelling.exports.cells import text
from streameval.text.spreadsheets import harmless

SUFFIX = ".csv"
HOW = "fill in its column 'label' with 1 or 0"
BACK = ""


def write(tasks: pa.Table, path: str, question: TaskQuestion) -> None:
    """Write one file, with a `label` column to fill in, the question before it; lists and structs become JSON text."""
    question_cells = [harmless(question.in_words("1", "0"))] if question.has_words else []
    with open(path, "w", encoding="utf-8-sig", newline="", errors="replace") as stream:
        out = csv.writer(stream)
        out.writerow(
            [
                *(harmless(name) for name in unambiguous(tasks).column_names),
                *(["se_question"] if question_cells else []),
                "label",
            ]
        )
        for batch in tasks.to_batches(max_chunksize=4096):
            ours = ([cell] * batch.num_rows for cell in (*question_cells, ""))
            out.writerows(zip(*map(_cells, batch.columns), *ours, strict=True))


def _cells(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return values
    return [harmless(text(value)) for value in values]
