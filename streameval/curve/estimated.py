"""The estimated yield: what labels say of the ranks that have none, as one curve from which every estimate follows.

Yh(r) counts the known positives among the first r items and adds a rate q in [0, 1] for each unlabelled rank. So Yh(0)
is 0, Yh never falls and never rises by more than 1 a rank, and it is exact wherever everything is labelled: it is the
mean of 0/1 lists (Y_u(r) = ⌊Yh(r) + u⌋ for u in [0, 1)). The rates are those of `streameval.curve.pooling`.

Clipping.  If the increments of A and B at a rank lie in [s, t], so do those of max(A, B) and of min(A, B). The bounds
and Yh rise by 0 to 1 a rank, and by the label at a labelled one, so the median of the three does as well: clipped into
its bounds Yh is still the mean of lists, all of which the bounds allow. Hence every metric A/B with B ≥ 0, taken of Yh
as the mean of A over the mean of B, lies inside its sharp bounds (`streameval.curve.plug_in`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

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
    """

    rank: Int64Array
    found: FloatArray
    weight: FloatArray | None = field(default=None, repr=False)

    def at(self, ranks: npt.ArrayLike) -> FloatArray:
        """Yh at any ranks (real numbers too); NaN beyond the last knot."""
        wanted = np.asarray(ranks)
        here = np.searchsorted(self.rank, wanted, side="right") - 1
        after = np.minimum(here + 1, self.rank.size - 1)
        width = np.maximum(self.rank[after] - self.rank[here], 1)
        rise = (self.found[after] - self.found[here]) * ((wanted - self.rank[here]) / width)
        return np.where(wanted > self.rank[-1], np.nan, self.found[here] + rise)

    def at_rank(self, rank: float) -> float:
        """`at` of one rank, to the bit, without the arrays."""
        last = self.rank.size - 1
        if not rank <= self.rank[last]:
            return float("nan")
        here = int(self.rank.searchsorted(math.floor(rank), side="right")) - 1
        after = min(here + 1, last)
        start, low, high = int(self.rank[here]), float(self.found[here]), float(self.found[after])
        return low + (high - low) * ((float(rank) - start) / max(int(self.rank[after]) - start, 1))

    def clipped(self, envelope: Envelope) -> YieldEstimate:
        """The median of Yh and its two bounds, at every rank; knots are those of both."""
        last = self.rank[-1]
        knots = unique(self.rank, envelope.rank[envelope.rank <= last])
        ranks = unique(knots, envelope.kinks[envelope.kinks <= last])
        if np.array_equal(self.at(ranks), _median(self, envelope, ranks)):
            return YieldEstimate(knots, self.at(knots), self.weight)
        low, high = envelope.at(ranks)
        yields = self.at(ranks)
        turns = [_crossings(ranks, one - other) for one, other in ((yields, low), (yields, high), (low, high))]
        ranks = unique(ranks, *turns)
        return YieldEstimate(ranks, _median(self, envelope, ranks), self.weight)

    @staticmethod
    def from_table(table: pa.Table) -> YieldEstimate | None:
        """Read back the `yield` that stands beside bounds in envelope.parquet; None where there is none."""
        rows = table.filter(table.column("yield").is_valid()) if "yield" in table.column_names else table.slice(0, 0)
        if not rows.num_rows:
            return None
        return YieldEstimate(rows.column("rank").to_numpy(), rows.column("yield").to_numpy())


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


def joined(ends: Int64Array, rate: FloatArray, rank: Int64Array, label: npt.ArrayLike) -> YieldEstimate:
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
