"""How types of options become types of flags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from functools import reduce
from operator import or_
from typing import Annotated, Any, get_args

from cyclopts import Parameter

from streameval.options import alternatives, listed

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


def flag_type(hint: Any) -> Any:
    """Type of a flag for an option of a type; where it may be text, it is kept as typed, or names are listed."""
    kinds = alternatives(hint)
    text = SeveralNames if tuple[str, ...] in kinds else str
    read = [text] if str in kinds else [_READ.get(kind, kind) for kind in kinds]
    return reduce(or_, [*read, None] if type(None) in get_args(hint) else read)
