"""Quantiles of Student's t and Clopper's and Pearson's interval, from the regularised incomplete beta function."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

_TINY = 1e-300
_STEPS = 100_000
_HALVINGS = 200
_LEAST_STEP = 1e-11


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Give I_x(a, b), the probability that a beta variable is at most x, by Lentz's continued fraction."""
    if x <= 0.0 or x >= 1.0:
        return float(x >= 1.0)
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for step in (even, odd):
            d, c = 1.0 / _away(1.0 + step * d), _away(1.0 + step / c)
            fraction *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return front * fraction


def _away(value: float) -> float:
    """Keep a denominator from zero."""
    return value if abs(value) > _TINY else _TINY


def student_quantile(probability: float, freedom: float) -> float:
    """Give the quantile above ½ of Student's t with so many degrees of freedom.

    >>> round(student_quantile(0.975, 10), 6)
    2.228139
    """
    t = NormalDist().inv_cdf(probability)
    scale = math.lgamma((freedom + 1.0) / 2.0) - math.lgamma(freedom / 2.0) - 0.5 * math.log(freedom * math.pi)
    while True:  # Newton's steps rise to the quantile: above 0 the distribution function is concave
        below = 1.0 - incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5) / 2.0
        density = math.exp(scale - (freedom + 1.0) / 2.0 * math.log1p(t * t / freedom))
        step = (probability - below) / density
        t += step
        if step <= _LEAST_STEP * t:
            return t


def clopper_pearson(successes: int, of: int, confidence: float) -> tuple[float, float]:
    """Bound a proportion of which so many of so many independent draws were found: exact, whatever the proportion.

    >>> [round(end, 4) for end in clopper_pearson(8, 10, 0.95)]
    [0.4439, 0.9748]
    """
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if successes == 0 else _where(lambda p: incomplete_beta(p, successes, of - successes + 1.0) >= tail)
    high = (
        1.0 if successes == of else _where(lambda p: incomplete_beta(p, successes + 1.0, of - successes) >= 1.0 - tail)
    )
    return low, high


def _where(reached: Callable[[float], bool]) -> float:
    """Find where in (0, 1) something begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
