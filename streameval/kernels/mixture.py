"""Bounds from a mixture of martingales: where the sum of exp(μT + S_μ) over the μ meets a threshold."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray


@kernel
def mixture_root(mu: FloatArray, total: FloatArray, threshold: float) -> float:
    """T with log sum exp(mu T + total) = threshold: Newton from above (the sum is convex in T)."""
    t = np.inf
    for m in range(mu.size):
        reached = (threshold - total[m]) / mu[m]
        t = reached if reached < t else t
    if t == np.inf:
        return t
    for _ in range(60):
        mass = 0.0
        slope = 0.0
        for m in range(mu.size):
            v = mu[m] * t + total[m] - threshold
            if v > -45:
                v = math.exp(v)
                mass += v
                slope += v * mu[m]
        step = math.log(mass) * mass / slope
        t -= step
        if step <= 1e-12 * abs(t) + 1e-9:
            break
    return t


@kernel
def mixture_roots(mu: FloatArray, total: FloatArray, threshold: FloatArray) -> FloatArray:
    """`mixture_root` of each row of `total`."""
    out = np.empty(total.shape[0])
    for i in range(out.size):
        out[i] = mixture_root(mu, total[i], threshold[i])
    return out
