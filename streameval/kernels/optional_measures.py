"""Measures of a ranking that only some evaluations have: interpolated precision at recalls, rank-biased precision.

Interpolated precision is the highest at or after the first rank with a recall. Along a group of tied items it is
highest at the group's end; with its positives first, behind the last of them; and of the mean over all orders, whose
precision only rises or only falls along a group, at the end or where the recall is reached. So one look at each group
with a positive is enough: what a recall has is also had by each smaller one, which `finish_optional` makes of it.

Rank-biased precision is that of a reader who looks at the first item, and after each at the next with probability ρ:
Σ (1 − ρ)·ρ^(r − 1) over the ranks r of positives (Moffat and Zobel, 2008).
"""

from __future__ import annotations

import math

from streameval.kernels.jit import borrowing_kernel
from streameval.kernels.tied_items import BEST, EXPECTED, WORST
from streameval.typing import FloatArray

# a recall t as a row: it is reached with ⌊(NUMERATOR·R + ADDED)/DENOMINATOR⌋ of R positives, and at least with one
NUMERATOR, DENOMINATOR, ADDED = range(3)


@borrowing_kernel
def add_optional(
    group: tuple[int, int, int, int], relevant: int, reached: int, recalls: FloatArray, persistences: FloatArray,
    out: FloatArray,
) -> int:  # fmt: skip
    """Go on along a ranking by a group of tied items, some of them positive, or by one positive.

    Args:
        group: Items, and positives, before it; its items and positives.
        relevant: Positives of the whole ranking, those that it never returned included.
        reached: How many recalls were reached before the group.
        recalls (float64 array, shape (recalls, 3)): Ascending; see NUMERATOR.
        persistences (float64 array): ρ, in (0, 1).
        out (float64 array, shape (recalls + persistences, 3)): Zero at first.

    Returns:
        int: How many recalls are reached at its end.
    """
    s, f, n, p = group
    end = (f + p) / (s + n)
    while reached < recalls.shape[0]:
        recall = recalls[reached]
        if max(1.0, math.floor((recall[NUMERATOR] * relevant + recall[ADDED]) / recall[DENOMINATOR])) > f + p:
            break
        needed = recall[NUMERATOR] * relevant - f * recall[DENOMINATOR]  # may be a part of a positive
        i = min(max(1.0, math.ceil(needed * n / (recall[DENOMINATOR] * p))), float(n))
        out[reached, EXPECTED] = max(end, (f + p * i / n) / (s + i))
        reached += 1
    if reached > 0:
        out[reached - 1, WORST] = max(out[reached - 1, WORST], end)
        out[reached - 1, EXPECTED] = max(out[reached - 1, EXPECTED], end)
        out[reached - 1, BEST] = max(out[reached - 1, BEST], (f + p) / (s + p))
    for q in range(persistences.size):
        at, rho = recalls.shape[0] + q, persistences[q]
        whole = rho ** float(s) * (1.0 - rho ** float(n))
        out[at, WORST] += rho ** float(s + n - p) * (1.0 - rho ** float(p))
        out[at, EXPECTED] += whole * p / n
        out[at, BEST] += rho ** float(s) * (1.0 - rho ** float(p))
    return reached


@borrowing_kernel
def finish_optional(relevant: int, recalls: FloatArray, out: FloatArray) -> None:
    """Give each recall what greater ones have; NaN without a positive."""
    for order in range(3):
        for t in range(recalls.shape[0] - 2, -1, -1):
            out[t, order] = max(out[t, order], out[t + 1, order])
        for t in range(recalls.shape[0]):
            if relevant == 0:
                out[t, order] = math.nan
