"""PAULA's bracket, and what the labels say about the assumption it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.methods.checks.monotonicity import p_text, rise_text, warnings
from streameval.methods.paula.layout import Layout
from streameval.types import Labels
from streameval.typing import BoolArray, Int64Array


@dataclass(frozen=True)
class Bracket:
    """Y⁻ and Y⁺ at the grid points, and the window sums they came from.

    Attributes:
        window: Δ.
        grid: int64 array, shape (k + 1,).
        lower_units, upper_units (int64 arrays, shape (k + 1,)): Δ·Y⁻ and Δ·Y⁺, exact; a missing label counts 0 in the
            first and 1 in the second.
        sums_lower, sums_upper (int64 arrays, shape (k + 1,)): Positives in each window, likewise.
        head_yield: Y(g_ℓ), likewise.
    """

    window: int
    grid: Int64Array
    lower_units: Int64Array
    upper_units: Int64Array
    sums_lower: Int64Array
    sums_upper: Int64Array
    head_yield: tuple[int, int]

    @property
    def crossed(self) -> BoolArray:
        """Grid points where Y⁻ > Y⁺: proof that A.2 is false of these labels."""
        return np.asarray(self.lower_units > self.upper_units)

    @property
    def rises(self) -> int:
        """Grid points whose window certainly holds more positives than the window before."""
        return int(np.sum(self.sums_lower[1:] > self.sums_upper[:-1]))

    @property
    def contradicts_a2(self) -> bool:
        """Tell whether Y⁻ > Y⁺ somewhere, or a window certainly holds more positives than any window before it."""
        before = np.minimum.accumulate(self.sums_upper)[:-1]
        return bool(np.any(self.crossed) or np.any(self.sums_lower[1:] > before))

    def diagnostics(self) -> dict[str, Any]:
        """Counts of rises and crossings, and the check of p(g_ℓ) ≥ p_Δ(g_ℓ); JSON-ready."""
        head_end = int(self.grid[0])
        low, high = self.head_yield
        local_low, local_high = int(self.sums_lower[0]), int(self.sums_upper[0])
        return {
            "grid_points": int(self.grid.size - 1),
            "rises": self.rises,
            "crossings": int(np.sum(self.crossed[1:])),
            "head_precision": [low / head_end, high / head_end],
            "head_local_precision": [local_low / self.window, local_high / self.window],
            # p(g_ℓ) ≥ p_Δ(g_ℓ); None while missing labels leave it open
            "head_condition": _certainly(
                low * self.window >= local_high * head_end, high * self.window < local_low * head_end
            ),
        }

    def table(self, layout: Layout, labels: Labels) -> pa.Table:
        """q⁻ and q⁺ raw at every rank of the head and every grid point, float64; they can cross."""
        head = np.arange(1, layout.head_end + 1, dtype=np.int64)
        low, high = head_yield_of(layout, labels)
        rank = np.concatenate([head[:-1], self.grid])
        lower = np.concatenate([low[:-1], self.lower_units / self.window])
        upper = np.concatenate([high[:-1], self.upper_units / self.window])
        local = np.full(rank.size, np.nan)
        local[head.size - 1 :] = (self.sums_lower + self.sums_upper) / (2.0 * self.window)
        return pa.table(
            {
                "rank": rank,
                "bracket_lower": lower / rank,
                "bracket_upper": upper / rank,
                "local_precision": pa.array(local, mask=np.isnan(local)),
            }
        )


def _certainly(yes: bool, no: bool) -> bool | None:
    return True if yes else False if no else None


def head_yield_of(layout: Layout, labels: Labels) -> tuple[Int64Array, Int64Array]:
    """Y(1..g_ℓ), with a missing label as 0 and as 1."""
    head = labels.label[: layout.head_end]
    return np.cumsum(head == 1), np.cumsum(head != 0)


def bracket_of(layout: Layout, labels: Labels) -> Bracket:
    """Run the recurrence on labels in the plan's order."""
    from streameval.kernels.paula import bracket, window_sums

    window = layout.window
    low_head, high_head = head_yield_of(layout, labels)
    lower_label, upper_label = (labels.label == 1).astype(np.int64), (labels.label != 0).astype(np.int64)
    ends = np.cumsum(layout.last - layout.first + 1) - 1
    gaps = np.diff(layout.grid)
    sums_lower, sums_upper = window_sums(lower_label, ends, window), window_sums(upper_label, ends, window)
    lower = bracket(int(low_head[-1]), gaps, sums_lower, window, 1)
    upper = bracket(int(high_head[-1]), gaps, sums_upper, window, 0)
    if layout.last.size > 1 and layout.last[-1] - layout.first[-1] + 1 != window:
        # a closed tail shorter than m is labelled whole: its positives are counted, not extrapolated
        tail = slice(int(ends[-2]) + 1, int(ends[-1]) + 1)
        lower[-1] = lower[-2] + int(lower_label[tail].sum()) * window
        upper[-1] = upper[-2] + int(upper_label[tail].sum()) * window
    return Bracket(window, layout.grid, lower, upper, sums_lower, sums_upper, (int(low_head[-1]), int(high_head[-1])))


def findings(layout: Layout, coverage: str, diagnostics: dict[str, Any]) -> tuple[str, ...]:
    """Say what the labels say about the claim, in sentences; the most important first."""
    points, crossings, rises = (diagnostics[key] for key in ("grid_points", "crossings", "rises"))
    test = diagnostics["assumptions"]["A.2"]
    sentences = [_headline(coverage, diagnostics, test)]
    if crossings and test["beyond_noise"]:
        sentences.append(f"The bracket crosses itself at {crossings:,} of {points:,} grid points: it is no bound.")
    if rises:
        size = "more than label noise explains" if test["beyond_noise"] else "no more than label noise explains"
        sentences.append(
            f"Local precision rises at {rises:,} of {points:,} grid points, {size} ({p_text(test['p_value'])})."
        )
    sentences += warnings({**diagnostics["assumptions"], "A.2": {"beyond_noise": False}})
    if diagnostics["head_condition"] is False:
        sentences.append("Precision at the end of the head is below the local precision there: γ(1+ε) is not promised.")
    return (*sentences, *tail_finding(layout))


def tail_finding(layout: Layout) -> tuple[str, ...]:
    """Say which ranks an open tail leaves unknown, if any."""
    unknown = layout.n_items - int(layout.last[-1])
    if not unknown:
        return ()
    return (
        f"Ranks {layout.last[-1] + 1:,} to {layout.n_items:,} get no labels (open tail) and may hold 0 to {unknown:,} "
        "positives. The estimate takes them to be like the last window before them. A plan with a closed tail labels "
        "a window there.",
    )


def _headline(coverage: str, diagnostics: dict[str, Any], test: dict[str, Any]) -> str:
    points, crossings, rises = (diagnostics[key] for key in ("grid_points", "crossings", "rises"))
    if test["beyond_noise"]:
        return (
            "The assumption fails, so the PAULA bracket, which needs A.2, says nothing about this list: "
            f"{rise_text(test)}."
        )
    if coverage != "none":
        return "The PAULA bracket holds if A.2 does, and nothing in the labels contradicts A.2."
    if crossings:
        why = f"the bracket crosses itself at {crossings:,} of {points:,} grid points"
    elif rises:
        why = f"windows that must never rise do so at {rises:,} of {points:,} grid points"
    else:
        why = "labels rise where they must not, or do not fit between its bounds"
    return f"The PAULA bracket proves nothing here, as the labels contradict A.2 taken literally: {why}."
