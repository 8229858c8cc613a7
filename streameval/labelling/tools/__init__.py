"""Label tools: one file here per tool, found by name, that says how its exports name things.

A tool is a module with `COLUMNS`, the names that its exports give to label, annotator and time, best first;
`recognises(names)`, whether a table with these columns is its export; and `flatten(record)`, which turns a nested
object into rows, or returns None where it is not this tool's.
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
        rows: list[dict[str, Any]] | None = tool.flatten(record)
        if rows is not None:
            return rows
    return [dict(record)]
