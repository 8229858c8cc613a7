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

Two phases.  Where a judge has answered for a random sample only, rank r is judged with probability π' and, if it is
judged, drawn with probability π, independently. Phase 1 bets by the theorem with π' in place of π and on all classes
together: a judged rank adds log e' − θv, with v = 1 if its item is positive and 0 if not, and θ = log(e'/f'); a rank
that is not judged adds log(1 − π'D'). Phase 2 is the theorem again, on
the judged ranks and with θ in place of μ. Given that r is judged, E exp(θv + s) = 1, so that the sum of both has the
mean (1−π')(1−π'D') + π'e'e^{−θv}, which is 1 for a negative and e^{−μ} for a positive, as before: no δ is split. What
the judge says of an item may depend on the item, and on which lower ranks were judged; on nothing else that is random.

Stakes.  D is the stake: it affects the width only. For a label that is positive with probability q, the mean of s over
the draw and the label, E s, is largest at

    b = 1 − y(1−πq),  R = √(b² + 4(1−π)yq),  D = 2yq/(b+R) if b > 0, else (R−b)/(2(1−π)).

q is that of the class of the item, from labels of earlier blocks: the share of positives among the last `MEMORY` or so
of the class, none of them far above in the list (beside `PRIOR` labels of what the plan predicts). So the variance that
rules the width is the one within classes, and lists whose precision changes cost little more than others.

Missing labels.  A missing label is 0 or 1, and nothing is assumed about why it is missing: the upper bound is the
largest over all ways to fill in the missing labels, so that s is taken at its least. As f < e, that is where a block's
own missing labels are positive. Missing labels of earlier blocks put q into an interval, and D, which rises in q, into
one. s is concave in D (a sum of logarithms of linear functions), so that it is least at an end of this interval. In
phase 1, D' is in an interval too; s is concave in D and D' together (ε' = 1 − e^{−θ} is convex in D'), so that it is
least at a corner of the rectangle.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel, vector_kernel
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


@vector_kernel
def best_stake(y: float, rate: float, q: float) -> tuple[float, float]:
    """D of the docstring for a share q of positives, rate < 1; and R, of which more follows."""
    b = 1 - y * (1 - rate * q)
    root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
    return 2 * y * q / (b + root) if b > 0 else (root - b) / (2 * (1 - rate)), root


@vector_kernel
def _log_positive(mu: float, at: tuple[float, float, float], stake: float, root: float) -> float:
    """Log of f at the best stake for (y, π, q), without cancellation; π < 1."""
    y, rate, q = at
    if y * (1 + rate * q) < 1:
        return math.log1p((1 - rate) * stake - y)
    return math.log(2 * y * q / (root + y * (1 + rate * q) - 1)) - mu


@vector_kernel
def _add_untaken(
    rate: float, epsilon: FloatArray, q: float, untaken: float, stake: FloatArray, out: FloatArray
) -> None:
    """Add the sum of s over ranks of which none is drawn, at the best stakes, rate < 1: for several μ at once."""
    for m in range(out.size):  # as `best_stake`, but without a branch
        y = epsilon[m] / rate
        b = 1 - y * (1 - rate * q)
        root = math.sqrt(b * b + 4 * (1 - rate) * y * q)
        small, large = 2 * y * q / (b + root), (root - b) / (2 * (1 - rate))
        stake[m] = small if b > 0 else large
    for m in range(out.size):
        out[m] += untaken * math.log1p(-rate * stake[m])


@vector_kernel
def _gain(rate: float, weight: tuple[float, float], q: float, untaken: float, negative: float, positive: float) -> float:
    """Sum of s over the ranks of a class in a block, at the best stake for a prediction q."""
    if rate >= 1:
        return -weight[0] * positive  # counted, whatever the stake
    y = weight[1] / rate
    stake, root = best_stake(y, rate, q)
    gain = untaken * math.log1p(-rate * stake)
    if negative > 0:
        gain += negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        gain += positive * _log_positive(weight[0], (y, rate, q), stake, root)
    return gain


@vector_kernel
def _gain_at(rate: float, weight: tuple[float, float], stake: float, untaken: float, negative: float, positive: float) -> float:
    """The same at any stake; never above it by rounding, and −∞ where the stake leaves a positive nothing."""
    if rate >= 1:
        return -weight[0] * positive
    y, negative_factor = weight[1] / rate, 1 + (1 - rate) * stake
    gain = untaken * math.log1p(-rate * stake) + negative * math.log1p((1 - rate) * stake)
    if positive > 0:
        left = negative_factor - y - 1e-15 * (negative_factor + y)
        gain += positive * math.log(left) if left > 0 else -np.inf
    return gain


@vector_kernel
def _least_gain(
    rate: float,
    theta: tuple[tuple[float, float], tuple[float, float], tuple[float, float]],
    q: tuple[float, float],
    untaken: float,
    negative: float,
    positive: float,
) -> float:
    """Least sum of s over the ranks of a class in a block, for predictions in an interval.

    Args:
        theta: What a positive weighs, and the least and the most that it may, for the stakes.
    """
    weight, least, most = theta
    if least[0] == most[0]:
        gain = _gain(rate, weight, q[1], untaken, negative, positive)
        return min(gain, _gain(rate, weight, q[0], untaken, negative, positive)) if q[0] < q[1] else gain
    if rate >= 1:
        return -weight[0] * positive
    low = best_stake(least[1] / rate, rate, q[0])[0]
    high = best_stake(most[1] / rate, rate, q[1])[0]
    gain = _gain_at(rate, weight, low, untaken, negative, positive)
    return min(gain, _gain_at(rate, weight, high, untaken, negative, positive))


@vector_kernel
def _chained(
    block: tuple[float, float, float],
    weight: tuple[float, float],
    shares: FloatArray,
    q: tuple[FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray],
) -> float:
    """Least sum of s over a block of which a random part is judged.

    Args:
        block: Its ranks, and the probabilities of both phases.
        shares: About how many items of each class were judged.
        counts: Judged, drawn, and most positives of each class.
    """
    width, judged, rate = block
    taken, of_all, p_low, p_high = 0.0, 0.0, 0.0, 0.0
    for g in range(shares.size):
        taken, of_all = taken + counts[0][g], of_all + shares[g]
        p_low, p_high = p_low + shares[g] * q[0][g], p_high + shares[g] * q[1][g]
    p_low, p_high = p_low / of_all, p_high / of_all
    y, total = weight[1] / judged, np.inf
    low, high = best_stake(y, judged, p_low), best_stake(y, judged, p_high)
    stakes = low[0], high[0]
    weights = (
        math.log1p((1 - judged) * low[0]) - _log_positive(weight[0], (y, judged, p_low), *low),
        math.log1p((1 - judged) * high[0]) - _log_positive(weight[0], (y, judged, p_high), *high),
    )
    thetas = (weights[0], -math.expm1(-weights[0])), (weights[1], -math.expm1(-weights[1]))
    swap = 1 if weights[0] > weights[1] else 0
    for i in range(1 if p_low == p_high else 2):
        gain = (width - taken) * math.log1p(-judged * stakes[i]) + taken * math.log1p((1 - judged) * stakes[i])
        theta = thetas[i], thetas[swap], thetas[1 - swap]
        for g in range(shares.size):
            items, drawn, most = counts[0][g], counts[1][g], counts[2][g]
            gain += _least_gain(rate, theta, (q[0][g], q[1][g]), items - drawn, drawn - most, most)
        total = min(total, gain)
    return total


@vector_kernel
def _follow(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    prior: FloatArray,
    mixture: tuple[FloatArray, float],
    total: FloatArray,
    roots: FloatArray,
) -> None:
    """S_μ at the end of each block, and the bounds that follow.

    Args:
        blocks, prior: See `evidence`.
        counts: Its items, drawn and found.
        mixture: The μ, ascending, and the log that their sum must not reach.
        total (float64 array, shape (rows, mu)): Receives S of block j in row j modulo rows.
        roots (float64 array, shape (blocks,) or (0,)): Receives the bound at the end of each block. Then a μ that has
            nothing left to say is dropped: e^−100 of the sum is less than a rounding error, and to leave out what is
            positive only widens.
    """
    (width, judged, rate), (items, drawn, low_found, high_found), (mu, threshold) = blocks, counts, mixture
    classes, live, rows = prior.size, mu.size, total.shape[0]
    weight, low, high, shares = np.empty(classes), np.empty(classes), np.empty(classes), np.empty(classes)
    q, epsilon, stake = (np.empty(classes), np.empty(classes)), np.empty(mu.size), np.empty(mu.size)
    for g in range(classes):  # number by number: operations on arrays take seconds to compile
        weight[g], low[g], high[g], shares[g] = PRIOR, PRIOR * prior[g], PRIOR * prior[g], 1.0
    for m in range(mu.size):
        epsilon[m] = -math.expm1(-mu[m])
    start = end = 0.0
    for j in range(rate.size):
        end += width[j]
        for g in range(classes):
            q[0][g], q[1][g] = low[g] / weight[g], high[g] / weight[g]
        now = total[j % rows][:live]
        for m in range(live):
            now[m] = total[(j - 1) % rows, m] if j else 0.0
        if judged[j] < 1:
            counts_of = items[j], drawn[j], high_found[j]
            for m in range(live):
                now[m] += _chained((width[j], judged[j], rate[j]), (mu[m], epsilon[m]), shares, q, counts_of)
        for g in range(classes if judged[j] >= 1 else 0):
            untaken, most = items[j, g] - drawn[j, g], high_found[j, g]
            interval = q[0][g], q[1][g]
            if drawn[j, g] == 0 and q[0][g] == q[1][g] and rate[j] < 1:  # as most are
                _add_untaken(rate[j], epsilon, q[0][g], untaken, stake, now)
                continue
            for m in range(live if items[j, g] > 0 else 0):
                one = mu[m], epsilon[m]
                now[m] += _least_gain(rate[j], (one, one, one), interval, untaken, drawn[j, g] - most, most)
        for g in range(classes):  # what the plan predicts keeps its weight
            shares[g] = (shares[g] - 1) * start / end + 1 + items[j, g]
            decay = start / end * math.exp(-drawn[j, g] / MEMORY)
            weight[g] = (weight[g] - PRIOR) * decay + PRIOR + drawn[j, g]
            low[g] = (low[g] - PRIOR * prior[g]) * decay + PRIOR * prior[g] + low_found[j, g]
            high[g] = (high[g] - PRIOR * prior[g]) * decay + PRIOR * prior[g] + high_found[j, g]
        start = end
        if roots.size:
            roots[j] = mixture_root(mu[:live], now, threshold)
            while live > 1 and mu[live - 1] * roots[j] + now[live - 1] < threshold - 100:
                live -= 1


def evidence(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    items: FloatArray,
    drawn: FloatArray,
    found: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mu: FloatArray,
) -> FloatArray:
    """S_μ at the end of each block, shape (blocks, mu): the least that any completion of missing labels leaves.

    Args:
        blocks (triple of float64 arrays, shape (blocks,)): Ranks of each, π' (1 where every item has a judge, or none
            has), and π.
        items, drawn (float64 arrays, shape (blocks, classes)): Judged ranks, and how many of them were drawn; expected
            numbers do as well.
        found (pair of such arrays): Positives, with missing labels as 0 and as 1.
        prior (float64 array, shape (classes,)): Prediction before there are labels, inside (0, 1).
    """
    total = np.empty((blocks[0].size, mu.size))
    _follow(blocks, (items, drawn, *found), prior, (mu, math.inf), total, np.empty(0))
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
def mixture_roots(mu: FloatArray, total: FloatArray, threshold: FloatArray) -> FloatArray:
    """`mixture_root` of each row of `total`."""
    out = np.empty(total.shape[0])
    for i in range(out.size):
        out[i] = mixture_root(mu, total[i], threshold[i])
    return out


def bounds(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    items: FloatArray,
    drawn: FloatArray,
    found: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mixture: tuple[FloatArray, float],
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (real numbers) on the yield at the end of each block, before closing.

    Args:
        blocks, items, drawn, found, prior: See `evidence`.
        mixture: The μ, of equal weights, and δ.
    """
    mu, delta = mixture
    threshold = math.log(2 / delta) + math.log(mu.size)
    work, above, below = np.empty((2, mu.size)), np.empty(blocks[0].size), np.empty(blocks[0].size)
    _follow(blocks, (items, drawn, *found), prior, (mu, threshold), work, above)
    _follow(blocks, (items, drawn, drawn - found[1], drawn - found[0]), 1 - prior, (mu, threshold), work, below)
    return np.cumsum(blocks[0]) - below, above
