"""Task files for people: one file here per format, found by the ending of the path that was asked for.

Each module has `SUFFIX` and `write(tasks, path)`; `tasks` is a table in the order people will see it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable

import pyarrow as pa

from streameval.errors import InputError


def available() -> dict[str, Callable[[pa.Table, str], None]]:
    """Writers by suffix."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    return {module.SUFFIX: module.write for module in modules if hasattr(module, "SUFFIX")}


def writer_for(path: str) -> Callable[[pa.Table, str], None]:
    """Return the writer for a path's ending.

    Raises
    ------
    InputError
        If no format has this ending.
    """
    for suffix, write in available().items():
        if path.lower().endswith(suffix):
            return write
    raise InputError(f"{path}: no task format has this ending", f"there are: {', '.join(available())}")
