"""The design of log-uniform sampling: strata, labels per stratum, and how many labels a half-width takes.

Nothing here looks at a label, and nothing here can break the coverage of `streameval.kernels.band`: a poor design costs
width only.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from streameval.errors import InputError
from streameval.typing import FloatArray, Int64Array

OFFSET = 0.75  # density c / (r + OFFSET c)
NEAR_LABELS = 8  # labels a stratum near the head, where the finite population counts
FAR_LABELS = 2  # labels a stratum far out, where the lift inside strata counts
MAX_FOLD_STRATA = 4000  # at most so many strata an e-fold
FIRST_REACH, LATER_REACH = 0.8, 0.6  # of the mixture: strata of a smaller density leave less error near the head
GROWTH = math.sqrt(2)  # of the density from one look to the next: half-widths fall by a sixth
RATIO = 1.5  # of neighbouring mu


def stratum_ends(n_items: int, c: float) -> Int64Array:
    """Ends b_1 < … < b_J = n_items of the strata designed for density c / (r + OFFSET c), fixed by the first plan."""
    from streameval.kernels.band import fill_ends

    near = max(1, min(NEAR_LABELS, round(c / 16)))
    far = max(1, min(FAR_LABELS, round(c / 64)), math.ceil(c / MAX_FOLD_STRATA))
    guess = int(min(n_items, 64 + 2 * c / far * (1 + math.log1p(n_items / c)) + c))
    out = np.empty(guess, np.int64)
    count = fill_ends(int(n_items), float(c), OFFSET * c, float(max(near, far)), float(far), out)
    if count > out.size:
        out = np.empty(count, np.int64)
        fill_ends(int(n_items), float(c), OFFSET * c, float(max(near, far)), float(far), out)
    return np.array(out[:count])


def allocation(ends: Int64Array, first_c: float, c: float) -> Int64Array:
    """Labels n_i of each stratum at density c >= first_c, nested in c; at c = first_c the designed whole numbers."""
    starts = np.concatenate([[0], ends[:-1]])
    offset = OFFSET * first_c
    fold = np.log1p((ends - starts) / (starts + offset))
    u = np.modf(np.arange(1, ends.size + 1) * 0.6180339887498949)[0]
    n = np.rint(first_c * fold) + np.floor((c - first_c) * fold + u)
    chosen: Int64Array = np.minimum(ends - starts, np.maximum(1, n)).astype(np.int64)
    return chosen


def mixture(ends: Int64Array, n: Int64Array, p_plan: float, reach: float = FIRST_REACH) -> FloatArray:
    """The mu of the mixture (equal weights): from the best one at the last end to the best near the head.

    Near the head is the first end whose relative standard error is at least `reach` of the largest. They follow from
    the plan alone; p_plan and reach tune them and do not affect validity.
    """
    w = np.diff(ends, prepend=0).astype(float)
    variance = max(p_plan * (1 - p_plan), 0.02)
    sd = np.sqrt(np.cumsum(w * (w / n - 1.0)) * variance)
    if sd[-1] == 0:
        return np.ones(1)
    relative = sd / ends
    first = np.argmax(relative >= reach * relative.max())
    low, high = 0.6 * 3.7 / sd[-1], 1.2 * 3.7 / sd[first]
    return np.geomspace(low, high, max(1, round(math.log(high / low) / math.log(RATIO))) + 1)


def half_widths(ends: Int64Array, n: Int64Array, y_low: FloatArray, y_high: FloatArray) -> FloatArray:
    """Largest (Yhi-Ylo)/(Yhi+Ylo) over the ranks of each stratum, inside included by the lift (`curve.envelope`).

    Between two ends Yhi rises by steps of one until it meets the next value, Ylo stays until it must rise: the ratio
    is largest where the first of the two happens. Completely labelled strata count at their end only (the bounds there
    move together, which lowers the ratio).
    """
    w = np.diff(ends, prepend=0)
    complete = n >= w
    low0, high0 = np.concatenate([[0], y_low[:-1]]), np.concatenate([[0], y_high[:-1]])
    run = np.maximum(0, np.minimum(y_high - high0, w - (y_low - low0)))
    inside = np.where(complete, 0, high0 + run - low0) / np.maximum(high0 + run + low0, 1e-9)
    inside = np.where(complete, 0.0, inside)
    return np.maximum(inside, (y_high - y_low) / np.maximum(y_high + y_low, 1e-9))


def look_share(delta: float, look: int, looks: int) -> float:
    """δ_i = δ/(i(i+1)) of look i: they sum to less than δ over any number of looks. A single look has all of it."""
    return delta if looks == 1 else delta / (look * (look + 1))


def look_density(first_c: float, look: int) -> float:
    """c_i = c_1 q^(i−1), a grid fixed by the first plan."""
    return first_c * GROWTH ** (look - 1)


def half_width(n_items: int, c: float, delta: float, p: float, first_c: float | None = None) -> tuple[float, int]:
    """(half width, labels) of the plan of density c for the noise-free list of constant precision p.

    The strata are those of density `first_c`, by default c itself.
    """
    from streameval.kernels.band import real_band

    first = c if first_c is None else first_c
    ends = stratum_ends(n_items, first)
    n = allocation(ends, first, c)
    found = np.asarray(n * float(p), dtype=np.float64)
    reach = FIRST_REACH if c == first else LATER_REACH
    low, high = real_band(ends, n, found, found, mixture(ends, n, p, reach), delta)
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]
    return float(half_widths(ends, n, low, high).max()), int(n.sum())


def noise_free_target(alpha: float, p: float) -> float:
    """Noise-free half width to plan for so that the median run on i.i.d. labels of precision p stays within alpha."""
    g = _median_excess(p)
    return (math.sqrt(1 + 4 * g * alpha) - 1) / (2 * g)


def _median_excess(p: float) -> float:
    """g such that the median run on i.i.d. labels is about 1 + g * width times the noise-free width.

    The half width is a maximum over all ranks, and somewhere the estimate is low by two or three standard errors, where
    the relative width is larger. Simulated (alpha .0812, 2e9 and 1e7 items, p .5, .7, .9, .95, 400 runs each). A
    forecast: coverage does not depend on it.
    """
    return float(np.interp(1 / max(1 - p, 0.05), [1, 2, 3.333, 10, 20], [0.2, 0.46, 1.16, 3.9, 6.5]))


def forecast(n_items: int, c: float, delta: float, p: float, first_c: float | None = None) -> tuple[float, int]:
    """(half width that the median run at density c reaches on i.i.d. labels of precision p, labels)."""
    width, labels = half_width(n_items, c, delta, p, first_c)
    return min(1.0, width * (1 + _median_excess(p) * width)), labels


@functools.lru_cache(maxsize=64)  # every replicate of a simulation asks for the same plan
def smallest_c(n_items: int, alpha: float, delta: float, p_min: float) -> tuple[float, int]:
    """About the smallest density c whose noise-free half width is within alpha; (c, labels).

    The median run on noisy labels is planned to be within alpha: a forecast, unlike the coverage.

    The half width falls like c**-.5: that law finds the place, then halving; the answer is checked by its own band.
    """
    target = noise_free_target(alpha, p_min)
    low, high = 1.0, float(max(2, n_items)) * 4
    if target < 1e-7:  # every item, and the square below would vanish
        return high, n_items
    c = min(high, max(4.0, 7.2 * (1 - p_min + 0.02) / p_min / target**2))
    best = None
    for step in range(12):
        width, labels = half_width(n_items, c, delta, p_min)
        if width <= target:
            high, best = c, (c, labels)
        else:
            low = c
        if high <= low * 1.004 or (best and best[1] >= n_items and low * 2 > high):
            break
        c *= (max(width, target / 4) / target) ** 2 * (1.001 if step < 4 else 1.0)
        if step >= 4 or not low < c < high:
            c = math.sqrt(low * high) if high < 50 * low else (low * 3 if best is None else high / 3)
    if best is None:
        c = float(max(2, n_items)) * 4
        best = (c, half_width(n_items, c, delta, p_min)[1])
    return best


@functools.lru_cache(maxsize=64)
def largest_c(n_items: int, budget: int) -> float:
    """About the largest density c whose plan takes at most `budget` labels; an `InputError` where no plan does."""
    low, high = 1.0, 4.0 * max(2, n_items)
    if budget >= n_items:
        return high
    least = _labels(n_items, low)
    if least > budget:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", f"it takes {least:,} labels")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _labels(n_items, middle) <= budget else (low, middle)
        if high <= low * 1.0005:
            break
    return low


def _labels(n_items: int, c: float) -> int:
    return int(allocation(stratum_ends(n_items, c), c, c).sum())
