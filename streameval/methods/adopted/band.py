"""Bounds from steps: the mixture over mu that the design fixes, and both sides of the band."""

from __future__ import annotations

import numpy as np

from streameval.curve.envelope import Points
from streameval.kernels.sequential_band import RANK, sequential_upper
from streameval.methods.adopted.steps import flip
from streameval.methods.loguniform.design import LOG_ODDS, space_out
from streameval.typing import FloatArray, Int64Array

THIN = 10  # expected draws below which nothing can be said
_VARIANCE = 0.25  # of a label: that of precision .5, the widest


def mixture(last: Int64Array, rate: FloatArray) -> FloatArray:
    """Every mu of the mixture (equal weights), for ranges of ranks and the rate at which each is drawn.

    From the best at the last rank to the best where the sample just begins to say something; they tune the width, and
    the bounds hold whatever they are, as long as the design alone decides them.
    """
    width = np.diff(last, prepend=0).astype(np.float64)
    drawn = (rate > 0) & (rate < 1)
    each = np.where(drawn, (1 - rate) / np.where(rate > 0, rate, 1.0), 0.0) * _VARIANCE
    whole = np.cumsum(each * width)
    begun = np.maximum(0.0, whole - each * width) + each * np.minimum(width, THIN / np.where(drawn, rate, 1.0))
    best = 1 / (np.sqrt(np.stack([begun, whole]) / LOG_ODDS) + 1 / (3 * np.where(drawn, rate, 1.0)))
    best = best[:, drawn]
    if not best.size:
        return np.ones(1)
    return space_out(0.6 * best.min(), 1.6 * best.max())


def points(steps: FloatArray, mu: FloatArray, delta: float) -> Points:
    """Bounds on the yield at the end of each step, all true at once with probability 1 - delta or more."""
    rank = steps[:, RANK]
    high = sequential_upper(steps, mu, delta)
    low = rank - sequential_upper(flip(steps), mu, delta)
    slack = 1e-6 + 1e-12 * rank  # outward, against rounding
    lower = np.ceil(np.clip(low - slack, 0, None))
    upper = np.floor(np.clip(high + slack, None, rank))
    return Points(rank.astype(np.int64), lower, upper)
