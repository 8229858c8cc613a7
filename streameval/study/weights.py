"""Weights: for how many items of the list each planned rank stands, so that an average over labels is about the list.

Methods draw more densely near the top, so the plain mean of their labels is about the top.

- `draw_weight` is one over the probability with which the draw took the rank (Horvitz and Thompson): the weighted sum
  of any value of the items is unbiased for its sum over all items that the draw could take.
- `weight` is for how many items the label of a rank stands in the estimated curve (`streameval.curve.pooling`), 0
  without a label: it sums to N, and its sum over the positive labels is the estimate of the positives, unless that was
  cut to its bounds.

Where what labels said decided whether a plan grew, averages lean a little towards what stopped it; bounds pay for that,
averages do not.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.methods import DrawsAtRandom, method_of
from streameval.types import Plan
from streameval.typing import FloatArray


def draw_weights(plan: Plan) -> FloatArray:
    """Inverse of the probability with which each rank was drawn, float64 in the plan's order.

    1 where every item is planned. NaN where no weight makes an average one of the list: the method draws nothing at
    random, there is none, or the ranking's order depends on labels that were reused (`labels_seen_by_model`).
    """
    if plan.table.num_rows == plan.n_items:
        return np.ones(plan.table.num_rows)
    each = np.full(plan.table.num_rows, np.nan)
    if plan.marks is not None:
        from streameval.slices.pool import slice_plans

        for part in slice_plans(plan):
            each[part.rows] = draw_weights(part.plan)
        return each
    if plan.kind == "curve" and not plan.labels_seen_by_model:
        method = method_of(plan)
        if isinstance(method, DrawsAtRandom):
            each[:] = method.weights(plan)
    return each


def with_weights(labels: pa.Table, plan: Plan, curve: Curve) -> pa.Table:
    """Put `weight` and `draw_weight` (float64, null where unknown) beside the labels of a plan.

    Args:
        curve: As it was made of these labels.
    """
    estimated = None if curve.estimated is None else curve.estimated.weight
    weights = pa.nulls(labels.num_rows, pa.float64()) if estimated is None else pa.array(estimated)
    drawn = pa.array(draw_weights(plan), from_pandas=True)
    return labels.append_column("weight", weights).append_column("draw_weight", drawn)
