"""Expected evidence: `kernels.martingale` where every block holds just what is expected, on whole arrays.

For forecasts, of which one command makes a few: to load compiled code would take longer than these sums.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.stakes import MEMORY, PRIOR
from streameval.methods.loguniform.design import Blocks
from streameval.typing import FloatArray

_ROWS = 200  # blocks at a time: what they take stays in the cache of the processor
_PREDICTED = 0.5  # of the precision, before there are labels


def expected_bounds(
    design: Blocks, precision: float, mixture: tuple[FloatArray, float]
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (real numbers) on the yield at the end of each block, of a list of one precision.

    Args:
        mixture: The μ, of equal weights, and δ.
    """
    weight = _weights(design)
    above = _upper(design, weight, precision, mixture)
    negatives = above if precision == 0.5 else _upper(design, weight, 1 - precision, mixture)  # as many, alike
    return design.ends - negatives, above


def _weights(design: Blocks) -> FloatArray:
    """Exponentially decayed label counts that predict each block's precision."""
    drawn = design.items * design.rate
    kept = np.concatenate([[0], design.ends[:-1]]) / design.ends * np.exp(-drawn / MEMORY)
    weight, weights = 0.0, []
    for fade, labels in zip(kept.tolist(), drawn.tolist(), strict=True):
        weights.append(weight)
        weight = weight * fade + labels
    return np.array(weights)


def _upper(design: Blocks, weight: FloatArray, precision: float, mixture: tuple[FloatArray, float]) -> FloatArray:
    """Bounds from above on the items of a kind whose share is `precision`."""
    mu, delta = mixture
    threshold = math.log(2 / delta) + math.log(mu.size)
    evidence, bound = np.zeros((1, mu.size)), []
    for first in range(0, design.ends.size, _ROWS):
        some = slice(first, first + _ROWS)
        items, rate = design.items[some, None].astype(np.float64), design.rate[some, None]
        q = ((PRIOR * _PREDICTED + precision * weight[some]) / (PRIOR + weight[some]))[:, None]
        evidence = evidence[-1] + np.cumsum(_gain(items, rate, q, precision, mu), axis=0)
        bound.append(_root(mu, evidence, threshold))
    return np.concatenate(bound)


def _gain(items: FloatArray, rate: FloatArray, q: FloatArray, precision: float, mu: FloatArray) -> FloatArray:
    """Sum of s over the ranks of each block, shape (blocks, mu)."""
    y, untaken = -np.expm1(-mu) / rate, 1 - rate
    yq = y * q
    b = 1 - y + rate * yq
    root = np.sqrt(b * b + 4 * untaken * yq)
    far = y + rate * yq >= 1  # where the other form would cancel; no logarithm is taken of what has none
    with np.errstate(divide="ignore", invalid="ignore"):  # of blocks that are labelled whole, in the end
        stake = np.where(b > 0, 2 * yq / (b + root), (root - b) / (2 * untaken))
        positive = np.log1p(np.where(far, 2 * yq / (root + y + rate * yq - 1) - 1, untaken * stake - y))
        of_labels = precision * (positive - far * mu) + (1 - precision) * np.log1p(untaken * stake)
        gain = rate * of_labels + untaken * np.log1p(-rate * stake)
    return np.asarray(items * np.where(rate < 1, gain, -mu * precision))


def _root(mu: FloatArray, evidence: FloatArray, threshold: float) -> FloatArray:
    """T with log sum exp(mu T + evidence) = threshold, of each row: Newton from above (the sum is convex in T)."""
    short = evidence - threshold
    t = (-short / mu).min(axis=1)
    for _ in range(60):
        mass = np.exp(np.maximum(-45.0, mu * t[:, None] + short))
        whole = mass.sum(axis=1)
        step = np.log(whole) * whole / (mass @ mu)
        t -= step
        if np.all(step <= 1e-10 * np.abs(t) + 1e-9):
            break
    return np.asarray(t)
