"""Part of a stratum of a sample in a simultaneous band for the yield Y(r): no assumption but the draw.

Strata of few draws are steps of `streameval.kernels.sequential_band`, which takes their gain from here.

Design.  Stratum i is (b_{i-1}, b_i], has w_i ranks, and n_i of them
are drawn without replacement, independently of the other strata; K_i of its ranks are positive, k_i of the drawn.
Strata with n_i = w_i are known; T_j sums K_i over the other strata up to the j-th. Only the upper bound of T is
coded: the lower bound of the positives is the upper bound of the negatives.

Proof of coverage.  Fix mu > 0 and let theta_i >= 0 be chosen before stratum i is seen (it depends on the plan and on
labels of earlier strata only). With F_i(K) = E exp(-theta_i k_i) when stratum i has K positives,
    M_j = prod_{i<=j} exp(-theta_i k_i) / F_i(K_i)
is a martingale started at 1. Let D_i = max over K of (log F_i(K) + mu K), K over any set that holds K_i (the drawn
positives and negatives bound it, and may be used: this is an inequality between numbers). Then
    log M_j >= mu T_j + S_j,   S_j = sum_{i<=j} g_i,   g_i = -theta_i k_i - D_i,
which is *linear in T*: no nuisance is left over and nothing has to be maximised afterwards. For weights pi_mu fixed
by the plan, sum pi_mu M_j(mu) is a martingale started at 1, so by Ville's inequality, with probability >= 1-delta/2
for all j at once, sum_mu pi_mu exp(mu T_j + S_j(mu)) < 2/delta. The left side rises in T: its root bounds T_j.
The other half of delta pays for the negatives.

Choice of theta (it affects the width only).  For draws with replacement and y = mu w/n, the factor of one label x
is (1 + y(m - x)) exp(y(p - m)) with p = K/w and free m; a prediction q of p makes its expected logarithm largest at
1 + y m = e, e = (1 + y + sqrt((1-y)^2 + 4 q y)) / 2. So with f = e - y: exp(-theta) = f/e; log F <= n log(1 - p y/e),
and n log(1 - p y/e) + n y p is largest at p = m: D = n (e - 1) - n log e, hence
g = k log f + (n - k) log e - n (e - 1). It is also valid without replacement, since the hypergeometric moment
generating function is at most the binomial one (Hoeffding 1963, Theorem 4). For small strata with n/w not small, F is
the exact hypergeometric one, D the maximum over all integers K, and y is shrunk by the finite
population factor kappa = (w-n)/(w-1): theta = log(e/f)/kappa. The old form (theta = lambda w/n for all strata, then
the least favourable p_i) needs the variance of the worst p_i, a third more labels at p = .9; here it is q(1-q).

Missing labels.  The true labels complete the missing ones in some way, and the bound is taken over all completions,
whatever the reason they are missing: g falls in k, so k = all missing positive; theta is monotone in the prediction q,
q is monotone in the earlier labels, and g is concave in theta (D is a maximum of functions convex in theta), so its
minimum over the possible q is at one of the two ends.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array

NEAR_SCALE = 3.0  # near the head means r < NEAR_SCALE * c


@kernel
def fill_ends(n_items: int, c: float, offset: float, near: float, far: float, out: Int64Array) -> int:
    """Fill in stratum ends until N, as far as `out` reaches; return how many there are."""
    rank = 0
    count = 0
    while rank < n_items:
        labels = max(far, round(near / (1.0 + rank / (NEAR_SCALE * c))))
        step = (rank + offset) * math.expm1(labels / c)
        if step >= n_items - rank:
            rank = n_items
        else:
            rank += max(1, round(step))
            rank = min(rank, n_items)
        if count < out.size:
            out[count] = rank
        count += 1
    return count


@kernel
def pmf_table(w: int, n: int) -> FloatArray:
    """table[K, k]: probability of k positives among n of w drawn when K of the w are positive."""
    table = np.zeros((w + 1, n + 1))
    for big in range(w + 1):
        k0 = max(0, n - w + big)
        k1 = min(n, big)
        mode = min(max((big + 1) * (n + 1) // (w + 2), k0), k1)
        table[big, mode] = 1.0
        total = 1.0
        for k in range(mode, k1):
            table[big, k + 1] = table[big, k] * (big - k) * (n - k) / ((k + 1.0) * (w - big - n + k + 1))
            total += table[big, k + 1]
        for k in range(mode, k0, -1):
            table[big, k - 1] = table[big, k] * k * (w - big - n + k) / ((big - k + 1.0) * (n - k + 1))
            total += table[big, k - 1]
        for k in range(k0, k1 + 1):
            table[big, k] /= total
    return table


@kernel
def _penalty(table: FloatArray, w: int, n: int, x: float, mu: float, low: int, high: int) -> float:
    """D = max over low <= K <= high of log E x^k + mu K."""
    best = 0.0
    growth = math.exp(mu)
    scale = math.exp(mu * low)
    for big in range(low, high + 1):
        k0 = max(0, n - w + big)
        k1 = min(n, big)
        value = table[big, k1]
        for k in range(k1 - 1, k0 - 1, -1):
            value = value * x + table[big, k]
        value *= scale * x**k0
        scale *= growth
        if value > best:
            best = value
    if best > 1e-280:
        return math.log(best)
    # every term has underflown: the same in logarithms
    top = -np.inf
    for big in range(low, high + 1):
        k0 = max(0, n - w + big)
        k1 = min(n, big)
        tail = table[big, k1]
        for k in range(k1 - 1, k0 - 1, -1):
            tail = tail * x + table[big, k]
        if tail > 0:
            top = max(top, math.log(tail) + k0 * math.log(x) + mu * big)
    return top


@kernel
def stratum_gain(
    table: FloatArray, exact: bool, mu: float, w: int, n: int, k: float, q: float, low: int, high: int
) -> float:
    """g of the module docstring for one stratum, mu and prediction q."""
    kappa = (w - n) / (w - 1.0) if exact else 1.0
    y = mu * w / n * kappa
    root = math.sqrt((1 - y) * (1 - y) + 4 * q * y)
    e = 0.5 * (1 + y + root)
    f = 0.5 * (1 - y + root) if y < 1 else 2 * q * y / (y - 1 + root)
    if exact:
        t = math.log(f / e) / kappa
        x = math.exp(t)
        if x > 1e-12:
            return k * t - _penalty(table, w, n, x, mu, low, high)
        return -np.inf
    return k * math.log(f) + (n - k) * math.log(e) - n * (e - 1)
