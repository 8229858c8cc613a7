"""How many rankings are to be drawn for bounds of a width on their means."""

from __future__ import annotations

import numpy as np

from streameval.kernels.without_replacement import lower_bound
from streameval.per_query.predicted import METRICS
from streameval.typing import FloatArray


def rankings_for(half_width: float, population: int, confidence: float, cutoffs: int) -> int:
    """Forecast how many of some rankings are to be drawn, so that bounds on a mean are within a half-width.

    It is the least number whose bounds are as near where rankings are 0 and 1 in turn: no values vary more, and drawn
    in a random order their bounds are nearer by a few percent. So bounds are as near, and nearer where rankings are
    alike. The table of positives that `evaluate` takes adds measures, and all bounds are a little wider.

    Args:
        half_width: Half of the distance between the bounds, in (0, 1).
        population: Rankings in the list; where fewer do not suffice, all are drawn, and means are exact.
        confidence: Of all bounds together.
        cutoffs: How many there are, each with its metrics.
    """
    delta = (1 - confidence) / (2 * len(METRICS) * cutoffs)
    low, high = 0, 16
    while high < population and _half_width(high, population, delta) > half_width:
        low, high = high, 2 * high
    high = min(high, population)
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if _half_width(middle, population, delta) <= half_width else (middle, high)
    return high


def _half_width(count: int, population: int, delta: float) -> float:
    """Half of the distance between the bounds of rankings that are 0 and 1 in turn."""
    values: FloatArray = np.arange(count, dtype=np.float64) % 2
    below, above = lower_bound(values, population, delta), 1 - lower_bound(1 - values, population, delta)
    return (above - below) / 2
