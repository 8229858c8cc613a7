"""Evidence of a sequential test without replacement, the bounds that follow from it, and when they are reached.

Labels are wins or losses. A table of evidence has a row for each alternative: row i of `won` holds the logarithm of its
weight times its factors for the first 0, 1, 2... wins, row i of `lost` that of its factors for losses.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array

_NOTHING = 1e-300  # a smaller chance counts for none: numbers below 2.2e-308 take a hundred times as long


@kernel
def _mixture(won: FloatArray, lost: FloatArray, most: int, wins: int, losses: int) -> float:
    """ln E of so many wins and losses; infinite where there are more wins than the null allows, whatever the rest."""
    if wins > most:
        return np.inf
    largest = -np.inf
    for i in range(won.shape[0]):
        largest = max(largest, won[i, wins] + lost[i, losses])
    if largest == -np.inf:
        return largest
    total = 0.0
    for i in range(won.shape[0]):
        total += math.exp(won[i, wins] + lost[i, losses] - largest)
    return largest + math.log(total)


@kernel
def log_evidence(won: FloatArray, lost: FloatArray, most: int, wins: Int64Array, losses: Int64Array) -> FloatArray:
    """ln E after so many wins and losses, for each pair of them (arrays of one shape)."""
    logs = np.empty(wins.size)
    for i in range(wins.size):
        logs[i] = _mixture(won, lost, most, wins[i], losses[i])
    return logs


@kernel
def least_wins(won: FloatArray, lost: FloatArray, most: int, needed: float, last: int) -> Int64Array:
    """Fewest wins among the first n labels with ln E >= `needed`, for n = 0..last; n + 1 where none are enough.

    They never fall with n, as a further loss never adds evidence: so the search goes on where it stood.
    """
    least = np.empty(last + 1, np.int64)
    wins = 0
    for n in range(last + 1):
        while wins <= n and _mixture(won, lost, most, wins, n - wins) < needed:
            wins += 1
        least[n] = wins
    return least


@kernel
def decided_at(
    up: Int64Array, down: Int64Array, n: int, wins: int, urn: tuple[float, float, float]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distribution of when a rule decides that passes at `up` wins or more, else fails at `down` or fewer.

    Exact, by recursion over labels and wins from those there are.

    Args:
        up, down (int64 arrays, shape (last + 1,)): After 0..last labels.
        n, wins: Labels so far, and wins among them.
        urn: (a, b, c): the label after n with s wins is a win with probability (a + c s) / (b + c n). (y, K, -1) draws
            from K items with y wins; (1/2, 1, 1) predicts from the labels so far, under Jeffreys' prior.

    Returns:
        passed, failed (float64 arrays, shape (last + 1,)): Probability that it passes, fails at each n.
        left (float64 array, shape (last + 1,)): Of each number of wins, undecided after `last` labels.
    """
    last = up.size - 1
    passed, failed, chance = np.zeros(last + 1), np.zeros(last + 1), np.zeros(last + 2)
    chance[wins] = 1.0
    low = high = wins
    while n <= last:
        while high >= low and high >= up[n]:
            passed[n] += chance[high]
            chance[high] = 0.0
            high -= 1
        while low <= high and low <= down[n]:
            failed[n] += chance[low]
            chance[low] = 0.0
            low += 1
        if low > high or n == last:
            break
        for s in range(high, low - 1, -1):
            win = min(1.0, max(0.0, (urn[0] + urn[2] * s) / (urn[1] + urn[2] * n)))
            chance[s + 1] += chance[s] * win
            chance[s] *= 1.0 - win
        high += 1
        while low <= high and chance[low] < _NOTHING:
            chance[low] = 0.0
            low += 1
        while high >= low and chance[high] < _NOTHING:
            chance[high] = 0.0
            high -= 1
        n += 1
    return passed, failed, chance[: last + 1]
