"""Prodigy's JSONL: `answer` is accept, reject or ignore; ignore is a skip and not a negative.

In the `choice` interface, `answer` says whether the choice was submitted, and `accept` holds what was chosen: then that
is the label. An export of ours is annotated in the plain interface, where accepting is the label.
"""

from __future__ import annotations

from collections.abc import Collection


def recognises(names: Collection[str]) -> bool:
    """Tell whether a table has `answer` beside the hashes that Prodigy adds, or an annotator of its naming."""
    return "answer" in names and bool({"_input_hash", "_task_hash", "_annotator_id", "_session_id"} & set(names))


def columns(names: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Name the columns of its exports."""
    return {"label": ("answer",), "annotator": ("_annotator_id", "annotator", "_session_id"), "time": ("_timestamp",),
            "choice": ("accept",)}  # fmt: skip
