"""Evidence on the yield at one rank, in a form that multiplies over lists (`streameval.curve.runs`).

A judge of all items is left out. There is no such evidence of plans that somebody may have looked at before they were
whole, because what was seen may have decided when to stop; none of draws by key, which versions of a list share, or of
an order that knew the labels; nor, so far, of plans with a judge of some items or slices.
"""

from __future__ import annotations

import numpy as np

from streameval.methods.loguniform.design import Blocks
from streameval.types import Labels
from streameval.typing import FloatArray

Evidence = tuple[FloatArray, FloatArray]
"""S(μ) of positives, and of negatives."""


def evidence_at(design: Blocks, labels: Labels, hypotheses: tuple[int, FloatArray], prior: FloatArray) -> Evidence:
    """S of `streameval.kernels.martingale` at any rank: the block that it cuts is as good as two blocks.

    Args:
        hypotheses: The rank, and the μ.
    """
    from streameval.kernels.martingale import evidence

    rank, mu = hypotheses
    ends = np.append(design.ends[design.ends < rank], rank)
    upto = Blocks(ends, design.rate[: ends.size])
    block, inside = np.searchsorted(ends, labels.rank), labels.rank <= rank
    n, least, most = (
        np.bincount(block[chosen], minlength=ends.size)[:, None].astype(np.float64)
        for chosen in (inside, inside & (labels.label == 1), inside & (labels.label != 0))
    )
    items = upto.items[:, None].astype(np.float64)
    above = evidence(upto.phases, items, n, (least, most), prior, mu)
    below = evidence(upto.phases, items, n, (n - most, n - least), 1 - prior, mu)
    return above[-1], below[-1]
