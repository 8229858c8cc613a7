"""Sums of precisions along runs of positives, in closed form."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.system_math import log1p
from streameval.typing import FloatArray

# beyond this the series below is exact to the last bit
_SERIES = 32.0
_FEW = 8
_CALLS, _RUNS = 100, 16  # steps of plain Python that numpy's calls take, and runs for each more


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
    """What the difference is besides a logarithm; of arrays too."""
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


@kernel
def _add_runs(positives: FloatArray, negatives: FloatArray, total: FloatArray) -> None:
    for i in range(negatives.size):
        total[i + 1] = total[i] + precision_sum(positives[i] + 1.0, positives[i + 1], negatives[i])


@_add_runs.in_numpy()
def _add_few_runs(positives: FloatArray, negatives: FloatArray, total: FloatArray) -> None:
    first, each = positives[:-1] + 1.0, np.zeros(negatives.size)
    count, start = positives[1:] - first + 1.0, first - 1.0 + negatives
    each[negatives == 0] = count[negatives == 0]
    at = np.flatnonzero((negatives != 0) & (count <= _FEW))
    for i in range(_FEW):
        at = at[count[at] > i]
        each[at] += (first[at] + i) / (first[at] + i + negatives[at])
    for run in np.flatnonzero((negatives != 0) & (count > _FEW) & (start < _SERIES)):  # four at most
        each[run] = precision_sum(first[run], positives[run + 1], negatives[run])
    at, series = np.flatnonzero((negatives != 0) & (count > _FEW) & (start >= _SERIES)), cast(Any, _series.plain())
    difference = log1p(count[at] / (start[at] + 1.0)) + series(start[at], count[at])
    each[at] = count[at] - negatives[at] * difference
    np.cumsum(each, out=total[1:])


def run_sums(positives: FloatArray, negatives: FloatArray) -> FloatArray:
    """Cumulate the precisions of runs of positives.

    Args:
        positives (float64 array, shape (k + 1,)): Positives up to the end of each run, after a 0.
        negatives (float64 array, shape (k,)): Negatives before each run.

    Returns:
        float64 array, shape (k + 1,): Σ j/r_j up to the end of each run, after a 0.
    """
    total = np.zeros(positives.size)
    _add_runs.at_size(_CALLS + negatives.size // _RUNS)(positives, negatives, total)
    return total
