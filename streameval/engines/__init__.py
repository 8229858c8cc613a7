"""Engines: what runs the scans of a list. Each is one file in this folder with an `ENGINE`, found by name.

An engine has one method, which runs a `Job`: it only decides where row groups are read. The partials are those of
`order`, `counting` and `queries`, whichever engine runs, so ranks and sums do not depend on it, and scans that one
engine has begun another may finish.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import fields
from typing import Any

from streameval.errors import InputError, did_you_mean
from streameval.order.partials import Engine as Engine


def create(name: str, settings: dict[str, Any]) -> Engine:
    """Make an engine by name.

    Args:
        name: Of a file of this folder.
        settings: Its settings; None stands for one that is not given. An unknown name or setting is an `InputError`.

    >>> create("local", {"remote": None}).placement
    'in process'
    """
    names = [info.name for info in pkgutil.iter_modules(__path__)]
    if name not in names:
        raise InputError(f"there is no engine '{name}'", did_you_mean(name, names))
    engine = importlib.import_module(f"{__name__}.{name}").ENGINE
    given = {key: value for key, value in settings.items() if value is not None}
    if strangers := sorted(given.keys() - {field.name for field in fields(engine)}):
        raise InputError(f"the engine '{name}' has no setting '{strangers[0]}'")
    made: Engine = engine(**given)
    return made


def engine_of(given: Engine | str) -> Engine:
    """Return an engine as it was given, or by its name; a server of its own stands behind a colon.

    >>> engine_of("spark:sc://host:15002").remote
    'sc://host:15002'
    """
    if not isinstance(given, str):
        return given
    name, _, remote = given.partition(":")
    return create(name, {"remote": remote or None})
