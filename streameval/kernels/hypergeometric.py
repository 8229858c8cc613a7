"""Exact binomial and hypergeometric tails, and the intervals that follow from them.

Probabilities use Loader's saddle-point form (C. Loader, Fast and Accurate Computation of Binomial Probabilities, 2000):
differences of ln n! lose every digit at populations of 10¹², the saddle-point form loses none.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel, small
from streameval.typing import Int64Array

_STEPS = 100.0  # of plain Python, for each interval, times the root of the labels drawn
_LN_TWO_PI = math.log(2 * math.pi)


@kernel
def _stirling_error(n: float) -> float:
    """ln n! − [(n + ½) ln n − n + ½ ln 2π]."""
    if n < 16:
        return math.lgamma(n + 1.0) - (n + 0.5) * math.log(n) + n - 0.5 * _LN_TWO_PI
    s = 1.0 / (n * n)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - s / 1188) * s) * s) * s) / n


@kernel
def _deviance(x: float, mean: float) -> float:
    """x ln(x/mean) + mean − x, without cancellation where x is near the mean."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total, power, j = (x - mean) * v, 2 * x * v, 0
        while True:
            power *= v * v
            j += 1
            more = total + power / (2 * j + 1)
            if more == total:
                return more
            total = more
    return x * math.log(x / mean) + mean - x


@kernel
def log_binomial(k: float, n: float, p: float) -> float:
    """ln P(Binomial(n, p) = k)."""
    if p <= 0.0 or p >= 1.0:
        return 0.0 if k == n * p else -np.inf
    if k < 0 or k > n:
        return -np.inf
    if k == 0:
        return n * math.log1p(-p)
    if k == n:
        return n * math.log(p)
    value = _stirling_error(n) - _stirling_error(k) - _stirling_error(n - k)
    value -= _deviance(k, n * p) + _deviance(n - k, n * (1 - p))
    return value + 0.5 * (math.log(n / (k * (n - k))) - _LN_TWO_PI)


@kernel
def log_hypergeometric(k: int, drawn: int, positive: int, items: int) -> float:
    """ln P(k positives among `drawn` of `items`, `positive` of which are positive), drawn without replacement."""
    if k < max(0, drawn - (items - positive)) or k > min(drawn, positive):
        return -np.inf
    if drawn == items:
        return 0.0
    p = drawn / items
    value = log_binomial(float(k), float(positive), p)
    value += log_binomial(float(drawn - k), float(items - positive), p)
    return value - log_binomial(float(drawn), float(items), p)


@kernel
def _terms_from(k: int, drawn: int, positive: int, items: int) -> float:
    """P(X ≥ k) by its terms: quick where k is not below the mode."""
    term = math.exp(log_hypergeometric(k, drawn, positive, items))
    total = term
    for j in range(k, min(drawn, positive)):
        term *= (positive - j) / (j + 1.0) * ((drawn - j) / (items - positive - drawn + j + 1.0))
        total += term
        if term <= 1e-17 * total:
            break
    return total


@kernel
def at_least(k: int, drawn: int, positive: int, items: int) -> float:
    """P(X ≥ k) of the hypergeometric X: the terms from k upward, or one minus those below, the shorter way out."""
    low, high = max(0, drawn - (items - positive)), min(drawn, positive)
    if k <= low:
        return 1.0
    if k > high:
        return 0.0
    if k * (items + 2.0) > (drawn + 1.0) * (positive + 1.0):
        return min(1.0, _terms_from(k, drawn, positive, items))
    # X ≤ k−1 is Z ≥ drawn−k+1 for the number Z of negatives among the drawn
    return max(0.0, 1.0 - _terms_from(drawn - k + 1, drawn, items - positive, items))


@kernel
def at_most(k: int, drawn: int, positive: int, items: int) -> float:
    """P(X ≤ k): at least drawn − k of the drawn are negative."""
    return at_least(drawn - k, drawn, items - positive, items)


@kernel
def intervals(
    k_low: Int64Array, k_high: Int64Array, drawn: Int64Array, items: Int64Array, delta: float
) -> tuple[Int64Array, Int64Array]:
    """Exact two-sided intervals for the positives among `items`, δ/2 a side (inverted hypergeometric tails).

    Args:
        k_low, k_high (int64 arrays, shape (n,)): Positives found, with a missing label as 0 and as 1.
        drawn, items (int64 arrays, shape (n,)): Labels drawn without replacement, and what they were drawn from.

    Returns:
        lower, upper (int64 arrays, shape (n,)): Smallest and largest number of positives that the labels do not reject.
            0 and `items` where nothing was drawn.
    """
    lower, upper = np.zeros(drawn.size, np.int64), items.copy()
    for i in range(drawn.size):
        if drawn[i] == 0:
            continue
        lower[i] = _smallest(k_low[i], drawn[i], items[i], delta / 2)
        upper[i] = items[i] - _smallest(drawn[i] - k_high[i], drawn[i], items[i], delta / 2)
    return lower, upper


@kernel
def _smallest(k: int, drawn: int, items: int, tail: float) -> int:
    """Fewest positives that give k or more in the draw with probability `tail`, less what rounding may take."""
    low, high = k, items - drawn + k
    tail *= 1 - 1e-10
    while low < high:
        middle = low + (high - low) // 2
        if at_least(k, drawn, middle, items) > tail:
            high = middle
        else:
            low = middle + 1
    return low


def sized_intervals(
    k_low: Int64Array, k_high: Int64Array, drawn: Int64Array, items: Int64Array, delta: float
) -> tuple[Int64Array, Int64Array]:
    """`intervals`, as plain Python where there are few."""
    with small(int(_STEPS * np.sqrt(drawn).sum())):
        return intervals(k_low, k_high, drawn, items, delta)
