"""Part of a block in the evidence S_μ of `streameval.kernels.martingale`, where the proof and the symbols are."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import vector_kernel
from streameval.typing import FloatArray

Weight = tuple[float, float]  # what a positive weighs: μ or θ, and 1 − e^−μ
# Arrays of float64 are passed whole, each with its rows: a view costs more time to compile than what is done with it.
# of `blocks`, shape (4, blocks): ranks, π, π', room for bounds
WIDTH, RATE, CHOSEN, REACHED = range(4)
# of `counts`, shape (4, blocks, classes): judged, drawn, most positives and fewest
ITEMS, DRAWN, REAL, FEWEST = range(4)
# of `classes`, shape (7, classes): labels that predict each, fewest and most positives among them, about how many items
# were judged; the least and the most that the share of positives is predicted to be, and what the plan predicts
LABELS, LEAST, MOST, JUDGED, LOW, HIGH, PREDICTED = range(7)
# of `table`, shape (4 + rows, mu): the μ and 1 − e^−μ, room for stakes and their R; then sums S_μ
MU, EPSILON, STAKE, ROOT, TOTAL = range(5)
PRIOR = 2.0  # labels that the plan's prediction of a class is worth
MEMORY = 64.0  # labels of a class by which it is predicted, those of the last e-fold of ranks at most


@vector_kernel
def best_stake(y: float, rate: float, q: float) -> tuple[float, float]:
    """D of the docstring for a share q of positives, rate < 1; and R, of which more follows."""
    b = 1 - y * (1 - rate * q)
    root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
    return 2 * y * q / (b + root) if b > 0 else (root - b) / (2 * (1 - rate)), root


@vector_kernel
def log_positive(mu: float, at: tuple[float, float, float], stake: float, root: float) -> float:
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
        gain += positive * log_positive(weight[0], (y, rate, q), stake, root)
    return gain


@vector_kernel
def _gain_at(rate: float, weight: Weight, stake: float, untaken: float, negative: float, positive: float) -> float:
    """Give the same at any stake; never above it by rounding, and −∞ where the stake leaves a positive nothing."""
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
def chain(blocks: FloatArray, j: int, weight: Weight, counts: FloatArray, classes: FloatArray) -> float:
    """Least sum of s over block `j`, of which a random part is judged."""
    width, rate, judged = blocks[WIDTH, j], blocks[RATE, j], blocks[CHOSEN, j]
    n_judged, of_all, p_low, p_high = 0.0, 0.0, 0.0, 0.0
    for g in range(classes.shape[1]):
        share = classes[JUDGED, g]
        n_judged, of_all = n_judged + counts[ITEMS, j, g], of_all + share
        p_low, p_high = p_low + share * classes[LOW, g], p_high + share * classes[HIGH, g]
    p_low, p_high = p_low / of_all, p_high / of_all
    y, total = weight[1] / judged, np.inf
    low, high = best_stake(y, judged, p_low), best_stake(y, judged, p_high)
    stakes = low[0], high[0]
    weights = (
        math.log1p((1 - judged) * low[0]) - log_positive(weight[0], (y, judged, p_low), *low),
        math.log1p((1 - judged) * high[0]) - log_positive(weight[0], (y, judged, p_high), *high),
    )
    thetas = (weights[0], -math.expm1(-weights[0])), (weights[1], -math.expm1(-weights[1]))
    swap = 1 if weights[0] > weights[1] else 0
    for i in range(1 if p_low == p_high else 2):
        gain = (width - n_judged) * math.log1p(-judged * stakes[i]) + n_judged * math.log1p((1 - judged) * stakes[i])
        theta = thetas[i], thetas[swap], thetas[1 - swap]
        for g in range(classes.shape[1]):
            items, drawn, most = counts[ITEMS, j, g], counts[DRAWN, j, g], counts[REAL, j, g]
            gain += _least_gain(rate, theta, (classes[LOW, g], classes[HIGH, g]), items - drawn, drawn - most, most)
        total = min(total, gain)
    return total


@vector_kernel
def add_block(
    blocks: FloatArray,
    counts: FloatArray,
    classes: FloatArray,
    table: FloatArray,
    place: tuple[int, int, int],
) -> None:
    """Add the least sum of s over a block of which every item is judged, for each μ.

    Args:
        place: Number of the block, row of the sums, how many μ.

    Where labels are missing, predictions are intervals. Each other
    loop over μ is without a branch or a call, so that several are done at once.
    """
    j, row, live = place
    rate = blocks[RATE, j]
    for g in range(classes.shape[1]):
        positive, q = counts[REAL, j, g], classes[HIGH, g]
        untaken, negative = counts[ITEMS, j, g] - counts[DRAWN, j, g], counts[DRAWN, j, g] - positive
        if rate >= 1:
            for m in range(live):  # counted, whatever the stake
                table[row, m] -= table[MU, m] * positive
            continue
        if classes[LOW, g] < q:
            for m in range(live if counts[ITEMS, j, g] > 0 else 0):
                weight = table[MU, m], table[EPSILON, m]
                gain = _gain(rate, weight, q, untaken, negative, positive)
                table[row, m] += min(gain, _gain(rate, weight, classes[LOW, g], untaken, negative, positive))
            continue
        for m in range(live):
            y = table[EPSILON, m] / rate
            b = 1 - y * (1 - rate * q)
            root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
            small, large = 2 * y * q / (b + root), (root - b) / (2 * (1 - rate))
            table[ROOT, m], table[STAKE, m] = root, small if b > 0 else large
        for m in range(live):
            table[row, m] += untaken * math.log1p(-rate * table[STAKE, m])
        for m in range(live if negative > 0 else 0):
            table[row, m] += negative * math.log1p((1 - rate) * table[STAKE, m])
        for m in range(live if positive > 0 else 0):
            at = table[EPSILON, m] / rate, rate, q
            table[row, m] += positive * log_positive(table[MU, m], at, table[STAKE, m], table[ROOT, m])
