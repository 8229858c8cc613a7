"""Label tools: one file here per tool, found by name, that says how its exports name things.

A tool is a module with

- `recognises(names)`: whether a table with these columns is its export;
- `columns(names)`: what that table calls label, annotator and time, best first; perhaps `status`, what became of the
  work (`streameval.labelling.votes` has the words), and `choice`;
- `flatten(record)`: a nested object as rows, or None where it is not this tool's; only of tools that nest;
- `PREFIX`: what stands before the names of the items' own columns; only of tools that put something there.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any


def available() -> list[ModuleType]:
    """Every tool."""
    return [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]


def tool_of(names: Collection[str]) -> ModuleType | None:
    """Find the tool that exported a table with these columns."""
    return next((tool for tool in available() if tool.recognises(set(names))), None)


def flatten(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of one object of an export; an object that no tool knows is a row."""
    for tool in available():
        rows: list[dict[str, Any]] | None = tool.flatten(record) if "flatten" in vars(tool) else None
        if rows is not None:
            return rows
    return [dict(record)]


def answer_column(names: Collection[str], prefix: str) -> tuple[str, ...]:
    """Name the column of our question where every answer has a prefix: the only one, or that of `label`."""
    candidates = tuple(name for name in names if name.startswith(prefix))
    return candidates if len(candidates) == 1 else (f"{prefix}label",)


def answers(of: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of what a person answered to each question of a tool, by its name.

    The question `label` is ours. Where there is none by this name, `choice` is the answer to the only one, or, of
    several, all of them in one: then no label can be read from it, and `--label` has to name the one that is meant.
    """
    answered = {question: answer for question, answer in of.items() if answer is not None}
    if "label" in answered:
        return answered
    only = next(iter(answered.values()), None) if len(answered) < 2 else answered
    return {**answered, "choice": only}
