"""Simultaneous band from labels whose ranks were taken one after another with known conditional probabilities.

Design.  Rank r is in the sample with probability pi_r given which ranks before it were taken, and their labels. A
uniform sample without replacement is of this kind, read in rank order: pi_r = (n - z)/(N - r + 1) with z taken before r
(selection sampling: Fan, Muller and Rezucha 1962). So are strata that are ranges of ranks, and Poisson sampling.

Theorem.  Fix mu > 0, e0 = 1 - exp(-mu), and for every rank a stake m_r in [0, 1) fixed by the past. With D = m/pi let
s_r = log(1 - m) where r is not taken, log(1 + (1-pi)D) where it is taken and negative, and
log(1 + (1-pi)D - e0/pi) where it is taken and positive. Then exp(mu Y(r) + sum s) is a martingale started at 1.
Proof: for a negative item (1-pi)(1-m) + pi(1 + (1-pi)D) = 1; for a positive one it is e0 less, exp(-mu), which
exp(mu) undoes. For weights fixed by the design, the mixture over mu exceeds 2/delta at some rank with probability
delta/2 at most (Ville), so the root T of sum weight exp(mu T + S) = 2/delta bounds Y at every rank at once. The
negatives, which bound Y from below, have the other half.

Gaps.  Between two taken ranks nothing is learned, so one stake serves the whole gap: untaken ranks together are
gap log(1 - m), and the list's length never appears. Only pi of the taken rank is needed; no rank that could have been
taken may make the last logarithm's argument negative, for which m >= (e0 - least)/(1 - least) suffices, `least` being
the smallest probability in the gap. Where nothing can be taken any more, m = e0: each item may be positive.

Stakes.  For a predicted share q of positives and probability pi, the expected logarithm is largest at the D of
`streameval.kernels.martingale`; predictions use labels of lower ranks only. The choice affects the width and not the
coverage.

Missing labels.  One that is missing counts positive. Others' stakes then lie between those of the two extreme
completions, and the sum is concave in a stake, so its least value is at one of these two.

Strata with few draws are taken as one step at their end instead (`streameval.kernels.band`): a sequence counts
everything behind its last draw as unknown.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.band import pmf_table, stratum_gain
from streameval.kernels.jit import kernel
from streameval.kernels.mixture import mixture_root
from streameval.kernels.stakes import best_stake
from streameval.typing import FloatArray

RANK, UNTAKEN, REFERENCE, LEAST, PROBABILITY, LABEL, WIDTH, DRAWN, FOUND_LOW, FOUND_HIGH = range(10)
"""Columns of a table of steps, in rank order: the step's last rank; ranks of it that were not taken; probability to
choose the stake for; least probability in it; that of its last rank where it was taken, else 0; its label (1, 0, or -1
where it is missing). Of a stratum taken as one step: its width, its draws, and positives among them, a missing label as
0 and as 1."""
EXACT_MOST = 128  # ranks of a stratum whose hypergeometric distribution is tabled
PRIOR = 2.0  # labels that the first prediction counts for
_NO_SIGN = 1e-12  # arguments of a logarithm below this are taken for 0: rounding may have made them


@kernel
def _sequence_gain(step: FloatArray, mu: float, q: float) -> float:
    """Sum of s over a step: untaken ranks, then perhaps one that was taken, whose argument is 1 + change."""
    if step[REFERENCE] <= 0:
        return float(-mu * step[UNTAKEN])
    reward = -math.expm1(-mu)
    stake = 0.0
    if step[REFERENCE] < 1:
        stake = step[REFERENCE] * best_stake(reward / step[REFERENCE], step[REFERENCE], q)[0]
        if step[LEAST] < 1:
            stake = max(stake, (reward - step[LEAST]) / (1.0 - step[LEAST]) * (1.0 + 1e-9))
    if stake >= 1:
        return -np.inf
    total = step[UNTAKEN] * math.log1p(-stake) if step[UNTAKEN] > 0 else 0.0
    pi = step[PROBABILITY]
    if pi <= 0:
        return total
    change = (1.0 - pi) * stake / pi
    if step[LABEL] != 0:
        change -= reward / pi
    if 1.0 + change <= _NO_SIGN:
        return -np.inf
    return total + math.log1p(change)


@kernel
def _stratum_gain(step: FloatArray, table: FloatArray, exact: bool, mu: float, q: float) -> float:
    """Give the same of a stratum taken as one step."""
    w, n = int(step[WIDTH]), int(step[DRAWN])
    low, high = int(step[FOUND_LOW]), int(step[WIDTH] - step[DRAWN] + step[FOUND_HIGH])
    return stratum_gain(table, exact and mu * w < 300, mu, w, n, step[FOUND_HIGH], q, low, high)


@kernel
def _learn(step: FloatArray, before: float, seen: FloatArray) -> None:
    """Update labels seen, decayed by rank, and positives among them with missing ones as 0 and as 1."""
    n, low, high = step[DRAWN], step[FOUND_LOW], step[FOUND_HIGH]
    if step[WIDTH] == 0:
        if step[PROBABILITY] <= 0:
            return
        n, low, high = 1.0, max(0.0, step[LABEL]), abs(step[LABEL])
    decay = (before / step[RANK]) ** 2
    seen[0] = seen[0] * decay + n
    seen[1] = seen[1] * decay + low
    seen[2] = seen[2] * decay + high


@kernel
def sequential_sums(steps: FloatArray, mu: FloatArray) -> FloatArray:
    """S of every step and mu, float64 of shape (steps, mus): `mu Y + S` is the logarithm of a martingale."""
    out = np.empty((steps.shape[0], mu.size))
    total = np.zeros(mu.size)
    seen = np.zeros(3)
    table = np.zeros((1, 1))
    table_w = table_n = -1.0
    last = 0.0
    for j in range(steps.shape[0]):
        step = steps[j]
        q_low = (seen[1] + 0.5 * PRIOR) / (seen[0] + PRIOR)
        q_high = (seen[2] + 0.5 * PRIOR) / (seen[0] + PRIOR)
        exact = 0 < step[WIDTH] <= EXACT_MOST
        if exact and (step[WIDTH] != table_w or step[DRAWN] != table_n):
            table_w, table_n = step[WIDTH], step[DRAWN]
            table = pmf_table(int(table_w), int(table_n))
        for m in range(mu.size):
            if step[WIDTH] > 0:
                gain = _stratum_gain(step, table, exact, mu[m], q_high)
                if q_low < q_high:
                    gain = min(gain, _stratum_gain(step, table, exact, mu[m], q_low))
            else:
                gain = _sequence_gain(step, mu[m], q_high)
                if q_low < q_high:
                    gain = min(gain, _sequence_gain(step, mu[m], q_low))
            total[m] += gain
        for m in range(mu.size):  # number by number: operations on arrays take a second to compile
            out[j, m] = total[m]
        _learn(step, last, seen)
        last = step[RANK] if step[PROBABILITY] > 0 or step[WIDTH] > 0 else last
    return out


@kernel
def sequential_upper(steps: FloatArray, mu: FloatArray, delta: float) -> FloatArray:
    """Upper bound, a real number, on the positives up to the last rank of each step, all at once with 1 - delta/2.

    Args:
        steps: float64, shape (steps, 10): the columns named above.
        mu: float64, fixed by the design; equal weights.

    Returns:
        float64 array, shape (steps,): infinite where nothing is known.
    """
    sums = sequential_sums(steps, mu)
    out = np.empty(steps.shape[0])
    for j in range(out.size):
        for m in range(mu.size):
            sums[j, m] -= math.log(mu.size)
        out[j] = mixture_root(mu, sums[j], math.log(2.0 / delta))
    return out
