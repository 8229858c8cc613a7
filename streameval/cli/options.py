"""Types of flags from types of options."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from cyclopts import Parameter

from streameval.options import alternatives, listed
from streameval.text.numbers import whole_number


def read_whole(kind: Any, tokens: Sequence[Any]) -> int:
    """Read a whole number, as `whole_number` does."""
    return whole_number(tokens[0].value)


def names(kind: Any, tokens: Sequence[Any]) -> tuple[str, ...]:
    """Read names that are separated by commas, or given one after another."""
    return tuple(name for token in tokens for name in listed(token.value))


Whole = Annotated[int, Parameter(converter=read_whole)]
Switch = Annotated[bool, Parameter(negative="", show_default=False)]
# pydantic checks this
SeveralNames = Annotated[tuple[str, ...] | None, Parameter(converter=names, n_tokens=1, negative="")]
_READ = {
    int: Whole,
    bool: Switch,
    tuple[str, ...]: SeveralNames,
    Any: str | None,
}


def flag_type(hint: Any) -> Any:
    """Type of a flag for an option of a type; where it may be text, it is kept as typed, or names are listed."""
    kinds = alternatives(hint)
    text = SeveralNames if tuple[str, ...] in kinds else str
    read = [text] if str in kinds else [_READ.get(kind, kind) for kind in kinds]
    return reduce(or_, [*read, None] if type(None) in get_args(hint) else read)
