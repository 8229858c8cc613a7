"""Part of a group of tied items in a metric: in the worst order, expected over all, in the best; and discounts.

Expected values are closed forms or short sums: place i of a group is positive with probability p/n, then with
(p − 1)(i − 1)/(n − 1) positives of the group expected before it (McSherry and Najork, 2008); the first positive of a
group is at place x with probability C(n − x, p − 1)/C(n, p).
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import borrowing_kernel
from streameval.typing import FloatArray, Int64Array


@borrowing_kernel
def discount(table: FloatArray, rank: int) -> float:
    """1/log2(rank + 1), from a table where it reaches."""
    return table[rank - 1] if rank <= table.size else 1.0 / math.log2(rank + 1.0)


def discounts(count: int) -> FloatArray:
    """1/log2(rank + 1) for ranks 1..count; by the system's logarithm, as `discount` has it."""
    return 1.0 / np.fromiter(map(math.log2, range(2, count + 2)), np.float64, count)


WORST, EXPECTED, BEST = range(3)
# gain of each grade; discounts of the first ranks; recalls and persistences (`optional_measures`)
Tables = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@borrowing_kernel
def first_positive(s: int, n: int, p: int, reach: int, out: FloatArray) -> None:
    """Reciprocal rank of the first positive of a group, by order; 0 where it is beyond `reach` places."""
    out[:3] = 0.0
    if p > 0:
        out[BEST] = 1.0 / (s + 1) if reach >= 1 else 0.0
        out[WORST] = 1.0 / (s + n - p + 1) if reach >= n - p + 1 else 0.0
        chance = p / n
        for x in range(1, min(reach, n - p + 1) + 1):
            out[EXPECTED] += chance / (s + x)
            if x < n - p + 1:
                chance *= (n - x - p + 1) / (n - x)


@borrowing_kernel
def precisions(group: tuple[int, int, int, int], reach: int, out: FloatArray) -> None:
    """Σ of precisions over the positives among the first `reach` places of a group, by order."""
    s, f, n, p = group
    out[:3] = 0.0
    slope = (p - 1.0) / (n - 1.0) if n > 1 else 0.0
    chance = p / n
    for i in range(1, reach + 1):
        share = 1.0 / (s + i)
        out[EXPECTED] += chance * (f + 1.0 + slope * (i - 1.0)) * share
        if i <= p:
            out[BEST] += (f + i) * share
        if i > n - p:
            out[WORST] += (f + i - (n - p)) * share


@borrowing_kernel
def gains(s: int, n: int, reach: int, histogram: Int64Array, tables: Tables, out: FloatArray) -> None:
    """Discounted gains of the first `reach` places of a group, by order."""
    gain, table, _, _ = tables
    out[:3] = 0.0
    total = 0.0
    for grade in range(histogram.size):
        total += gain[grade] * histogram[grade]
    low, high = 0, histogram.size - 1
    low_left, high_left = histogram[low], histogram[high]
    for i in range(1, reach + 1):
        while low_left == 0:
            low += 1
            low_left = histogram[low]
        while high_left == 0:
            high -= 1
            high_left = histogram[high]
        low_left, high_left = low_left - 1, high_left - 1
        share = discount(table, s + i)
        out[WORST] += gain[low] * share
        out[EXPECTED] += total / n * share
        out[BEST] += gain[high] * share
