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
- The bracket holds only under A.2: windows of Δ labels never rise. Real labels are noisy, so they do rise, or the
  bracket crosses (Y⁻ > Y⁺): either proves that A.2 is false of these labels, and nothing is claimed then.
- `assume="independent"` reads bounds from the same labels that hold with a stated probability where labels are
  independent and their probability never rises: what A.2 means once label noise is paid for.
- Neither step function bounds p between grid points; the lift of `streameval.curve.envelope` does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Envelope, Points, close, lift
from streameval.curve.estimated import YieldEstimate
from streameval.methods import check_items
from streameval.methods.checks.monotonicity import assumptions
from streameval.methods.epsilon import DEFAULT_EPSILON, least_head, parse_epsilon
from streameval.methods.paula import PaulaParameters
from streameval.methods.paula.bracket import Bracket, bracket_of, findings, head_yield_of, tail_finding
from streameval.methods.paula.estimate import window_estimate
from streameval.methods.paula.layout import (
    Layout,
    decimal,
    layout_for_alpha,
    layout_for_budget,
    layout_of,
)
from streameval.methods.paula.noise import (
    ASSUMES_INDEPENDENT,
    noise_diagnostics,
    noise_findings,
    noise_points,
    speak_against,
    with_noise,
)
from streameval.types import Claim, Labels, Plan

ASSUMES_A2 = (
    "A.2 of the PAULA paper: beyond the head, the share of positives in windows of Δ ranks bounds every stretch "
    "between them, and never rises"
)
ASSUMES_NOTHING = "nothing: ranks without a label count as negative below and as positive above"


@dataclass(frozen=True)
class Paula(PaulaParameters):
    """The paper's deterministic method.

    `epsilon` is kept as the decimal that was typed. By default it is .03, or what `alpha` or `budget` ask for, which
    cannot be given with it: the ε (a multiple of .0001) of fewest labels whose γ(1+ε) − 1 is at most `alpha`, or the ε
    of smallest γ(1+ε) whose labels are at most `budget`. `window` is Δ ≥ 1; `head` is r̃ ≥ ⌈(Δ+2)/ε⌉: ranks 1..g_ℓ, the
    grid point at or after it, are all labelled. With a closed `tail` the ranks after the last grid point get a window
    of their own. `assume` is what the bounds rest on: A.2 as the paper has it, or independent labels whose probability
    never rises (`streameval.methods.paula.noise`), which pays for label noise and holds with probability `confidence`.
    Those bounds are columns of the curve in any case.

    Raises:
        InputError: If a parameter is out of range; a head too small names the smallest that works.
    """

    variants: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"assume": "independent"})
    claimed: ClassVar[str] = "bracket"

    def with_alpha(self, alpha: float) -> Paula:
        """Return the same method, planned for another accuracy γ(1+ε) − 1."""
        return replace(self, epsilon=None, head=None, alpha=alpha, budget=None)

    def _parameters(self, layout: Layout) -> dict[str, Any]:
        """Give the parameters as JSON-ready values, ε as its decimal text."""
        epsilon = self.epsilon if self.epsilon is not None else decimal(layout.epsilon)
        layout_parameters = {"epsilon": str(epsilon), "window": self.window, "head": layout.head, "tail": self.tail}
        # left out where they are the default, so that plans made before these parameters existed stay the same
        chosen = {"assume": self.assume} if self.assume != "a2" else {}
        return layout_parameters | chosen | ({"confidence": self.confidence} if self.confidence is not None else {})

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Choose the head and the windows (Algorithm 2).

        Args:
            seed: Unused by the choice; kept for the shuffle of the tasks.

        Returns:
            Plan: `stratum` 0 is the head, then one per window in rank order.
        """
        layout = self._layout(n_items)
        lengths = layout.last - layout.first + 1
        stratum = np.repeat(np.arange(lengths.size, dtype=np.int32), lengths)
        starts = np.cumsum(lengths) - lengths
        within = np.arange(stratum.size, dtype=np.int64) - np.repeat(starts, lengths)
        rank = np.repeat(layout.first, lengths) + within
        table = pa.table({"rank": rank, "stratum": stratum})
        return Plan(self.name, self._parameters(layout), n_items, seed, table, notes=layout.notes())

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels: g_ℓ + Δ(L−ℓ) for an open tail, N where N ≤ g_ℓ; with the paper's constants beside them."""
        layout = self._layout(n_items)
        notes = layout.notes() | ({"accuracy": 0.0} if layout.everything else {})
        return {
            "method": self.name,
            "labels": layout.labels,
            "epsilon": self._parameters(layout)["epsilon"],
            **notes,
            "forecast": False,
            "claim": "exact" if layout.everything else "conditional",
        }

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the bracket, its claim, and the diagnostics of its assumptions.

        Bounds: "exact" where every item is labelled. "conditional" on A.2 where nothing in the labels contradicts it
        (no window rises, the bracket nowhere crosses, the labels inside windows fit): then ⌈Y⁻⌉ ≤ Y(g_k) ≤ ⌊Y⁺⌋ at grid
        points, lifted to every rank. "none" otherwise, since noise alone makes windows rise and the bracket is then
        false more often than not: the smaller and the larger of the pair, a picture. A missing label counts 0 in Y⁻ and
        1 in Y⁺. With `assume="independent"`: "conditional" on
        independent labels of never rising probability, at every rank at once with probability `confidence` under that
        model; "none" where the labels contradict it beyond noise (which happens with probability below .02 where it is
        true). Columns `independent_lower`, `independent_upper` are these bounds at grid points, whatever is assumed.
        """
        layout = self._layout(plan.n_items)
        if layout.everything:
            return replace(_labelled_curve(plan, labels, layout), estimated=self.estimate(plan, labels))
        bracket = bracket_of(layout, labels)
        points = noise_points(layout, labels, 1 - self._confidence)
        columns = with_noise(bracket.table(layout, labels), points)
        if self.assume == "independent":
            return replace(
                self._independent_curve(layout, labels, points, columns), estimated=self.estimate(plan, labels)
            )
        inward = _inward(layout, labels, bracket)
        tested = assumptions(labels, layout.head_end, layout.window)
        refuted = bracket.contradicts_a2 or not inward.consistent or tested["A.2"]["verdict"].startswith("contradicted")
        claim = Claim("none" if refuted else "conditional", None, ASSUMES_A2)
        otherwise = noise_diagnostics(layout, labels, tested)
        fits = close(layout.n_items, points, labels.rank, labels.label).consistent
        diagnostics = {**bracket.diagnostics(), "contradicts_a2": refuted, "assumptions": tested,
                       "contradicts_independent": speak_against(otherwise, fits)}  # fmt: skip
        return Curve(
            n_items=plan.n_items,
            envelope=_picture(layout, labels, bracket) if refuted else inward,
            grid=layout.cutoffs(),
            claim=claim,
            diagnostics=diagnostics,
            findings=findings(layout, claim.coverage, diagnostics),
            columns=columns,
            estimated=self.estimate(plan, labels),
        )

    def estimate(self, plan: Plan, labels: Labels) -> YieldEstimate | None:
        """The paper's own: a stretch without labels goes on like the windows on either side of it."""
        return window_estimate(plan.n_items, self.window, labels)

    @property
    def level(self) -> float | None:
        """Probability with which the bounds for independent labels hold; under A.2 none, unless it was asked for."""
        return self._confidence if self.assume == "independent" else self.confidence

    @property
    def _confidence(self) -> float:
        return 0.95 if self.confidence is None else self.confidence

    def _independent_curve(self, layout: Layout, labels: Labels, points: Points, columns: pa.Table) -> Curve:
        envelope = close(layout.n_items, points, labels.rank, labels.label)
        assumed = assumptions(labels, layout.head_end, layout.window)
        diagnostics = noise_diagnostics(layout, labels, assumed)
        refuted = speak_against(diagnostics, envelope.consistent)
        sentences = noise_findings(self._confidence, envelope.consistent, diagnostics, assumed["A.2"], labels.about)
        return Curve(
            n_items=layout.n_items,
            envelope=envelope if envelope.consistent else _picture(layout, labels, bracket_of(layout, labels)),
            grid=layout.cutoffs(),
            claim=Claim("none" if refuted else "conditional", self._confidence, ASSUMES_INDEPENDENT),
            diagnostics={**diagnostics, "consistent": envelope.consistent, "assumptions": assumed},
            findings=sentences + tail_finding(layout),
            columns=columns,
        )

    def _layout(self, n_items: int) -> Layout:
        check_items(n_items)
        if not self._epsilon_is_free:
            ratio = parse_epsilon(self.epsilon if self.epsilon is not None else DEFAULT_EPSILON)
            head = self.head if self.head is not None else least_head(ratio, self.window)
            return layout_of(ratio, self.window, head, self.tail, n_items)
        if self.budget is not None:
            return layout_for_budget(self.budget, self.window, self.tail, n_items)
        return layout_for_alpha(self.alpha or 0.0, self.window, self.tail, n_items)


