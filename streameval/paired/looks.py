"""When the labels of a comparison are looked at, and how the error is shared between the bounds that look."""

from __future__ import annotations

import numpy as np

from streameval.questions.comparing import Looks
from streameval.typing import Int64Array

PairedLimits = tuple[Int64Array, Int64Array]  # lower, upper

_COUNT: dict[Looks, float] = {"one": 1.0, "any": 0.0, "both": 0.8}


def count_error(confidence: float, cutoffs: int, looks: Looks) -> float:
    """One-sided error of `count` at each of so many cutoffs: half of its part of 1 − confidence, shared evenly."""
    return _COUNT[looks] * (1 - confidence) / (2 * cutoffs)


def bet_error(confidence: float, cutoffs: int, looks: Looks) -> float:
    """Give the same of `bet`."""
    return (1 - _COUNT[looks]) * (1 - confidence) / (2 * cutoffs)


def intersect(count: PairedLimits, bet: PairedLimits) -> PairedLimits:
    """Intersect the bounds of both looks; where they exclude one another, those of `count`."""
    lower, upper = np.maximum(count[0], bet[0]), np.minimum(count[1], bet[1])
    apart = lower > upper
    return np.where(apart, count[0], lower), np.where(apart, count[1], upper)
