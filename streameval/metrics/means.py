"""Intervals of means over rankings that are a sample, and of the difference of two systems on the same ones."""

from __future__ import annotations

import math

from streameval.metrics.incomplete_beta import clopper_pearson, student_quantile
from streameval.metrics.intervals import CONFIDENCE, SampleInterval, ends_of
from streameval.metrics.paired_samples import OF_RANKINGS, PairedDifference, paired_difference
from streameval.text import number_of
from streameval.typing import FloatArray

_LEAST = 50  # rankings
_LEAST_AWAY = 5.0
_ROUNDING = 1e-12


def mean_interval(total: float, squares: float, count: int) -> SampleInterval:
    """Give the interval of a mean of values in [0, 1], or why there is none.

    Args:
        total, squares: Sums of the values and of their squares.
        count: How many values there are, those that add nothing included.
    """
    if count < _LEAST:
        return SampleInterval(reason=f"only {number_of(count, 'ranking')}; it takes {_LEAST}")
    mean = total / count
    if total == squares and total == round(total):  # each is 0 or 1, and so their number is exact
        low, high = clopper_pearson(round(total), count, CONFIDENCE)
        return SampleInterval(math.sqrt(mean * (1.0 - mean) / count), low, high)
    variance = (squares / count - mean * mean) / (count - 1)
    rare = ("low", count * mean) if mean < 0.5 else ("high", count * (1.0 - mean))
    if rare[1] < _LEAST_AWAY or variance <= _ROUNDING / count:
        return SampleInterval(
            reason="too near 0 or 1 for so few rankings" if rare[1] < _LEAST_AWAY else "all are alike"
        )
    error = math.sqrt(variance)
    return SampleInterval(error, *ends_of(mean, student_quantile(0.5 + CONFIDENCE / 2, count - 1) * error, [rare]))


def mean_difference(pairs: FloatArray, mean: float, confidence: float) -> PairedDifference:
    """Give the interval of a mean difference over rankings that both systems have, and its p-value.

    Args:
        pairs (float64 array): Differences, one for each ranking.
        mean: Of them.
    """
    if pairs.size < _LEAST:
        return PairedDifference(mean, reason=f"only {number_of(pairs.size, 'ranking')}; it takes {_LEAST}")
    return paired_difference(mean, (pairs - mean) / pairs.size, pairs.size, confidence, OF_RANKINGS)
