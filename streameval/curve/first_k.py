"""Metrics of the first k items as a list of their own: average precision at k, discounted cumulated gain."""

from __future__ import annotations

from functools import cache

import numpy as np

from streameval.curve.areas import UNDEFINED, Interval, average_precision, highest_average, lowest_average
from streameval.curve.extremes import Extremes, Walk
from streameval.typing import FloatArray

# discounts are summed rank by rank, within the first block of `kernels.exact`: gains of deeper lists are not in use
DEEPEST_DCG = 1 << 20


def average_precision_at(extremes: Extremes, k: int) -> dict[str, Interval]:
    """Bounds on average precision of the first k items, by denominator.

    Returns:
        dict of str to (lower, upper): "found": by the positives among the first k. "positives": by all of them, P.
            "capped": by min(P, k). NaN where no list has any there.

    As for the whole list, by a search over the positives s among the first k: given s, P is at least
    max(least Y(N), s) + M and at most min(most Y(N), s + N − k) + M.
    """
    top = extremes.up_to(float(k))
    misses, beyond = extremes.misses, extremes.n_items - k
    few, many = extremes.late.total, extremes.early.total
    elsewhere = min(many, beyond) + misses > 0  # a list without positives among the first k may have others
    if top.span[1] < top.span[0]:
        nothing = (0.0, 0.0) if elsewhere else UNDEFINED
        return {"found": UNDEFINED, "positives": nothing, "capped": nothing}

    def least(in_top: FloatArray) -> FloatArray:
        return np.maximum(few, in_top) + misses

    def most(in_top: FloatArray) -> FloatArray:
        return np.minimum(many, in_top + beyond) + misses

    lowest = Extremes(top.n_items, float(elsewhere), top.early, top.late)
    turns = [count for count in (few, k - misses) if top.span[0] < count < top.span[1]]
    tried = [top.span[0], *turns, top.span[1]]
    return {
        "found": average_precision(top),
        "positives": (lowest_average(lowest, most), highest_average(top, least, tried)),
        "capped": (lowest_average(lowest, lambda in_top: np.minimum(most(in_top), k)),
                   highest_average(top, lambda in_top: np.minimum(least(in_top), k), tried)),
    }  # fmt: skip


def dcg_at(extremes: Extremes, k: int) -> Interval:
    """Bounds on Σ v_r/log2(r + 1) over the first k ≤ `DEEPEST_DCG` items (Järvelin and Kekäläinen 2002).

    It grows when a positive moves forward or is added: the latest list has the least, the earliest the most.
    """
    return _discount(extremes.late.up_to(k)), _discount(extremes.early.up_to(k))


def _discount(walk: Walk) -> float:
    first, last = (places[1].astype(np.int64) for places in (walk.starts, walk.ends))
    total = discounts(int(last.max(initial=1)))
    return float(np.sum(total[last] - total[first]))


def discounts(last: int) -> FloatArray:
    """Σ 1/log2(r + 1) over ranks 1..i, for i = 0..`last` at least, which is `DEEPEST_DCG` at most."""
    return _discounts_of(last.bit_length())


@cache
def _discounts_of(bits: int) -> FloatArray:
    each = 1.0 / np.log2(np.arange(2, (1 << bits) + 2))
    return np.concatenate([[0.0], np.cumsum(each)])
