"""Tasks for Prodigy: one JSON object a line; `answer` comes back as accept (positive), reject or ignore (a skip).

`prodigy mark DATASET tasks.jsonl --view-id text` shows them; `prodigy db-out DATASET` gives what `evaluate` reads.
Prodigy shows the field `text`: where the items have none, it is made of all their columns; and `meta`, the question.
With `--view-id image` it shows the field `image`: the first of the columns that hold pictures; others are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from streameval.labelling.exports import OURS, TaskQuestion, unambiguous
from streameval.labelling.exports.cells import address, dumps, records, text

SUFFIX = ".jsonl"
HOW = "label them in Prodigy, then `prodigy db-out DATASET > answers.jsonl`"
BACK = "answers.jsonl"


def write(tasks: pa.Table, path: str, question: TaskQuestion) -> None:
    """Write one file, streamed by Prodigy whatever its size."""
    with open(path, "w", encoding="utf-8", newline="\n", errors="replace") as stream:
        stream.writelines(dumps(record) + "\n" for record in _tasks(tasks, question))


def _tasks(tasks: pa.Table, question: TaskQuestion) -> Iterator[dict[str, Any]]:
    shown = unambiguous(tasks)
    images, root = question.with_columns(shown.column_names).images, question.image_root
    for record in records(shown, images):
        pictures = [address(record.pop(name), root) for name in images]
        if not isinstance(record.get("text"), str):
            record["text"] = "\n".join(f"{name}: {text(cell)}" for name, cell in record.items() if name not in OURS)
        if pictures:
            record["image"] = pictures[0]
        if question.has_words:
            record["meta"] = {"question": question.in_words("accept", "reject")}
        yield record
