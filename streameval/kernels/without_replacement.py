"""Bounds on the mean of a finite population of numbers in [0, 1], from some drawn at random without replacement.

Let N numbers have the mean m. Given the first t − 1 draws, whose sum is S, the next has the expectation
μ_t = (N m − S)/(N − t + 1). So for any stakes λ_t >= 0 that depend on former draws alone, with λ_t μ_t < 1,

    K_t = Π (1 + λ_i (X_i − μ_i)),  i = 1..t,

is a martingale started at 1, and so is a mean of several with other stakes. By Ville's inequality it reaches 1/δ with
probability δ at most. Every m with which it does is refused: what is left bounds the mean from below; the same of
1 − X bounds it from above (Waudby-Smith and Ramdas, 2020, Confidence sequences for sampling without replacement).

Stakes are λ_t = min(c, CAP/μ_t), for several c of equal weight. A factor falls in μ_t then, and μ_t falls in every
former draw: K rises in every draw. So where a number is only known to lie between two, the bound for the lower one
holds whatever the number is and whyever it is not known; and K falls in m, so that what is refused is an interval.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray

CAP = 0.75
STAKES = 9
_STEPS = 60


@kernel
def stakes_for(count: int, delta: float) -> FloatArray:
    """The c of `refused`: the smallest is best for numbers that are 0 or 1 alike, and each is twice the one before."""
    first = math.sqrt(8.0 * math.log(STAKES / delta) / count)
    out = np.empty(STAKES)
    for j in range(STAKES):
        out[j] = first * 2.0**j
    return out


@kernel
def refused(drawn: FloatArray, population: float, mean: float, stakes: FloatArray, delta: float) -> bool:
    """Whether the martingale of a mean reaches 1/delta; also where the draws sum to more than the population can."""
    wealth = np.ones(stakes.size)
    total = 0.0
    for t in range(drawn.size):
        left = population * mean - total
        expected = left / (population - t)
        if left < 0:
            return True
        if expected > 0:
            sum_ = 0.0
            for j in range(stakes.size):
                wealth[j] *= 1.0 + min(stakes[j], CAP / expected) * (drawn[t] - expected)
                sum_ += wealth[j]
            if sum_ >= stakes.size / delta:
                return True
        total += drawn[t]
    return total > population * mean


@kernel
def lower_bound(drawn: FloatArray, population: float, delta: float) -> float:
    """Bound on the mean from below, missed with probability `delta` at most.

    Args:
        drawn (float64 array, shape (n,)): Numbers in [0, 1] in the order in which they were drawn, or a lower bound on
            each.
        population: How many numbers there are, n or more.
    """
    stakes = stakes_for(drawn.size, delta)
    low, high = float(drawn.sum()) / population, 1.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if refused(drawn, population, middle, stakes, delta):
            low = middle
        else:
            high = middle
    return low
