"""Uniform random sampling, the baseline (PAULA paper, sections 2.1 and 3).

Labelled are every rank of a head, because a uniform sample is too thin there (eq. 4), and a sample of the rest, the two
balanced as in eq. 5. Two intervals can be read off the same labels:

- "hoeffding": p̃ ± √(ln(2/δ)/(2z)) (eq. 3); for the curve with δ/(ranks beyond the head), the union bound.
- "hypergeometric": the exact interval at each cutoff; for the curve with δ/(cutoffs).

The one chosen by `interval` becomes the curve. Columns of the curve's table are `hoeffding_*` and `hypergeometric_*`,
which hold at each cutoff on its own, and `union_*`, at all at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.methods import check_items
from streameval.methods.checks.monotonicity import assumptions, warnings
from streameval.methods.uniform import UniformParameters
from streameval.methods.uniform.intervals import DrawCounts, hoeffding, hypergeometric
from streameval.methods.uniform.sample_size import curve_sizes
from streameval.types import Labels, Plan, Promise
from streameval.typing import FloatArray, Int64Array

_CUTOFF_RATIO = 1.01
_INTERVALS = {"hoeffding": hoeffding, "hypergeometric": hypergeometric}
_HEAD_SHOWN = 10_000  # cutoffs of a labelled head that the table shows one by one


@dataclass(frozen=True)
class Uniform(UniformParameters):
    """Uniform random ranks beyond a labelled head.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the bounds at every rank at once,
    for any 0/1 list, also where labels are missing. `alpha` is a forecast of the half-width, relative to a precision of
    `min_precision`. The `interval` "hypergeometric" also plans by exact sample sizes.
    """

    variants: ClassVar[tuple[dict[str, Any], ...]] = ({}, {"interval": "hypergeometric"})

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label: `stratum` 0 is the labelled head where there is one, the sample comes last."""
        from streameval.kernels.draw import STEPS, draw_strata
        from streameval.kernels.jit import small

        head, drawn = self._sizes(check_items(n_items))
        ends = np.array([head, n_items] if head else [n_items], dtype=np.int64)
        n = np.array([head, drawn] if head else [drawn], dtype=np.int64)
        with small(STEPS * int(n.sum())):
            rank = draw_strata(ends[: n.size], n, np.uint64(seed % 2**64))
        stratum = np.repeat(np.arange(n.size, dtype=np.int32), n)
        notes = {"head": head, "drawn": drawn}
        return Plan(
            self.name, dict(self.__dict__), n_items, seed, pa.table({"rank": rank, "stratum": stratum}), notes=notes
        )

    def weights(self, plan: Plan) -> FloatArray:
        """1 in the head; beyond it the inverse of the share that was drawn."""
        head, drawn = (int(plan.notes[key]) for key in ("head", "drawn"))
        return np.where(plan.ranks <= head, 1.0, (plan.n_items - head) / max(drawn, 1))

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels, and forecast the half-width at `min_precision`."""
        head, drawn = self._sizes(check_items(n_items))
        alpha = self.alpha if self.budget is None else self._forecast_width(n_items, self.budget)
        whole = head + drawn == n_items
        return {
            "method": self.name,
            "labels": head + drawn,
            "accuracy": 0.0 if whole else alpha,
            "forecast": not whole,
            "claim": "exact" if whole else "simultaneous",
            "interval": self.interval,
            "head": head,
        }

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into bounds at every rank, and every named interval at the cutoffs.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw; "exact" where every item is
        labelled.
        """
        sample = _Labelled.from_labels(plan, labels)
        envelope = close(plan.n_items, self._points(sample), labels.rank, labels.label)
        claim = self.claim_of(plan, labels)
        diagnostics = {
            "consistent": envelope.consistent,
            "labelled_head": sample.head,
            "assumptions": assumptions(labels, sample.head),
        }
        estimated = self.estimate(plan, labels)
        curve = Curve(plan.n_items, envelope, sample.cutoffs(), claim, diagnostics, columns=self._intervals(sample),
                      estimated=estimated)  # fmt: skip
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, labels.about))

    def _sizes(self, n_items: int) -> tuple[int, int]:
        """Labelled head, and labels drawn beyond it."""
        if (self.budget or self._n_labels(n_items)) >= n_items:
            return 0, n_items
        head = math.ceil(self._n_labels(n_items) / 2) if self.budget is None else _balanced_head(n_items, self.budget)
        drawn = math.ceil(head * (n_items - head) / n_items)  # a sample of `head` ranks of N, less what falls in it
        return (head, drawn) if head + drawn < n_items else (0, n_items)

    def _n_labels(self, n_items: int) -> int:
        """Labels by eq. 5, or by the exact sample sizes in its place."""
        bound = "exact" if self.interval == "hypergeometric" else "hoeffding"
        return math.ceil(curve_sizes(n_items, self.alpha, self.min_precision, 1 - self.confidence, bound))

    def _forecast_width(self, n_items: int, budget: int) -> float:
        """Half-width forecast for a budget: where the labels that α takes come down to it (bisection on ln α)."""
        # Hoeffding's α is never below the exact one, nor far above it
        delta, p = 1 - self.confidence, self.min_precision
        most = math.sqrt(2 * n_items * math.log(2 * n_items / delta)) / (budget * p)
        low, high = min(0.02 * most, 0.5), min(2 * most, 1.0 - 1e-9)
        for _ in range(50):
            middle = math.sqrt(low * high)
            head, drawn = replace(self, alpha=middle, budget=None)._sizes(n_items)
            low, high = (middle, high) if head + drawn > budget else (low, middle)
        return high

    def _points(self, sample: _Labelled) -> Points:
        """Bounds of the chosen interval at the ranks where it is worth evaluating."""
        if sample.complete:
            return Points.none()
        if self.interval == "hypergeometric":
            ranks = sample.cutoffs()
            ranks = ranks[ranks > sample.head]
            together = ranks.size
        else:
            ranks, together = sample.steps(), sample.n_items - sample.head
        low, high = _INTERVALS[self.interval](sample.counts(ranks), (1 - self.confidence) / together)
        low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        before = sample.head_yield(np.array([sample.head]))
        return Points(ranks, low + before[0], high + before[1])

    def _intervals(self, sample: _Labelled) -> pa.Table:
        """Every named interval at the cutoffs, as precision."""
        ranks, delta = sample.cutoffs(), 1 - self.confidence
        beyond = ranks > sample.head
        known_low, known_high = sample.head_yield(np.minimum(ranks, sample.head))
        columns: dict[str, Any] = {"rank": ranks}
        union = delta / max(1, sample.n_items - sample.head)
        counts = sample.counts(ranks[beyond])
        for label, (low, high) in {
            "hoeffding": hoeffding(counts, delta),
            "hypergeometric": hypergeometric(counts, delta),
            "union": hoeffding(counts, union),
        }.items():
            lower, upper = known_low.astype(np.float64), known_high.astype(np.float64)
            lower[beyond] += low
            upper[beyond] += high
            columns[f"{label}_lower"], columns[f"{label}_upper"] = lower / ranks, upper / ranks
        return pa.table(columns)

    def _findings(self, curve: Curve, about: str) -> tuple[str, ...]:
        if not curve.envelope.consistent:
            return self.contradicted("The bounds contradict themselves")
        return (
            Promise(
                self.confidence,
                f"{about} lies inside the bounds at every rank at once, whatever the list ({self.interval} on a "
                "uniform sample).",
            ),
            *warnings(curve.diagnostics["assumptions"]),
        )


