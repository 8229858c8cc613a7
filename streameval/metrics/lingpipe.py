"""Evaluation of scored cases that come one by one or in arrays, with the methods of LingPipe's class of that name."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from itertools import takewhile
from numbers import Real
from operator import index
from typing import Literal, TextIO

import numpy as np
import numpy.typing as npt

from streameval.counting.lookups import SIDES
from streameval.errors import InputError, did_you_mean
from streameval.metrics.cases import Cases, Ranked
from streameval.metrics.exact import breakeven, f_measure
from streameval.typing import BoolArray, FloatArray

Rules = Literal["standard", "lingpipe"]
_RULES = ("standard", "lingpipe")
_NAN = float("nan")
_DEPTHS = (5, 10, 25, 100, 500)  # that LingPipe prints precision at


class ScoredPrecisionRecallEvaluation:
    """Precision, recall and ROC of scored cases, for every threshold on the score.

    Args:
        rules ({"standard", "lingpipe"}): "standard": cases with the same score are one step of every curve and area, as
            in scikit-learn; where one place inside them is asked for (`precision_at`, `reciprocal_rank`) their
            positives come last, so that no order does worse. "lingpipe" gives what version 3.9.2 of the original gives,
            and differs in this: - tied cases are ranked in the order that they were added; - `average_precision`
            divides by the positives found, not by all: with misses it is not the area; - `pr_breakeven_point` is the
            precision of the first interpolated point whose recall is strictly above it, or 0; - `roc_curve` has rows
            (recall, specificity), not (false positive rate, recall); - without negatives the ROC area is 0 where
            `interpolate` is true, as every row is dropped; - `str()` has the original's lines, with precision only at
            depths up to the first that the list reaches.

    Without positives `average_precision` is NaN and areas, maximum F, break-even point and reciprocal rank are 0, under
    both rules; without negatives the ROC area is NaN. (For positives that were all missed LingPipe's average precision
    is NaN, the standard one 0.) Scores are float64; NaN is refused, infinities are ordered. `interpolate` is the
    original's argument: keep only the points that no later one dominates. The original says that this raises the area
    under both curves; it never changes that under the ROC curve, whose specificity does not rise anywhere.

    Carpenter and Ross, `com.aliasi.classify.ScoredPrecisionRecallEvaluation`, LingPipe 3.9.2, API documentation.

    >>> evaluation = ScoredPrecisionRecallEvaluation()
    >>> evaluation.add_cases([0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6])
    >>> evaluation.add_misses(2)
    >>> evaluation.pr_curve()
    array([[0.25, 0.5 ],
           [0.5 , 0.5 ]])
    >>> evaluation.average_precision()
    0.25
    """

    def __init__(self, rules: Rules = "standard") -> None:
        if rules not in _RULES:
            raise InputError(f"rules={rules!r}", did_you_mean(str(rules), _RULES))
        self.rules = rules
        self._cases = Cases()
        self._misses = 0
        self._last: Ranked | None = None

    def add_case(self, positive: bool, score: float) -> None:
        """Add one case.

        Args:
            positive: Whether the case is a positive.
            score: Large is good.

        Raises:
            InputError: Something else than 0/1, a score that is no number or NaN. Nothing is added.
        """
        self._cases.add(positive, score)
        self._last = None

    def add_cases(self, positive: npt.ArrayLike, score: npt.ArrayLike) -> None:
        """Add many cases, in their order.

        Args:
            positive: array-like of bool or 0/1, shape (n,).
            score (array-like of numbers, shape (n,)): Large is good.

        Raises:
            InputError: Shapes that differ, something else than 0/1, a score that is no number or NaN. Nothing is added.
        """
        self._cases.extend(positive, score)
        self._last = None

    def add_misses(self, count: int) -> None:
        """Add positives that were never returned: they count among all positives and are no cases.

        Raises:
            InputError: A count that is negative or no whole number.
        """
        self._misses += _whole("count", count, 0)

    def num_cases(self) -> int:
        """Count the cases that were added; misses are none."""
        return len(self._cases)

    def pr_curve(self, interpolate: bool = False) -> FloatArray:
        """Recall and precision wherever a positive is found.

        Args:
            interpolate: Keep only rows whose precision is above that of all later ones; between rows the next one's
                holds.

        Returns:
            float64 array, shape (k, 2): Rows (recall, precision), recall strictly rising. Neither (0, 1) nor (1, 0) is
                added.
        """
        return self.pr_score_curve(interpolate)[:, :2]

    def pr_score_curve(self, interpolate: bool = False) -> FloatArray:
        """`pr_curve` with the score of each row.

        Returns:
            float64 array, shape (k, 3): Rows (recall, precision, score).
        """
        yields, ranks, score = self._ranked.steps
        rows = np.column_stack([yields / self._some_positives, yields / ranks, score])
        return rows[_are_undominated(rows[:, 1])] if interpolate else rows

    def roc_curve(self, interpolate: bool = False) -> FloatArray:
        """Upper corners of the ROC curve, one wherever a positive is found.

        Args:
            interpolate: Keep only the last of rows with the same false positive rate.

        Returns:
            float64 array, shape (k, 2): Rows (false positive rate, recall); under LingPipe's rules (recall,
                specificity), specificity one minus the false positive rate. Both are NaN where there are no negatives,
                and no such row is kept when interpolating.
        """
        yields, ranks, _ = self._ranked.steps
        false_rate = (ranks - yields) / self._negatives if self._negatives else np.full(yields.size, np.nan)
        recall, specificity = yields / self._some_positives, 1.0 - false_rate
        rows = np.column_stack([recall, specificity] if self.rules == "lingpipe" else [false_rate, recall])
        return rows[_are_undominated(specificity)] if interpolate else rows

    def area_under_pr_curve(self, interpolate: bool = False) -> float:
        """Area under the steps of `pr_curve`: a row's precision holds from the recall before it up to its own."""
        if interpolate:
            rows = self.pr_curve(interpolate=True)
            return float(np.sum(rows[:, 1] * np.diff(rows[:, 0], prepend=0.0)))
        return self._ranked.places.totals.precision_sum["grouped"] / self._some_positives

    def area_under_roc_curve(self, interpolate: bool = False) -> float:
        """Share of (positive, negative) pairs in the right order; a tied pair counts half, a missed positive loses.

        Interpolating changes nothing, but see `rules` for a list without negatives.
        """
        totals = self._ranked.places.totals
        if not self._positives or (self.rules == "lingpipe" and not self.roc_curve(interpolate).size):
            return 0.0
        return totals.roc_auc(self._misses)["expected"]

    def average_precision(self) -> float:
        """Mean precision over all positives, a missed one counting 0: the area under `pr_curve`.

        Returns:
            float: NaN without positives. LingPipe's rules divide by the positives that were found.
        """
        totals = self._ranked.places.totals
        positives = totals.positives if self.rules == "lingpipe" else self._positives
        return totals.precision_sum["grouped"] / positives if positives else _NAN

    def maximum_f_measure(self, beta: float = 1.0) -> float:
        """Largest F_β = (1+β²)pr/(β²p + r) of any row of `pr_curve`.

        Args:
            beta: Weight of recall against precision, finite and ≥ 0.
        """
        if not isinstance(beta, Real) or not 0 <= beta < 1e100:
            raise InputError(f"beta={beta!r}", "a number of 0 or more, below 1e100")
        totals = self._ranked.places.totals
        if not totals.positives:
            return 0.0
        corners = totals.corner[SIDES["late"]][0].astype(np.float64)
        return float(f_measure(corners, float(beta), float(self._positives)).max(initial=0.0))

    def pr_breakeven_point(self) -> float:
        """Largest min(precision, recall) at any threshold: never above the maximum F1."""
        if self.rules == "lingpipe":
            rows = self.pr_curve(interpolate=True)
            beyond = rows[rows[:, 0] > rows[:, 1], 1]
            return float(beyond[0]) if beyond.size else 0.0
        return breakeven(self._ranked.places, self._positives, "late") if self._positives else 0.0

    def precision_at(self, rank: int) -> float:
        """Precision of the best `rank` cases; NaN where there are fewer.

        Raises:
            InputError: A rank that is not a whole number or below 1.
        """
        depth = _whole("rank", rank, 1)
        return self._ranked.places.yield_at(depth, "late") / depth if depth <= self.num_cases() else _NAN

    def reciprocal_rank(self) -> float:
        """One over the rank of the first positive, 1-based; 0 where none was found."""
        places = self._ranked.places
        return 1.0 / places.rank_of(1, "late") if places.totals.positives else 0.0

    @staticmethod
    def print_precision_recall_curve(pr_curve: npt.ArrayLike, file: TextIO | None = None) -> None:
        """Print a curve as a table of precision, recall and F1.

        Args:
            pr_curve (array-like, shape (k, 2) or wider): Rows (recall, precision, …) of `pr_curve` or `pr_score_curve`.
            file: Standard output if not given.
        """
        rows = np.asarray(pr_curve, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] < 2:
            raise InputError(f"the curve has shape {rows.shape}", "rows are (recall, precision)")
        out = file or sys.stdout
        print(f"{'PRECI.':>8} {'RECALL':>8} {'F':>8}", file=out)
        for recall, precision in rows[:, :2].tolist():
            total = recall + precision
            f1 = 2.0 * recall * precision / total if total else _NAN
            print(f"{precision:8.6f} {recall:8.6f} {f1:8.6f}", file=out)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.num_cases():,} cases, {self._positives:,} positives, {self.rules} rules>"

    def __str__(self) -> str:
        lines = list(self._summary())
        if self.rules == "lingpipe":
            return "\n".join(f"  {name}={'NaN' if math.isnan(value) else value}" for name, value in lines)
        return "\n".join(f"{name:<39} {value:8.6f}" for name, value in lines)

    def _summary(self) -> Iterator[tuple[str, float]]:
        for name, area in (("PR", self.area_under_pr_curve), ("ROC", self.area_under_roc_curve)):
            yield f"Area Under {name} Curve (interpolated)", area(True)
            yield f"Area Under {name} Curve (uninterpolated)", area(False)
        yield "Average Precision", self.average_precision()
        yield "Maximum F(1) Measure", self.maximum_f_measure()
        yield "BEP (Precision-Recall break even point)", self.pr_breakeven_point()
        yield "Reciprocal Rank", self.reciprocal_rank()
        cases = self.num_cases()
        reached = (k for k in _DEPTHS if k <= cases)
        missing = takewhile(lambda k: cases < k, _DEPTHS)  # the original's loop ends where it should begin
        for k in missing if self.rules == "lingpipe" else reached:
            yield f"Precision at {k}", self.precision_at(k)

    @property
    def _positives(self) -> int:
        """All positives, found and missed."""
        return self._cases.positives + self._misses

    @property
    def _some_positives(self) -> int:
        """Give the same to divide by: 1 where there are none, and nothing was found."""
        return self._positives or 1

    @property
    def _negatives(self) -> int:
        return len(self._cases) - self._cases.positives

    @property
    def _ranked(self) -> Ranked:
        if self._last is None:
            self._last = self._cases.ranked("grouped" if self.rules == "standard" else "first come")
        return self._last


def _are_undominated(y: FloatArray) -> BoolArray:
    """Rows whose y is above that of every later one; never a NaN."""
    best = np.fmax.accumulate(y[::-1])[::-1]
    return y > np.append(best[1:], -np.inf)[: y.size]


def _whole(name: str, value: int, least: int) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InputError(f"{name}={value!r}", f"it is a whole number, {least} or more")
    return number
