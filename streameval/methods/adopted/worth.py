"""Worth of a sample that was drawn elsewhere, before it is adopted: by simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from streameval.kernels.draw import draw_strata
from streameval.methods import check_items
from streameval.methods.adopted.band import THIN
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Strata
from streameval.types import Labels

_DRAWS = 5
_DECADES = 4


def worth_of_uniform(n_items: int, labels: int, confidence: float, precision: float) -> dict[str, Any]:
    """Forecast the half-widths of a uniform sample on lists of constant precision: medians of a few seeded draws.

    Returns:
        dict: `labels`, `begins` (the rank before which ten draws are not expected), `half_widths`: `rank`,
            `half_width` relative to precision, at N and the decades of ranks below it that the sample reaches.
    """
    method, whole = Adopted(confidence), Strata(np.array([check_items(n_items)]), np.array([labels]))
    first = min(n_items, math.ceil(THIN * n_items / labels))
    ranks = [n_items // 10**k for k in range(_DECADES) if n_items // 10**k >= first] or [n_items]
    widths = []
    for seed in range(_DRAWS):
        rank = draw_strata(whole.last, whole.drawn, np.uint64(seed))
        plan = method.adopt(n_items, seed, rank, whole, None)
        label = np.random.default_rng(seed).random(rank.size) < precision
        low, high = method.curve(plan, Labels.of(plan, label)).envelope.at(ranks)
        widths.append((high - low) / np.maximum(high + low, 1e-9))
    medians = np.median(widths, axis=0)
    reached = [{"rank": rank, "half_width": float(width)} for rank, width in zip(ranks, medians, strict=True)]
    return {"labels": labels, "begins": first, "half_widths": reached}
