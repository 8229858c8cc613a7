"""Number of labels that a half-width takes under uniform random sampling.

Every function takes arrays (or numbers) that broadcast against each other: N × α × p × δ in one call. α is the relative
half-width, p the precision that is expected, δ = 1 − confidence. All are forecasts: the half-width that labels reach
depends on the labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.typing import FloatArray, Int64Array


def curve_sizes(
    n_items: npt.ArrayLike, alpha: npt.ArrayLike, p: npt.ArrayLike, delta: npt.ArrayLike, bound: str = "hoeffding"
) -> FloatArray:
    """Labels for the precision at every rank of a list: a sample of all ranks, and every rank that it leaves too thin.

    With z labels for one point at δ/N (a union over ranks; ln(2N/δ)/(2α²p²) by eq. 2), a sample of s is enough from
    rank n = N·z/s on (eq. 4); all ranks before it are labelled too, and s + n is least, 2√(Nz), at s = n (eq. 5).

    Args:
        n_items, alpha, p, delta: array-like, broadcast together.
        bound ({"hoeffding", "exact"}): "exact": from z on, the share found is within αp of p with probability
            ≥ 1 − δ/N, by the hypergeometric distribution itself.

    Returns:
        float64 array of the broadcast shape: s + n, sampled ranks among the first n counted twice as the paper counts
            them; N where that is less.

    The paper's own n for N = 217,077, p = .7, δ = .05, 41,056, does not follow from its eq. (4), which gives 31,794.4.

    >>> float(curve_sizes(217_077, 0.08, 0.7, 0.05).round(2))
    47030.54
    """
    from streameval.kernels.uniform_sample_size import exact_sample_sizes

    items, a, share, d = _broadcast(n_items, alpha, p, delta)
    if bound == "exact":
        sizes = exact_sample_sizes(items.ravel(), a.ravel(), share.ravel(), (d / items).ravel())
        z = sizes.reshape(items.shape).astype(np.float64)
    else:
        with np.errstate(divide="ignore"):  # α² vanishes below 1e-162; every item is then labelled
            z = np.log(2 * items / d) / (2 * a**2 * share**2)
    return np.asarray(np.minimum(items, 2 * np.sqrt(items * z)), dtype=np.float64)


def _broadcast(
    n_items: npt.ArrayLike, alpha: npt.ArrayLike, p: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[Int64Array, FloatArray, FloatArray, FloatArray]:
    items, a, share, d = np.broadcast_arrays(n_items, alpha, p, delta)
    numbers = [np.asarray(x, dtype=np.float64) for x in (a, share, d)]
    return items.astype(np.int64), numbers[0], numbers[1], numbers[2]
