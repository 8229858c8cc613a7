"""A value with its bounds, and how wide bounds are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from streameval.typing import FloatArray, Int64Array


class Bounds(NamedTuple):
    """A value with its bounds; NaN where it is undefined, or unknown."""

    lower: float
    estimate: float
    upper: float

    @staticmethod
    def of(lower: float, upper: float, estimate: float) -> Bounds:
        """Put an estimate inside two bounds, as `cut_to_bounds` does, without the arrays."""
        low, high = (-math.inf if math.isnan(lower) else lower), (math.inf if math.isnan(upper) else upper)
        return Bounds(lower, float(min(max(estimate, min(low, high)), max(low, high))), upper)

    @staticmethod
    def of_row(row: Mapping[str, Any]) -> Bounds:
        """Of the `lower`, `estimate` and `upper` of a metrics row, None where a value is not known."""
        return Bounds(*(np.nan if row[side] is None else row[side] for side in Bounds._fields))


@dataclass(frozen=True)
class HalfWidth:
    """Relative half-width of bounds on precision.

    Attributes:
        alpha: Largest (hi − lo)/(hi + lo) over every rank of the part it was taken over; 0 where all is known.
        rank: Where it is reached.
    """

    alpha: float
    rank: int


def widest(ranks: Int64Array, lower: FloatArray, upper: FloatArray) -> HalfWidth:
    """Find where bounds on the yield are widest, of some ranks."""
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.where(upper > lower, (upper - lower) / (upper + lower), 0.0)
    at = int(np.argmax(alpha))
    return HalfWidth(float(alpha[at]), int(ranks[at]))


def cut_to_bounds(estimate: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike) -> FloatArray:
    """Cut estimates to their bounds, which may contradict each other; a bound that is NaN cuts nothing.

    >>> cut_to_bounds([0.2, 0.5, 0.95, np.nan], [0.3, 0.9, 0.9, 0.0], [0.6, np.nan, np.nan, 1.0])
    array([0.3 , 0.9 , 0.95,  nan])
    """
    low, high = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return np.asarray(np.clip(estimate, np.minimum(low, high), np.maximum(low, high)), np.float64)
