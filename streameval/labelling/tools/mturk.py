"""Mechanical Turk's batch results: CSV with `Input.X` of the item, `Answer.X`, the worker, and whether it was approved.

A form of crowd elements has one column `Answer.taskAnswers` of JSON: the guide says how DuckDB takes a label out of it.
"""

from __future__ import annotations

from collections.abc import Collection

from streameval.labelling.tools import answer_column

PREFIX = "Input."
_ANSWER = "Answer."


def recognises(names: Collection[str]) -> bool:
    """Tell whether a table has the columns that are in every batch."""
    return {"HITId", "AssignmentId", "WorkerId"} <= set(names)


def columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Name the columns of a batch: the label is `Answer.label`, or the only answer that there is."""
    return {
        "label": answer_column(names, _ANSWER),
        "annotator": ("WorkerId",),
        "time": ("SubmitTime",),
        "status": ("AssignmentStatus",),
    }
