"""What a block adds to the evidence S_μ of `streameval.kernels.martingale`, where the proof and the symbols are."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import vector_kernel
from streameval.typing import FloatArray

Weight = tuple[float, float]  # what a positive weighs: μ or θ, and 1 − e^−μ


@vector_kernel
def best_stake(y: float, rate: float, q: float) -> tuple[float, float]:
    """D of the docstring for a share q of positives, rate < 1; and R, of which more follows."""
    b = 1 - y * (1 - rate * q)
    root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
    return 2 * y * q / (b + root) if b > 0 else (root - b) / (2 * (1 - rate)), root


@vector_kernel
def _log_positive(mu: float, at: tuple[float, float, float], stake: float, root: float) -> float:
    """Log of f at the best stake for (y, π, q), without cancellation; π < 1."""
    y, rate, q = at
    if y * (1 + rate * q) < 1:
        return math.log1p((1 - rate) * stake - y)
    return math.log(2 * y * q / (root + y * (1 + rate * q) - 1)) - mu


@vector_kernel
def _gain(rate: float, weight: Weight, q: float, untaken: float, negative: float, positive: float) -> float:
    """Sum of s over the ranks of a class in a block, at the best stake for a prediction q."""
    if rate >= 1:
        return -weight[0] * positive  # counted, whatever the stake
    y = weight[1] / rate
    stake, root = best_stake(y, rate, q)
    gain = untaken * math.log1p(-rate * stake)
    if negative > 0:
        gain += negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        gain += positive * _log_positive(weight[0], (y, rate, q), stake, root)
    return gain


@vector_kernel
def _add_gains(
    rate: float,
    mixture: tuple[FloatArray, FloatArray],
    q: float,
    counts: tuple[float, float, float],
    out: FloatArray,
) -> None:
    """Add `_gain` for each μ, rate < 1: without a branch or a call, so that stakes are found for several at once.

    Args:
        mixture: The μ, and three rows, the last of them 1 − e^−μ.
        counts: Ranks that were not drawn, negatives, positives.
    """
    mu, (stake, root, epsilon) = mixture[0], (mixture[1][0], mixture[1][1], mixture[1][2])
    untaken, negative, positive = counts
    for m in range(out.size):
        y = epsilon[m] / rate
        b = 1 - y * (1 - rate * q)
        root[m] = math.sqrt(b * b + 4 * (1 - rate) * y * q)
        small, large = 2 * y * q / (b + root[m]), (root[m] - b) / (2 * (1 - rate))
        stake[m] = small if b > 0 else large
    for m in range(out.size):
        out[m] += untaken * math.log1p(-rate * stake[m])
    for m in range(out.size if negative > 0 else 0):
        out[m] += negative * math.log1p((1 - rate) * stake[m])
    for m in range(out.size if positive > 0 else 0):
        out[m] += positive * _log_positive(mu[m], (epsilon[m] / rate, rate, q), stake[m], root[m])


@vector_kernel
def _gain_at(rate: float, weight: Weight, stake: float, untaken: float, negative: float, positive: float) -> float:
    """The same at any stake; never above it by rounding, and −∞ where the stake leaves a positive nothing."""
    if rate >= 1:
        return -weight[0] * positive
    y, negative_factor = weight[1] / rate, 1 + (1 - rate) * stake
    gain = untaken * math.log1p(-rate * stake) + negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        left = negative_factor - y - 1e-15 * (negative_factor + y)
        gain += positive * math.log(left) if left > 0 else -np.inf
    return gain


@vector_kernel
def _least_gain(
    rate: float,
    theta: tuple[Weight, Weight, Weight],
    q: tuple[float, float],
    untaken: float,
    negative: float,
    positive: float,
) -> float:
    """Least sum of s over the ranks of a class in a block, for predictions in an interval.

    Args:
        theta: What a positive weighs, and the least and the most that it may, for the stakes.
    """
    weight, least, most = theta
    if least[0] == most[0]:
        gain = _gain(rate, weight, q[1], untaken, negative, positive)
        return min(gain, _gain(rate, weight, q[0], untaken, negative, positive)) if q[0] < q[1] else gain
    if rate >= 1:
        return -weight[0] * positive
    low = best_stake(least[1] / rate, rate, q[0])[0]
    high = best_stake(most[1] / rate, rate, q[1])[0]
    gain = _gain_at(rate, weight, low, untaken, negative, positive)
    return min(gain, _gain_at(rate, weight, high, untaken, negative, positive))


@vector_kernel
def chained(
    block: tuple[float, float, float],
    weight: Weight,
    shares: FloatArray,
    q: tuple[FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray],
) -> float:
    """Least sum of s over a block of which a random part is judged.

    Args:
        block: Its ranks, and the probabilities of both phases.
        shares: About how many items of each class were judged.
        counts: Judged, drawn, and most positives of each class.
    """
    width, judged, rate = block
    taken, of_all, p_low, p_high = 0.0, 0.0, 0.0, 0.0
    for g in range(shares.size):
        taken, of_all = taken + counts[0][g], of_all + shares[g]
        p_low, p_high = p_low + shares[g] * q[0][g], p_high + shares[g] * q[1][g]
    p_low, p_high = p_low / of_all, p_high / of_all
    y, total = weight[1] / judged, np.inf
    low, high = best_stake(y, judged, p_low), best_stake(y, judged, p_high)
    stakes = low[0], high[0]
    weights = (
        math.log1p((1 - judged) * low[0]) - _log_positive(weight[0], (y, judged, p_low), *low),
        math.log1p((1 - judged) * high[0]) - _log_positive(weight[0], (y, judged, p_high), *high),
    )
    thetas = (weights[0], -math.expm1(-weights[0])), (weights[1], -math.expm1(-weights[1]))
    swap = 1 if weights[0] > weights[1] else 0
    for i in range(1 if p_low == p_high else 2):
        gain = (width - taken) * math.log1p(-judged * stakes[i]) + taken * math.log1p((1 - judged) * stakes[i])
        theta = thetas[i], thetas[swap], thetas[1 - swap]
        for g in range(shares.size):
            items, drawn, most = counts[0][g], counts[1][g], counts[2][g]
            gain += _least_gain(rate, theta, (q[0][g], q[1][g]), items - drawn, drawn - most, most)
        total = min(total, gain)
    return total


@vector_kernel
def add_block(
    rate: float,
    mixture: tuple[FloatArray, FloatArray],
    q: tuple[FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Add the least sum of s over a block of which every item is judged, for each μ.

    Args:
        mixture: The μ, and three rows, the last of them 1 − e^−μ.
        counts: Items, drawn, and most positives of each class.
    """
    mu, work = mixture
    for g in range(counts[0].size):
        most = counts[2][g]
        untaken, negative = counts[0][g] - counts[1][g], counts[1][g] - most
        if q[0][g] == q[1][g] and rate < 1:
            _add_gains(rate, (mu, work), q[0][g], (untaken, negative, most), out)
            continue
        for m in range(out.size if counts[0][g] > 0 else 0):
            one = mu[m], work[2, m]
            out[m] += _least_gain(rate, (one, one, one), (q[0][g], q[1][g]), untaken, negative, most)
