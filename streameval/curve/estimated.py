"""The estimated yield: what labels say of the ranks that have none, as one curve from which every estimate follows.

Yh(r) counts the known positives among the first r items and adds a rate q in [0, 1] for each unlabelled rank. So Yh(0)
is 0, Yh never falls and never rises by more than 1 a rank, and it is exact wherever everything is labelled: it is the
mean of 0/1 lists (Y_u(r) = ⌊Yh(r) + u⌋ for u in [0, 1)). The rates are those of `streameval.curve.pooling`.

Clipping.  If the increments of A and B at a rank lie in [s, t], so do those of max(A, B) and of min(A, B). The bounds
and Yh rise by 0 to 1 a rank, and by the label at a labelled one, so the median of the three does as well: clipped into
its bounds Yh is still the mean of lists, all of which the bounds allow. Hence every metric A/B with B ≥ 0, taken of Yh
as the mean of A over the mean of B, lies inside its sharp bounds (`streameval.curve.plug_in`).

The first ranks.  Labels that were drawn elsewhere may begin far below rank 1. Yh is known from the first labelled rank
on; what the ranks before it have in all is in it there, and where among them their positives lie is unknown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.curve.envelope import Envelope
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray, Int64Array


@dataclass(frozen=True)
class YieldEstimate:
    """Yh at some whole ranks, straight between them.

    Attributes:
        rank (int64 array, shape (k,)): Knots, strictly increasing from 0 to the last rank that has an estimate: N,
            unless only some first ranks could be drawn.
        found (float64 array, shape (k,)): Yh there; never falling, by at most 1 a rank.
        weight (float64 array, shape (n_planned,)): How many items of the list each planned rank stands for, in the
            plan's order, 0 without a label: Σ weight·label is Yh at the last rank, before it was clipped. None where
            the curve was read from its files.
        first: The first rank that has an estimate: a knot, and none lies between 0 and it, unless it is 1.
    """

    rank: Int64Array
    found: FloatArray
    weight: FloatArray | None = field(default=None, repr=False)
    first: int = 1

    def at(self, ranks: npt.ArrayLike) -> FloatArray:
        """Yh at any ranks (real numbers too); NaN between 0 and the first, and beyond the last knot."""
        wanted = np.asarray(ranks)
        return np.where((wanted > 0) & (wanted < self.first), np.nan, self.straight(wanted))

    def straight(self, ranks: npt.ArrayLike) -> FloatArray:
        """Draw Yh as `at`, straight from 0 to the first rank that is known: for sums over all ranks."""
        wanted = np.asarray(ranks)
        here = np.searchsorted(self.rank, wanted, side="right") - 1
        after = np.minimum(here + 1, self.rank.size - 1)
        width = np.maximum(self.rank[after] - self.rank[here], 1)
        rise = (self.found[after] - self.found[here]) * ((wanted - self.rank[here]) / width)
        return np.where(wanted > self.rank[-1], np.nan, self.found[here] + rise)

    def at_rank(self, rank: float) -> float:
        """`at` of one rank, to the bit, without the arrays."""
        last = self.rank.size - 1
        if not rank <= self.rank[last] or 0 < rank < self.first:
            return float("nan")
        here = int(self.rank.searchsorted(math.floor(rank), side="right")) - 1
        after = min(here + 1, last)
        start, low, high = int(self.rank[here]), float(self.found[here]), float(self.found[after])
        return low + (high - low) * ((float(rank) - start) / max(int(self.rank[after]) - start, 1))

    def clip(self, envelope: Envelope) -> YieldEstimate:
        """The median of Yh and its two bounds, at every rank; knots are those of both."""
        knots = unique(self.rank, self._estimated_ranks(envelope.rank))
        ranks = unique(knots, self._estimated_ranks(envelope.kinks))
        if np.array_equal(self.at(ranks), _median(self, envelope, ranks)):
            return replace(self, rank=knots, found=self.at(knots))
        low, high = envelope.at(ranks)
        yields = self.at(ranks)
        turns = [_crossings(ranks, left - right) for left, right in ((yields, low), (yields, high), (low, high))]
        ranks = unique(ranks, *turns)
        return replace(self, rank=ranks, found=_median(self, envelope, ranks))

    def known_from(self, first: int) -> YieldEstimate:
        """Return Yh without what it says of the ranks before `first`; of these only their positives in all are kept."""
        if first == 1:
            return self
        knots = unique([0, first], self.rank[self.rank >= first])
        return replace(self, rank=knots, found=self.at(knots), first=first)

    def _estimated_ranks(self, ranks: Int64Array) -> Int64Array:
        return np.asarray(ranks[(ranks >= self.first) & (ranks <= self.rank[-1])])

    @staticmethod
    def from_table(table: pa.Table) -> YieldEstimate | None:
        """Read back the `yield` that stands beside bounds in envelope.parquet; None where there is none."""
        rows = table.filter(table.column("yield").is_valid()) if "yield" in table.column_names else table.slice(0, 0)
        if not rows.num_rows:
            return None
        knots = rows.column("rank").to_numpy()
        # row 0 is known by itself; where the next row is not, neither is any rank before the next known one
        first = 1 if not table.column("yield")[:2].null_count else int(knots[1])
        return YieldEstimate(knots, rows.column("yield").to_numpy(), first=first)


def _median(estimate: YieldEstimate, envelope: Envelope, ranks: Int64Array) -> FloatArray:
    """Of Yh and its bounds, which may contradict each other."""
    low, high = envelope.at(ranks)
    return np.clip(estimate.at(ranks), np.minimum(low, high), np.maximum(low, high))


def _crossings(ranks: Int64Array, gap: FloatArray) -> Int64Array:
    """Whole ranks on either side of where a difference, straight between ranks, changes its sign."""
    at = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    share = gap[at] / (gap[at] - gap[at + 1])
    place = ranks[at] + share * (ranks[at + 1] - ranks[at])
    return np.concatenate([np.floor(place), np.ceil(place)]).astype(np.int64)


def join(ends: Int64Array, rate: FloatArray, rank: Int64Array, label: npt.ArrayLike) -> YieldEstimate:
    """Put labels and rates together.

    Args:
        ends (int64 array, shape (pieces,), strictly increasing): Last rank of each piece of the list.
        rate (float64 array, shape (pieces,)): Share of positives among the unlabelled ranks of each.
        rank (int64 array, shape (n,), strictly increasing): Labelled ranks.
        label (array-like of {0, 1}, shape (n,))
    """
    knots = unique([0], ends, rank, rank - 1)
    last = knots[1:]
    rise = rate[np.searchsorted(ends, last)] * np.diff(knots)
    rise[np.searchsorted(last, rank)] = label
    return YieldEstimate(knots, np.concatenate([[0.0], np.cumsum(rise)]))
