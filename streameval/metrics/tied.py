"""A labelled list with tied items: metrics of the curve that runs straight over each run of them.

That curve is the mean of the yield over all orders of tied items, and so what `streameval.curve.plug_in` estimates of a
list whose labels are known: each value lies between those of the worst and of the best order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streameval.counting.lookups import Places
from streameval.curve.estimated import YieldEstimate
from streameval.curve.first_k import discounts
from streameval.curve.plug_in import PlugIn
from streameval.kernels.harmonic import harmonic_difference

_harmonic = harmonic_difference.plain()  # a few calls in all, for which nothing is compiled


@dataclass(frozen=True)
class Tied:
    """The mean of a list over all orders of tied items.

    Attributes:
        positives: P, misses included.
    """

    places: Places
    positives: int

    def yield_at(self, rank: float) -> float:
        """Y at a rank; straight between ranks too."""
        if rank <= 0:
            return 0.0
        before, start_yield, n, p = self.places.group_at(math.ceil(rank))
        return start_yield + p * (rank - before) / n

    def precision_sum(self, rank: int) -> float:
        """Mean of Σ j/r_j over the positives among the first `rank` items.

        Of n tied items of which p are positive, the i-th is positive with probability p/n, and then (i − 1)(p − 1)/(n −
        1) positives are expected among those before it.
        """
        before, start_yield, n, p = self.places.group_at(rank)
        whole = self.places.precision_sum(before, "expected") if before else 0.0
        if not p:
            return whole
        slope = (p - 1) / (n - 1) if n > 1 else 0.0
        places = _harmonic(float(before), float(rank - before))
        return whole + p / n * ((start_yield + 1 - (before + 1) * slope) * places + slope * (rank - before))

    def reciprocal_rank(self) -> float:
        """1/r_1, over a curve that reaches its first positive by parts."""
        if not self.places.totals.positives:
            return 0.0
        before, _, n, p = self.places.group_at(self.places.rank_of(1, "early"))
        share = p / n
        last = math.ceil(1 / share - 1e-9)
        return share * _harmonic(float(before), last - 1.0) + (1 - share * (last - 1)) / (before + last)

    def dcg_at(self, rank: int) -> float:
        """Σ v_r/log2(r + 1) over the first `rank` items, at most `DEEPEST_DCG`."""
        total, (start, yields) = discounts(rank), self.places.groups(0)
        deep = min(int(np.searchsorted(start, rank)), start.size - 1)
        share = np.diff(yields[: deep + 1]) / np.diff(start[: deep + 1])
        return float(np.sum(share * (total[np.minimum(start[1 : deep + 1], rank)] - total[start[:deep]])))

    def rank_at_recall(self, recall: Fraction) -> float:
        """First rank with Y ≥ recall·P; infinite where none has."""
        wanted = recall * self.positives
        j = max(1, math.ceil(wanted))
        if j > self.places.totals.positives:
            return math.inf
        before, start_yield, n, p = self.places.group_at(self.places.rank_of(j, "early"))
        return float(before + max(1, math.ceil((wanted - start_yield) * n / p)))

    def rank_at_precision(self, precision: Fraction) -> int:
        """Last rank with Y ≥ precision·rank; 0 where none has."""
        kept, n_items = self.places.last_kept(precision, "late"), self.places.totals.n_items
        # without a further positive the precision would last so long; the next run of tied items begins by then
        deepest = math.floor(kept / precision)
        if deepest >= n_items:
            return n_items
        before, start_yield, n, p = self.places.group_at(deepest + 1)
        share = Fraction(p, n)
        return (
            deepest if not p or share >= precision else math.floor((start_yield - share * before) / (precision - share))
        )

    def interpolated_precision(self, recall: Fraction) -> float:
        """Highest precision at or after the first rank with that recall; 0 where there is none."""
        rank = self.rank_at_recall(recall)
        if math.isinf(rank):
            return 0.0
        ends = self.places.best_from(max(1, math.ceil(recall * self.positives)), "late")
        return max(self.yield_at(rank) / rank, ends)

    def interpolated_area(self) -> float:
        """Area under interpolated precision; NaN of several blocks of a list, whose runs are not at hand at once."""
        if len(self.places.totals.rest) > 1:
            return math.nan
        start, yields = self.places.groups(0)
        misses = self.positives - self.places.totals.positives
        whole = YieldEstimate(start, yields.astype(np.float64))
        return PlugIn(whole, self.places.totals.n_items, float(misses)).interpolated_area()
