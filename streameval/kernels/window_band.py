"""Bounds on what lies between PAULA's windows, for independent labels whose probability never rises.

Model.  Labels are independent; the probability of a positive never rises with rank. Between windows lie runs of ranks
that nobody labels: u_j of them right after a window of `width` labels with S_j positives, and R_j positives among them,
j = 1, 2 … Each probability in the run is at most the mean π of the window before it.

Proof.  Fix λ > 0, y = e^λ − 1, and let m_j in [0, 1) follow from labels before the window. With A_j = u_j y /
(width (1 + m_j y) + m_j u_j y) < 1, θ_j = −log(1 − A_j) and D_j = u_j log(1 + m_j y) + width log(1 − m_j A_j),
    E exp(λ R_j − θ_j S_j) ≤ (1 + π y)^u_j (1 − π A_j)^width ≤ exp(D_j):
the first step because every probability in the run is at most π, and because the logarithm is concave over the window;
the second because the logarithm of the middle is concave in π with its maximum at π = m_j. Blocks are disjoint, so
exp Σ (λ R_j − θ_j S_j − D_j) is a supermartingale started at 1, and so is a mixture over fixed λ, any of which may be
dropped for good by what was seen before (here once A_j ≥ 1). By Ville's inequality the mixture stays below 1/δ' at
all j at once with probability ≥ 1 − δ'. It rises in Σ R_j: its root bounds Σ R_j from above.

A lower bound is the same for negatives: going up the list their probability never rises either, so the window *after*
a run bounds it, with m_j from labels before the run.

Missing labels.  θ_j S_j + D_j rises in S_j, so every missing label counts as one. In m_j it falls, then rises: over the
m_j that the missing labels leave possible it is largest at one of the two ends; and a λ is dropped where the
smaller end, which makes the larger A_j, says so.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.mixture import mixture_root
from streameval.typing import FloatArray, Int64Array


@kernel
def _charge(unseen: int, width: int, positives: int, prediction: float, y: float) -> float:
    """θS + D of the module docstring; infinite where A ≥ 1."""
    denominator = width * (1.0 + prediction * y) + prediction * unseen * y
    a = unseen * y / denominator
    if a >= 1.0:
        return np.inf
    rest = math.log1p(-a)
    return -rest * positives + unseen * math.log1p(prediction * y) + width * math.log1p(-prediction * a)


@kernel
def upper_bounds(
    unseen: Int64Array, positives: Int64Array, prediction: FloatArray, width: int, rates: FloatArray, delta: float
) -> FloatArray:
    """Bound the positives of the runs 1..j from above, for all j at once with probability ≥ 1 − delta.

    Args:
        unseen (int64 array, shape (k,)): u_j ≥ 0: ranks of each run.
        positives (int64 array, shape (k,)): S_j: positives in the window that bounds the run, with missing labels.
        prediction (float64 array, shape (2, k)): m_j in (0, 1), with missing labels as 0 and as 1.
        width: Labels of a window.
        rates (float64 array): λ of the mixture, of equal weights, fixed before the labels.

    Returns:
        float64 array, shape (k,): At most the number of ranks in the runs.
    """
    total = np.full(rates.size, -math.log(rates.size))
    out = np.empty(unseen.size)
    ranks = 0
    threshold = math.log(1.0 / delta)
    for j in range(unseen.size):
        ranks += unseen[j]
        if unseen[j] > 0:
            for i in range(rates.size):
                y = math.expm1(rates[i])
                low = _charge(unseen[j], width, positives[j], prediction[0, j], y)
                total[i] -= max(low, _charge(unseen[j], width, positives[j], prediction[1, j], y))
        out[j] = min(float(ranks), mixture_root(rates, total, threshold))
    return out
