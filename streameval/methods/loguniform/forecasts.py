"""How wide the bounds of a density will be, and which density keeps a half-width or a budget.

All of it is a forecast, for a list of constant precision: coverage does not depend on it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from streameval.errors import InputError
from streameval.methods.loguniform.design import Blocks, blocks, half_width, mixture

LEAST_VARIANCE = 0.02  # of a label, where the precision that is planned for leaves less


def variance(precision: float) -> float:
    """Variance of a label, for `mixture`."""
    return max(precision * (1 - precision), LEAST_VARIANCE)


def noise_free(design: Blocks, delta: float, precision: float) -> float:
    """Half-width where every block finds just what it is expected to."""
    from streameval.kernels.martingale import bounds

    items, drawn = design.items.astype(np.float64), design.items * design.rate
    found = drawn * precision
    mu = mixture(design, variance(precision))
    one = (found[:, None], found[:, None])
    at_ends = bounds(design.rate, items[:, None], drawn[:, None], one, np.array([0.5]), (mu, delta))
    return half_width(design, (drawn, found), at_ends)


def median(design: Blocks, delta: float, precision: float) -> float:
    """Half-width that the median run reaches on independent labels of one precision.

    It is a maximum over all ranks, and somewhere the estimate is low by two or three standard errors, where the
    relative width is larger: about 1 + g·width times the noise-free one. Simulated (10⁵, 10⁷ and 2·10⁹ items, 40 runs a
    cell, half-widths of 4 to 16 %).
    """
    width = noise_free(design, delta, precision)
    g = np.interp(1 / max(1 - precision, 0.03), [1, 2, 3.333, 10, 20, 33], [0.2, 0.55, 1.2, 3.6, 5.4, 7.0])
    return min(1.0, width * (1 + float(g) * width))


@functools.lru_cache(maxsize=64)  # every replicate of a simulation asks for the same plan
def smallest_c(n_items: int, alpha: float, delta: float, precision: float) -> float:
    """About the smallest density whose median half-width is within alpha."""
    return least_density(n_items, alpha, 7.2 * (1 - precision + 0.02) / precision / alpha**2,
                         lambda c: median(blocks(n_items, c), delta, precision))  # fmt: skip


def least_density(n_items: int, alpha: float, guess: float, width: Callable[[float], float]) -> float:
    """Least c with width(c) <= alpha, to about half a percent; width falls about like c**-.5, and is 0 at 4·N."""
    low, high = 1.0, float(max(2, n_items)) * 4
    if alpha < 1e-7:  # every item, and squares would vanish
        return high
    c = min(high, max(4.0, guess))
    for step in range(16):
        found = width(c) if c < high else 0.0
        low, high = (low, c) if found <= alpha else (c, high)
        if high <= low * 1.005 or (found <= alpha and found > 0.9985 * alpha):
            break
        c *= (max(found, alpha / 4) / alpha) ** 2 * 1.0005
        if step >= 4 or not low < c < high:
            c = math.sqrt(low * high) if high < 50 * low else min(low * 3, high)
    return high


@functools.lru_cache(maxsize=64)
def affordable_c(n_items: int, budget: int) -> float:
    """About the largest density whose draw takes `budget` labels on average; an `InputError` where none does."""
    low, high = 1.0, 4.0 * max(2, n_items)
    if budget >= n_items:
        return high
    least = blocks(n_items, low).labels
    if least > budget:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", f"it takes {least:,} labels")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if blocks(n_items, middle).labels <= budget else (low, middle)
        if high <= low * 1.00005:
            break
    return low
