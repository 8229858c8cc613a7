"""Plans that fixed how many ranks of each stratum are drawn: no longer made, but read as they were planned."""

from __future__ import annotations

import math

import numpy as np

from streameval.curve.envelope import Points
from streameval.methods.loguniform.design import look_share
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array

_FIRST_REACH, _LATER_REACH = 0.8, 0.6  # of the mixture: strata of a smaller density leave less error near the head
_RATIO = 1.5  # of neighbouring mu


def made(plan: Plan) -> bool:
    """Whether a plan fixed the counts of its strata, rather than the probability of every rank."""
    return "probability" not in plan.table.column_names


def weights(plan: Plan) -> FloatArray:
    """Inverse of the share of its stratum that the plan holds."""
    ends, n = np.unique(plan.table.column("stratum_last").to_numpy(), return_counts=True)
    return np.repeat(np.diff(ends, prepend=0) / n, n)


def points(
    plan: Plan, labels: Labels, confidence: float, min_precision: float, looks: int
) -> tuple[Points, Int64Array]:
    """Bounds at the ends of strata (of all looks so far, intersected), and the ranks that the curve's table shows."""
    from streameval.kernels.band import band

    grid = plan.table.column("stratum_last").to_numpy()
    if plan.table.num_rows == plan.n_items:
        return Points.none(), grid
    came = plan.table.column("look").to_numpy() if looks > 1 else np.ones(plan.table.num_rows)
    found: Points | None = None
    for look in range(1, plan.look + 1):
        ends, n, k_low, k_high = _counts(plan, labels, came <= look)
        mu = _mixture(ends, n, min_precision, _FIRST_REACH if look == 1 else _LATER_REACH)
        low, high = band(ends, n, k_low, k_high, mu, look_share(1 - confidence, look, looks))
        if found is not None:
            low, high = np.maximum(low, found.lower), np.minimum(high, found.upper)
        found = Points(ends, low.astype(np.float64), high.astype(np.float64))
    return found if found is not None else Points.none(), grid


def _mixture(ends: Int64Array, n: Int64Array, p_plan: float, reach: float) -> FloatArray:
    """The mu of the mixture (equal weights): from the best one at the last end to the best near the head."""
    w = np.diff(ends, prepend=0).astype(float)
    variance = max(p_plan * (1 - p_plan), 0.02)
    sd = np.sqrt(np.cumsum(w * (w / n - 1.0)) * variance)
    if sd[-1] == 0:
        return np.ones(1)
    relative = sd / ends
    first = np.argmax(relative >= reach * relative.max())
    low, high = 0.6 * 3.7 / sd[-1], 1.2 * 3.7 / sd[first]
    return np.geomspace(low, high, max(1, round(math.log(high / low) / math.log(_RATIO))) + 1)


def _counts(plan: Plan, labels: Labels, drawn: BoolArray) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Per stratum: last rank, labels drawn, positives with missing labels as 0 and as 1."""
    last = plan.table.column("stratum_last").to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], last[1:] != last[:-1]]))
    counted = (drawn, drawn & (labels.label == 1), drawn & (labels.label != 0))
    n, k_low, k_high = (np.add.reduceat(values.astype(np.int64), starts) for values in counted)
    return last[starts].astype(np.int64), n, k_low, k_high
