"""Share of the items to label at each rank, and its growth.

An item of rank r is asked for once its place in the order is at most the density at r. The density never rises with
rank: so of the first k, all items with a place up to the density at k are asked for, which is a beginning of their
permutation, whatever made the density grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.typing import FloatArray, Int64Array

_SPARE = 2.0  # rounds that are drawn at once, so that there are enough items for one


@dataclass(frozen=True)
class Density:
    """Density in ranges of ranks (arrays of one shape).

    Attributes:
        last: Last rank of each range.
        items: Items of each range that are not known.
        level: Never rising.
    """

    last: Int64Array
    items: Int64Array
    level: FloatArray

    def cost(self, wanted: FloatArray) -> float:
        """Items that are asked for on average until the density is nowhere below what is wanted."""
        some = self.items > 0  # without items even an infinite rise costs nothing
        return float(self.items[some] @ np.maximum(wanted - self.level, 0.0)[some])

    def reach(self, shares: FloatArray, labels: float) -> int:
        """Tell how many ranks, from the first on, can have the shares that they need at no more than so many labels."""
        low, high = 0, int(np.argmax(np.append(np.isinf(shares), True)))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.cost(enough(shares, middle)) <= labels else (low, middle - 1)
        return low

    def wanted(self, shares: FloatArray, first: int, size: int, labels: float) -> FloatArray:
        """The density to move to: for the deepest rank that `labels` reach, or one further, or a round for the next.

        Args:
            shares: Of its items that each rank needs.
            first: Ranks that are proven already.
            size: Items in a round.
        """
        reach = max(self.reach(shares, labels), first + 1)
        if self.cost(enough(shares, reach)) < size and np.isfinite(shares[reach : reach + 1]).all():
            reach = min(reach + 1, shares.size)
        goal = enough(shares, reach)
        if np.isinf(goal).any():
            goal = np.where(np.arange(goal.size) <= first, self.level + size / max(1, self.items[: first + 1].sum()), 0)
        rise = np.maximum(goal - self.level, 0.0) * max(1.0, _SPARE * size / max(self.cost(goal), 1e-9))
        return nonincreasing(np.minimum(self.level + rise, 1.0))

    def moved(self, wanted: FloatArray, part: float) -> Density:
        """Move a part of the way: between two densities that never rise lies one that never rises."""
        return Density(self.last, self.items, self.level + part * np.maximum(wanted - self.level, 0.0))

    def enters(self, wanted: FloatArray, rank: Int64Array, order: FloatArray) -> FloatArray:
        """After which part of the way each item is asked for; above 1 where it is not."""
        at = np.searchsorted(self.last, rank)
        rise = wanted[at] - self.level[at]
        return np.where(rise > 0, (order - self.level[at]) / np.where(rise > 0, rise, 1.0), np.inf)


def enough(shares: FloatArray, reach: int) -> FloatArray:
    """Least density that never rises and gives the first `reach` ranks the shares they need."""
    return nonincreasing(np.where(np.arange(shares.size) < reach, shares, 0.0))


def nonincreasing(level: FloatArray) -> FloatArray:
    """Least density that is nowhere below another and never rises."""
    return np.asarray(np.maximum.accumulate(level[::-1])[::-1])
