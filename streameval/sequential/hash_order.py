"""The order in which items are asked for, drawn no further than it is needed.

Every item that is not known has a place h in (0, 1), uniform and independent. The items among the first k, in the order
of h, are then a uniformly random permutation of them, for every k at once. Nothing is computed for items that are not
asked for: in a range of ranks, those with h up to a level are drawn, and a level that rises from l to m draws
Binomial(W, (m - l) / (1 - l)) of the W others of the range, each with a place uniform in (l, m].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.typing import FloatArray, Int64Array


@dataclass(frozen=True)
class Levels:
    """Extent of the drawn order, by ranges of ranks.

    Attributes:
        last (int64 array, shape (ranges,)): Last rank of each range, strictly increasing.
        level (float64 array, shape (ranges,)): In [0, 1], never rising with rank: then what is drawn among the first k
            with h up to the level at k is a beginning of their permutation.
    """

    last: Int64Array
    level: FloatArray

    @staticmethod
    def none(last: Int64Array) -> Levels:
        """Nothing drawn yet."""
        return Levels(np.asarray(last, np.int64), np.zeros(len(last)))

    def at(self, rank: int) -> float:
        """Level at a rank."""
        return float(self.level[np.searchsorted(self.last, rank)])


@dataclass(frozen=True)
class Placed:
    """Items and their places.

    Attributes:
        rank (int64 array): In no order.
        order (float64 array): h.
    """

    rank: Int64Array
    order: FloatArray


def raise_levels(
    levels: Levels, wanted: FloatArray, used_ranks: Int64Array, rng: np.random.Generator
) -> tuple[Levels, Placed]:
    """Draw what lies above the levels there are, up to those wanted where they are higher.

    Args:
        wanted (float64 array, shape (ranges,)): Never rising with rank.
        used_ranks (int64 array): Every rank that is known or drawn, strictly increasing.
    """
    up = np.maximum(levels.level, wanted)
    starts = np.concatenate([[0], levels.last[:-1]])
    ranks, places = [], []
    for start, last, low, high in zip(starts, levels.last, levels.level, up, strict=True):
        if high <= low:
            continue
        inside = used_ranks[np.searchsorted(used_ranks, start, "right") : np.searchsorted(used_ranks, last, "right")]
        free = int(last - start - inside.size)
        count = int(rng.binomial(free, (high - low) / (1 - low))) if high < 1 else free
        ranks.append(free_ranks(rng.choice(free, count, replace=False, shuffle=False), int(start), inside))
        places.append(high - (high - low) * rng.random(count))
    drawn = Placed(np.concatenate([*ranks, np.empty(0, np.int64)]), np.concatenate([*places, np.empty(0)]))
    return Levels(levels.last, up), drawn


def free_ranks(index: Int64Array, start: int, inside: Int64Array) -> Int64Array:
    """Ranks of the free items of a range, by their place among them from 0."""
    before = inside - start - 1 - np.arange(inside.size)  # free items before each that is taken
    return start + 1 + index + np.searchsorted(before, index, "right")
