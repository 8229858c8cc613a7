"""Weights: for how many items of the list each planned rank stands, so that an average over labels is about the list.

Methods draw more densely near the top, so the plain mean of their labels is about the top. The Horvitz–Thompson weight
of a rank is one over the probability with which the draw took it: the weighted sum of any value of the items is then
unbiased for its sum over all items that the draw could take, and the ratio of two such sums is the weighted mean.

Where what labels said decided whether a plan grew, its averages lean a little towards what stopped it; bounds pay for
that, averages do not.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streameval.methods import DrawsAtRandom, method_of
from streameval.slices.pool import slice_plans
from streameval.types import Plan
from streameval.typing import FloatArray


def weights(plan: Plan) -> FloatArray:
    """Items that each planned rank stands for, float64 in the plan's order.

    1 where every item is planned. NaN where no weight makes an average one of the list: the method draws nothing at
    random, or the ranking's order depends on labels that were reused (`labels_seen_by_model`).
    """
    if plan.table.num_rows == plan.n_items:
        return np.ones(plan.table.num_rows)
    each = np.full(plan.table.num_rows, np.nan)
    if plan.marks is not None:
        for part in slice_plans(plan):
            each[part.rows] = weights(part.plan)
        return each
    method = method_of(plan)
    if isinstance(method, DrawsAtRandom) and not plan.labels_seen_by_model:
        each[:] = method.weights(plan)
    return each


def with_weight(table: pa.Table, plan: Plan, at: int) -> pa.Table:
    """Put `weight` (float64, null where there is none) at a place among the columns of a table of planned ranks."""
    return table.add_column(at, "weight", pa.array(weights(plan), from_pandas=True))
