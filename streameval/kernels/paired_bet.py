"""Evidence that a total of 0/1 values is larger than a number, from items in a random order, at any time.

Of N items in classes of known sizes, T have the value z = 1. They come in a uniformly random order. Before item t
(t = 0, 1...) each class g has a prediction f(g) in [0, 1] that depends on items before t alone; fbar is its mean over
the items that are left. With μ = (T − sum of z before)/(N − t),

    x = z − f(g) + fbar,   low = max of f over classes with items left − fbar,   stake = min(λ, .95/max(low + μ, 1e-9)),

the product of 1 + stake (x − μ) is a nonnegative martingale from 1 at the true T: items left are equally likely, so
E z = μ and E f(g) = fbar; x >= −low. So is a mean over several fixed λ. It falls in T, as every factor falls in μ.

The floor 1e-9 is for a class that runs out: low + μ is 0 or 1e-17 then, as rounding has it.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int8Array, Int64Array

_CAP = 0.95
_PRIOR = 2.0  # labels that a prediction counts for

# of each item: x and low; of each prefix from none on: the sum of z
BetSteps = tuple[FloatArray, FloatArray, Int64Array]


@kernel
def bet_steps(
    classes: Int64Array, z: Int8Array, learned: Int8Array, sizes: Int64Array, expected: FloatArray
) -> BetSteps:
    """Give what factors are made of, but for T.

    Args:
        classes (int64 array, shape (n,)), z (int8 array, shape (n,)): Of the items, in their order.
        learned (int8 array, shape (n,)): 1 where the item counts for predictions to come, else 0.
        sizes (int64 array), expected (float64 array; shape (classes,)): Items of each class, and predictions to begin
            with.
    """
    n = z.size
    x, low, before = np.empty(n), np.empty(n), np.zeros(n + 1, np.int64)
    left, seen, ones = sizes.copy(), np.zeros(sizes.size), np.zeros(sizes.size)
    for t in range(n):
        mean, most, items = 0.0, 0.0, 0
        for g in range(sizes.size):
            if left[g] > 0:
                f = (ones[g] + _PRIOR * expected[g]) / (seen[g] + _PRIOR)
                mean += f * left[g]
                items += left[g]
                most = max(most, f)
        mean /= items
        g = classes[t]
        f = (ones[g] + _PRIOR * expected[g]) / (seen[g] + _PRIOR)
        x[t], low[t] = z[t] - f + mean, most - mean
        left[g] -= 1
        seen[g] += learned[t]
        ones[g] += learned[t] * z[t]
        before[t + 1] = before[t] + z[t]
    return x, low, before


@kernel
def bet_path(steps: BetSteps, stakes: FloatArray, items: int, total: int, path: FloatArray) -> int:
    """Write the evidence that there are more than `total` after 0, 1... items, until it reaches the first number.

    Args:
        path (float64 array, shape (n + 1,)): Is read and written: `path[0]` is what is to be reached. What follows
            where it was not, and infinite where so few there cannot be.

    Returns:
        After how many items it was reached; −1 where it never was.
    """
    x, low, before = steps
    needed, wealth = path[0], np.ones(stakes.size)
    path[0] = 1.0
    for t in range(x.size + 1):
        rest = total - before[t]
        if rest < 0:
            path[t] = np.inf
            return t
        if t == x.size or rest > items - t:
            break
        mu, sum_ = rest / (items - t), 0.0
        cap = _CAP / max(low[t] + mu, 1e-9)
        for j in range(stakes.size):
            wealth[j] *= 1.0 + min(stakes[j], cap) * (x[t] - mu)
            sum_ += wealth[j]
        path[t + 1] = sum_ / stakes.size
        if path[t + 1] >= needed:
            return t + 1
    return -1


@kernel
def least_totals(steps: BetSteps, stakes: FloatArray, items: int, needed: float, at: Int64Array) -> Int64Array:
    """The least T for which the evidence has not reached `needed` among the first so many items.

    Args:
        at (int64 array, shape (k,)): Numbers of items, rising.
    """
    totals, path, least = np.empty(at.size, np.int64), np.empty(steps[0].size + 1), 0
    for i in range(at.size):
        high = items + 1
        while least < high:
            middle = least + (high - least) // 2
            path[0] = needed
            reached = bet_path(steps, stakes, items, middle, path)
            if 0 <= reached <= at[i]:
                least = middle + 1
            else:
                high = middle
        totals[i] = least
    return totals
