"""Metrics at a recall or precision that is asked for: the rank that has it, and the best of the other from there on.

With F positives in the list, recall t is first reached at positive j = ⌈t·(F + M)⌉ (at least the first).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from streameval.curve.areas import UNDEFINED, Interval
from streameval.curve.envelope import Envelope
from streameval.curve.extremes import Extremes, Walk
from streameval.curve.points import crossing
from streameval.errors import InputError

_DECIMALS = 12  # of a target, here and in SQL: then both are whole numbers over 10¹²


def target(value: str | float | Decimal | Fraction, name: str) -> Fraction:
    """Read a precision or recall as the decimal that was typed, to twelve places.

    Args:
        value: A float means its shortest decimal: 0.9 is 9/10.
        name: What it is, for messages.

    Raises:
        InputError: It is no number in (0, 1].

    >>> target(0.9, "recall"), target("0.07", "recall")
    (Fraction(9, 10), Fraction(7, 100))
    """
    typed = value if isinstance(value, Fraction) else str(value)
    try:
        # the float comes first: it refuses 1e-999999999 before a fraction of so many digits is made
        share = round(Fraction(typed), _DECIMALS) if 0 < float(typed) <= 1 else Fraction(0)
    except (ValueError, OverflowError):
        raise InputError(f"{name} is '{value}', not a number", "give a decimal in (0, 1], such as 0.9") from None
    if not 0 < share <= 1:
        raise InputError(f"{name} is {value}, outside (0, 1]")
    return share


def positive_needed(recall: Fraction, positives: float) -> int:
    """Positive that first reaches a recall among P positives, 1-based.

    >>> positive_needed(Fraction(1, 2), 7), positive_needed(Fraction(0), 7)
    (4, 1)
    """
    return max(1, -(-recall.numerator * int(positives) // recall.denominator))


def rank_at_recall(extremes: Extremes, recall: Fraction) -> Interval:
    """Bounds on the first rank whose recall is at least `recall`; infinite where none may reach it.

    Upper: the latest list has positive j(F) at min(its place there, N − F + j(F)). The first never falls as F rises
    and the second never rises, so the largest of the smaller one lies where they cross.
    """
    least, most = extremes.span
    if most < least:
        return UNDEFINED
    reached = first_reaching(extremes, recall)
    if reached is None:
        return np.inf, np.inf
    j = positive_needed(recall, reached + extremes.misses)
    low = float(j + extremes.early.before(j))
    if reached > least:
        return low, np.inf

    def proven(in_list: float) -> float:
        j = positive_needed(recall, in_list + extremes.misses)
        return -float(j + extremes.late.before(j))

    def forced(in_list: float) -> float:
        return -(extremes.n_items - in_list + positive_needed(recall, in_list + extremes.misses))

    return low, -crossing(proven, forced, least, most)


def interpolated_precision(extremes: Extremes, recall: Fraction) -> Interval:
    """Bounds on the highest precision at any rank whose recall is at least `recall`; 0 where none reaches it."""
    least, most = extremes.span
    if most < least:
        return UNDEFINED
    reached = first_reaching(extremes, recall)
    if reached is None:
        return 0.0, 0.0
    first = float(positive_needed(recall, reached + extremes.misses))
    high = max(first / (first + float(extremes.early.before(first))), extremes.early.best_from(first))
    if reached > least:
        return 0.0, high

    def falling(in_list: float) -> float:
        return extremes.late.best_from(positive_needed(recall, in_list + extremes.misses))

    return crossing(falling, lambda in_list: in_list / extremes.n_items, least, most), high


def rank_at_precision(extremes: Extremes, precision: Fraction) -> Interval:
    """Bounds on the deepest rank whose precision is at least `precision`; 0 where no rank has it.

    The lower bound is the cutoff that is proven to hold it. After the last run whose end has the precision, every item
    is a negative until the precision is lost: at rank ⌊Y/precision⌋, or never.
    """
    deepest = []
    for walk in (extremes.late, extremes.early):
        kept = _last_kept(walk, precision)
        deepest.append(min(extremes.n_items, float(int(kept) * precision.denominator // precision.numerator)))
    return deepest[0], deepest[1]


def best_precision(envelope: Envelope) -> tuple[int, float]:
    """Find the highest precision that is proven at any rank, and the largest rank that has it.

    It stands at a breakpoint: before one the bound rises, and after one it is flat.
    """
    share = np.floor(envelope.lower[1:]) / envelope.rank[1:]
    best = share.size - 1 - int(np.argmax(share[::-1]))
    return int(envelope.rank[1:][best]), float(share[best])


def recall_at_precision(extremes: Extremes, precision: Fraction) -> Interval:
    """Bounds on the highest recall at any rank whose precision is at least `precision`, over lists with P > 0.

    Upper: the earliest list keeps the precision up to some run's end, with Y* positives; fewer positives in the list
    than that find no more, more of them find Y* out of more. Lower: the latest list keeps it at rank N, with all F
    found, once F ≥ precision·N; with fewer it finds what the lower bound alone keeps it for.
    """
    least, most = extremes.span
    if most < least:
        return UNDEFINED
    misses = extremes.misses
    kept = _last_kept(extremes.early, precision)
    high = kept / (max(least, kept) + misses) if kept else 0.0
    whole = float(-(-precision.numerator * int(extremes.n_items) // precision.denominator))
    lows = []
    if least < whole:
        lows.append(_last_kept(extremes.late, precision) / (min(most, whole - 1.0) + misses))
    if most >= whole:
        lows.append(max(least, whole) / (max(least, whole) + misses))
    return min(lows), high


def _last_kept(walk: Walk, precision: Fraction) -> float:
    """Positives up to the last rank with at least that precision: a run's end, as Y rises nowhere else."""
    y, r = (part.astype(np.int64) for part in walk.ends)
    if r.max(initial=1) * float(precision.denominator) >= 2**62:
        y, r = y.astype(object), r.astype(object)  # whole numbers of any size
    kept = np.flatnonzero(y * precision.denominator >= r * precision.numerator)
    return float(y[kept[-1]]) if kept.size else 0.0


def first_reaching(extremes: Extremes, recall: Fraction) -> float | None:
    """Return the smallest F whose list reaches the recall, or None: F − j(F) never falls."""
    first, last = extremes.span

    def reaches(in_list: float) -> bool:
        return positive_needed(recall, in_list + extremes.misses) <= in_list

    if not reaches(last):
        return None
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if reaches(middle) else (middle + 1, last)
    return float(first)