def _labelled_curve(plan: Plan, labels: Labels, layout: Layout) -> Curve:
    envelope = close(plan.n_items, Points.none(), labels.rank, labels.label)
    complete = bool(np.all(labels.known))
    claim = Claim("exact" if complete else "simultaneous", 1.0, ASSUMES_NOTHING)
    return Curve(plan.n_items, envelope, layout.cutoffs(), claim)


def _inward(layout: Layout, labels: Labels, bracket: Bracket) -> Envelope:
    """Tighten a bracket of the integer Y under A.2: round it inward, and close it with the labels inside the windows.

    Inconsistent where the bracket crosses, or the labels contradict it otherwise: A.2 is then false of them.
    """
    low = (-(-bracket.lower_units // bracket.window)).astype(np.float64)
    high = (bracket.upper_units // bracket.window).astype(np.float64)
    return close(layout.n_items, Points(bracket.grid, low, high), labels.rank, labels.label)


def _picture(layout: Layout, labels: Labels, bracket: Bracket) -> Envelope:
    """The smaller and the larger of each pair as they stand, lifted between grid points."""
    window, grid = bracket.window, bracket.grid
    smaller = np.minimum(bracket.lower_units, bracket.upper_units)
    larger = np.maximum(bracket.lower_units, bracket.upper_units)
    low, high = head_yield_of(layout, labels)
    head = np.arange(1, layout.head_end + 1, dtype=np.int64)
    return lift(
        layout.n_items,
        Points(
            np.concatenate([head, grid[1:]]),
            np.concatenate([low, smaller[1:] / window]),
            np.concatenate([high, larger[1:] / window]),
        ),
    )


METHOD = Paula
