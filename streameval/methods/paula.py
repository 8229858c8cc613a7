"""PAULA: Precision Approximation Using Logarithmic Annotations (Algorithm 2, Theorem 3), with its faults mended.

Labels: every rank 1..g_ℓ (the head), then the Δ ranks up to each grid point g_j, j = ℓ+1..L. With p_Δ(r) the mean
label of the last Δ ranks up to r, the bracket is Y⁻_{k+1} = Y⁻_k + (g_{k+1}−g_k)·p_Δ(g_{k+1}) and
Y⁺_{k+1} = Y⁺_k + (g_{k+1}−g_k)·p_Δ(g_k) from Y∓_ℓ = Y(g_ℓ).

What the paper gets wrong or leaves open, and what is done here:

- Definition 3 averages p(r); its proof needs the labels v_r. Labels are used.
- "r ∈ {1..ℓ}" in Algorithm 2 reads {1..g_ℓ}.
- Ranks g_L+1..N are never labelled. `tail="open"` keeps the paper's counts and leaves them unknown (0..N−g_L
  positives); `tail="closed"` labels them all where they are fewer than m, else their last Δ as one more window.
- p(g_ℓ) ≥ p_Δ(g_ℓ), which the γ(1+ε) claim needs, is checked from the labels and reported.
- A head below ⌈(Δ+2)/ε⌉ can break m ≥ Δ and is refused. N ≤ g_ℓ labels everything; the curve is then exact.
- The bracket holds only under A.2: windows of Δ labels never rise. Real labels are noisy, so they do rise, and the
  bracket then crosses (Y⁻ > Y⁺): proof that A.2 is false of these labels. Rises and crossings are counted.
- Neither step function bounds p between grid points; the lift of `streameval.envelope` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.envelope import Envelope, Points, close, lift
from streameval.errors import InputError
from streameval.grid import parse_epsilon
from streameval.methods import check_items
from streameval.methods.paula_bracket import Bracket, bracket_of, findings, head_yield_of, rise_diagnostics
from streameval.methods.paula_layout import Layout, layout_of
from streameval.types import Claim, Labels, Plan

ASSUMES_A2 = (
    "A.2 of the PAULA paper: beyond the head, the share of positives in windows of Δ ranks bounds every stretch "
    "between them, and never rises"
)
ASSUMES_NOTHING = "nothing: ranks without a label count as negative below and as positive above"


@dataclass(frozen=True)
class Paula:
    """The paper's deterministic method.

    Parameters
    ----------
    epsilon : str or float
        ε, the grid ratio minus one, in (0, 1]; kept as the decimal that was typed.
    window : int
        Δ ≥ 1, labels per grid point.
    head : int, optional
        r̃ ≥ ⌈(Δ+2)/ε⌉ (the default): ranks 1..g_ℓ, the grid point at or after it, are all labelled.
    tail : {"open", "closed"}
        Whether the ranks after the last grid point stay unknown or get a window of their own.

    Raises
    ------
    InputError
        If a parameter is out of range; a head too small names the smallest that works.
    """

    name: ClassVar[str] = "paula"
    summary: ClassVar[str] = "the paper's windows on a geometric grid; bounds hold only if precision never rises"

    epsilon: str | float = "0.03"
    window: int = 100
    head: int | None = None
    tail: str = "open"

    def __post_init__(self) -> None:
        """Check every parameter."""
        ratio = parse_epsilon(self.epsilon)
        if self.window < 1:
            raise InputError(f"window is {self.window}, below 1", "the paper uses 50 to 100 labels per grid point")
        if self.head is not None and self.head < self._least_head(ratio):
            raise InputError(
                f"head is {self.head:,}: too small for epsilon {self.epsilon} and window {self.window}",
                f"the smallest head that works is {self._least_head(ratio):,}",
            )
        if self.tail not in ("open", "closed"):
            raise InputError(f"tail is '{self.tail}'", "it is 'open' or 'closed'")

    @property
    def ratio(self) -> Fraction:
        """ε as an exact fraction."""
        return parse_epsilon(self.epsilon)

    @property
    def r_tilde(self) -> int:
        """r̃: the head as given, or ⌈(Δ+2)/ε⌉."""
        return self.head if self.head is not None else self._least_head(self.ratio)

    def _least_head(self, ratio: Fraction) -> int:
        return math.ceil(Fraction(self.window + 2) / ratio)

    def parameters(self) -> dict[str, Any]:
        """Give the parameters as JSON-ready values, ε as its decimal text."""
        return {"epsilon": str(self.epsilon), "window": self.window, "head": self.r_tilde, "tail": self.tail}

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Choose the head and the windows (Algorithm 2).

        Parameters
        ----------
        n_items : int
        seed : int
            Unused by the choice; kept for the shuffle of the tasks.

        Returns
        -------
        Plan
            `stratum` 0 is the head, then one per window in rank order.
        """
        layout = self._layout(n_items)
        lengths = layout.last - layout.first + 1
        stratum = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
        starts = np.cumsum(lengths) - lengths
        within = np.arange(stratum.size, dtype=np.int64) - np.repeat(starts, lengths)
        rank = np.repeat(layout.first, lengths) + within
        table = pa.table({"rank": rank, "stratum": stratum})
        return Plan(self.name, self.parameters(), n_items, seed, table, notes=layout.notes())

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels: g_ℓ + Δ(L−ℓ) for an open tail, N where N ≤ g_ℓ; with the paper's constants beside them."""
        layout = self._layout(n_items)
        return {"method": self.name, "labels": layout.labels, **layout.notes()}

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the bracket, its claim, and the diagnostics of its assumptions.

        Bounds: "exact" where every item is labelled. "conditional" on A.2 where the bracket nowhere crosses: then
        ⌈Y⁻⌉ ≤ Y(g_k) ≤ ⌊Y⁺⌋ at grid points, lifted to every rank. "none" otherwise: the smaller and the larger of
        the pair, a picture. A missing label counts 0 in Y⁻ and 1 in Y⁺.
        """
        layout = self._layout(plan.n_items)
        if layout.everything:
            return _labelled_curve(plan, labels, layout)
        bracket = bracket_of(layout, labels)
        claim = Claim("none" if np.any(bracket.crossed) else "conditional", None, ASSUMES_A2)
        diagnostics = {**bracket.diagnostics(), **rise_diagnostics(layout, labels, bracket)}
        return Curve(
            n_items=plan.n_items,
            envelope=_envelope(layout, labels, bracket),
            grid=layout.cutoffs(),
            claim=claim,
            diagnostics=diagnostics,
            findings=findings(layout, claim.coverage, diagnostics),
            columns=bracket.table(layout, labels),
        )

    def _layout(self, n_items: int) -> Layout:
        return layout_of(self.ratio, self.window, self.r_tilde, self.tail, check_items(n_items))


def _labelled_curve(plan: Plan, labels: Labels, layout: Layout) -> Curve:
    envelope = close(plan.n_items, Points.none(), labels.rank, labels.label)
    complete = bool(np.all(labels.known))
    claim = Claim("exact" if complete else "simultaneous", 1.0, ASSUMES_NOTHING)
    return Curve(plan.n_items, envelope, layout.cutoffs(), claim)


def _envelope(layout: Layout, labels: Labels, bracket: Bracket) -> Envelope:
    """Bounds where the bracket nowhere crosses, else the smaller and the larger of each pair: a picture.

    Under A.2 the claim is about the integer Y, so the bracket is rounded inward and closed with the labels inside
    the windows. Labels can contradict that even where nothing crosses (A.2 is then false of them, and `contradicts_a2`
    says so); the bracket is then lifted as it stands.
    """
    n_items, window, grid = layout.n_items, bracket.window, bracket.grid
    smaller = np.minimum(bracket.lower_units, bracket.upper_units)
    larger = np.maximum(bracket.lower_units, bracket.upper_units)
    if not np.any(bracket.crossed):
        inward = Points(grid, (-(-smaller // window)).astype(np.float64), (larger // window).astype(np.float64))
        envelope = close(n_items, inward, labels.rank, labels.label)
        if envelope.consistent:
            return envelope
    low, high = head_yield_of(layout, labels)
    head = np.arange(1, layout.head_end + 1, dtype=np.int64)
    return lift(
        n_items,
        Points(
            np.concatenate([head, grid[1:]]),
            np.concatenate([low, smaller[1:] / window]),
            np.concatenate([high, larger[1:] / window]),
        ),
    )


METHOD = Paula
