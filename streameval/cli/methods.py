"""Flags that methods have: a parameter is a flag, and its help says whose it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from functools import reduce
from operator import or_
from typing import Any, cast, get_type_hints

from cyclopts import Group

from streameval.cli.options import flag_type
from streameval.cli.panels import JUDGE, STAGES, leading, of_methods
from streameval.methods import declared

METHODS = declared()
_PANELS = {
    **dict.fromkeys(("growing", "adaptive"), STAGES),
    **dict.fromkeys(("judge_sample", "judge_accuracy"), JUDGE),
}  # of parameters that are shown by what they are about


def owners() -> dict[str, dict[str, Field[Any]]]:
    """Give every parameter that is an option by name, with the methods that have it and how they declare it."""
    by_name: dict[str, dict[str, Field[Any]]] = {}
    for name, method in METHODS.items():
        for field in fields(cast(Any, method)):
            if "help" in field.metadata:
                by_name.setdefault(field.name, {})[name] = field
    return by_name


def _help(declared: Mapping[str, Field[Any]]) -> str:
    """Say what a parameter is, for each of the methods that have it."""
    parts = []
    for text in dict.fromkeys(one.metadata["help"] for one in declared.values()):
        alike = {name: one for name, one in declared.items() if one.metadata["help"] == text}
        what = f"{text.removesuffix('.')}{_defaults(alike)}"
        parts.append(what if alike.keys() == declared.keys() else f"{', '.join(alike)}: {what[0].lower()}{what[1:]}")
    return f"{'; '.join(parts)}."


def _defaults(declared: Mapping[str, Field[Any]]) -> str:
    """Default of a parameter, and of the methods that have another; nothing where it stands for itself."""
    shown = {name: one.metadata["shown"] or ("" if one.default in (None, False) else f"{one.default}")
             for name, one in declared.items()}  # fmt: skip
    usual = next(iter(shown.values()))
    parts = [usual, *(f"{name}: {one}" for name, one in shown.items() if one != usual)]
    return f" (default {'; '.join(filter(None, parts))})" if any(shown.values()) else ""


def method_flags() -> Iterator[tuple[str, Any, str, Group]]:
    """Give a flag for every parameter: name, type, help and panel; not given, each method takes its own default."""
    types = {name: get_type_hints(method) for name, method in METHODS.items()}
    for key, fields_of in owners().items():
        hints = [types[name][key] for name in fields_of]
        panel = leading(key) or _PANELS.get(key) or of_methods([*fields_of], [*METHODS])
        yield key, flag_type(reduce(or_, [*hints, None])), _help(fields_of), panel
