"""Log-uniform sampling with a simultaneous band: no assumption but the draw.

Labels are drawn at random with density about c/r, so that every e-fold of ranks gets as many, and the relative error is
the same at every scale. Within strata they are drawn without replacement; the head is thereby labelled nearly whole.
The band and the proof of its coverage are in `streameval.kernels.band`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.envelope import Points, close
from streameval.methods import ASSUMES_THE_DRAW, check_alpha, check_budget, check_claim, check_items
from streameval.monotonicity import assumptions, warnings
from streameval.types import Claim, Int64Array, Labels, Plan


@dataclass(frozen=True)
class LogUniform:
    """Our own method: a band that holds at all ranks at once, whatever the list.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the band at every rank at once,
    for any 0/1 list and any N, also where labels are missing for any reason. `alpha` is a forecast of the half-width,
    for lists whose precision stays above `min_precision`; the half-width that the labels reach is reported with the
    curve.

    Parameters
    ----------
    alpha : float
        Half-width (hi − lo)/(hi + lo) to plan for, in (0, 1).
    confidence : float
        In (0, 1).
    min_precision : float
        In (0, 1]: precision that the list is expected to keep.
    budget : int, optional
        Labels to spend at most; replaces `alpha`.

    Raises
    ------
    InputError
        If a parameter is out of range.
    """

    name: ClassVar[str] = "loguniform"
    summary: ClassVar[str] = "random ranks of density c/r, and a band that holds for every list"
    variants: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    settles: ClassVar[dict[str, tuple[str, ...]]] = {}

    alpha: float = 0.08
    confidence: float = 0.95
    min_precision: float = 0.5
    budget: int | None = None

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_alpha(self.alpha)
        check_budget(self.budget)
        check_claim(self.confidence, self.min_precision)

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label.

        Returns
        -------
        Plan
            Columns of its own: `stratum_last` int64, the rank that ends the stratum.
        """
        from streameval.kernels.draw import draw_strata
        from streameval.logdesign import allocation, stratum_ends

        density = self._density(check_items(n_items))
        ends = stratum_ends(n_items, density)
        n = allocation(ends, density, density)
        rank = draw_strata(ends, n, np.uint64(seed % 2**64))
        stratum = np.repeat(np.arange(ends.size, dtype=np.int32), n)
        table = pa.table({"rank": rank, "stratum": stratum, "stratum_last": np.repeat(ends, n)})
        notes = {"density": density, "strata": int(ends.size)}
        parameters = dict(self.__dict__)
        return Plan(self.name, parameters, n_items, seed, table, notes=notes)

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels, and forecast the half-width that the median list of precision `min_precision` reaches."""
        from streameval.logdesign import allocation, forecast, stratum_ends

        density = self._density(check_items(n_items))
        labels = int(allocation(stratum_ends(n_items, density), density, density).sum())
        reached = (
            self.alpha if self.budget is None else forecast(n_items, density, 1 - self.confidence, self.min_precision)
        )
        whole = labels == n_items
        return {
            "method": self.name,
            "labels": labels,
            "accuracy": 0.0 if whole else reached,
            "forecast": not whole,
            "claim": "exact" if whole else "simultaneous",
            "density": density,
        }

    def with_alpha(self, alpha: float) -> LogUniform:
        """Return the same method, planned for another half-width."""
        return replace(self, alpha=alpha, budget=None)

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the band, at every rank.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw. A missing label counts
        negative below and positive above.
        """
        ends, n, k_low, k_high = _counts(plan, labels)
        points = self._points(plan, ends, n, k_low, k_high)
        envelope = close(plan.n_items, points, labels.rank, labels.label)
        exact = bool(plan.table.num_rows == plan.n_items and np.all(labels.known))
        claim = Claim("exact", 1.0, "nothing") if exact else Claim("simultaneous", self.confidence, ASSUMES_THE_DRAW)
        head = _labelled_head(plan)
        contradictions = assumptions(labels, head)
        curve = Curve(
            n_items=plan.n_items,
            envelope=envelope,
            grid=np.unique(np.concatenate([np.arange(1, head + 1), ends])).astype(np.int64),
            claim=claim,
            diagnostics={"consistent": envelope.consistent, "labelled_head": head, "assumptions": contradictions},
        )
        return curve if exact else curve.with_findings(self._findings(curve))

    def _density(self, n_items: int) -> float:
        from streameval.logdesign import largest_c, smallest_c

        if self.budget is not None:
            return largest_c(n_items, self.budget)
        return smallest_c(n_items, self.alpha, 1 - self.confidence, self.min_precision)[0]

    def _points(self, plan: Plan, ends: Int64Array, n: Int64Array, k_low: Int64Array, k_high: Int64Array) -> Points:
        from streameval.kernels.band import band
        from streameval.logdesign import mixture

        if plan.table.num_rows == plan.n_items:
            return Points.none()
        low, high = band(ends, n, k_low, k_high, mixture(ends, n, self.min_precision), 1 - self.confidence)
        return Points(ends, low.astype(np.float64), high.astype(np.float64))

    def _findings(self, curve: Curve) -> tuple[str, ...]:
        if not curve.envelope.consistent:
            return (
                f"The band contradicts itself, which happens in fewer than {1 - self.confidence:.1%} of draws: check "
                "that these labels belong to these ranks.",
            )
        return (
            f"With probability {self.confidence:g}, the truth lies inside the bounds at every rank at once, whatever "
            "the list.",
            *warnings(curve.diagnostics["assumptions"]),
        )


def _counts(plan: Plan, labels: Labels) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Per stratum: last rank, planned labels, positives with missing labels as 0 and as 1."""
    last = plan.table.column("stratum_last").to_numpy()
    starts = np.flatnonzero(np.concatenate([[True], last[1:] != last[:-1]]))
    n = np.diff(np.append(starts, last.size)).astype(np.int64)
    k_low = np.add.reduceat((labels.label == 1).astype(np.int64), starts)
    k_high = np.add.reduceat((labels.label != 0).astype(np.int64), starts)
    return last[starts].astype(np.int64), n, k_low, k_high


def _labelled_head(plan: Plan) -> int:
    """Last rank up to which every rank is planned."""
    gaps = np.flatnonzero(plan.ranks != np.arange(1, plan.ranks.size + 1))
    return int(gaps[0]) if gaps.size else plan.ranks.size


METHOD = LogUniform
