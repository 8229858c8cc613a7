"""Logarithmic stratified sampling (PAULA paper, Algorithm 1, Theorem 2), with what is proven told from what is printed.

Labels: every rank 1..g_ℓ, and the distinct ranks that s slots hold at the grid points g_ℓ … g_L. A slot holds one rank;
at g_{k+1} it keeps it with probability g_k/g_{k+1}, and otherwise takes a fresh uniform rank of g_k+1..g_{k+1}. By
induction the s ranks held at g_k are independent and uniform in 1..g_k, so q(g_k), their share of positives, obeys
Hoeffding's inequality. That fails if slots that hold one rank are merged, or fresh ranks are drawn without replacement:
"X_k is a set" must be read as an ordered multiset.

- Proven, for any list: |q(g_k) − p(g_k)| ≤ t = √(ln(2(L−ℓ)/δ)/(2s)) at all grid points at once, with probability ≥ 1−δ.
  The curve is this band, lifted to every rank: "simultaneous".
- Printed: (2−β)p ≤ q ≤ βp at grid points, from s = ⌈ln(2(L−ℓ)/δ)/(2(β−1)²p_min²)⌉. It is the band above wherever
  p ≥ p_min, an assumption about the list (`claim="printed"`).
- What Theorem 2 needs from it is p/β ≤ q ≤ βp, which takes s = ⌈ln(2(L−ℓ)/δ)/(2(1−1/β)²p_min²)⌉ (`claim="factor"`).
  Then, under A.1, the step function of q is within a factor β(1+ε) of p everywhere.

The paper counts ε(L−ℓ)s/(1+ε) draws, approximately; what costs is the number of distinct ranks, here in expectation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.kernels.sorted_sets import unique
from streameval.methods import check_items
from streameval.methods.checks.monotonicity import assumptions, warnings
from streameval.methods.epsilon import DEFAULT_EPSILON
from streameval.methods.stratified import StratifiedParameters
from streameval.methods.stratified.design import (
    CANDIDATES,
    StratifiedDesign,
    design_for_budget,
    design_for_error,
    radius_of,
)
from streameval.types import Labels, Plan, Promise
from streameval.typing import FloatArray, Int64Array


@dataclass(frozen=True)
class Stratified(StratifiedParameters):
    """The paper's stratified sampling.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the bounds at every rank at once,
    for any 0/1 list, also where labels are missing for any reason. `alpha` is relative to a precision of
    `min_precision`, the paper's p_min, which it takes to bound p(g_k) from below beyond the head:
    β = (1 + α)/(1 + ε) must exceed 1. With a `budget`, ε is by default what suits it best. `head` is r̃ ≥ ⌈2/ε⌉: ranks
    1..g_ℓ, the grid point at or after it, are all labelled. With a closed `tail` N is a grid point too. `claim` is
    which of the paper's two readings sets the number of slots.
    """

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label.

        Returns:
            Plan: `stratum` 0 is the head, then one per gap of the grid. Column of its own: `held_until` list of int64,
                for each slot that takes the rank the last grid point at which it holds it. A slot takes a rank at the
                first grid point at or after it.
        """
        from streameval.kernels.slots import draw_slots

        design = self._design(n_items)
        held, until = draw_slots(design.points, design.slots, np.uint64(seed % 2**64))
        return self._record(design, n_items, seed, held, until)

    def _record(self, design: StratifiedDesign, n_items: int, seed: int, held: Int64Array, until: Int64Array) -> Plan:
        order = np.lexsort((until, held))
        held, until = held[order], design.points[until[order]] if held.size else until
        rank = unique(np.arange(1, design.head_end + 1, dtype=np.int64), held)
        starts = np.append(np.searchsorted(held, rank), held.size).astype(np.int32)
        table = pa.table(
            {
                "rank": rank,
                "stratum": np.searchsorted(design.points, rank).astype(np.int32),
                "held_until": pa.ListArray.from_arrays(pa.array(starts), pa.array(until)),
            }
        )
        parameters = {**self.__dict__, "epsilon": design.epsilon, "head": design.head}
        return Plan(self.name, parameters, n_items, seed, table, notes=design.notes(n_items))

    def weights(self, plan: Plan) -> FloatArray:
        """1 in the head; 1/(1 − (1 − 1/g)^s) for a rank whose grid point is g, which each slot takes with chance 1/g.

        A rank is labelled once, however many slots took it, and stays in the plan when they let it go.
        """
        points = self._design(plan.n_items).points
        at = points[plan.table.column("stratum").to_numpy()]
        beyond = np.maximum(at, 2)  # rank 1 is in the head
        drawn = -np.expm1(int(plan.notes["slots"]) * np.log1p(-1.0 / beyond))
        return np.where(plan.ranks <= points[0], 1.0, 1.0 / np.where(drawn > 0, drawn, 1.0))

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count distinct labels in expectation, with s, β and the grid beside them."""
        design = self._design(n_items)
        everything = design.labels >= n_items
        return {
            "method": self.name,
            "labels": round(design.labels),
            "accuracy": 0.0 if everything else design.beta * (1 + float(design.epsilon)) - 1,
            "forecast": not everything,
            "claim": "exact" if everything else "simultaneous",
            "epsilon": design.epsilon,
            **design.notes(n_items),
        }

    def with_alpha(self, alpha: float) -> Stratified:
        """Return the same method, planned for another half-width; ε keeps its share of it."""
        epsilon = float(self.epsilon if self.epsilon is not None else DEFAULT_EPSILON) * alpha / self.alpha
        return replace(self, alpha=alpha, epsilon=f"{epsilon:.4f}", head=None, budget=None)

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the band, with the paper's q and its printed claim as columns.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw; "exact" where every item is
        labelled. A missing label counts negative below and positive above. Columns at grid points: `sampled_precision`
        (q, null while labels are missing), and `claimed_lower`, `claimed_upper`, what the paper's claim says of p,
        which assumes p ≥ p_min there.
        """
        design = self._design(plan.n_items)
        slots = int(plan.notes["slots"])
        low, high = _shares(plan, labels, design.points, slots)
        radius = radius_of(design.points.size - 1, slots, 1 - self.confidence)
        points = _bounds(design.points[1:], low[1:] - radius, high[1:] + radius)
        envelope = close(plan.n_items, points, labels.rank, labels.label)
        claim = self.claim_of(plan, labels)
        head = np.arange(1, design.head_end + 1, dtype=np.int64)
        curve = Curve(
            n_items=plan.n_items,
            envelope=envelope,
            grid=unique(head, design.points, [plan.n_items]).astype(np.int64),
            claim=claim,
            diagnostics={
                "consistent": envelope.consistent,
                "labelled_head": design.head_end,
                "radius": radius,
                "below_min_precision": int(np.sum(high[1:] + radius < self.min_precision)),
                "assumptions": assumptions(labels, design.head_end),
            },
            columns=_claim_table(design.points[1:], low[1:], high[1:], (float(plan.notes["beta"]), self.claim)),
            estimated=self.estimate(plan, labels),
        )
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, plan, labels.about))

    def _findings(self, curve: Curve, plan: Plan, about: str) -> tuple[str, ...]:
        if not curve.envelope.consistent:
            return self.contradicted("The band contradicts itself")
        sentences: list[str] = [
            Promise(self.confidence, f"{about} lies inside the bounds at every rank at once, whatever the list.")
        ]
        below = curve.diagnostics["below_min_precision"]
        if below:
            sentences.append(
                f"Precision is below {self.min_precision:g}, the least that was planned for, at {below:,} of "
                f"{plan.notes['grid_points']:,} grid points: the paper's own claim (claimed_lower, claimed_upper) does "
                "not hold there."
            )
        if plan.notes["unknown_tail"]:
            sentences.append(
                f"The last {plan.notes['unknown_tail']:,} ranks are never labelled (open tail), and estimated "
                "like the last labels before them; a plan with a closed tail draws from them too."
            )
        return (*sentences, *warnings(curve.diagnostics["assumptions"]))

    def _design(self, n_items: int) -> StratifiedDesign:
        check_items(n_items)
        setting = (n_items, 1 - self.confidence, self.min_precision, self.tail, self.claim)
        if self.budget is None:
            return design_for_error(self.epsilon or DEFAULT_EPSILON, self.head, self.alpha, setting)
        tried = CANDIDATES if self.epsilon is None else (str(self.epsilon),)
        return design_for_budget(tried, self.head, self.budget, setting)


