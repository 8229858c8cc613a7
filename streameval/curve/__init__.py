"""The curve: bounds on the yield at every rank, what they promise, and all that follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval import notebook
from streameval.curve.at_cutoff import METRICS, Known, bounds_at, f_bounds
from streameval.curve.at_score import ranks_at_score, score_at
from streameval.curve.bounds import Bounds, HalfWidth, cut_to_bounds, widest
from streameval.curve.envelope import Envelope
from streameval.curve.estimated import YieldEstimate
from streameval.curve.extremes import Extremes
from streameval.curve.plug_in import PlugIn
from streameval.curve.ranks import ranks_within
from streameval.curve.targets import rank_at_precision, rank_at_recall, target
from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.types import Claim
from streameval.typing import FloatArray, Int64Array

_PRECISION = ("precision_lower", "precision", "precision_upper")
Basis = Literal["labels", "labels at hand", "unknown", "none"]
"""What estimates are made of: all planned labels, or those at hand. There are none where these say nothing of items
without a label ("unknown"), or where what is missing is no random part of the plan ("none")."""


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
        misses_estimate: Where their number is not known: its estimate; NaN where there is none.
        basis: What estimates are made of.
        estimated: The estimated yield, before it is cut to the bounds; None where the labels say nothing of ranks that
            have none, or what is missing is no random part of them.
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
    misses_estimate: float = np.nan
    basis: Basis = "labels"
    estimated: YieldEstimate | None = None

    @cached_property
    def plug_in(self) -> PlugIn | None:
        """The estimated curve inside the bounds, of which every estimate is made; None where there is none."""
        if self.estimated is None:
            return None
        misses = float(self.misses) if self.misses_upper is None else self.misses_estimate
        return PlugIn(self.estimated.clip(self.envelope), self.n_items, misses)

    def on(self, basis: Basis) -> Curve:
        """Return the same curve with estimates of another basis."""
        if self.estimated is None and basis != "none":
            return replace(self, basis="unknown")
        return replace(self, basis=basis, estimated=None if basis == "none" else self.estimated)

    @property
    def settled(self) -> Curve:
        """Give the same curve with all knots as breakpoints of its bounds: what its files give back."""
        if self.plug_in is None:
            return self
        # the rank before the first known one is a breakpoint: that its yield is null says where estimates begin
        knots = self.plug_in.curve
        ranks = unique(self.envelope.rank, knots.rank, [knots.first - 1])
        return replace(self, envelope=Envelope(ranks, *self.envelope.at(ranks)), estimated=knots)

    @property
    def envelope_table(self) -> pa.Table:
        """Give what `envelope.parquet` holds: `Envelope.table`, with `yield` and `next_yield`, null where unknown."""
        envelope = self.settled.envelope
        estimate = np.full(envelope.rank.size, np.nan) if self.plug_in is None else self.plug_in.curve.at(envelope.rank)
        table = envelope.table.add_column(2, "yield", pa.array(estimate, from_pandas=True))
        return table.add_column(6, "next_yield", pa.array(np.append(estimate[1:], estimate[-1:]), from_pandas=True))

    def at(self, ranks: npt.ArrayLike) -> pa.Table:
        """Yield, precision, recall and F1 with bounds at any ranks.

        Args:
            ranks (array-like of int): Each in 1..N, any order.

        Returns:
            pyarrow.Table: `rank` int64; `yield_lower`, `yield`, `yield_upper`, `precision_lower`, `precision`,
                `precision_upper` float64, and the same of recall (null where there are no positives) and f1; estimates
                are null where the labels give none; `score` where the order has one (null at ranks never read).

        Raises:
            InputError: If a rank is not a whole number in 1..N.
        """
        wanted = self._check_ranks(ranks)
        columns: dict[str, Any] = {"rank": wanted}
        if self.score is not None:
            columns["score"] = _look_up(self.score, wanted, "score")
        plug_in = self.plug_in
        for name, (low, high) in self._bounds(wanted).items():
            estimate = (
                np.full(wanted.size, np.nan) if plug_in is None else cut_to_bounds(plug_in.at(name, wanted), low, high)
            )
            sides = {f"{name}_lower": low, name: estimate, f"{name}_upper": high}
            columns |= {side: pa.array(values, from_pandas=True) for side, values in sides.items()}
        return pa.table(columns)

    def _bounds(self, ranks: Int64Array) -> dict[str, tuple[FloatArray, FloatArray]]:
        at_cutoffs = self.known(ranks)
        shares = {name: bounds_at(at_cutoffs, name) for name in ("precision", "recall", "f1")}
        return {"yield": (at_cutoffs.lower, at_cutoffs.upper), **shares}

    def yield_at(self, rank: int) -> Bounds:
        """Positives among the first `rank` items."""
        return self._bounds_on(rank, "yield")

    def precision_at(self, rank: int) -> Bounds:
        """Share of positives among the first `rank` items."""
        return self._bounds_on(rank, "precision")

    def recall_at(self, rank: int) -> Bounds:
        """Share of all positives, misses included, that are among the first `rank` items; NaN without positives."""
        return self._bounds_on(rank, "recall")

    def f_measure(self, rank: int, beta: float = 1.0) -> Bounds:
        """(1 + β²)·Y/(rank + β²·P) of the first `rank` items.

        Raises:
            InputError: If `rank` is not a whole number in 1..N, or `beta` is negative or not finite.
        """
        if not (isinstance(beta, Real) and 0 <= beta < np.inf):
            raise InputError(f"beta is {beta!r}", "it is a weight of 0 or more; 1 weighs precision and recall alike")
        ranks = self._check_ranks([rank])
        (lower,), (upper,) = f_bounds(self.known(ranks), beta)
        return Bounds.of(
            float(lower), float(upper), self._of_plug_in(lambda plug_in: float(plug_in.f_at(ranks, beta)[0]))
        )

    def rank_at_precision(self, precision: str | float | Decimal | Fraction) -> Bounds:
        """Deepest cutoff whose precision is at least `precision`; `lower` is the one that is proven to hold it.

        Args:
            precision: In (0, 1], the decimal as typed.

        Returns:
            Bounds: 0 where no rank has it; bounds are NaN where the curve's coverage is "none", or it contradicts
                itself.
        """
        return self.at_target(rank_at_precision, PlugIn.rank_at_precision, target(precision, "precision"))

    def rank_at_recall(self, recall: str | float | Decimal | Fraction) -> Bounds:
        """First cutoff whose recall is at least `recall`; by `upper` it is proven to be reached.

        Args:
            recall: In (0, 1], the decimal as typed.

        Returns:
            Bounds: Infinite where no rank may reach it; bounds are NaN where the curve's coverage is "none", or it
                contradicts itself.
        """
        return self.at_target(rank_at_recall, PlugIn.rank_at_recall, target(recall, "recall"))

    def threshold_at(self, rank: int) -> tuple[Any, Any, Any]:
        """Score of the item at `rank`, between the scores of its neighbours that were read.

        Returns:
            lower, score, upper: `score` is None where that item was not read and its neighbours' scores differ; all
                three where the order has no scores, or there is none at or after `rank`.
        """
        return score_at(self.score, *self._check_ranks([rank]).tolist())

    def rank_at_score(self, score: Any) -> tuple[int, int]:
        """First and last rank that the cutoff may be which keeps every item of a score or a better one; 0 keeps none.

        Args:
            score: A number as typed, or a date; read as the scores' own type.

        Raises:
            InputError: No score of the list is known, or `score` is none of its type.
        """
        return ranks_at_score(self.score, score, self.n_items)

    def between(self, first: int, last: int) -> dict[str, Bounds]:
        """Yield and every metric at a cutoff that may be any rank in `first`..`last`, estimated at the middle of these.

        NaN where a metric is undefined. A cutoff of no items has no precision: 0 is left out where there is more.
        """
        ends = self._check_ranks([max(1, first), max(1, last)])
        kinks = self.envelope.kinks
        ranks = unique(ends, kinks[(kinks > ends[0]) & (kinks < ends[1])])
        at_cutoffs = self.known(ranks)
        bounds = {"yield": (at_cutoffs.lower, at_cutoffs.upper)} | {
            name: bounds_at(at_cutoffs, name) for name in METRICS
        }
        middle, plug_in = [ends.sum() / 2], self.plug_in
        estimates = {name: np.nan if plug_in is None else float(plug_in.at(name, middle)[0]) for name in bounds}
        return {
            name: Bounds.of(float(np.min(low)), float(np.max(high)), estimates[name])
            for name, (low, high) in bounds.items()
        }

    @property
    def proves(self) -> bool:
        """Tell whether the bounds are bounds: a claim is made, and they do not contradict each other."""
        return self.claim.coverage != "none" and self.envelope.consistent

    def at_target(
        self,
        bounds: Callable[[Extremes, Fraction], tuple[float, float]],
        estimate: Callable[[PlugIn, Fraction], float],
        share: Fraction,
    ) -> Bounds:
        """Bounds and estimate of a metric at a recall or precision; bounds are NaN where nothing is proven."""
        value = self._of_plug_in(lambda plug_in: estimate(plug_in, share))
        if not self.proves:
            return Bounds(np.nan, value, np.nan)
        return Bounds.of(*self.over_misses(lambda extremes: bounds(extremes, share)), value)

    def _of_plug_in(self, estimate: Callable[[PlugIn], float]) -> float:
        return np.nan if self.plug_in is None else estimate(self.plug_in)

    def known(self, ranks: npt.ArrayLike) -> Known:
        """Give what is known of some cutoffs."""
        return Known.of(self.envelope, self.misses, ranks, self.misses_upper)

    @cached_property
    def extremes(self) -> tuple[Extremes, ...]:
        """The lists that the bounds allow, with the fewest misses and with the most; once where these are known."""
        ends = (self.misses,) if self.misses_upper is None else (self.misses, self.misses_upper)
        return tuple(Extremes.from_envelope(self.envelope, misses) for misses in ends)

    @property
    def misses_text(self) -> str:
        """The number of misses, or its bounds."""
        return f"{self.misses:,}" + ("" if self.misses_upper is None else f" to {self.misses_upper:,}")

    def over_misses(self, question: Callable[[Extremes], tuple[float, float]]) -> tuple[float, float]:
        """Bounds on what never falls, or never rises, as misses are added: those at both ends of their number."""
        low, high = zip(*(question(extremes) for extremes in self.extremes), strict=True)
        return float(np.fmin.reduce(low)), float(np.fmax.reduce(high))

    def _bounds_on(self, rank: int, name: str) -> Bounds:
        sides = self.at([rank]).select([f"{name}_lower", name, f"{name}_upper"]).rename_columns(Bounds._fields)
        return Bounds.of_row(sides.to_pylist()[0])

    def _check_ranks(self, ranks: npt.ArrayLike) -> Int64Array:
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
        kinks = self.envelope.kinks
        ranks = kinks[(kinks > after) & (kinks >= 1) & (kinks <= self.n_items)]
        return widest(ranks, *self.envelope.at(ranks)) if ranks.size else HalfWidth(0.0, self.n_items)

    def with_findings(self, findings: tuple[str, ...]) -> Curve:
        """Return the same curve with sentences."""
        return replace(self, findings=findings)

    def with_misses(self, misses: int, misses_upper: int | None = None, estimate: float = np.nan) -> Curve:
        """Return the same curve for a list that missed some positives: so many, or up to `misses_upper`."""
        most = None if misses_upper == misses else misses_upper
        return replace(self, misses=misses, misses_upper=most, misses_estimate=estimate)

    def with_score(self, score: pa.Table) -> Curve:
        """Return the same curve with the scores of planned ranks."""
        return replace(self, score=score)

    def __repr__(self) -> str:
        return f"<Curve of {self.n_items:,} items: {self.claim.meaning}>"

    def _repr_html_(self) -> str:
        """Show the claim, a picture and a few cutoffs in a notebook."""
        head = f"{self.claim.promise} {self.claim.caution}".rstrip()
        few = unique(10 ** np.arange(np.log10(self.n_items) + 1e-9, dtype=np.int64), self.n_items)
        shown = [[f"{row['rank']:,}", *(row[side] for side in _PRECISION)] for row in self.at(few).to_pylist()]
        rows = [["unknown" if v is None else v if isinstance(v, str) else f"{v:.4f}" for v in row] for row in shown]
        table = notebook.table(f"Precision by rank. {head}", ["first k", "lower", "estimate", "upper"], rows)
        return table + self.picture()

    def picture(self) -> str:
        """Draw precision by rank with its bounds as SVG, without scripts."""
        ranks = unique(np.rint(np.geomspace(1, self.n_items, 200)).astype(np.int64))
        drawn = [self.at(ranks).column(name).to_numpy() for name in _PRECISION]
        return notebook.band(f"Precision by rank, {self.n_items:,} items", ranks, *drawn)


def _look_up(table: pa.Table, ranks: Int64Array, name: str) -> pa.ChunkedArray:
    """Take a column at given ranks; null where the table has no such rank."""
    table_ranks = table.column("rank").to_numpy()
    if not table_ranks.size:
        return pa.nulls(ranks.size, table.schema.field(name).type)
    at = np.minimum(np.searchsorted(table_ranks, ranks), table_ranks.size - 1)
    return table.column(name).take(pa.array(at, mask=table_ranks[at] != ranks))
