"""Label Studio's exports: JSON (tasks with their annotations), JSON_MIN and CSV (a row per annotation).

The full JSON is the one that loses nothing: it keeps skips (`was_cancelled`), which the other two drop, and cannot take
an item's own field for a label.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

COLUMNS = {"label": ("label", "choice", "choices"), "annotator": ("annotator",), "time": ("updated_at", "created_at")}


def recognises(names: Collection[str]) -> bool:
    """Whether a table has the columns that Label Studio adds to every annotation."""
    return {"annotation_id", "annotator"} <= set(names) and bool({"lead_time", "updated_at", "created_at"} & set(names))


def flatten(record: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """One row per annotation: the task's data, `label`, `annotator`, `updated_at`; a task without any is one row."""
    data, annotations = record.get("data"), record.get("annotations")
    if not isinstance(data, Mapping) or not isinstance(annotations, list):
        return None
    fields = {"annotation_id": None, "annotator": None, "updated_at": None, "lead_time": None, "label": None}
    task = {name: value for name, value in data.items() if name not in fields}
    rows = [task | fields | _annotation(one) for one in annotations if isinstance(one, Mapping)]
    return rows or [task | fields]


def _annotation(annotation: Mapping[str, Any]) -> dict[str, Any]:
    skipped = bool(annotation.get("was_cancelled"))
    return {
        "annotation_id": annotation.get("id"),
        "annotator": _person(annotation.get("completed_by")),
        "updated_at": annotation.get("updated_at") or annotation.get("created_at"),
        "lead_time": annotation.get("lead_time"),
        "label": "skip" if skipped else _choice(annotation.get("result")),
    }


def _person(who: Any) -> str | None:
    """E-mail address where the export has it, else the user's number."""
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("id")
    return None if who is None else str(who)


def _choice(result: Any) -> Any:
    """What was chosen: a word, a rating or a number; several are shown together, and no label can be read from them."""
    choices: list[Any] = []
    for entry in result if isinstance(result, list) else []:
        value = entry.get("value") if isinstance(entry, Mapping) else None
        if isinstance(value, Mapping):
            chosen = next((value[key] for key in ("choices", "rating", "number") if key in value), None)
            choices += chosen if isinstance(chosen, list) else [chosen]
    choices = [value for value in choices if value is not None]
    return choices[0] if len(choices) == 1 else (" + ".join(map(str, choices)) or None)
