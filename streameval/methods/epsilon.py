"""Parameters of methods on a geometric grid, and how its ratio is read."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from streameval.errors import InputError

Tail = Literal["open", "closed"]
# help of parameters that methods on a grid have
EPSILON = "Grid ratio minus one, in (0, 1]."
HEAD = "Ranks labelled from the top."
TAIL = "Leave the last ranks unknown, or label there too."
DEFAULT_EPSILON = "0.03"


def parse_epsilon(epsilon: str | float | Fraction) -> Fraction:
    """Read ε as the decimal that was typed.

    Args:
        epsilon: Grid ratio minus one, in (0, 1]. A float means its shortest decimal: 0.03 is 3/100.

    Raises:
        InputError: If it is no number in (0, 1].

    >>> parse_epsilon(0.03)
    Fraction(3, 100)
    """
    try:
        if not 1e-6 <= float(str(epsilon)) <= 1:  # before a fraction of a million digits is made
            raise InputError(f"epsilon is {epsilon}, outside (0, 1]" if not 0 < float(str(epsilon)) <= 1 else
                             f"epsilon is {epsilon}: too fine a grid", "the paper uses 0.03 and 0.05")  # fmt: skip
        value = Fraction(str(epsilon))
    except InputError:
        raise
    except (ValueError, ZeroDivisionError):
        raise InputError(f"epsilon is '{epsilon}', not a number", "give a decimal in (0, 1], such as 0.03") from None
    if not 0 < value <= 1:
        raise InputError(f"epsilon is {epsilon}, outside (0, 1]", "the paper uses 0.03 and 0.05")
    return value


def least_head(epsilon: Fraction, window: int) -> int:
    """⌈(Δ+2)/ε⌉: with a smaller head m < Δ can happen."""
    return math.ceil(Fraction(window + 2) / epsilon)
