"""Measures that the field writes in a way of its own, with a number of theirs behind @: iprec@0.1, 11pt and rbp@0.8."""

from __future__ import annotations

import re
from decimal import Decimal

from streameval.questions.cutoffs import Cutoff, number, plain, read_share, refuse

ELEVEN_POINTS = "eleven_point_precision"
_OTHER = re.compile(r"\s*(?:11pt(?:_avg)?\b|(iprec|rbp)\s*@\s*(?:recall:)?([^\s<>=≤≥]*))\s*", re.IGNORECASE | re.ASCII)
_DECIMALS = 6


def read_other(text: str) -> tuple[str, tuple[Cutoff, ...], int] | None:
    """Read such a measure at the beginning of a text.

    Returns:
        Its metric and cutoffs as we call them, and where it ends; None where there is none.

    Raises:
        InputError: A recall outside [0, 1], a persistence outside (0, 1).

    >>> read_other("iprec@.10 >= .5")
    ('precision', (Cutoff(kind='recall', value=Decimal('0.10')),), 10)
    >>> read_other("rbp@0.95"), read_other("11pt"), read_other("precision@10")
    (('rbp.95', (), 8), ('eleven_point_precision', (), 4), None)
    """
    other = _OTHER.match(text)
    if other is None:
        return None
    if other[1] is None:
        return ELEVEN_POINTS, (), other.end()
    if other[1].lower() == "iprec":
        return "precision", (Cutoff("recall", read_share(text, other.start(2), "recall", other[2])),), other.end()
    persistence = number(other[2])
    if persistence is None or not 0 < persistence < 1 or len(rank_biased(persistence)) > len("rbp.") + _DECIMALS:
        what = f"persistence is '{other[2]}', no decimal in (0, 1) of up to {_DECIMALS} places"
        raise refuse(text, other.start(2), what, "such as rbp@0.8: the reader goes on with probability 0.8")
    return rank_biased(persistence), (), other.end()


def rank_biased(persistence: Decimal) -> str:
    """Name rank-biased precision: it holds its persistence, as the name of F_β holds β.

    >>> rank_biased(Decimal("0.80"))
    'rbp.8'
    """
    return f"rbp.{plain(persistence).removeprefix('0.')}"
