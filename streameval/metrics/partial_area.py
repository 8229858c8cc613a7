"""The area under the ROC curve up to a false positive rate, of a list whose every item has a label."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from streameval.counting.lookups import Places


def partial_roc_area(places: Places, positives: int, rate: Fraction) -> float:
    """Area under the ROC curve, which runs straight over tied items, from a false positive rate of 0 to `rate`.

    One block of the list is looked into: up to a block, the area is that of the sums of ranks.

    Args:
        positives: P, those included that the list never returned.
        rate: In (0, 1].

    Returns:
        float: At most `rate`; NaN where there are no positives or no negatives.
    """
    totals = places.totals
    before = totals.start - totals.start_yield
    negatives = int(before[-1])
    if not positives or not negatives:
        return float("nan")
    wanted = rate * negatives
    block = int(np.searchsorted(before, math.ceil(wanted), side="left")) - 1
    groups, earlier = places.block(block), int(totals.start_yield[block])
    group = groups.of_negative(math.ceil(wanted) - int(before[block]))
    (start, after), (start_yield, until) = (edges.tolist() for edges in places.groups(block, group, group + 1))
    wrong = start - start_yield
    twice = totals.twice_roc_area(block) + groups.twice_roc_area(group) + 2 * earlier * (wrong - int(before[block]))
    inside = wanted - wrong
    higher = Fraction(until - start_yield, after - until - wrong) * inside
    area = twice + inside * (2 * start_yield + higher)
    return float(area / (2 * positives * negatives))


def standardise(area: float, rate: Fraction) -> float:
    """Scale a partial area as McClish does, and scikit-learn: 1/2 by chance, 1 at best."""
    chance, best = float(rate) ** 2 / 2, float(rate)
    return 0.5 * (1.0 + (area - chance) / (best - chance))