def _shares(plan: Plan, labels: Labels, points: Int64Array, slots: int) -> tuple[FloatArray, FloatArray]:
    """Share of positives among the slots at each grid point, a missing label as 0 and as 1."""
    held = plan.table.column("held_until").combine_chunks()
    copies = np.diff(held.offsets.to_numpy())
    point = np.searchsorted(points, np.repeat(labels.rank, copies))
    left = np.searchsorted(points, held.flatten().to_numpy()) + 1
    shares = []
    for value in (labels.label == 1, labels.label != 0):
        weight = np.repeat(value, copies).astype(np.float64)
        steps = np.bincount(point, weight, points.size + 1) - np.bincount(left, weight, points.size + 1)
        shares.append(np.cumsum(steps)[: points.size] / max(1, slots))
    return shares[0], shares[1]


def _bounds(ranks: Int64Array, low: FloatArray, high: FloatArray) -> Points:
    """Whole-number bounds on Y from bounds on p, outward against rounding."""
    slack = 1e-6 + 1e-12 * ranks
    lower, upper = np.ceil(low * ranks - slack), np.floor(high * ranks + slack)
    return Points(ranks, np.maximum(lower, 0.0), np.minimum(upper, ranks))


def _claim_table(ranks: Int64Array, low: FloatArray, high: FloatArray, reading: tuple[float, str]) -> pa.Table:
    """q, and the p of the paper's claim."""
    beta, claim = reading
    below = 2 - beta if claim == "printed" else 1 / beta
    upper = high / below if below > 0 else np.ones(high.size)
    sampled = pa.array(low, mask=low != high)
    return pa.table({"rank": ranks, "sampled_precision": sampled, "claimed_lower": low / beta, "claimed_upper": upper})


METHOD = Stratified
