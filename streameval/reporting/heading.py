"""The heading of a report: the title that was given, or the study's name with what is positive in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.text import escaped, printable, short

_LONGEST = 120  # characters of what people were asked


def heading(title: str | None, plain: str, summary: Mapping[str, Any]) -> str:
    """Write the heading of one study.

    Args:
        title: As it was given.
        plain: What the page is about, with the study's name; used without a title.
        summary: Says what people were asked, or which labels are positive.
    """
    if title is not None:
        return f"<h1>{escaped(printable(title))}</h1>"
    positive = what_is_positive(summary)
    return f"<h1>{escaped(plain)}{f': {escaped(positive)}' if positive else ''}</h1>"


def what_is_positive(summary: Mapping[str, Any]) -> str:
    """The question that people answered, or the labels that are positive; empty where neither was said."""
    if asked := summary.get("asked"):
        return short(str(asked), _LONGEST)
    parameters = summary["parameters"]
    if parameters.get("relevant") and parameters["relevant"] != ">=1":
        return f"{parameters.get('label', 'label')} {parameters['relevant']}"
    return ", ".join(parameters.get("positive") or ())
