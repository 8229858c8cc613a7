"""Metrics that stand at one point of the curve: where it begins, where precision meets recall, where it is highest.

For a given F the latest list, whose yield is max(Ylo(r), F − (N − r)), has the least of everything here at every
rank at once. Of the two terms one makes a metric fall as F rises and the other makes it rise, so the least over all
F lies where they cross.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streameval.curve.areas import UNDEFINED, Interval
from streameval.curve.at_cutoff import Known, f_bounds
from streameval.curve.envelope import Envelope
from streameval.curve.extremes import Extremes, whole_near
from streameval.typing import FloatArray

# of Y, r and P: rises along a run of positives, falls along one of negatives, and falls as P rises
Quotient = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def reciprocal_rank(extremes: Extremes) -> Interval:
    """Bounds on 1/r_1; 0 for a list without positives."""
    low = 1.0 / (extremes.late.negatives[0] + 1.0) if extremes.late.total else 0.0
    high = 1.0 / (extremes.early.negatives[0] + 1.0) if extremes.early.total else 0.0
    return float(low), float(high)


def max_f(extremes: Extremes, beta: float = 1.0) -> Interval:
    """Bounds on the largest (1 + β²)·Y/(r + β²·P) over all cutoffs, over lists with P > 0."""
    square = beta * beta
    return _largest(extremes, lambda y, r, p: (1.0 + square) * y / (r + square * p))


def best_f(envelope: Envelope, misses: int, beta: float) -> int | None:
    """Find the rank whose lower bound on F_β is the largest: a run's end of the latest list; None without positives."""
    ranks = Extremes.from_envelope(envelope, misses).late.ends[1]
    if not ranks.size:
        return None
    lower, _ = f_bounds(Known.of(envelope, misses, ranks), beta)
    return int(ranks[np.argmax(lower)])


def breakeven(extremes: Extremes) -> Interval:
    """Bounds on the break-even point of interpolated precision and recall, over lists with P > 0.

    That is the largest min(precision, recall) over all cutoffs: the largest Y/max(r, P).
    """
    return _largest(extremes, lambda y, r, p: y / np.maximum(r, p))


def _largest(extremes: Extremes, quotient: Quotient) -> Interval:
    least, most = extremes.span
    if most < least:
        return UNDEFINED
    y, r = extremes.early.ends
    high = float(np.max(quotient(y, r, np.maximum(y, least) + extremes.misses), initial=0.0))
    y, r = extremes.late.ends

    def falling(in_list: float) -> float:
        return float(np.max(quotient(y, r, np.array(in_list + extremes.misses)), initial=0.0))

    def rising(in_list: float) -> float:
        return float(quotient(np.array(in_list), np.array(extremes.n_items), np.array(in_list + extremes.misses)))

    return crossing(falling, rising, least, most), high


def crossing(falling: Callable[[float], float], rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the least of max(falling, rising) over the whole numbers low..high."""
    first, last = low, high
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if rising(middle) >= falling(middle) else (middle + 1, last)
    return min(max(falling(number), rising(number)) for number in (max(low, first - 1), first))


def r_precision(extremes: Extremes, misses_upper: float | None = None) -> Interval:
    """Bounds on p(P), or Y(N)/P where P > N, over lists with P > 0 and misses up to `misses_upper`, by default known.

    For a given P it is least where misses are most, so that F = max(Flo, P − Mhi), and largest where they are fewest.
    With r = P, max(Ylo(r), F − (N − r))/r and min(Yhi(r), F)/r are made of rising and falling quotients between kinks:
    the extremes are at kinks, at crossings, or at the ends of the search. (It is not monotone in M, unlike all else.)
    """
    n_items, late, early = extremes.n_items, extremes.late, extremes.early
    few, many = extremes.misses, extremes.misses if misses_upper is None else misses_upper
    least, most = max(late.total + few, 1.0), early.total + many
    if most < least:
        return UNDEFINED
    kinks = np.concatenate([late.starts[1], late.ends[1], (late.positives + n_items + many) / 2,
                            late.positives + n_items - late.total, [n_items, late.total + many]])  # fmt: skip
    positives = whole_near(kinks, least, most)
    in_list, r = np.maximum(late.total, positives - many), np.minimum(positives, n_items)
    low = np.maximum(late.at(r), in_list - (n_items - r)) / positives
    kinks = np.concatenate([early.starts[1], early.ends[1], early.positives + few, [n_items, early.total + few]])
    positives = whole_near(kinks, least, most)
    in_list, r = np.minimum(early.total, positives - few), np.minimum(positives, n_items)
    high = np.minimum(early.at(r), in_list) / positives
    return float(np.min(low)), float(np.max(high))
