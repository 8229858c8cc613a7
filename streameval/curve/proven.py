"""The cutoff that an envelope proves: the deepest one with a precision, the first one with a recall.

Precisions and recalls that are asked for are decimals as typed, compared exactly.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from streameval.curve.at_cutoff import Known, f_bounds
from streameval.curve.envelope import Envelope
from streameval.curve.extremes import Extremes
from streameval.errors import InputError
from streameval.typing import AnyArray


def parse_share(value: str | float | Decimal | Fraction, name: str) -> Fraction:
    """Read a precision or a recall as the decimal that was typed.

    Args:
        value: A float means its shortest decimal: 0.9 is 9/10.
        name: What it is, for messages.

    Raises:
        InputError: It is no number in (0, 1].

    >>> parse_share(0.9, "precision")
    Fraction(9, 10)
    """
    if isinstance(value, Fraction):
        share = value
    else:
        try:
            # the float comes first: it refuses 1e-999999999 before a fraction of so many digits is made
            share = Fraction(str(value)) if 0 < float(str(value)) <= 1 else Fraction(0)
        except (ValueError, OverflowError):
            raise InputError(f"{name} is '{value}', not a number", "give a decimal in (0, 1], such as 0.9") from None
    if not 0 < share <= 1:
        raise InputError(f"{name} is {value}, outside (0, 1]")
    return share


def deepest_rank(envelope: Envelope, precision: Fraction) -> int | None:
    """Find the largest rank r whose lower bound on Y(r) is at least `precision`·r.

    Between two breakpoints the bound is flat and then rises by one a rank. Where it is flat its quotient falls, so the
    last rank that reaches the precision follows from it; where it rises, the quotient does not fall, so the breakpoint
    at its end reaches the precision if any rank of the rise does.

    Args:
        envelope: Lower bounds that are no whole numbers are rounded down.
        precision: Fraction, in (0, 1].

    Returns:
        int or None: In 1..N; None where no rank reaches it.
    """
    above, below = precision.numerator, precision.denominator
    n_items = int(envelope.rank[-1])
    # whole numbers that cannot wrap: 64 bits for any precision of a few digits, Python's own for the rest
    kind = np.int64 if below * (n_items + 1) < 2**63 else np.object_
    rank: AnyArray = envelope.rank.astype(kind)
    lower: AnyArray = np.floor(envelope.lower).astype(np.int64).astype(kind)
    ends = rank[(lower * below >= rank * above) & (rank > 0)]
    flat_ends = rank[1:] - (lower[1:] - lower[:-1])
    inside = np.minimum(flat_ends, lower[:-1] * below // above)
    found = np.concatenate([ends, inside[inside > rank[:-1]]])
    return int(found.max()) if found.size else None


def best_precision(envelope: Envelope) -> tuple[int, float]:
    """Find the highest precision that is proven at any rank, and the largest rank that has it.

    It stands at a breakpoint: before one the bound rises, and after one it is flat.
    """
    share = np.floor(envelope.lower[1:]) / envelope.rank[1:]
    best = share.size - 1 - int(np.argmax(share[::-1]))
    return int(envelope.rank[1:][best]), float(share[best])


def best_f(envelope: Envelope, misses: int, beta: float) -> int | None:
    """Find the rank whose lower bound on F_β is the largest: a run's end of the latest list; None without positives."""
    ranks = Extremes.of(envelope, misses).late.ends[1]
    if not ranks.size:
        return None
    lower, _ = f_bounds(Known.of(envelope, misses, ranks), beta)
    return int(ranks[np.argmax(lower)])
