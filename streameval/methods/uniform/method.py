"""Uniform random sampling, the baseline (PAULA paper, sections 2.1 and 3), for one rank or for the whole curve.

For one rank (`first`): labels drawn uniformly without replacement from ranks 1..first, as many as eq. 2 asks for. For
the whole curve: every rank of a head, because a uniform sample is too thin there (eq. 4), and a sample of the rest, the
two balanced as in eq. 5. Three intervals can be read off the same labels:

- "hoeffding": p̃ ± √(ln(2/δ)/(2z)) (eq. 3); for the curve with δ/(ranks beyond the head), the union bound.
- "hypergeometric": the exact interval at each cutoff; for the curve with δ/(cutoffs).
- "dkwm": Dvoretzky–Kiefer–Wolfowitz–Massart, of one absolute width at every rank.

The one chosen by `interval` becomes the curve. All are columns of the curve's table: `hoeffding_*` and
`hypergeometric_*` hold at each cutoff on its own, `union_*` and `dkwm_*` at all at once.
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
from streameval.methods.uniform import INTERVALS, UniformParameters
from streameval.methods.uniform.intervals import DrawCounts, dkwm, hoeffding, hypergeometric
from streameval.methods.uniform.sample_size import curve_sizes, point_sizes
from streameval.types import Labels, Plan, Promise
from streameval.typing import FloatArray, Int64Array

_CUTOFF_RATIO = 1.01
_HEAD_SHOWN = 10_000  # cutoffs of a labelled head that the table shows one by one


@dataclass(frozen=True)
class Uniform(UniformParameters):
    """Uniform random ranks: of one prefix, or of the whole list beyond a labelled head.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the bounds at every rank at once,
    for any 0/1 list, also where labels are missing (for one rank, everything follows from its one interval). `alpha`
    is a forecast of the half-width, relative to a precision of `min_precision`. The `interval` "hypergeometric" also
    plans by exact sample sizes.
    """

    variants: ClassVar[tuple[dict[str, Any], ...]] = tuple({"interval": name} for name in INTERVALS)

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label: `stratum` 0 is the labelled head where there is one, the sample comes last."""
        from streameval.kernels.draw import STEPS, draw_strata
        from streameval.kernels.jit import small

        head, last, drawn = self._sizes(check_items(n_items))
        ends = np.array([head, last] if head else [last], dtype=np.int64)
        n = np.array([head, drawn] if head else [drawn], dtype=np.int64)
        with small(STEPS * int(n.sum())):
            rank = draw_strata(ends[: n.size], n, np.uint64(seed % 2**64))
        stratum = np.repeat(np.arange(n.size, dtype=np.int32), n)
        notes = {"head": head, "last": last, "drawn": drawn}
        return Plan(
            self.name, dict(self.__dict__), n_items, seed, pa.table({"rank": rank, "stratum": stratum}), notes=notes
        )

    def weights(self, plan: Plan) -> FloatArray:
        """1 in the head; beyond it the inverse of the share that was drawn: of the `first` ranks, where given."""
        head, last, drawn = (int(plan.notes[key]) for key in ("head", "last", "drawn"))
        return np.where(plan.ranks <= head, 1.0, (last - head) / max(drawn, 1))

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels, and forecast the half-width at `min_precision`."""
        head, last, drawn = self._sizes(check_items(n_items))
        alpha = self.alpha if self.budget is None else self._reached(last, self.budget)
        whole = head + drawn == last
        return {
            "method": self.name,
            "labels": head + drawn,
            "accuracy": 0.0 if whole else alpha,
            "forecast": not whole,
            "claim": "exact" if whole and self.at is None else "simultaneous",
            "interval": self.interval,
            "head": head,
        }

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into bounds at every rank, and every named interval at the cutoffs.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw; "exact" where every item is
        labelled.
        """
        sample = _Labelled.of(plan, labels)
        envelope = close(plan.n_items, self._points(sample), labels.rank, labels.label)
        claim = self.claim_of(plan, labels)
        cutoffs = unique(sample.cutoffs(), plan.n_items)
        diagnostics = {
            "consistent": envelope.consistent,
            "labelled_head": sample.head,
            "assumptions": assumptions(labels, sample.head),
        }
        estimated = self.estimate(plan, labels)
        curve = Curve(plan.n_items, envelope, cutoffs, claim, diagnostics, columns=self._named(sample),
                      estimated=estimated)  # fmt: skip
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, sample, labels.about))

    def _sizes(self, n_items: int) -> tuple[int, int, int]:
        """Labelled head, last rank that can be drawn, and labels drawn beyond the head."""
        last = n_items if self.at is None else self.at
        if last > n_items:
            raise InputError(f"--first is {last:,} items, but there are {n_items:,} items")
        if (self.budget or self._planned(last)) >= last:
            return 0, last, last
        if self.at is not None:
            return 0, last, self.budget or self._planned(last)
        head = _balanced_head(last, self.budget) if self.budget is not None else math.ceil(self._planned(last) / 2)
        drawn = math.ceil(head * (last - head) / last)  # the sample of `head` ranks of N, less what falls in the head
        return (head, last, drawn) if head + drawn < last else (0, last, last)

    def _planned(self, last: int) -> int:
        """Labels by eq. 2 or eq. 5, or by the exact sample sizes in their place."""
        bound = "exact" if self.interval == "hypergeometric" else "hoeffding"
        size = point_sizes if self.at is not None else curve_sizes
        return math.ceil(size(last, self.alpha, self.min_precision, 1 - self.confidence, bound))

    def _reached(self, last: int, budget: int) -> float:
        """Half-width forecast for a budget: where the labels that α takes come down to it (bisection on ln α)."""
        # Hoeffding's α is never below the exact one, nor far above it
        delta, p = 1 - self.confidence, self.min_precision
        if self.at is not None:
            most = math.sqrt(math.log(2 / delta) / (2 * budget)) / p
        else:
            most = math.sqrt(2 * last * math.log(2 * last / delta)) / (budget * p)
        low, high = min(0.02 * most, 0.5), min(2 * most, 1.0 - 1e-9)
        for _ in range(50):
            middle = math.sqrt(low * high)
            head, _, drawn = replace(self, alpha=middle, budget=None)._sizes(last)
            low, high = (middle, high) if head + drawn > budget else (low, middle)
        return high

    def _points(self, sample: _Labelled) -> Points:
        """Bounds of the chosen interval at the ranks where it is worth evaluating."""
        if sample.complete:
            return Points.none()
        delta = 1 - self.confidence
        if self.at is not None and self.interval != "dkwm":
            ranks, share = np.array([sample.last]), delta
        elif self.interval == "hypergeometric":
            ranks = sample.cutoffs()
            ranks = ranks[ranks > sample.head]
            share = delta / ranks.size
        else:
            ranks, share = sample.steps(), delta / (sample.last - sample.head)
        low, high = self._bounds(self.interval, sample, ranks, share if self.interval != "dkwm" else delta)
        low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        before = sample.head_yield(np.array([sample.head]))
        return Points(ranks, low + before[0], high + before[1])

    def _bounds(self, name: str, sample: _Labelled, ranks: Int64Array, delta: float) -> tuple[FloatArray, FloatArray]:
        counts = sample.counts(ranks)
        if name == "dkwm":
            return dkwm(counts, sample.drawn, sample.last - sample.head, delta)
        return (hypergeometric if name == "hypergeometric" else hoeffding)(counts, delta)

    def _named(self, sample: _Labelled) -> pa.Table:
        """Every named interval at the cutoffs, as precision."""
        ranks, delta = sample.cutoffs(), 1 - self.confidence
        beyond = ranks > sample.head
        known_low, known_high = sample.head_yield(np.minimum(ranks, sample.head))
        columns: dict[str, Any] = {"rank": ranks}
        union = delta / max(1, sample.last - sample.head)
        named = (("hoeffding", "hoeffding", delta), ("hypergeometric", "hypergeometric", delta),
                 ("union", "hoeffding", union), ("dkwm", "dkwm", delta))  # fmt: skip
        for label, name, share in named:
            low, high = self._bounds(name, sample, ranks[beyond], share)
            lower, upper = known_low.astype(np.float64), known_high.astype(np.float64)
            lower[beyond] += low
            upper[beyond] += high
            columns[f"{label}_lower"], columns[f"{label}_upper"] = lower / ranks, upper / ranks
        return pa.table(columns)

    def _findings(self, curve: Curve, sample: _Labelled, about: str) -> tuple[str, ...]:
        if not curve.envelope.consistent:
            return self.contradicted("The bounds contradict themselves")
        if self.at is None:
            return (
                Promise(
                    self.confidence,
                    f"{about} lies inside the bounds at every rank at once, whatever the list ({self.interval} on a "
                    "uniform sample).",
                ),
                *warnings(curve.diagnostics["assumptions"]),
            )
        row = curve.at([self.at])
        low, high = (row.column(f"precision_{side}")[0].as_py() for side in ("lower", "upper"))
        return (
            Promise(
                self.confidence,
                f"the precision of the first {self.at:,} lies between {low:.2%} and {high:.2%} ({self.interval} on "
                f"{sample.drawn:,} uniform draws; of {about}).",
            ),
        )


