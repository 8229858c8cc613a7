"""Exact sample sizes for a share among N items, over arrays."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.hypergeometric import at_least, at_most, log_hypergeometric
from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array

_RESTART = 4096  # steps of a walk between two exact evaluations, so that rounding cannot pile up


@kernel
def exact_sample_size(items: int, alpha: float, p: float, delta: float) -> int:
    """Labels from which on the share found is within a factor 1 ± α of p with probability ≥ 1 − δ.

    Args:
        items: N, of which round(pN) are positive; labels are drawn without replacement.

    Returns:
        int: The least z such that P(|k/z − p| > αp) ≤ δ for z and every larger sample. The probability zigzags in z, so
            it is walked down, step by step, from where Chernoff's bound (which falls in z) certifies it.
    """
    positive = min(items, max(1, round(p * items)))
    share = positive / items
    z = min(items, _chernoff_size(alpha, share, delta))
    while z > 1:
        low, high = _accept(z, share, alpha)
        below, above = at_most(low - 1, z, positive, items), at_least(high + 1, z, positive, items)
        for _ in range(_RESTART):
            if below + above > delta:
                return z + 1
            if z == 1:
                break
            below, above = _one_label_less(below, above, z, low, high, positive, items)
            z -= 1
            new_low, new_high = _accept(z, share, alpha)
            for k in range(new_low, low):
                below -= math.exp(log_hypergeometric(k, z, positive, items))
            for k in range(new_high, high):
                above += math.exp(log_hypergeometric(k + 1, z, positive, items))
            low, high = new_low, new_high
    return 1


@kernel
def _accept(z: int, p: float, alpha: float) -> tuple[int, int]:
    """Fewest and most positives of z within the factor; what rounding leaves on the border counts as inside."""
    return math.ceil(z * p * (1 - alpha) - 1e-9), math.floor(z * p * (1 + alpha) + 1e-9)


@kernel
def _one_label_less(
    below: float, above: float, z: int, low: int, high: int, positive: int, items: int
) -> tuple[float, float]:
    """P(X < low) and P(X > high) for z − 1 labels from those for z: the last label moves one term across."""
    left = float(items - z + 1)
    crossed_low = math.exp(log_hypergeometric(low - 1, z - 1, positive, items)) * (positive - low + 1) / left
    crossed_high = math.exp(log_hypergeometric(high, z - 1, positive, items)) * (positive - high) / left
    return below + crossed_low, above - crossed_high


@kernel
def _chernoff_size(alpha: float, p: float, delta: float) -> int:
    """Labels at which exp(−z KL(p(1−α), p)) + exp(−z KL(p(1+α), p)) ≤ δ: enough, with or without replacement."""
    low_rate = _divergence(p * (1 - alpha), p)
    high_rate = _divergence(p * (1 + alpha), p) if p * (1 + alpha) < 1 else np.inf
    z = math.log(2 / delta) / min(low_rate, high_rate)
    return math.ceil(z) + 1


@kernel
def _divergence(x: float, p: float) -> float:
    """Kullback–Leibler divergence of Bernoulli(x) from Bernoulli(p), 0 < p."""
    first = x * math.log(x / p) if x > 0 else 0.0
    return first + ((1 - x) * (math.log1p(-x) - math.log1p(-p)) if x < 1 else 0.0)


@kernel
def exact_sample_sizes(items: Int64Array, alpha: FloatArray, p: FloatArray, delta: FloatArray) -> Int64Array:
    """`exact_sample_size` over arrays of one shape (n,)."""
    out = np.empty(items.size, np.int64)
    for i in range(items.size):
        out[i] = exact_sample_size(items[i], alpha[i], p[i], delta[i])
    return out
