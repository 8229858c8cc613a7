"""Differences of harmonic numbers, many at once."""

from __future__ import annotations

import numpy as np

from streameval.typing import FloatArray

_TABLE = 64  # beyond it the series below is exact to the last bits
_FIRST = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, _TABLE + 1))])


def harmonic_differences(start: FloatArray, end: FloatArray) -> FloatArray:
    """Σ 1/r over start < r ≤ end, elementwise.

    Args:
        start, end (float64 arrays): Whole numbers, 0 ≤ start ≤ end.

    ln and the Bernoulli series of the digamma function (Abramowitz and Stegun 6.3.18), the logarithm as that of one
    plus a quotient: the difference of two large logarithms would lose what is wanted here.

    >>> harmonic_differences(np.array([0.0, 2.0, 99.0]), np.array([3.0, 2.0, 100.0]))
    array([1.83333333, 0.        , 0.01      ])
    """
    low, high = (np.minimum(ranks, _TABLE).astype(np.int64) for ranks in (start, end))
    near = _FIRST[high] - _FIRST[low]
    a, b = np.maximum(start, _TABLE) + 1, np.maximum(end, _TABLE) + 1
    far = np.log1p((b - a) / a) + _series(a) - _series(b)
    return np.asarray(near + far)


def _series(x: FloatArray) -> FloatArray:
    """ln(x) − ψ(x)."""
    square = x * x
    return 0.5 / x + 1 / (12 * square) - 1 / (120 * square**2) + 1 / (252 * square**3)
