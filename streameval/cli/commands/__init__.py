"""The verbs, one file each, found by name: parameters are the command line's, a body calls and prints."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any


def discover() -> list[Callable[..., Any]]:
    """Return every verb: the function in each file here that has the file's name.

    A file's name with underscores is a verb with dashes.
    """
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [getattr(importlib.import_module(f"{__name__}.{name}"), name) for name in names]
