"""One value for two bounds: the one whose worst relative error is least; and how wide they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from streameval.typing import FloatArray


class Bounds(NamedTuple):
    """A value with its bounds; NaN where it is undefined."""

    lower: float
    estimate: float
    upper: float

    @staticmethod
    def of(lower: float, upper: float) -> Bounds:
        """Put the estimate between two bounds."""
        return Bounds(lower, between(lower, upper), upper)


@dataclass(frozen=True)
class HalfWidth:
    """How far the estimate can be from the truth, relatively.

    Attributes:
        alpha: Largest (hi − lo)/(hi + lo) over every rank of the part it was taken over; 0 where all is known.
        rank: Where it is reached.
    """

    alpha: float
    rank: int


def estimate(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Give the value whose worst relative error over [lower, upper] is least: 2·lo·hi/(lo+hi).

    It is then within (hi − lo)/(hi + lo) of the truth, relatively, wherever the bounds hold.

    >>> estimate(np.array([0.0, 90.0, 5.0]), np.array([0.0, 110.0, 5.0]))
    array([ 0., 99.,  5.])
    """
    total = lower + upper
    with np.errstate(invalid="ignore", divide="ignore"):
        harmonic = 2.0 * lower * (upper / total)
    middle = np.where(total > 0, harmonic, 0.0)
    return np.where(lower == upper, lower, middle)


def between(lower: float, upper: float) -> float:
    """Estimate a metric from its bounds: the value of least worst relative error, the middle where signs differ.

    >>> between(0.4, 0.6), between(-0.2, 0.4), between(0.0, 0.5)
    (0.48, 0.1, 0.0)
    """
    if lower == upper or np.isnan(lower):
        return lower
    if np.isnan(upper):
        return upper
    if lower < 0:
        return (lower + upper) / 2
    if np.isinf(upper):
        return upper
    return 2.0 * lower * (upper / (lower + upper)) if upper > 0 else 0.0
