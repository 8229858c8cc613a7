"""How options of the library become flags, and flags that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, make_dataclass
from decimal import Decimal, InvalidOperation
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

from cyclopts import Group, Parameter

from streameval.cli.panels import RUNNING
from streameval.options import alternatives, listed, option

if TYPE_CHECKING:
    from streameval.scans.jobs import Engine
    from streameval.stores.atomic import Existing


_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def whole(kind: Any, tokens: Sequence[Any]) -> int:
    """Read a whole number: 2000000, 2_000_000, 2,000,000 and 2e6 are one; 2.5 and 1,10 are refused."""
    text = tokens[0].value.replace("_", "")
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{tokens[0].value!r} is not a whole number") from None
    if not value.is_finite() or value != int(value):
        raise ValueError(f"{tokens[0].value!r} is not a whole number")
    if abs(value) > 2**63:
        raise ValueError(f"{tokens[0].value!r} is beyond 2^63")
    return int(value)


def names(kind: Any, tokens: Sequence[Any]) -> tuple[str, ...]:
    """Read names that are separated by commas, or given one after another."""
    return tuple(one for token in tokens for one in listed(token.value))


Whole = Annotated[int, Parameter(converter=whole)]
Switch = Annotated[bool, Parameter(negative="", show_default=False)]
# pydantic checks this
SeveralNames = Annotated[tuple[str, ...] | None, Parameter(converter=names, n_tokens=1, negative="")]
_READ = {
    int: Whole,
    bool: Switch,
    tuple[str, ...]: SeveralNames,
    Any: str | None,
}


@dataclass(frozen=True)
class Flags:
    """What a command is given by flags that are options of the library."""

    def given(self) -> dict[str, Any]:
        """Give the options that have a value, by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def changed(self) -> dict[str, Any]:
        """Give the options that have another value than by default, by name."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) != one.default}


AnyFlags = TypeVar("AnyFlags", bound=Flags)


def flags_of(
    *kinds: Any,
    panel: Group | None = None,
    panels: Mapping[str, Group] = {},
    without: Sequence[str] = (),
    helps: Mapping[str, str] = {},
) -> Callable[[type[AnyFlags]], type[AnyFlags]]:
    """Give a class a flag for every option of dataclasses, with its default and its help (`streameval.options`).

    Args:
        panels: Those of some options, by name; `panel` is that of all others.
        helps: Of options that mean something of their own here, by name.
    """
    hints = {kind: get_type_hints(kind) for kind in kinds}
    declared = [(one, hints[kind][one.name]) for kind in kinds for one in fields(kind)]
    made = {
        one.name: (
            in_panel(flag_type(hint), panels.get(one.name)),
            one.default if one.default != () else None,
            helps.get(one.name, str(one.metadata["help"])),
        )
        for one, hint in declared
        if "help" in one.metadata and one.name not in without
    }
    shown = Parameter(name="*") if panel is None else Parameter(name="*", group=panel)
    return lambda cls: shown(with_flags(cls, made))


def in_panel(kind: Any, panel: Group | None) -> Any:
    """Type of a flag that is shown in a panel of its own."""
    return kind if panel is None else Annotated[kind, Parameter(group=panel)]


def with_flags(cls: type[AnyFlags], made: Mapping[str, tuple[Any, Any, str]]) -> type[AnyFlags]:
    """Give a class flags: by name their type, default and help."""
    declared = [(name, _as_typed(kind, default), field(default=default, metadata={"help": help}))
                for name, (kind, default, help) in made.items()]  # fmt: skip
    itself = {"__module__": cls.__module__, "__doc__": cls.__doc__}
    return make_dataclass(cls.__name__, declared, bases=(cls,), frozen=True, repr=False, namespace=itself)


def _as_typed(kind: Any, default: Any) -> Any:
    """Type of a flag whose default is shown as a person would type it."""
    return Annotated[kind, Parameter(show_default=",".join)] if isinstance(default, tuple) else kind


def flag_type(hint: Any) -> Any:
    """Type of a flag for an option of a type; where it may be text, it is kept as typed, or names are listed."""
    kinds = alternatives(hint)
    text = SeveralNames if tuple[str, ...] in kinds else str
    read = [text] if str in kinds else [_READ.get(kind, kind) for kind in kinds]
    return reduce(or_, [*read, None] if type(None) in get_args(hint) else read)


def existing(overwrite: bool) -> Existing:
    """What becomes of files that stand where a command writes, and differ."""
    return "replaced" if overwrite else "kept"


@Parameter(name="*", group=RUNNING)
@dataclass(frozen=True)
class EngineFlags:
    """What runs the scans of a list; what they find does not depend on it."""

    engine: str = option(
        "local",
        "local (threads of this process), spark (the running session, or a new one), or spark:sc://HOST:15002 (a Spark "
        "Connect or Sail server).",
    )

    def facts(self) -> dict[str, str | None]:
        """Name the engine and its server, for records: without names, tokens and settings that an address may hold."""
        name, _, remote = self.engine.partition(":")
        address = re.sub(r"^(\w+://)?(?:[^/;@]*@)?([^/;?]*).*", r"\1\2", remote)
        return {"engine": name, "server": address or None}

    def create(self) -> Engine:
        """Return what the library takes."""
        from streameval.engines import engine_of

        return engine_of(self.engine)
