"""Simultaneous bounds on the yield Y(r) of a ranking from independent draws: an exact martingale, no inequality in it.

Design.  Ranks are cut into blocks. Every rank of block j is drawn with probability π_j, independently of all others. A
judge (a column that anybody filled in, and that may be wrong anywhere) puts every item into one of G classes; without a
judge G = 1. Everything below holds for every fixed 0/1 list and every fixed judge.

Theorem.  Fix μ > 0, ε = 1 − e^{−μ}. For rank r let π be its probability, y = ε/π, and D >= 0 any number fixed by the
judge and by what is known of lower ranks (who was drawn, their labels), with e = 1 + (1−π)D, f = e − y, πD < 1, f > 0.
Put

    s_r = log(1 − πD) if r is not drawn, log e if it is drawn and negative, log f if it is drawn and positive.

Then M_r = exp(μ Y(r) + Σ_{t<=r} s_t) is a martingale started at 1.

Proof.  Given the past, a negative rank multiplies M by (1−π)(1−πD) + π(1 + (1−π)D) = 1 in expectation. A positive
one: by the same less πy = ε, which is e^{−μ}, times e^{μ}. ∎

For weights w_μ fixed by the plan, Σ w_μ M(μ) is a martingale too, so that by Ville's inequality, with probability at
least 1 − δ/2 at all ranks at once, Σ w_μ exp(μ Y(r) + S_μ(r)) < 2/δ. The left side rises in Y: its root bounds Y(r).
The lower bound is the upper bound on the negatives, for the other half of δ.

Stakes.  D affects the width only. For a label that is positive with probability q, E s is largest at

    b = 1 − y(1−πq),  R = √(b² + 4(1−π)yq),  D = 2yq/(b+R) if b > 0, else (R−b)/(2(1−π)).

q is that of the class of the item, from labels of earlier blocks: the share of positives among the last `MEMORY` or so
of the class, none of them far above in the list (beside `PRIOR` labels of what the plan predicts). So the variance that
rules the width is the one within classes, and lists whose precision changes cost little more than others.

Missing labels.  The true labels complete the missing ones in some way, and the bound is taken over all completions,
whatever the reason they are missing. s falls where a negative becomes a positive, so a block's own missing labels count
as positive. Those of earlier blocks leave q in an interval; D rises in q, and s is concave in D (a sum of logarithms of
linear functions), so that its least value is at one of the two ends.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array

PRIOR = 2.0  # labels that the plan's prediction of a class is worth
MEMORY = 64.0  # labels of a class by which it is predicted, those of the last e-fold of ranks at most


@kernel
def fill_blocks(n_items: int, head: int, offset: float, growth: float, out: Int64Array) -> int:
    """Fill in the ends of blocks until N, as far as `out` reaches; return how many there are.

    The first block is the head; a later one that starts after rank b has about (b + offset)·growth ranks. No function
    is called that systems compute differently, so that blocks need not be stored with a plan.
    """
    rank = min(head, n_items)
    out[0] = rank
    count = 1
    while rank < n_items:
        step = max(1, int((rank + offset) * growth))
        rank = n_items if step >= n_items - rank else rank + step
        if count < out.size:
            out[count] = rank
        count += 1
    return count


@kernel
def best_stake(y: float, rate: float, q: float) -> tuple[float, float]:
    """D of the docstring for a share q of positives, rate < 1; and R, of which more follows."""
    b = 1 - y * (1 - rate * q)
    root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
    return 2 * y * q / (b + root) if b > 0 else (root - b) / (2 * (1 - rate)), root


@kernel
def _gain(rate: float, mu: float, q: float, untaken: float, negative: float, positive: float) -> float:
    """Sum of s over the ranks of a class in a block, for a prediction q; forms without cancellation."""
    y = -math.expm1(-mu) / rate
    stake, root = best_stake(y, rate, q)
    gain = untaken * math.log1p(-rate * stake)
    if negative > 0:
        gain += negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        if y * (1 + rate * q) < 1:
            gain += positive * math.log1p((1 - rate) * stake - y)
        else:
            gain += positive * (math.log(2 * y * q / (root + y * (1 + rate * q) - 1)) - mu)
    return gain


@kernel
def evidence(
    rate: FloatArray,
    items: FloatArray,
    drawn: FloatArray,
    found: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mu: FloatArray,
) -> FloatArray:
    """S_μ at the end of each block, shape (blocks, mu): the least that any completion of missing labels leaves.

    Args:
        rate (float64 array, shape (blocks,)): π of each block.
        items, drawn (float64 arrays, shape (blocks, classes)): Ranks, and how many of them were drawn; expected numbers
            do as well.
        found (pair of such arrays): Positives, with missing labels as 0 and as 1.
        prior (float64 array, shape (classes,)): Prediction before there are labels, inside (0, 1).
    """
    total = np.zeros((rate.size, mu.size))
    weight, low, high = np.empty(prior.size), np.empty(prior.size), np.empty(prior.size)
    for g in range(prior.size):  # number by number: operations on arrays take seconds to compile
        weight[g], low[g], high[g] = PRIOR, PRIOR * prior[g], PRIOR * prior[g]
    start = end = 0.0
    for j in range(rate.size):
        for g in range(prior.size):
            end += items[j, g]
        for m in range(mu.size):
            total[j, m] = total[j - 1, m] if j else 0.0
        for g in range(prior.size):
            untaken, most = items[j, g] - drawn[j, g], found[1][j, g]
            if rate[j] >= 1:
                for m in range(mu.size):
                    total[j, m] -= mu[m] * most  # counted, whatever the stake
            elif items[j, g] > 0:
                q_low, q_high = low[g] / weight[g], high[g] / weight[g]
                for m in range(mu.size):
                    gain = _gain(rate[j], mu[m], q_high, untaken, drawn[j, g] - most, most)
                    if q_low < q_high:
                        gain = min(gain, _gain(rate[j], mu[m], q_low, untaken, drawn[j, g] - most, most))
                    total[j, m] += gain
        for g in range(prior.size):  # what the plan predicts keeps its weight
            decay = start / end * math.exp(-drawn[j, g] / MEMORY)
            weight[g] = (weight[g] - PRIOR) * decay + PRIOR + drawn[j, g]
            low[g] = (low[g] - PRIOR * prior[g]) * decay + PRIOR * prior[g] + found[0][j, g]
            high[g] = (high[g] - PRIOR * prior[g]) * decay + PRIOR * prior[g] + found[1][j, g]
        start = end
    return total


@kernel
def mixture_root(mu: FloatArray, total: FloatArray, threshold: float) -> float:
    """T with log sum exp(mu T + total) = threshold: Newton from above (the sum is convex in T)."""
    t = np.inf
    for m in range(mu.size):
        t = min(t, (threshold - total[m]) / mu[m])
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
def _roots(mu: FloatArray, total: FloatArray, threshold: float) -> FloatArray:
    """`mixture_root` of each row."""
    out = np.empty(total.shape[0])
    for j in range(out.size):
        out[j] = mixture_root(mu, total[j], threshold)
    return out


def bounds(
    rate: FloatArray,
    items: FloatArray,
    drawn: FloatArray,
    found: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mixture: tuple[FloatArray, float],
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (real numbers) on the yield at the end of each block, before closing.

    Args:
        rate, items, drawn, found, prior: See `evidence`.
        mixture: The μ, of equal weights, and δ.
    """
    mu, delta = mixture
    threshold = math.log(2 / delta) + math.log(mu.size)
    above = evidence(rate, items, drawn, found, prior, mu)
    below = evidence(rate, items, drawn, (drawn - found[1], drawn - found[0]), 1 - prior, mu)
    return np.cumsum(items.sum(axis=1)) - _roots(mu, below, threshold), _roots(mu, above, threshold)
