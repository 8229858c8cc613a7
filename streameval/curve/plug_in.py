"""Metrics of the estimated curve, in closed form.

Yh is the mean over u of the lists with Y_u(r) = ⌊Yh(r) + u⌋, all of them inside the bounds
(`streameval.curve.estimated`). A metric A/B is estimated by the mean of A over the mean of B, so its estimate lies
inside its sharp bounds over the lists with B > 0. With F = Yh(N), M misses and P = F + M:

- What is linear in Y(r) and F, or a quotient of such, is the formula itself at Yh.
- Average precision times P is ∫ ⌈y⌉/R(y) dy over 0..F, where R(y) is the first rank with Yh ≥ y: exact up to the first
  rank with Yh ≥ 4,096; beyond it ⌈y⌉ counts as y + ½, an error below 1/32,768.
- ROC AUC is (Q − W)/(Q + M(N − F)), with Q = NF − F² − f(1 − f), f = F − ⌊F⌋, and W = Σ p(b − a)(a + b + 1)/2
  − (F² + F + f(1 − f))/2 over the straight segments of slope p from rank a to b.
- The reciprocal rank is ∫ 1/R(y) dy over 0..min(1, F).
- Ranks at a precision or recall, and Matthews' correlation, are those of Yh, inside their bounds by monotony.
- The largest F, the break-even point, R-precision, interpolated precision and its area, and recall at a precision are
  those of Yh as well, but may leave their bounds by what half a positive more or less changes: whoever shows them cuts
  them to these.

Without positives (P = 0) what divides by P is NaN. Where the first ranks have no estimate, neither has a metric of a
cutoff among them, nor a rank that lies there. Sums over the whole list take Yh straight there, and the best of all
cutoffs is the best of those that are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.curve.at_cutoff import METRICS, Cutoffs, f_beta
from streameval.curve.estimated import YieldEstimate
from streameval.curve.first_k import discounts
from streameval.curve.harmonic import harmonic_differences
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray, Int64Array

_EXACT = 4_096  # positives up to which ⌈y⌉ is exact


@dataclass(frozen=True)
class PlugIn:
    """The estimated curve of a list, for its metrics.

    Attributes:
        curve: Clipped to the bounds.
        n_items: N.
        misses: Estimated M; NaN where it is unknown, and then all that counts it.
    """

    curve: YieldEstimate
    n_items: int
    misses: float

    @cached_property
    def _r(self) -> FloatArray:
        return self.curve.rank.astype(np.float64)

    @property
    def _y(self) -> FloatArray:
        return self.curve.found

    @cached_property
    def _p(self) -> FloatArray:
        """Slope of each segment."""
        return np.diff(self._y) / np.diff(self._r)

    @cached_property
    def _best_from(self) -> FloatArray:
        """Highest precision at each knot or a later one, 0 left out."""
        return np.maximum.accumulate((self._y[1:] / self._r[1:])[::-1])[::-1]

    @property
    def found(self) -> float:
        """F; NaN where the last ranks have no estimate."""
        return float(self._y[-1]) if self.curve.rank[-1] == self.n_items else float("nan")

    @property
    def positives(self) -> float:
        """P = F + M."""
        return self.found + self.misses

    def at(self, metric: str, ranks: npt.ArrayLike) -> FloatArray:
        """The yield, or a metric of `METRICS`, at cutoffs; NaN where it is undefined."""
        cutoffs = self._cutoffs(ranks)
        return cutoffs.found if metric == "yield" else METRICS[metric].value(cutoffs)

    def f_at(self, ranks: npt.ArrayLike, beta: float) -> FloatArray:
        """F_β at cutoffs."""
        return f_beta(self._cutoffs(ranks), beta)

    def _cutoffs(self, ranks: npt.ArrayLike) -> Cutoffs:
        r = np.asarray(ranks, np.float64)
        return Cutoffs(r, self.curve.at(r), np.full(r.shape, self.found), float(self.n_items), self.misses)

    @cached_property
    def _refined(self) -> tuple[Int64Array, FloatArray]:
        """Knots, and the ranks either side of where Yh passes each of the first 4,096 whole numbers."""
        whole = np.arange(1.0, min(np.floor(self._y[-1]), _EXACT) + 1)
        passed = self._ranks_passed(whole).astype(np.int64)
        ranks = unique(self.curve.rank, passed, passed - 1)
        return ranks, self.curve.straight(ranks)

    def precision_sums(self, ranks: npt.ArrayLike) -> FloatArray:
        """∫ ⌈y⌉/R(y) dy over 0..Yh(rank), float64."""
        wanted = np.asarray(ranks, np.int64)
        knots, _ = self._refined
        knots = unique(knots, wanted[wanted <= knots[-1]])
        y = self.curve.straight(knots)
        a, b, low, high = knots[:-1].astype(np.float64), knots[1:].astype(np.float64), y[:-1], y[1:]
        slope, inverse = (high - low) / (b - a), harmonic_differences(a, b)
        passed = np.clip(np.floor(high), low, high)  # where a single rank has two parts
        single = (passed - low) * np.floor(high) + (high - passed) * (np.floor(high) + 1)
        several = (np.floor((low + high) / 2) + 1) * slope * inverse
        beyond = slope * ((low - slope * a + (1 - slope) / 2) * inverse + slope * (b - a))
        exact = np.where(b - a == 1, single / b, several)
        return self._where_known(wanted, _sums_at(wanted, knots, np.where(low >= _EXACT, beyond, exact)))

    def ranks_of(self, yields: FloatArray) -> FloatArray:
        """R(y), the first rank with Yh ≥ y, of each y in (0, F]."""
        return self._where_known(passed := self._ranks_passed(yields), passed)

    def _where_known(self, ranks: npt.NDArray[Any], values: FloatArray) -> FloatArray:
        return np.where(ranks < self.curve.first, np.nan, values)

    def _ranks_passed(self, yields: FloatArray) -> FloatArray:
        at = np.searchsorted(self._y, yields)
        steps = np.ceil((yields - self._y[at - 1]) / self._p[at - 1])
        return np.clip(self._r[at - 1] + steps, self._r[at - 1] + 1, self._r[at])

    def average_precision(self, misses: float) -> float:
        """Over F and so many misses."""
        return _over(float(self.precision_sums([self.n_items])[0]), self.found + misses)

    def average_precision_at(self, ranks: Int64Array) -> dict[str, FloatArray]:
        """Of the first so many items, over P, the positives among them (found), and min(P, k) (capped)."""
        sums = self.precision_sums(ranks)
        below = {"positives": np.full(ranks.shape, self.positives), "found": self.curve.at(ranks)}
        below["capped"] = np.minimum(self.positives, ranks)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {name: np.where(values > 0, sums / values, np.nan) for name, values in below.items()}

    def interpolated_area(self) -> float:
        """Area under interpolated precision."""
        if not self.positives > 0:
            return float("nan")
        a, b, low, p = self._r[:-1], self._r[1:], self._y[:-1], self._p
        best = np.maximum.accumulate((self._y[1:] / b)[::-1])[::-1]  # at or after the end of each segment
        start = low - p * a
        with np.errstate(invalid="ignore", divide="ignore"):
            last = np.where(best > p, np.floor(start / (best - p)), b)
        c = np.where(start > 0, np.clip(last, a, b), a)
        sums = p * (start * harmonic_differences(a, c) + p * (c - a)) + p * (b - c) * best
        return float(sums.sum()) / self.positives

    def roc_auc(self) -> float:
        """Share of pairs in the right order; a missed positive loses to every negative."""
        f, n = self.found, float(self.n_items)
        between = (f - np.floor(f)) * (1 - (f - np.floor(f)))
        pairs = n * f - f * f - between
        a, b = self._r[:-1], self._r[1:]
        wrong = float(np.sum(self._p * (b - a) * (a + b + 1) / 2)) - (f * f + f + between) / 2
        return _over(pairs - wrong, pairs + self.misses * (n - f))

    def reciprocal_rank(self) -> float:
        """1/r_1; 0 without positives."""
        if np.isnan(self.found):
            return float("nan")
        if self.curve.first > 1 and self._y[1] >= min(1.0, self.found):
            return float("nan")
        knots, y = self._refined
        rise = np.diff(np.minimum(y, 1.0))
        width = np.diff(knots)
        inverse = harmonic_differences(knots[:-1].astype(np.float64), knots[1:].astype(np.float64))
        return float(np.sum(rise / width * inverse))

    def dcg_at(self, ranks: Int64Array) -> FloatArray:
        """Σ v_r/log2(r + 1) over the first so many items, of at most `streameval.curve.first_k.DEEPEST_DCG`."""
        inside = self.curve.rank[self.curve.rank <= ranks.max()]
        knots = unique(inside, ranks[ranks <= self.curve.rank[-1]])
        total = discounts(int(knots[-1]))
        gained = np.diff(self.curve.straight(knots)) / np.diff(knots) * np.diff(total[knots])
        return self._where_known(ranks, _sums_at(ranks, knots, gained))

    def rank_at_precision(self, precision: Fraction) -> float:
        """Last rank with Yh ≥ precision·rank; 0 where none has."""
        if np.isnan(self.found):
            return float("nan")
        t = float(precision)
        kept = np.flatnonzero(self._y[1:] / self._r[1:] >= t) + 1
        if not kept.size:
            return 0.0 if self.curve.first == 1 else float("nan")
        i = int(kept[-1])
        if i == self._r.size - 1:
            return float(self.n_items)
        start = self._y[i] - self._p[i] * self._r[i]
        rank = float(np.clip(np.floor(start / (t - self._p[i])), self._r[i], self._r[i + 1] - 1))
        while rank < self._r[i + 1] - 1 and self._precision(rank + 1) >= t:
            rank += 1
        while rank > self._r[i] and self._precision(rank) < t:
            rank -= 1
        return rank

    def rank_at_recall(self, recall: Fraction) -> float:
        """First rank with Yh ≥ recall·P; infinite where none has."""
        t, p = float(recall), self.positives
        if not p > 0:
            return float("nan")
        reached = np.flatnonzero(self._y / p >= t)
        if not reached.size:
            return float("inf")
        i = max(1, int(reached[0]))
        if i == 1 and self.curve.first > 1:
            return float("nan")
        slope = self._p[i - 1]
        steps = np.ceil((t * p - self._y[i - 1]) / slope) if slope > 0 else 1.0
        rank = float(np.clip(self._r[i - 1] + steps, self._r[i - 1] + 1, self._r[i]))
        while rank - 1 > self._r[i - 1] and self.curve.at_rank(rank - 1) / p >= t:
            rank -= 1
        while rank < self._r[i] and self.curve.at_rank(rank) / p < t:
            rank += 1
        return rank

    def _precision(self, rank: float) -> float:
        return self.curve.at_rank(rank) / rank

    def recall_at_precision(self, precision: Fraction) -> float:
        """Recall at the last rank with that precision; 0 where there is none."""
        rank = self.rank_at_precision(precision)
        return _over(self.curve.at_rank(rank), self.positives)

    def interpolated_precision(self, recall: Fraction) -> float:
        """Highest precision at or after the first rank with that recall; 0 where there is none."""
        if not self.positives > 0:
            return float("nan")
        rank = self.rank_at_recall(recall)
        if np.isinf(rank):
            return 0.0
        if np.isnan(rank):  # it is reached among the first ranks, which are unknown
            rank = float(self.curve.first)
        return max(self._precision(rank), float(self._best_from[self._r[1:].searchsorted(rank)]))

    def max_f(self, beta: float) -> tuple[float, float]:
        """Largest F_β over all cutoffs, and where it is."""
        if not self.positives > 0:
            return float("nan"), float("nan")
        values = self.f_at(self._r[1:], beta)
        best = int(np.argmax(values))
        return float(values[best]), float(self._r[1:][best])

    def breakeven(self) -> float:
        """Largest min(precision, recall)."""
        p = self.positives
        if not p > 0:
            return float("nan")
        near = np.clip([np.floor(p), np.ceil(p)], 1, self.n_items)
        ranks = np.concatenate([self._r[1:], near])
        return float(np.max(self.curve.at(ranks) / np.maximum(ranks, p)))

    def r_precision(self) -> float:
        """Yh(P)/P, straight between ranks; F/P where P > N."""
        return _over(self.curve.at_rank(min(self.positives, float(self.n_items))), self.positives)


def _over(above: float, below: float) -> float:
    return above / below if below > 0 else float("nan")


def _sums_at(ranks: Int64Array, knots: Int64Array, gained: FloatArray) -> FloatArray:
    """Sums of what is gained from each knot to the next, at ranks that are knots; NaN beyond the last."""
    sums = np.concatenate([[0.0], np.cumsum(gained)])
    return np.where(ranks <= knots[-1], sums[np.minimum(np.searchsorted(knots, ranks), knots.size - 1)], np.nan)
