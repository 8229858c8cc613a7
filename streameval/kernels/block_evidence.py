"""Evidence against a total that is spread over blocks, from items drawn one at a time.

A list is parted into blocks; every item of block b has the mass a_b if it is *bad*, else none. The hypothesis is that
all bad items together have the mass β or more. A draw takes block b with probability f_b and an item of it that was not
taken yet, uniformly. Of block b, u_b items are left, of all U = Σ a_b u_b; ρ = max(0, β − bad mass drawn so far). With
η ≥ 0, q_b in (0, 1], and

    y_b = η a_b u_b / f_b,   e_b = (1 + y_b + √((1 − y_b)² + 4 q_b y_b)) / 2 ≥ y_b,   g_b = e_b − y_b,

the factor of a draw is (e_b − y_b x)/(Σ f_b e_b − η ρ), where x is 1 of a bad item, else 0. Its numerator has the
expectation Σ f_b e_b − η (bad mass left), and where the hypothesis holds, bad mass left ≥ ρ: so the product of the
factors is a nonnegative supermartingale, and a martingale where bad items have just the mass β. By Ville's inequality
it ever reaches 1/δ with probability δ at most. f, η and q may depend on everything that was drawn before; so does a
mean over several η with fixed weights. ρ > U proves the hypothesis false. That alone is compared in whole numbers, and
the denominator is Σ f_b g_b + η (U − ρ), in which nothing cancels.

With stakes that stay as they were, the product never falls when a bad item turns out to be good: an item without a
label counts as bad, whyever it has none.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array

Draws = tuple[Int64Array, Int64Array, Int64Array]
Stakes = tuple[Int64Array, Int64Array, FloatArray, FloatArray, FloatArray]
Factors = tuple[FloatArray, FloatArray, FloatArray, Int64Array, Int64Array]


@kernel
def kept(y: float, q: float) -> float:
    """g = e − y, without cancellation; 0 or more."""
    root = math.sqrt((1.0 - y) * (1.0 - y) + 4.0 * q * y)
    if y < 1.0:
        return 0.5 * (1.0 - y + root)
    return 2.0 * q * y / (root + (y - 1.0)) if q > 0.0 else 0.0


@kernel
def factors(draws: Draws, stakes: Stakes) -> Factors:
    """Give what the factors of all draws are made of, but for ρ.

    Args:
        draws: `block`, `bad` (1 or 0) and `round` of each draw, in its order (int64 arrays, shape (n,)).
        stakes: `mass` a and `left` u before the first draw (int64 arrays, shape (blocks,)); the rates f of each round,
            of blocks with items left, up to a factor, and q (float64 arrays, shape (rounds, blocks)); η (float64 array,
            shape (rounds, m)).

    Returns:
        above, base (float64 arrays, shape (n, m)): ln of the numerator, and Σ f_b g_b.
        slope (float64 array, shape (n, m)): η.
        left, found (int64 arrays, shape (n + 1,)): U, and the bad mass drawn, before each draw and after the last.
    """
    block, bad, round_ = draws
    mass, items, rates, share, eta = stakes
    n, m = block.size, eta.shape[1]
    above, base, slope = np.empty((n, m)), np.zeros((n, m)), np.empty((n, m))
    left, bad_mass, items = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64), items.copy()
    for b in range(mass.size):
        left[0] += mass[b] * items[b]
    for t in range(n):
        r, all_rates = round_[t], 0.0
        for b in range(mass.size):
            if items[b] > 0:
                all_rates += rates[r, b]
        for j in range(m):
            slope[t, j] = eta[r, j]
            for b in range(mass.size):
                if items[b] > 0 and rates[r, b] > 0.0:
                    f = rates[r, b] / all_rates
                    y = eta[r, j] * float(mass[b]) * float(items[b]) / f
                    g = kept(y, share[r, b])
                    base[t, j] += f * g
                    if b == block[t]:
                        numerator = g if bad[t] else g + y
                        above[t, j] = math.log(numerator) if numerator > 0.0 else -math.inf
        drawn = block[t]
        items[drawn] -= 1
        left[t + 1] = left[t] - mass[drawn]
        bad_mass[t + 1] = bad_mass[t] + mass[drawn] * bad[t]
    return above, base, slope, left, bad_mass


@kernel
def evidence(made_of: Factors, beta: int) -> FloatArray:
    """ln of the evidence against "β or more" before each draw and after the last (float64 array, shape (n + 1,)).

    Infinite from where on that much bad mass cannot be left.
    """
    above, base, slope, left, bad_mass = made_of
    n, m = above.shape
    path, logs = np.zeros(n + 1), np.zeros(m)
    for t in range(n + 1):
        gap = left[t] - max(0, beta - bad_mass[t])
        if gap < 0:
            for later in range(t, n + 1):
                path[later] = math.inf
            return path
        top = logs[0]  # number by number: operations on arrays take seconds to compile
        for j in range(1, m):
            top = max(top, logs[j])
        path[t] = top
        if top != -math.inf:
            total = 0.0
            for j in range(m):
                total += math.exp(logs[j] - top)
            path[t] = top + math.log(total / m)
        if t < n:
            for j in range(m):
                below = base[t, j] + slope[t, j] * float(gap)
                logs[j] += above[t, j] - math.log(below) if below > 0.0 else -math.inf
    return path


@kernel
def least_refused(made_of: Factors, needed: float) -> int:
    """The least β whose evidence, which rises in β, ever reaches `needed`, a logarithm; U + 1 does without a draw."""
    low, high = 0, made_of[3][0] + 1
    while low < high:
        middle = low + (high - low) // 2
        path = evidence(made_of, middle)
        most = path[0]
        for t in range(1, path.size):
            most = max(most, path[t])
        if most >= needed:
            high = middle
        else:
            low = middle + 1
    return low
