"""Engines by name: what runs the scans of a list. No result depends on which of them it is (`scans.jobs.Engine`)."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields
from typing import Any

from streameval.errors import InputError, did_you_mean
from streameval.scans.jobs import Engine

_ENGINES = {"local": ("threads", "Threads"), "spark": ("spark", "Spark")}  # file of `scans`, and class


def create(name: str, settings: dict[str, Any]) -> Engine:
    """Make an engine by name.

    Args:
        name: "local" or "spark".
        settings: Its settings; None stands for one that is not given. An unknown name or setting is an `InputError`.

    >>> create("local", {"remote": None}).placement
    'in process'
    """
    if name not in _ENGINES:
        raise InputError(f"there is no engine '{name}'", did_you_mean(name, list(_ENGINES)))
    file, kind = _ENGINES[name]
    engine = getattr(importlib.import_module(f"streameval.scans.{file}"), kind)
    settings_given = {key: value for key, value in settings.items() if value is not None}
    if strangers := sorted(settings_given.keys() - {field.name for field in fields(engine)}):
        raise InputError(f"the engine '{name}' has no setting '{strangers[0]}'")
    instance: Engine = engine(**settings_given)
    return instance


def engine_of(engine: Engine | str) -> Engine:
    """Return an engine as it was given, or by its name; a server of its own stands behind a colon.

    >>> engine_of("spark:sc://host:15002").remote
    'sc://host:15002'
    """
    if not isinstance(engine, str):
        return engine
    name, _, remote = engine.partition(":")
    return create(name, {"remote": remote or None})


def engine_facts(engine: str) -> dict[str, str | None]:
    """Name an engine and its server, for records: without names, tokens and settings that an address may hold."""
    name, _, remote = engine.partition(":")
    address = re.sub(r"^(\w+://)?(?:[^/;@]*@)?([^/;?]*).*", r"\1\2", remote)
    return {"engine": name, "server": address or None}
