"""Toloka's results: TSV with `INPUT:x` of the item, `OUTPUT:x`, the worker, and whether the work was accepted."""

from __future__ import annotations

from collections.abc import Collection

from streameval.labelling.tools import answer_column

PREFIX = "INPUT:"
_ANSWER = "OUTPUT:"


def recognises(names: Collection[str]) -> bool:
    """Tell whether a table has the columns that are in every file of assignments."""
    return {"ASSIGNMENT:assignment_id", "ASSIGNMENT:worker_id"} <= set(names)


def columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Name the columns of its files: the label is `OUTPUT:label`, or the only answer that there is."""
    return {
        "label": answer_column(names, _ANSWER),
        "annotator": ("ASSIGNMENT:worker_id",),
        "time": ("ASSIGNMENT:submitted",),
        "status": ("ASSIGNMENT:status",),
    }
