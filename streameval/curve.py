"""The curve: bounds on the yield at every rank, what they promise, and all that follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.bounds.cutoffs import Known, bounds_at
from streameval.envelope import Envelope
from streameval.errors import InputError
from streameval.types import Claim, FloatArray, Int64Array


def estimate(lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Give the value whose worst relative error over [lower, upper] is least: 2·lo·hi/(lo+hi).

    It is then within (hi − lo)/(hi + lo) of the truth, relatively, wherever the bounds hold.

    Examples
    --------
    >>> estimate(np.array([0.0, 90.0, 5.0]), np.array([0.0, 110.0, 5.0]))
    array([ 0., 99.,  5.])
    """
    total = lower + upper
    with np.errstate(invalid="ignore", divide="ignore"):
        harmonic = 2.0 * lower * (upper / total)
    middle = np.where(total > 0, harmonic, 0.0)
    return np.where(lower == upper, lower, middle)


@dataclass(frozen=True)
class HalfWidth:
    """How far the estimate can be from the truth, relatively.

    Attributes
    ----------
    alpha : float
        Largest (hi − lo)/(hi + lo) over every rank of the part it was taken over; 0 where all is known.
    rank : int
        Where it is reached.
    """

    alpha: float
    rank: int


@dataclass(frozen=True)
class Curve:
    """Precision and yield at every rank, with bounds.

    Attributes
    ----------
    n_items : int
    envelope : Envelope
        Bounds on the yield at every rank: everything else is derived from it.
    grid : int64 array
        Cutoffs that `table` shows: every rank of a fully labelled head, then the grid points, then N.
    claim : Claim
    diagnostics : mapping of str to JSON values
        What the labels say about the method's assumptions.
    findings : tuple of str
        The same in sentences, the most important first.
    columns : pyarrow.Table
        `rank` and the method's own columns (PAULA: its raw bracket), at some of the cutoffs.
    score : pyarrow.Table or None
        `rank`, `score` at planned ranks, where the order has a score.
    misses : int
        Positives that the ranking never returned: they count in recall and F.
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

    def at(self, ranks: npt.ArrayLike) -> pa.Table:
        """Yield, precision, recall and F1 with bounds at any ranks.

        Parameters
        ----------
        ranks : array-like of int
            Each in 1..N, any order.

        Returns
        -------
        pyarrow.Table
            `rank` int64; `yield_lower`, `yield`, `yield_upper`, `precision_lower`, `precision`,
            `precision_upper` float64, and the same of recall (null where there are no positives) and f1; `score`
            where the order has one (null at ranks never read).

        Raises
        ------
        InputError
            If a rank is outside 1..N.
        """
        wanted = np.atleast_1d(np.asarray(ranks, dtype=np.int64))
        if wanted.size and (wanted.min() < 1 or wanted.max() > self.n_items):
            bad = wanted[(wanted < 1) | (wanted > self.n_items)][0]
            raise InputError(f"rank {bad:,} is outside 1..{self.n_items:,}")
        lower, upper = self.envelope.at(wanted)
        middle = estimate(lower, upper)
        found: dict[str, Any] = {"rank": wanted}
        if self.score is not None:
            found["score"] = _look_up(self.score, wanted, "score")
        found |= {"yield_lower": lower, "yield": middle, "yield_upper": upper}
        found |= {
            "precision_lower": lower / wanted,
            "precision": middle / wanted,
            "precision_upper": upper / wanted,
        }
        known = Known.of(self.envelope, self.misses, wanted)
        for name in ("recall", "f1"):
            low, high = bounds_at(known, name)
            middle = np.where(np.isnan(low), np.nan, estimate(low, high))
            sides = {f"{name}_lower": low, name: middle, f"{name}_upper": high}
            found |= {side: pa.array(values, from_pandas=True) for side, values in sides.items()}
        return pa.table(found)

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

    def with_misses(self, misses: int) -> Curve:
        """Return the same curve for a list that missed some positives."""
        return replace(self, misses=misses)

    def with_score(self, score: pa.Table) -> Curve:
        """Return the same curve with the scores of planned ranks."""
        return replace(self, score=score)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the curve's table to any Arrow reader (PyCapsule protocol)."""
        return self.table.__arrow_c_stream__(requested_schema)


def _look_up(table: pa.Table, ranks: Int64Array, name: str) -> pa.ChunkedArray:
    """Take a column at given ranks; null where the table has no such rank."""
    known = table.column("rank").to_numpy()
    if not known.size:
        return pa.nulls(ranks.size, table.schema.field(name).type)
    at = np.minimum(np.searchsorted(known, ranks), known.size - 1)
    return table.column(name).take(pa.array(at, mask=known[at] != ranks))
