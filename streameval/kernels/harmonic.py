"""Sums of precisions along runs of positives, in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray

# beyond this the series below is exact to the last bit
_SERIES = 32.0
_FEW = 8


@kernel
def harmonic_difference(start: float, count: float) -> float:
    """Σ 1/(start + i) over i = 1..count, to relative 1e-15 wherever the two lie.

    Args:
        start, count: Whole numbers, not negative.

    ln and the Bernoulli series of the digamma function (Abramowitz and Stegun 6.3.18), the logarithm as that of
    one plus a quotient: the difference of two large logarithms would lose what is wanted here.
    """
    total = 0.0
    while count > 0 and (start < _SERIES or count <= _FEW):
        start += 1.0
        count -= 1.0
        total += 1.0 / start
    if count <= 0:
        return total
    return total + math.log1p(count / (start + 1.0)) + _series(start, count)


@kernel
def _series(start: float, count: float) -> float:
    """Give what the difference is besides a logarithm; of arrays too."""
    low, high = start + 1.0, start + count + 1.0
    a, b = low * low, high * high
    c, d = a * a, b * b
    rest = 0.5 * count / (low * high)
    rest += (1.0 / a - 1.0 / b) / 12.0
    rest -= (1.0 / c - 1.0 / d) / 120.0
    rest += (1.0 / (a * c) - 1.0 / (b * d)) / 252.0
    rest -= (1.0 / (c * c) - 1.0 / (d * d)) / 240.0
    return rest


@kernel
def precision_sum(first: float, last: float, negatives: float) -> float:
    """Σ j/(j + negatives) over j = first..last: the precisions along a run of positives.

    Args:
        first, last: Whole numbers; `first` ≥ 1, and nothing is summed where `last` < `first`.
        negatives: How many stand before the run.
    """
    count = last - first + 1.0
    if count <= 0:
        return 0.0
    if negatives == 0.0:
        return count
    if count <= _FEW:
        total, i = 0.0, 0.0
        while i < count:
            total += (first + i) / (first + i + negatives)
            i += 1.0
        return total
    return count - negatives * harmonic_difference(first - 1.0 + negatives, count)


def run_sums(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Cumulate the precisions of runs of positives.

    Args:
        positives (float64 array, shape (k + 1,)): Positives up to the end of each run, after a 0.
        negatives (float64 array, shape (k,)): Negatives before each run.

    Returns:
        float64 array, shape (k + 1,): Σ j/r_j up to the end of each run, after a 0.
    """
    first, each = positives[:-1] + 1.0, np.zeros(negatives.size)
    count, start = positives[1:] - first + 1.0, first - 1.0 + negatives
    each[negatives == 0] = count[negatives == 0]
    at = np.flatnonzero((negatives != 0) & (count <= _FEW))
    for i in range(_FEW):
        at = at[count[at] > i]
        each[at] += (first[at] + i) / (first[at] + i + negatives[at])
    for run in np.flatnonzero((negatives != 0) & (count > _FEW) & (start < _SERIES)):  # four at most
        each[run] = precision_sum.plain()(first[run], positives[run + 1], negatives[run])
    at = np.flatnonzero((negatives != 0) & (count > _FEW) & (start >= _SERIES))
    # the system's logarithm, number by number, as kernels have it: numpy has one of its own on some processors
    logs = np.array([math.log1p(x) for x in (count[at] / (start[at] + 1.0)).tolist()])
    series: Any = _series.py_func  # of arrays too
    each[at] = count[at] - negatives[at] * (logs + series(start[at], count[at]))
    return np.append(0.0, np.cumsum(each))
