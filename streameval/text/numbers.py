"""Whole numbers as people type them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def whole_number(text: str) -> int:
    """Read a whole number: 2000000, 2_000_000, 2,000,000 and 2e6 are one; a ValueError for 2.5 and 1,10.

    >>> whole_number("2e6"), whole_number("1_000"), whole_number("1,000")
    (2000000, 1000, 1000)
    """
    bare = text.replace("_", "")
    if _THOUSANDS.fullmatch(bare):
        bare = bare.replace(",", "")
    try:
        value = Decimal(bare)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a whole number") from None
    if not value.is_finite() or value != int(value):
        raise ValueError(f"{text!r} is not a whole number")
    if abs(value) > 2**63:
        raise ValueError(f"{text!r} is beyond 2^63")
    return int(value)
