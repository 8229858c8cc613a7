"""Fisher's one-sided exact test over many pairs of adjacent blocks."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array


@kernel
def log_choose(n: int, k: int) -> float:
    """ln C(n, k) for 0 ≤ k ≤ n."""
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@kernel
def fisher_rise(positive_a: int, size_a: int, positive_b: int, size_b: int) -> float:
    """P(block B shows at least `positive_b` positives | the total), under one common probability.

    Small where B, the later block, is too rich in positives to be chance.
    """
    total, size = positive_a + positive_b, size_a + size_b
    base = log_choose(size, total)
    tail = 0.0
    for k in range(positive_b, min(total, size_b) + 1):
        if total - k <= size_a:
            tail += math.exp(log_choose(size_b, k) + log_choose(size_a, total - k) - base)
    return min(1.0, tail)


@kernel
def scan_rises(positive: Int64Array, size: Int64Array) -> tuple[FloatArray, Int64Array]:
    """Test every pair of adjacent runs of 1, 2, 4 … blocks for a rise from the first run to the second.

    Args:
        positive, size (int64 arrays, shape (k,)): Positives and labels of consecutive blocks, in rank order.

    Returns:
        p_values (float64 array, shape (t,)): One-sided exact p-value of each pair tested.
        pairs (int64 array, shape (t, 2)): First block of the pair, and blocks in each of its two runs.
    """
    k = positive.size
    cumulative_positive = np.zeros(k + 1, dtype=np.int64)
    cumulative_size = np.zeros(k + 1, dtype=np.int64)
    for i in range(k):
        cumulative_positive[i + 1] = cumulative_positive[i] + positive[i]
        cumulative_size[i + 1] = cumulative_size[i] + size[i]
    tests = 0
    run = 1
    while 2 * run <= k:
        tests += (k - 2 * run) // max(1, run // 2) + 1
        run *= 2
    p_values = np.empty(tests, dtype=np.float64)
    pairs = np.empty((tests, 2), dtype=np.int64)
    test, run = 0, 1
    while 2 * run <= k:
        for first in range(0, k - 2 * run + 1, max(1, run // 2)):
            middle, last = first + run, first + 2 * run
            p_values[test] = fisher_rise(
                cumulative_positive[middle] - cumulative_positive[first],
                cumulative_size[middle] - cumulative_size[first],
                cumulative_positive[last] - cumulative_positive[middle],
                cumulative_size[last] - cumulative_size[middle],
            )
            pairs[test, 0], pairs[test, 1] = first, run
            test += 1
        run *= 2
    return p_values, pairs
