"""Do labels depend on their neighbours, as duplicates and batches do?

Hypothesis: labels are independent, and the probability of a positive never rises with rank. In windows of consecutive
ranks, match each label with its neighbour (near), and each with the one half a window away (far), and count the pairs
that differ. For probabilities a, b a pair differs with probability a + b − 2ab, so over a window E(far − near) is
Σ_far (a−b)² − Σ_near (a−b)² ≤ (pairs)·range². Ranges of disjoint windows sum to at most 1, so over all windows
E(far − near) ≤ the pairs of one window. One label changes far − near by at most 2: McDiarmid's inequality turns the
excess into a p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.methods.checks.monotonicity import SignificanceTest
from streameval.typing import Int8Array


@dataclass(frozen=True)
class DependenceTest(SignificanceTest):
    """Pairs of labels that differ.

    Attributes:
        pairs: Pairs of each kind.
        near, far: Adjacent pairs that differ, and pairs half a window apart that do.
    """

    pairs: int
    near: int
    far: int


def dependence_test(windows: Int8Array) -> DependenceTest:
    """Test labels in disjoint windows of consecutive ranks for dependence of neighbours.

    Args:
        windows (int8 array, shape (windows, width)): 1, 0, or -1 for unknown; windows with an unknown label are left
            out.

    >>> dependence_test(np.repeat([[1, 0, 0, 1, 0]], 20, axis=1).repeat(20, axis=0).astype(np.int8)).beyond_noise
    True
    >>> dependence_test(np.random.default_rng(0).integers(0, 2, (50, 100)).astype(np.int8)).beyond_noise
    False
    """
    complete = windows[np.all(windows >= 0, axis=1)]
    half = complete.shape[1] // 4 * 2  # an even number of labels a half, so that both matchings cover the same labels
    if not complete.shape[0] or not half:
        return DependenceTest(1.0, 0, 0, 0)
    used = complete[:, : 2 * half]
    near = int(np.sum(used[:, 0::2] != used[:, 1::2]))
    far = int(np.sum(used[:, :half] != used[:, half:]))
    excess = max(0, far - near - half)
    return DependenceTest(math.exp(-2 * excess**2 / (4 * used.size)), int(used.size // 2), near, far)
