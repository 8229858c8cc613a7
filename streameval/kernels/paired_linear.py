"""Evidence on a weighted total of 0/1 values, from independent draws at given rates.

Item i has the value z and the weight w > 0, and is drawn with the probability π, whatever else is drawn. With any stake
D that depends on items before alone, y = (1 − e^(−μ w))/π and e = 1 + (1 − π) D, the mean of exp(μ Σ w z + S) is 1,
where S sums log(1 − π D) of an item that is not drawn, log e of one that is and has z = 0, and log(e − y) where z = 1.
The best D for a share q of ones is that of `stakes`, with μ w in the place of μ. It solves (1 − π) D² + b D = y q, so
that 1 − π D is 2 e^(−μ w)/(2 (1 − π) + π (b + R)): the difference itself would lose every digit at large weights.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import vector_kernel
from streameval.kernels.stakes import best_stake, log_positive
from streameval.typing import FloatArray, Int8Array, Int64Array

_PRIOR = 2.0  # labels that a prediction counts for


@vector_kernel
def _gain(rate: float, weight: float, q: float, untaken: float, negative: float, positive: float) -> float:
    """Sum of the logarithms of a cell, at the best stake for q; `weight` is μ w."""
    if rate >= 1:
        return -weight * positive
    y, gain = -math.expm1(-weight) / rate, 0.0
    stake, root = best_stake(y, rate, q)
    if untaken > 0:
        if rate * stake < 0.5:
            gain += untaken * math.log1p(-rate * stake)
        else:
            b = 1 - y * (1 - rate * q)
            both = b + root if b > 0 else 4 * (1 - rate) * y * q / (root - b)
            gain += untaken * (math.log(2 / (2 * (1 - rate) + rate * both)) - weight)
    if negative > 0:
        gain += negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        gain += positive * log_positive(weight, (y, rate, q), stake, root)
    return gain


@vector_kernel
def weighted_evidence(
    weights: FloatArray, rates: FloatArray, classes: Int8Array, counts: Int64Array, mu: FloatArray, expected: FloatArray
) -> FloatArray:
    """S of each μ; of all labels that may be missing, the least.

    Args:
        weights, rates (float64 arrays), classes (int8 array; shape (n,)): Of cells of items that are alike, in an order
            that does not depend on the draw. Each class is predicted from labels of its cells before.
        counts (int64 array, shape (n, 4)): Items of each cell; drawn; positive, with a missing label as 0 and as 1.
        mu (float64 array), expected (float64 array, shape (classes,)): What is predicted of each class at first.

    Returns:
        float64 array, shape (mu.size,).
    """
    total, labels, ones = np.zeros(mu.size), np.zeros(expected.size), np.zeros((2, expected.size))
    for i in range(weights.size):
        g, items, drawn = classes[i], float(counts[i, 0]), float(counts[i, 1])
        positive, seen = float(counts[i, 3]), labels[g] + _PRIOR
        low, high = (ones[0, g] + _PRIOR * expected[g]) / seen, (ones[1, g] + _PRIOR * expected[g]) / seen
        for m in range(mu.size):
            weight = mu[m] * weights[i]
            gain = _gain(rates[i], weight, high, items - drawn, drawn - positive, positive)
            if low < high:  # concave in the stake, which rises with the prediction: least at an end
                gain = min(gain, _gain(rates[i], weight, low, items - drawn, drawn - positive, positive))
            total[m] += gain
        labels[g] += drawn
        ones[0, g] += counts[i, 2]
        ones[1, g] += positive
    return total
