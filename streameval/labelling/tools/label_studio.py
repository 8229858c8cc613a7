"""Label Studio's exports: JSON (tasks with their annotations), JSON_MIN and CSV (a row per annotation).

The full JSON is the one that loses nothing: it keeps skips (`was_cancelled`), which the other two drop, and cannot take
an item's own field for a label.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from streameval.labelling.tools import answers

_LABEL = ("label", "choice", "choices")
_CONTROLS = ("choices", "rating", "number")


def recognises(names: Collection[str]) -> bool:
    """Tell whether a table has the columns that Label Studio adds to every annotation."""
    return {"annotation_id", "annotator"} <= set(names) and bool({"lead_time", "updated_at", "created_at"} & set(names))


def columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Name the columns of its exports; `annotation_status` is of `flatten`."""
    return {"label": _LABEL, "annotator": ("annotator",), "time": ("updated_at", "created_at"),
            "status": ("annotation_status",)}  # fmt: skip


def flatten(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """One row per annotation: the task's data, what was answered to each control, `annotator`, `updated_at`.

    A task without an annotation is one row.
    """
    data, annotations = record.get("data"), record.get("annotations")
    if not isinstance(data, Mapping) or not isinstance(annotations, list):
        return None
    names = ("annotation_id", "annotator", "updated_at", "lead_time", "annotation_status", *_LABEL[:2])
    task = {name: value for name, value in data.items() if name not in names}
    fields = dict.fromkeys((*names[:5], "choice"))
    rows = [task | fields | _annotation(annotation) for annotation in annotations if isinstance(annotation, Mapping)]
    return rows or [task | fields]


def _annotation(annotation: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **answers(_choices(annotation.get("result"))),
        "annotation_id": annotation.get("id"),
        "annotator": _person(annotation.get("completed_by")),
        "updated_at": annotation.get("updated_at") or annotation.get("created_at"),
        "lead_time": annotation.get("lead_time"),
        "annotation_status": _status(annotation),
    }


def _status(annotation: Mapping[str, Any]) -> str | None:
    """Say what became of an annotation: a person skipped it, or a reviewer rejected it."""
    if annotation.get("was_cancelled"):
        return "skip"
    return "rejected" if annotation.get("last_action") == "rejected" else None


def _person(who: Any) -> str | None:
    """E-mail address where the export has it, else the user's number."""
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    return None if who is None else str(who)


def _choices(result: Any) -> dict[str, Any]:
    """Say what was chosen at each control: a word, a rating or a number, or a list of several."""
    chosen: dict[str, list[Any]] = {}
    for entry in result if isinstance(result, list) else []:
        value = entry.get("value") if isinstance(entry, Mapping) else None
        if isinstance(value, Mapping):
            answer = next((value[control] for control in _CONTROLS if control in value), None)
            values = answer if isinstance(answer, list) else [answer]
            chosen.setdefault(str(entry.get("from_name") or "label"), []).extend(
                value for value in values if value is not None
            )
    return {name: (values[0] if len(values) == 1 else values) for name, values in chosen.items() if values}
