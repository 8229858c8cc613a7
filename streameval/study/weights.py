"""For how many items each planned rank stands by the draw, so that an average over labels is about the list.

Methods draw more densely near the top, so the plain mean of their labels is about the top. `draw_weight` is one over
the probability with which the draw took the rank (Horvitz and Thompson): the weighted sum of any value of the items is
unbiased for its sum over all items that the draw could take.
"""

from __future__ import annotations

import numpy as np

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
