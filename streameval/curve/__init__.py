"""The curve: bounds on the yield at every rank, what they promise, and all that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval import notebook
from streameval.curve.at_cutoff import METRICS, Known, bounds_at, f_bounds
from streameval.curve.at_score import known_scores, ranks_at_score
from streameval.curve.envelope import Envelope
from streameval.curve.estimate import Bounds, HalfWidth, estimate
from streameval.curve.extremes import Extremes
from streameval.curve.ranks import ranks_within
from streameval.curve.targets import rank_at_precision, rank_at_recall, target
from streameval.errors import InputError
from streameval.types import Claim
from streameval.typing import FloatArray, Int64Array

_PRECISION = ("precision_lower", "precision", "precision_upper")
Basis = Literal["bounds", "labels at hand", "none"]
"""What estimates are made of: the middle of the bounds, or the labels at hand; or there are none."""


@dataclass(frozen=True)
class Curve(notebook.Tabular):
    """Precision and yield at every rank, with bounds.

    Attributes:
        envelope: Bounds on the yield at every rank: everything else is derived from it.
        grid (int64 array): Cutoffs that `table` shows: every rank of a fully labelled head, then the grid points, then
            N.
        diagnostics (mapping of str to JSON values): What the labels say about the method's assumptions.
        findings: The same in sentences, the most important first.
        columns: `rank` and the method's own columns (PAULA: its raw bracket), at some of the cutoffs.
        score: `rank`, `score` at planned ranks, where the order has a score.
        misses: Positives that the ranking never returned: they count in recall and F.
        misses_upper: Where their number is not known: its upper bound, and `misses` is the lower one.
        basis: What estimates are made of; they are null where it is "none".
        center: Other bounds, in whose middle the estimates lie: with missing labels like those at hand, say. None:
            `envelope`.
    """

    n_items: int
    envelope: Envelope
    grid: Int64Array
    claim: Claim
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    columns: pa.Table | None = None
    score: pa.Table | None = None
    misses: int = 0
    misses_upper: int | None = None
    basis: Basis = "bounds"
    center: Envelope | None = None

    @property
    def central(self) -> Curve | None:
        """The curve in the middle of whose bounds the estimates lie; None where there are none."""
        if self.basis == "none":
            return None
        return self if self.center is None else replace(self, envelope=self.center, center=None)

    def centred(self, center: Envelope | None, basis: Basis) -> Curve:
        """Return the same bounds with other estimates."""
        return replace(self, center=center, basis=basis)

    @property
    def envelope_table(self) -> pa.Table:
        """What `envelope.parquet` holds: `Envelope.table`, and the center where there is one."""
        return self.envelope.table if self.center is None else self.envelope.table_with(self.center)

    def at(self, ranks: npt.ArrayLike) -> pa.Table:
        """Yield, precision, recall and F1 with bounds at any ranks.

        Args:
            ranks (array-like of int): Each in 1..N, any order.

        Returns:
            pyarrow.Table: `rank` int64; `yield_lower`, `yield`, `yield_upper`, `precision_lower`, `precision`,
                `precision_upper` float64, and the same of recall (null where there are no positives) and f1; estimates
                are null where there are none (`basis`); `score` where the order has one (null at ranks never read).

        Raises:
            InputError: If a rank is not a whole number in 1..N.
        """
        wanted = self._inside(ranks)
        found: dict[str, Any] = {"rank": wanted}
        if self.score is not None:
            found["score"] = _look_up(self.score, wanted, "score")
        central = self.central
        centers = {} if central is None else central._bounds(wanted)
        for name, (low, high) in self._bounds(wanted).items():
            unknown = central is None or np.isnan(low + high)
            middle = np.where(unknown, np.nan, estimate(*centers.get(name, (low, high))))
            if central is not self:
                middle = np.clip(middle, low, high)
            sides = {f"{name}_lower": low, name: middle, f"{name}_upper": high}
            found |= {side: pa.array(values, from_pandas=True) for side, values in sides.items()}
        return pa.table(found)

    def _bounds(self, ranks: Int64Array) -> dict[str, tuple[FloatArray, FloatArray]]:
        known = self.known(ranks)
        shares = {name: bounds_at(known, name) for name in ("precision", "recall", "f1")}
        return {"yield": self.envelope.at(ranks), **shares}

    def yield_at(self, rank: int) -> Bounds:
        """Positives among the first `rank` items."""
        return self._at(rank, "yield")

    def precision_at(self, rank: int) -> Bounds:
        """Share of positives among the first `rank` items."""
        return self._at(rank, "precision")

    def recall_at(self, rank: int) -> Bounds:
        """Share of all positives, misses included, that are among the first `rank` items; NaN without positives."""
        return self._at(rank, "recall")

    def f_measure(self, rank: int, beta: float = 1.0) -> Bounds:
        """(1 + β²)·Y/(rank + β²·P) of the first `rank` items.

        Raises:
            InputError: If `rank` is not a whole number in 1..N, or `beta` is negative or not finite.
        """
        if not (isinstance(beta, Real) and 0 <= beta < np.inf):
            raise InputError(f"beta is {beta!r}", "it is a weight of 0 or more; 1 weighs precision and recall alike")
        ranks = self._inside([rank])

        def bounds(curve: Curve) -> tuple[float, float]:
            (lower,), (upper,) = f_bounds(curve.known(ranks), beta)
            return float(lower), float(upper)

        return self._estimated(bounds)

    def rank_at_precision(self, precision: str | float | Decimal | Fraction) -> Bounds:
        """Deepest cutoff whose precision is at least `precision`; `lower` is the one that is proven to hold it.

        Args:
            precision: In (0, 1], the decimal as typed.

        Returns:
            Bounds: 0 where no rank has it; NaN where the curve's coverage is "none", or it contradicts itself.
        """
        return self._at_target(rank_at_precision, target(precision, "precision"))

    def rank_at_recall(self, recall: str | float | Decimal | Fraction) -> Bounds:
        """First cutoff whose recall is at least `recall`; by `upper` it is proven to be reached.

        Args:
            recall: In (0, 1], the decimal as typed.

        Returns:
            Bounds: Infinite where no rank may reach it; NaN where the curve's coverage is "none", or it contradicts
                itself.
        """
        return self._at_target(rank_at_recall, target(recall, "recall"))

    def threshold_at(self, rank: int) -> tuple[Any, Any, Any]:
        """Score of the item at `rank`, between the scores of its neighbours that were read.

        Returns:
            lower, score, upper: `score` is None where that item was not read and its neighbours' scores differ; all
                three where the order has no scores, or there is none at or after `rank`.
        """
        (wanted,) = self._inside([rank]).tolist()
        if self.score is None:
            return None, None, None
        ranks, scores = known_scores(self.score)
        after, before = int(np.searchsorted(ranks, wanted)), int(np.searchsorted(ranks, wanted, side="right")) - 1
        if before < 0 or after == ranks.size:  # beyond the last item that has a score
            return None, None, None
        sides = [scores[before].as_py(), scores[after].as_py()]
        return min(sides), sides[0] if sides[0] == sides[1] else None, max(sides)

    def rank_at_score(self, score: Any) -> tuple[int, int]:
        """First and last rank that the cutoff may be which keeps every item of a score or a better one; 0 keeps none.

        Args:
            score: A number as typed, or a date; read as the scores' own type.

        Raises:
            InputError: No score of the list is known, or `score` is none of its type.
        """
        return ranks_at_score(self.score, score, self.n_items)

    def between(self, first: int, last: int) -> dict[str, tuple[float, float]]:
        """Bounds on the yield and every metric at a cutoff that may be any rank in `first`..`last`.

        NaN where a metric is undefined. A cutoff of no items has no precision: 0 is left out where there is more.
        """
        ends = self._inside([max(1, first), max(1, last)])
        kinks = self.envelope.kinks
        ranks = np.unique(np.concatenate([ends, kinks[(kinks > ends[0]) & (kinks < ends[1])]]))
        known = self.known(ranks)
        found = {"yield": self.envelope.at(ranks)} | {name: bounds_at(known, name) for name in METRICS}
        return {name: (float(np.min(low)), float(np.max(high))) for name, (low, high) in found.items()}

    @property
    def proves(self) -> bool:
        """Whether the bounds are bounds: a claim is made, and they do not contradict each other."""
        return self.claim.coverage != "none" and self.envelope.consistent

    def _at_target(self, question: Callable[[Extremes, Fraction], tuple[float, float]], share: Fraction) -> Bounds:
        if not self.proves:
            return Bounds(*[np.nan] * 3)
        return self._estimated(lambda curve: curve.over_misses(lambda extremes: question(extremes, share)))

    def known(self, ranks: npt.ArrayLike) -> Known:
        """What is known of some cutoffs."""
        return Known.of(self.envelope, self.misses, ranks, self.misses_upper)

    def extremes(self) -> tuple[Extremes, ...]:
        """The lists that the bounds allow, with the fewest misses and with the most; once where these are known."""
        ends = (self.misses,) if self.misses_upper is None else (self.misses, self.misses_upper)
        return tuple(Extremes.of(self.envelope, misses) for misses in ends)

    @property
    def misses_text(self) -> str:
        """The number of misses, or its bounds."""
        return f"{self.misses:,}" + ("" if self.misses_upper is None else f" to {self.misses_upper:,}")

    def over_misses(self, question: Callable[[Extremes], tuple[float, float]]) -> tuple[float, float]:
        """Bounds on what never falls, or never rises, as misses are added: those at both ends of their number."""
        low, high = zip(*(question(one) for one in self.extremes()), strict=True)
        return float(np.fmin.reduce(low)), float(np.fmax.reduce(high))

    def _estimated(self, bounds: Callable[[Curve], tuple[float, float]]) -> Bounds:
        """Bounds of this curve, with the estimate from the one that has it."""
        own, central = Bounds.of(*bounds(self)), self.central
        if central is self:
            return own
        middle = np.nan if central is None else Bounds.of(*bounds(central)).estimate
        return own._replace(estimate=float(np.clip(middle, own.lower, own.upper)))

    def _at(self, rank: int, name: str) -> Bounds:
        (row,) = self.at([rank]).select([f"{name}_lower", name, f"{name}_upper"]).to_pylist()
        return Bounds(*(np.nan if value is None else value for value in row.values()))

    def _inside(self, ranks: npt.ArrayLike) -> Int64Array:
        return ranks_within(ranks, self.n_items)

    @property
    def table(self) -> pa.Table:
        """`at(grid)`, with the method's own columns beside it: what `curve.parquet` holds."""
        table = self.at(self.grid)
        if self.columns is not None:
            for name in self.columns.column_names[1:]:
                table = table.append_column(name, _look_up(self.columns, self.grid, name))
        return table

    def half_width(self, after: int = 0) -> HalfWidth:
        """Find the largest relative half-width over every rank beyond `after`: (hi − lo)/(hi + lo) peaks at a kink."""
        e, ranks = self.envelope, self.envelope.kinks
        ranks = ranks[(ranks > after) & (ranks >= 1) & (ranks <= self.n_items)]
        if not ranks.size:
            return HalfWidth(0.0, self.n_items)
        lower, upper = e.at(ranks)
        with np.errstate(invalid="ignore", divide="ignore"):
            alpha = np.where(upper > lower, (upper - lower) / (upper + lower), 0.0)
        widest = int(np.argmax(alpha))
        return HalfWidth(float(alpha[widest]), int(ranks[widest]))

    def with_findings(self, findings: tuple[str, ...]) -> Curve:
        """Return the same curve with sentences."""
        return replace(self, findings=findings)

    def with_misses(self, misses: int, misses_upper: int | None = None) -> Curve:
        """Return the same curve for a list that missed some positives: so many, or up to `misses_upper`."""
        return replace(self, misses=misses, misses_upper=None if misses_upper == misses else misses_upper)

    def with_score(self, score: pa.Table) -> Curve:
        """Return the same curve with the scores of planned ranks."""
        return replace(self, score=score)

    def _repr_html_(self) -> str:
        """Show the claim, a picture and a few cutoffs in a notebook."""
        claim = self.claim
        chance = "" if claim.confidence is None else f" with probability {claim.confidence:g}"
        head = f"{claim.coverage}{chance}; assumed: {claim.assumes}. {claim.caution}"
        few = np.unique(np.append(10 ** np.arange(np.log10(self.n_items) + 1e-9, dtype=np.int64), self.n_items))
        shown = [[f"{row['rank']:,}", *(row[side] for side in _PRECISION)] for row in self.at(few).to_pylist()]
        rows = [["unknown" if v is None else v if isinstance(v, str) else f"{v:.4f}" for v in row] for row in shown]
        table = notebook.table(f"Precision by rank. {head}", ["first k", "lower", "estimate", "upper"], rows)
        return table + self.picture()

    def picture(self) -> str:
        """Draw precision by rank with its bounds as SVG, without scripts."""
        ranks = np.unique(np.rint(np.geomspace(1, self.n_items, 200)).astype(np.int64))
        drawn = [self.at(ranks).column(name).to_numpy() for name in _PRECISION]
        return notebook.band(f"Precision by rank, {self.n_items:,} items", ranks, *drawn)


def _look_up(table: pa.Table, ranks: Int64Array, name: str) -> pa.ChunkedArray:
    """Take a column at given ranks; null where the table has no such rank."""
    known = table.column("rank").to_numpy()
    if not known.size:
        return pa.nulls(ranks.size, table.schema.field(name).type)
    at = np.minimum(np.searchsorted(known, ranks), known.size - 1)
    return table.column(name).take(pa.array(at, mask=known[at] != ranks))