@dataclass(frozen=True)
class _Labelled:
    """Labels of a plan, as running counts.

    Attributes:
        n_items, head, drawn: Ranks 1..head are all planned; `drawn` were drawn from head+1..n_items.
        rank: int64 array, shape (drawn,).
        head_low, head_high, low, high (int64 arrays): Running positives among the head and among the drawn, from 0, a
            missing label as 0 and as 1.
    """

    n_items: int
    head: int
    drawn: int
    rank: Int64Array
    head_low: Int64Array
    head_high: Int64Array
    low: Int64Array
    high: Int64Array

    @staticmethod
    def from_labels(plan: Plan, labels: Labels) -> _Labelled:
        head, drawn = (int(plan.notes[key]) for key in ("head", "drawn"))
        least, most = (np.concatenate([[0], np.cumsum(x)]) for x in (labels.label == 1, labels.label != 0))
        return _Labelled(plan.n_items, head, drawn, labels.rank[head:], least[: head + 1], most[: head + 1],
                       least[head:] - least[head], most[head:] - most[head])  # fmt: skip

    @property
    def complete(self) -> bool:
        return self.drawn == self.n_items - self.head

    def head_yield(self, ranks: Int64Array) -> tuple[Int64Array, Int64Array]:
        return self.head_low[ranks], self.head_high[ranks]

    def counts(self, ranks: Int64Array) -> DrawCounts:
        """Counts at ranks beyond the head."""
        z = np.searchsorted(self.rank, ranks, side="right").astype(np.int64)
        return DrawCounts(ranks - self.head, z, self.low[z], self.high[z])

    def steps(self) -> Int64Array:
        """Each drawn rank, and the rank before the next: between them an interval is a straight line."""
        ranks = np.concatenate([self.rank, self.rank - 1, [self.n_items]])
        return unique(ranks[ranks > self.head])

    def cutoffs(self) -> Int64Array:
        """Ranks that the table shows: the head as far as it is short, a geometric grid, and the last."""
        first = np.arange(1, min(self.head, _HEAD_SHOWN) + 1, dtype=np.int64)
        start = max(self.head, 1) if self.head <= _HEAD_SHOWN else _HEAD_SHOWN
        powers = math.log(self.n_items / start) / math.log(_CUTOFF_RATIO) if self.n_items > start else 0
        grid = np.ceil(start * _CUTOFF_RATIO ** np.arange(math.floor(powers) + 1)).astype(np.int64)
        return unique(first, grid[grid <= self.n_items], [max(self.head, 1), self.n_items])


def _balanced_head(last: int, budget: int) -> int:
    """Head h whose plan of h + h(N−h)/N labels keeps a budget below N."""
    head = math.floor(last * -math.expm1(0.5 * math.log1p(-budget / last)))
    while head > 0 and head + math.ceil(head * (last - head) / last) > budget:
        head -= 1
    if head < 1:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", "it takes 2 labels")
    return head


METHOD = Uniform
