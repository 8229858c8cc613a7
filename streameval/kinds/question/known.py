"""What was known when a question was planned, as its plan has it."""

from __future__ import annotations

import numpy as np

from streameval.sequential import KnownItems
from streameval.types import Plan


def known_of(plan: Plan) -> KnownItems:
    """What was known when a question was planned, with the labels of that time."""
    if plan.known is None:
        return KnownItems.nothing()
    return KnownItems(**{name: np.asarray(plan.known.column(name).to_numpy()) for name in plan.known.column_names})
