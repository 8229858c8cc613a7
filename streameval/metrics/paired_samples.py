"""Differences of a metric between two lists of the same draws, such as the scores of two models for one test set.

Both have sums of influence over the same bins, and the influence on a difference is the difference of the two: what
moves both metrics up and down together cancels, and the lists themselves are not needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streameval.metrics.incomplete_beta import incomplete_beta
from streameval.metrics.intervals import CONFIDENCE, as_columns, equal_bins, freedom_of, spread
from streameval.typing import BoolArray, FloatArray, Int64Array

_ROUNDING = 1e-12


class Margin(NamedTuple):
    """When a difference has an interval.

    Attributes:
        least: Draws of equal weight in which the two differ, of fewer there is none.
        sure: Such draws from which on it is as wide as it seems; samples of fewer seem surer than they are.
        wider: Of fewer, how much wider it is.
    """

    least: float
    sure: float
    wider: float


OF_BINS = Margin(20.0, 40.0, 1.3)
OF_RANKINGS = Margin(10.0, 20.0, 1.2)
_FEW = "the two differ in too few draws"
_LEAST_OF_A_CLASS = 3.0  # of the draws in which the two differ: a rare class that fails may be missing from a sample
# of one class, or of all rows alike
_NOT_OF_BOTH = ("recall_at_score", "specificity_at_score", "false_positive_rate_at_score", "accuracy_at_score", "brier",
                "log_loss")  # fmt: skip


@dataclass(frozen=True)
class PairedDifference:
    """A difference of two samples, and an interval that holds it approximately; NaN and why, where there is none.

    Attributes:
        p_value: Of a test whether there is any difference in the population.
    """

    value: float
    standard_error: float = math.nan
    low: float = math.nan
    high: float = math.nan
    p_value: float = math.nan
    reason: str | None = None

    def as_dict(self) -> dict[str, float | str | None]:
        """Give its interval under the names of columns; null where there is none."""
        return as_columns(self.reason, standard_error=self.standard_error, low=self.low, high=self.high,
                          p_value=self.p_value)  # fmt: skip


def classes_of(metric: str, items: Int64Array, positives: Int64Array) -> Mapping[str, BoolArray]:
    """Say which bins have a draw of each class that a metric turns on; of none where it does not turn on both.

    Args:
        items, positives (int64 arrays, shape (BINS,)): Of each bin.
    """
    return {} if metric in _NOT_OF_BOTH else {"a positive": positives > 0, "a negative": items > positives}


def paired_difference(
    value: float,
    influence: FloatArray,
    bins: int,
    confidence: float,
    margin: Margin = OF_BINS,
    wider: float = 1.0,
    classes: Mapping[str, BoolArray] | None = None,
) -> PairedDifference:
    """Give the interval of a difference, and its p-value by Student's t.

    Args:
        influence (float64 array): Of the first less that of the second, by bin or draw.
        bins: That have a draw which both metrics turn on.
        wider: How much wider the interval is to be than draws of equal size have it.
        classes: See `classes_of`.
    """
    if not np.any(influence):
        return PairedDifference(value, 0.0, value, value, 1.0) if value == 0.0 else PairedDifference(value, reason=_FEW)
    equal = equal_bins(influence)
    error, reach = spread(influence, bins, confidence)
    if equal < margin.least or error <= _ROUNDING * abs(value):
        return PairedDifference(value, reason=_FEW)
    squares = influence**2
    for name, of_class in (classes or {}).items():
        if equal * float(np.sum(squares[of_class]) / np.sum(squares)) < _LEAST_OF_A_CLASS:
            return PairedDifference(value, reason=f"{_FEW} with {name}")
    wider *= margin.wider if equal < margin.sure else 1.0
    freedom = freedom_of(influence, bins)
    p_value = incomplete_beta(freedom / (freedom + (value / error / wider) ** 2), freedom / 2.0, 0.5)
    return PairedDifference(value, error, value - wider * reach, value + wider * reach, p_value)


def difference_decides(claim: str) -> str:
    """Say what an answer by the interval of a difference is worth; `claim` says what the interval promises."""
    share = 100 * (1 - CONFIDENCE) / 2
    return (f"Of a difference, low and high decide: {claim}. They prove nothing: a condition is answered wrongly in "
            f"about {share:g} % of samples where the difference lies at its margin, each by itself, and one of several "
            "more often.")  # fmt: skip


def holm(p_values: Sequence[float]) -> list[float]:
    """Raise p-values of several tests, so that all that stay below a level hold together at it (Holm, 1979).

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    raised, most = list(p_values), 0.0
    tested = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    for place, (p, i) in enumerate(tested):
        most = max(most, min(1.0, (len(tested) - place) * p))
        raised[i] = most
    return raised