@dataclass(frozen=True)
class _Labelled:
    """Labels of a plan, as running counts.

    Attributes:
        head, last, drawn: Ranks 1..head are all planned; `drawn` were drawn from head+1..last.
        rank: int64 array, shape (drawn,).
        head_low, head_high, low, high (int64 arrays): Running positives among the head and among the drawn, from 0, a
            missing label as 0 and as 1.
    """

    head: int
    last: int
    drawn: int
    rank: Int64Array
    head_low: Int64Array
    head_high: Int64Array
    low: Int64Array
    high: Int64Array

    @staticmethod
    def of(plan: Plan, labels: Labels) -> _Labelled:
        head, last, drawn = (int(plan.notes[key]) for key in ("head", "last", "drawn"))
        least, most = (np.concatenate([[0], np.cumsum(x)]) for x in (labels.label == 1, labels.label != 0))
        return _Labelled(head, last, drawn, labels.rank[head:], least[: head + 1], most[: head + 1],
                       least[head:] - least[head], most[head:] - most[head])  # fmt: skip

    @property
    def complete(self) -> bool:
        return self.drawn == self.last - self.head

    def head_yield(self, ranks: Int64Array) -> tuple[Int64Array, Int64Array]:
        return self.head_low[ranks], self.head_high[ranks]

    def counts(self, ranks: Int64Array) -> DrawCounts:
        """Counts at ranks beyond the head; those after `last` count as `last`."""
        up_to = np.minimum(ranks, self.last)
        z = np.searchsorted(self.rank, up_to, side="right").astype(np.int64)
        return DrawCounts(up_to - self.head, z, self.low[z], self.high[z])

    def steps(self) -> Int64Array:
        """Each drawn rank, and the rank before the next: between them an interval is a straight line."""
        ranks = np.concatenate([self.rank, self.rank - 1, [self.last]])
        return unique(ranks[ranks > self.head])

    def cutoffs(self) -> Int64Array:
        """Ranks that the table shows: the head as far as it is short, a geometric grid, and the last."""
        first = np.arange(1, min(self.head, _HEAD_SHOWN) + 1, dtype=np.int64)
        start = max(self.head, 1) if self.head <= _HEAD_SHOWN else _HEAD_SHOWN
        powers = math.log(self.last / start) / math.log(_CUTOFF_RATIO) if self.last > start else 0
        grid = np.ceil(start * _CUTOFF_RATIO ** np.arange(math.floor(powers) + 1)).astype(np.int64)
        return unique(first, grid[grid <= self.last], [max(self.head, 1), self.last])


def _balanced_head(last: int, budget: int) -> int:
    """Head h whose plan of h + h(N−h)/N labels keeps a budget below N."""
    head = math.floor(last * -math.expm1(0.5 * math.log1p(-budget / last)))
    while head > 0 and head + math.ceil(head * (last - head) / last) > budget:
        head -= 1
    if head < 1:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", "it takes 2 labels")
    return head


METHOD = Uniform
