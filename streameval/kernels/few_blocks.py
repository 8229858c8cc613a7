"""What `streameval.kernels.martingale._follow` finds, in numpy alone: to load what is compiled takes longer.

To the last bit the same: each number comes of the same operations, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from streameval.kernels.stakes import (
    DRAWN,
    EPSILON,
    HIGH,
    ITEMS,
    JUDGED,
    LABELS,
    LEAST,
    LOW,
    MEMORY,
    MOST,
    MU,
    PREDICTED,
    PRIOR,
    RATE,
    REACHED,
    REAL,
    TOTAL,
    WIDTH,
)
from streameval.kernels.system_math import exp, expm1, log, log1p
from streameval.typing import BoolArray, FloatArray, Int64Array

_AT_ONCE = 1024  # blocks whose bounds are looked for together


def follow(blocks: FloatArray, counts: FloatArray, classes: FloatArray, mixture: tuple[FloatArray, float]) -> None:
    """Do what `_follow` does where all are judged and no label is missing; rows of room in the table are left alone."""
    table, threshold = mixture
    table[EPSILON] = -expm1(-table[MU])
    high = np.stack([_predicted(blocks, counts, classes, g) for g in range(classes.shape[1])], axis=1)
    gains = _gains(blocks, counts, high, table)
    n, rows = gains.shape[0], table.shape[0] - TOTAL
    totals = np.cumsum(gains.reshape(-1, gains.shape[-1]), axis=0)[gains.shape[1] - 1 :: gains.shape[1]]
    live = np.full(n, table.shape[1])
    if threshold < np.inf:
        live = _bounds(blocks[REACHED], table[MU], totals, threshold)
    for m in range(table.shape[1]):  # sums of a μ that was dropped stay as they were then
        last = int((live > m).sum())
        own = np.arange(max(0, last - rows), last)
        table[TOTAL + own % rows, m] = totals[own, m]


def _predicted(blocks: FloatArray, counts: FloatArray, classes: FloatArray, g: int) -> FloatArray:
    """The share of positives that a class is predicted to have, for each block; see `_learn`."""
    width, drawn, most = blocks[WIDTH], counts[DRAWN, :, g], counts[REAL, :, g]
    end = np.append(0.0, np.cumsum(width))[:-1]
    fade = end / (end + width)
    decay, prior = (fade * exp(-drawn / MEMORY)).tolist(), float(PRIOR * classes[PREDICTED, g])

    def along(first: float, less: float, fades: list[float], more: FloatArray) -> FloatArray:
        pairs = zip(fades, more.tolist(), strict=True)
        return np.array(list(accumulate(pairs, lambda x, p: (x - less) * p[0] + less + p[1], initial=first)))

    labels, positives = along(PRIOR, PRIOR, decay, drawn), along(prior, prior, decay, most)
    share = positives[:-1] / labels[:-1]
    classes[LABELS, g], classes[LEAST, g], classes[MOST, g] = labels[-1], positives[-1], positives[-1]
    classes[JUDGED, g] = along(1.0, 1.0, fade.tolist(), counts[ITEMS, :, g])[-1]
    classes[LOW, g] = classes[HIGH, g] = share[-1]
    return share


def _gains(blocks: FloatArray, counts: FloatArray, high: FloatArray, table: FloatArray) -> FloatArray:
    """What is added to each S_μ, one after another: shape (blocks, 3 · classes, mu); see `add_block`."""
    gains = np.zeros((*high.shape, 3, table.shape[1]))
    mu, untaken = table[MU], counts[ITEMS] - counts[DRAWN]
    positive, negative = counts[REAL], counts[DRAWN] - counts[REAL]
    whole = blocks[RATE] >= 1
    gains[whole, :, 0] = -(mu * positive[whole, :, None])
    part = np.flatnonzero(~whole)
    rate, q = blocks[RATE, part, None, None], high[part, :, None]
    y = table[EPSILON] / rate
    b = 1 - y * (1 - rate * q)
    root = np.sqrt(b * b + 4 * (1 - rate) * y * q)
    stake = np.where(b > 0, 2 * y * q / (b + root), (root - b) / (2 * (1 - rate)))
    gains[part, :, 0] = untaken[part, :, None] * log1p(-rate * stake)

    def put(place: int, number: FloatArray, each: Callable[[Int64Array, Int64Array], FloatArray]) -> None:
        at, g = np.nonzero(number[part] > 0)
        gains[part[at], g, place] = number[part[at], g, None] * each(at, g)

    def log_positive(at: Int64Array, g: Int64Array) -> FloatArray:
        p, share, own = rate[at, 0], q[at, g], y[at, 0]
        near = own * (1 + p * share) < 1
        far = root[at, g] + own * (1 + p * share) - 1
        inside = np.where(near, (1 - p) * stake[at, g] - own, 2 * own * share / far)
        return _either(near, inside) - np.where(near, 0.0, mu)

    put(1, negative, lambda at, g: log1p((1 - rate[at, 0]) * stake[at, g]))
    put(2, positive, log_positive)
    return gains.reshape(high.shape[0], -1, table.shape[1])


def _either(near: BoolArray, values: FloatArray) -> FloatArray:
    """Logarithms, of one plus the value where it is near."""
    out = np.empty(values.shape)
    out[near], out[~near] = log1p(values[near]), log(values[~near])
    return out


def _bounds(out: FloatArray, mu: FloatArray, totals: FloatArray, threshold: float) -> Int64Array:
    """Put down the bound at each block's end; returns how many μ had something to say there."""
    first, alive, live = 0, mu.size, np.empty(out.size, np.int64)
    while first < out.size:
        rows = totals[first : first + _AT_ONCE, :alive]
        roots = _roots(mu[:alive], rows, threshold)
        gone = np.flatnonzero((mu[alive - 1] * roots + rows[:, -1] < threshold - 100) & (alive > 1))
        done = int(gone[0]) + 1 if gone.size else roots.size
        out[first : first + done], live[first : first + done] = roots[:done], alive
        first += done
        while alive > 1 and mu[alive - 1] * out[first - 1] + totals[first - 1, alive - 1] < threshold - 100:
            alive -= 1
    return live


def _roots(mu: FloatArray, totals: FloatArray, threshold: float) -> FloatArray:
    """`mixture_root` of each row."""
    rows = np.ascontiguousarray(totals.T)
    t = np.min((threshold - rows) / mu[:, None], axis=0, initial=np.inf)
    left = np.flatnonzero(t != np.inf)
    for _ in range(60):
        if not left.size:
            break
        at = t[left]
        each = mu[:, None] * at + rows[:, left] - threshold
        near = each > -45
        each[~near] = 0.0
        each[near] = exp(each[near])
        mass, slope = np.zeros(left.size), np.zeros(left.size)
        for mine, m in zip(each, mu.tolist(), strict=True):  # one after another, as they are added there
            mass += mine
            slope += mine * m
        step = log(mass) * mass / slope
        t[left] = at - step
        left = left[~(step <= 1e-12 * np.abs(t[left]) + 1e-9)]
    return np.asarray(t)
