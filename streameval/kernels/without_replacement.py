"""Bounds on the mean of a finite population of numbers in [0, 1], from some drawn at random without replacement.

Let N numbers have the mean m. Given the first t − 1 draws, whose sum is S, the next has the expectation
μ_t = (N m − S)/(N − t + 1). So for any stakes λ_t >= 0 that depend on former draws alone, with λ_t μ_t < 1,

    K_t = Π (1 + λ_i (X_i − μ_i)),  i = 1..t,

is a martingale started at 1, and so is a mean of several with other stakes. By Ville's inequality it reaches 1/δ with
probability δ at most. Every m with which it does is refused: what is left bounds the mean from below; the same of
1 − X bounds it from above (Waudby-Smith and Ramdas, 2020, Confidence sequences for sampling without replacement).

A judge predicts every number of the population: g, fixed before any is drawn and known of all of them. G_t, the mean
of what is predicted of those not drawn before t, is known, and so, for any constant β >= 0,

    Z_t = X_t − β (g_t − G_t)

has the expectation μ_t as well, whatever the judge says: it takes the place of X_t. If g is close to X, Z varies less.
It is at least −β (g* − G_t), where g* is the greatest prediction; so stakes have to keep λ_t (μ_t + β (g* − G_t)) < 1.
β = 0 is no judge. A mean over several β, none of them chosen by the draws, pays for a useless judge with a factor of
its weight once, and not with validity (control variates; β would have to be known to be the best).

Stakes are λ_t = min(c, CAP/(μ_t + b_t)), b_t = β (g* − G_t), for several c of equal weight. With the constant c a
factor falls in μ_t; else it is 1 − CAP + CAP (X_t − β (g_t − G_t) + b_t)/(μ_t + b_t), which falls too, as
g_t <= g* leaves nothing negative to divide. G_t and b_t depend on no X, and μ_t falls in every former draw: K rises in
every draw. So where a number is only known to lie between two, the bound for the lower one holds whatever the number
is and whyever it is not known; and K falls in m, so that what is refused is an interval.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel, read_only
from streameval.typing import FloatArray

CAP = 0.75
STAKES = 9
SHARES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])  # β
WEIGHTS = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
_STEPS = 60
# what is predicted of each number that was drawn, in this order; the sum of all predictions; the greatest of all
Predicted = tuple[FloatArray, float, float]
NO_JUDGE: Predicted = (np.empty(0), 0.0, 0.0)


@kernel
def stakes_for(count: int, delta: float) -> FloatArray:
    """The c of `wealth_of`: the smallest is best for as many 0s as 1s, and each is twice the one before."""
    first = math.sqrt(8.0 * math.log(STAKES / delta) / count)
    out = np.empty(STAKES)
    for j in range(STAKES):
        out[j] = first * 2.0**j
    return out


@kernel
def wealth_of(
    drawn: FloatArray, judge: Predicted, population: float, mean: float, stakes: FloatArray, enough: float
) -> float:
    """Wealth of the betting martingale of a mean when it first reaches `enough`, else at the end.

    Infinite where the draws sum to more than a population of that mean can.
    """
    predicted, sum_of_all, greatest = judge
    shares = SHARES.size if predicted.size else 1
    wealth = np.ones((shares, stakes.size))
    if predicted.size:
        for b in range(shares):
            for j in range(stakes.size):
                wealth[b, j] = WEIGHTS[b]
    total, reached = 0.0, 1.0
    for t in range(drawn.size):
        left = population * mean - total
        expected = left / (population - t)
        if left < 0:
            return math.inf
        sum_ = 0.0
        for b in range(shares):
            value, most = drawn[t], expected
            if b > 0:
                middle = sum_of_all / (population - t)
                value -= SHARES[b] * (predicted[t] - middle)
                most += SHARES[b] * max(greatest - middle, 0.0)
            for j in range(stakes.size):
                if most > 0:
                    wealth[b, j] *= 1.0 + min(stakes[j], CAP / most) * (value - expected)
                sum_ += wealth[b, j]
        reached = sum_ / stakes.size
        if reached >= enough:
            return reached
        total += drawn[t]
        if predicted.size:
            sum_of_all -= predicted[t]
    return math.inf if total > population * mean else reached


@kernel
def _bisected(drawn: FloatArray, judge: Predicted, population: float, delta: float) -> float:
    stakes = stakes_for(drawn.size, delta)
    low, high = float(drawn.sum()) / population, 1.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if wealth_of(drawn, judge, population, middle, stakes, 1.0 / delta) >= 1.0 / delta:
            low = middle
        else:
            high = middle
    return low


def lower_bound(drawn: FloatArray, population: float, delta: float, judge: Predicted = NO_JUDGE) -> float:
    """Bound on the mean from below, missed with probability `delta` at most.

    Args:
        drawn (float64 array, shape (n,)): Numbers in [0, 1] in the order in which they were drawn, or a lower bound on
            each.
        population: How many numbers there are, n or more.
        judge: Predictions in [0, 1], whole multiples of `kernels.predictions.STEP`, so that sums of them are exact.
    """
    return _bisected(read_only(np.ascontiguousarray(drawn, np.float64)), judge, float(population), delta)
