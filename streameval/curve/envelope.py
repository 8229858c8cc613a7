"""From bounds on the yield at some ranks to sharp bounds at every rank.

The yield Y is a walk with steps 0 or 1 and Y(0) = 0, and a labelled rank's step is known. Take the known
positives away, and count only unlabelled ranks: what is left, Z(u), is again a walk with steps 0 or 1, now with
nothing known of any step. The envelope is closed in that coordinate, where the two passes are
four running minima and maxima, and carried back. No assumption enters, and the result is pointwise sharp.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray, Int8Array, Int64Array


@dataclass(frozen=True)
class Envelope:
    """Bounds on Y at breakpoints; between two of them every step is unknown.

    Attributes:
        rank (int64 array, shape (n,)): Breakpoints, strictly increasing, from 0 to N.
        lower, upper (float64 arrays, shape (n,)): Bounds on Y there: whole numbers, except in a picture of PAULA's
            inverted bracket.
    """

    rank: Int64Array
    lower: FloatArray
    upper: FloatArray

    @property
    def consistent(self) -> bool:
        """False where some lower bound exceeds its upper bound: assumptions or band have failed."""
        return bool(np.all(self.lower <= self.upper))

    def at(self, ranks: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Bounds on Y at any rank.

        Args:
            ranks (array-like of int, shape (k,)): Each in 0..N.

        Returns:
            lower, upper (float64 arrays, shape (k,)): max(lo(a), lo(b) − (b−r)) and min(hi(b), hi(a) + (r−a)) for the
                breakpoints a ≤ r < b.
        """
        wanted = np.asarray(ranks, dtype=np.int64)
        here = np.searchsorted(self.rank, wanted, side="right") - 1
        after = np.minimum(here + 1, self.rank.size - 1)
        lower = np.maximum(self.lower[here], self.lower[after] - (self.rank[after] - wanted))
        upper = np.minimum(self.upper[after], self.upper[here] + (wanted - self.rank[here]))
        return lower, upper

    @cached_property
    def kinks(self) -> Int64Array:
        """Ranks at which bounds on Y, taken relative to the rank or to each other, can be widest.

        Between two breakpoints the lower bound is flat and then rises by one a rank, the upper rises by one a rank and
        is then flat: any such ratio is monotone on the pieces. (In a picture they turn between two ranks: both are
        kept.)
        """
        low = self.rank[1:] - (self.lower[1:] - self.lower[:-1])
        high = self.rank[:-1] + (self.upper[1:] - self.upper[:-1])
        turns = np.concatenate([low, high])
        # floats are sorted, which takes a tenth of the time that numpy's table of whole numbers does
        return unique(self.rank, np.floor(turns), np.ceil(turns)).astype(np.int64)

    @property
    def table(self) -> pa.Table:
        """The breakpoints, each with the next one, so that SQL needs one ASOF lookup and a clamp.

        At rank r, with the row of the largest `rank` ≤ r: the lower bound on Y is
        greatest(yield_lower, next_yield_lower - (next_rank - r)) and the upper bound is
        least(next_yield_upper, yield_upper + (r - rank)).
        """
        after = np.minimum(np.arange(1, self.rank.size + 1), self.rank.size - 1)
        return pa.table(
            {
                "rank": self.rank,
                "yield_lower": self.lower,
                "yield_upper": self.upper,
                "next_rank": self.rank[after],
                "next_yield_lower": self.lower[after],
                "next_yield_upper": self.upper[after],
            }
        )

    @staticmethod
    def from_table(table: pa.Table, n_items: int) -> Envelope:
        """Read back what `table` wrote; a `ValueError` where its ranks do not increase from 0 to `n_items`."""
        names = ("rank", "yield_lower", "yield_upper")
        envelope = Envelope(*(table.column(name).to_numpy() for name in names))
        ends = envelope.rank[[0, -1]].tolist() if envelope.rank.size else []
        if ends != [0, n_items] or np.any(np.diff(envelope.rank) <= 0):
            raise ValueError(f"the bounds are not those of {n_items} items")
        return envelope


@dataclass(frozen=True)
class Points:
    """Bounds on Y at some ranks, before closing.

    Attributes:
        rank: int64 array, shape (k,), strictly increasing.
        lower, upper: float64 arrays, shape (k,).
    """

    rank: Int64Array
    lower: FloatArray
    upper: FloatArray

    @staticmethod
    def none() -> Points:
        """No bound beyond what the labels themselves say."""
        nothing = np.empty(0, dtype=np.float64)
        return Points(np.empty(0, dtype=np.int64), nothing, nothing)


def close(n_items: int, points: Points, rank: Int64Array, label: Int8Array) -> Envelope:
    """Close bounds at some ranks into sharp bounds at every rank, given the labels in hand.

    Args:
        n_items: N.
        points: Bounds on Y at some ranks.
        rank (int64 array, shape (n,), strictly increasing): Labelled or planned ranks.
        label (int8 array, shape (n,)): 1, 0, or -1 for unknown.

    Returns:
        Envelope: Where the bounds contradict each other or the labels, `consistent` is False: nothing is clipped.
    """
    is_labelled = label >= 0
    breakpoints = unique([0, n_items], points.rank, rank[is_labelled], rank[is_labelled] - 1)
    labelled = _count_up_to(rank[is_labelled], breakpoints)
    positive = _count_up_to(rank[label == 1], breakpoints)
    unknown = breakpoints - labelled
    low = np.zeros(breakpoints.size)
    high = unknown.astype(np.float64)
    at = np.searchsorted(breakpoints, points.rank)
    low[at] = np.maximum(low[at], points.lower - positive[at])
    high[at] = np.minimum(high[at], points.upper - positive[at])
    low, high = close_walk(unknown, low, high)
    return Envelope(breakpoints, low + positive, high + positive)


def lift(n_items: int, points: Points) -> Envelope:
    """Close bounds at some ranks without using the labels between them."""
    return close(n_items, points, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int8))


def _count_up_to(sorted_ranks: Int64Array, ranks: Int64Array) -> Int64Array:
    return np.searchsorted(sorted_ranks, ranks, side="right").astype(np.int64)


def close_walk(steps: Int64Array, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Forward and backward passes for a walk that rises by 0 or 1 per step.

    A lower bound may only rise, and fall by at most one per step looking back; in the coordinate
    `value − steps` the second is the first again. Likewise for the upper bound.
    """
    low = np.maximum.accumulate(low)
    low = np.maximum.accumulate((low - steps)[::-1])[::-1] + steps
    high = np.minimum.accumulate(high - steps) + steps
    high = np.minimum.accumulate(high[::-1])[::-1]
    return low, high
