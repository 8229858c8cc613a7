"""How many labels a half-width takes under uniform and stratified random sampling.

Every function takes arrays (or numbers) that broadcast against each other: N × α × p × δ in one call. α is the relative
half-width, p the precision that is expected, δ = 1 − confidence. All are forecasts: the half-width that labels reach
depends on the labels.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from streameval.grid import geometric_grid, parse_epsilon
from streameval.kernels.samplesize import exact_sample_sizes, hoeffding_sizes
from streameval.types import FloatArray, Int64Array


def point_sizes(
    n_items: npt.ArrayLike, alpha: npt.ArrayLike, p: npt.ArrayLike, delta: npt.ArrayLike, bound: str = "hoeffding"
) -> Int64Array:
    """Labels for the precision of one list of N items.

    Parameters
    ----------
    n_items, alpha, p, delta : array-like, broadcast together
    bound : {"hoeffding", "exact"}
        "hoeffding": ⌈ln(2/δ)/(2α²p²)⌉ (PAULA paper, eq. 2). "exact": from so many on, the share found is within αp of p
        with probability ≥ 1 − δ, by the hypergeometric distribution itself.

    Returns
    -------
    int64 array of the broadcast shape
        At most N.

    Examples
    --------
    >>> point_sizes(10**7, [0.08, 0.04], 0.5, 0.05).tolist()
    [1153, 4612]
    >>> int(point_sizes(10**7, 0.08, 0.5, 0.05, "exact"))
    612
    """
    items, a, share, d = _broadcast(n_items, alpha, p, delta)
    kernel = exact_sample_sizes if bound == "exact" else hoeffding_sizes
    return kernel(items.ravel(), a.ravel(), share.ravel(), d.ravel()).reshape(items.shape)


def curve_sizes(
    n_items: npt.ArrayLike, alpha: npt.ArrayLike, p: npt.ArrayLike, delta: npt.ArrayLike, bound: str = "hoeffding"
) -> FloatArray:
    """Labels for the precision at every rank of a list: a sample of all ranks, and every rank that it leaves too thin.

    With z labels for one point at δ/N (a union over ranks), a sample of s is enough from rank n = N·z/s on (eq. 4);
    all ranks before it are labelled too, and s + n is least, 2√(Nz), at s = n (eq. 5).

    Parameters
    ----------
    n_items, alpha, p, delta : array-like, broadcast together
    bound : {"hoeffding", "exact"}

    Returns
    -------
    float64 array of the broadcast shape
        s + n, sampled ranks among the first n counted twice as the paper counts them; N where that is less.

    Notes
    -----
    The paper's own n for N = 217,077, p = .7, δ = .05, 41,056, does not follow from its eq. (4), which gives 31,794.4.

    Examples
    --------
    >>> float(curve_sizes(217_077, 0.08, 0.7, 0.05).round(2))
    47030.54
    """
    items, a, share, d = _broadcast(n_items, alpha, p, delta)
    if bound == "exact":
        z = point_sizes(items, a, share, d / items, "exact").astype(np.float64)
    else:
        with np.errstate(divide="ignore"):  # α² vanishes below 1e-162; every item is then labelled
            z = np.log(2 * items / d) / (2 * a**2 * share**2)
    return np.asarray(np.minimum(items, 2 * np.sqrt(items * z)), dtype=np.float64)


def stratified_size(n_items: int, epsilon: str, p: float, delta: float, head: int, beta: float) -> float:
    """Distinct ranks that logarithmic stratified sampling labels, in expectation (PAULA paper, Algorithm 1).

    Parameters
    ----------
    n_items : int
    epsilon : str
        ε of the grid, as a decimal.
    p, delta : float
    head : int
        r̃: ranks up to the grid point at or after it are all labelled.
    beta : float
        β > 1; what the paper claims at grid points is (2−β)p ≤ q ≤ βp.

    Returns
    -------
    float
        g_ℓ + Σ (g_{k+1} − g_k)(1 − (1 − 1/g_{k+1})^s) with s = ⌈ln(2(L−ℓ)/δ) / (2(β−1)²p²)⌉ slots; the factor claim
        p/β ≤ q, which Theorem 2 needs, takes about a tenth more.

    Examples
    --------
    >>> round(stratified_size(2 * 10**9, "0.03", 0.5, 0.05, 3400, 1.04971) / 1000, 1)
    100.5
    """
    grid = geometric_grid(n_items, parse_epsilon(epsilon), head)
    points = grid.points.astype(np.float64)
    if points.size < 2:
        return float(min(n_items, grid.head_end))
    slots = math.ceil(math.log(2 * (points.size - 1) / delta) / (2 * ((beta - 1) * p) ** 2))
    fresh = np.diff(points) * -np.expm1(slots * np.log1p(-1 / points[1:]))
    return float(grid.head_end + fresh.sum())


def _broadcast(
    n_items: npt.ArrayLike, alpha: npt.ArrayLike, p: npt.ArrayLike, delta: npt.ArrayLike
) -> tuple[Int64Array, FloatArray, FloatArray, FloatArray]:
    items, a, share, d = np.broadcast_arrays(n_items, alpha, p, delta)
    numbers = [np.asarray(x, dtype=np.float64) for x in (a, share, d)]
    return items.astype(np.int64), numbers[0], numbers[1], numbers[2]
