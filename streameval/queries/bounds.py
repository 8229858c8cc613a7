"""Bounds on means over all rankings, from labels of the first items of some that were drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.discounts import discounts
from streameval.kernels.without_replacement import NO_JUDGE, Predicted, lower_bound
from streameval.queries import pooled
from streameval.queries.pooled import Pool, Positives
from streameval.queries.predicted import METRICS, Predictions, predictions_of
from streameval.types import Labels, Plan
from streameval.typing import FloatArray


@dataclass(frozen=True)
class Sampled:
    """What labels say of the rankings that were drawn, and of all.

    Attributes:
        rankings: The columns that name it, `items` (labelled or not, k at most), `labelled`, and each metric between
            `…_lower` and `…_upper`: they differ where labels are missing.
        metrics: Means over all rankings; see `bounds_on_means`.
    """

    rankings: pa.Table = field(repr=False)
    metrics: pa.Table = field(repr=False)


def bounds_on_means(plan: Plan, labels: Labels, cutoffs: Sequence[int], pool: Pool | None = None) -> Sampled:
    """Bound the mean of every metric at every cutoff over all rankings.

    With probability `confidence` all bounds hold together, at all cutoffs, whatever the rankings and labels are, and
    whyever labels are missing: each metric has its share of what is left. `estimate` is the mean of the rankings that
    were drawn, where no label is missing; with a judge, it is moved by what the judge predicts of all others.
    `normal_lower` and `normal_upper` are the normal interval around it, of each mean by itself, which promises nothing
    of skewed values; it is cut off at the least and largest value of the metric. Where a pool is stated to be complete,
    the coverage of what divides by all positives is "conditional" on that.
    """
    count = int(plan.parameters["rankings"])
    number, place = (plan.table.column(name).to_numpy() for name in ("stratum", "place"))
    positive = [np.where(labels.known, labels.label, missing) == 1 for missing in (0, 1)]
    sides = [Positives(number[own], place[own], count) for own in positive]
    named, ends = [(name, k) for k in cutoffs for name in METRICS], [_values(one, cutoffs) for one in sides]
    means = _Means(int(plan.notes["rankings"]), float(plan.parameters["confidence"]), 2 * len(named))
    judge: list[_Own | None] = [None] * len(named)
    if (known := predictions_of(plan)) is not None:
        judge = [_Own.of(known, m) for m in range(len(named))]
    if pool is not None:
        more = [(name, k) for k in cutoffs for name in pooled.METRICS]
        values = pooled.pooled_values((sides[0], sides[1]), pool, cutoffs)
        ends = [one + more_values for one, more_values in zip(ends, values, strict=True)]
        judge += [judge[named.index((_NEAR[name], k))] for name, k in more]
        named = named + more
        means = replace(means, ends=means.ends + len(more) * (2 if pool.complete else 1))
    first = np.unique(number, return_index=True)[1]
    names = [json.loads(name) for name in plan.table.column("ranking").take(pa.array(first)).to_pylist()]
    columns = {**dict(zip(plan.notes["per"], zip(*names, strict=True), strict=True)),
               "items": np.bincount(number, minlength=count),
               "labelled": np.bincount(number[labels.known], minlength=count)}  # fmt: skip
    for m, (name, k) in enumerate(named):
        columns |= {f"{name}_{k}_lower": ends[0][m], f"{name}_{k}_upper": ends[1][m]}
    rows = []
    for m, (name, k) in enumerate(named):
        scale = float(discounts(k).sum()) if name == "dcg_at" else 1.0
        own = means.bounds(ends[0][m] / scale, ends[1][m] / scale, judge[m])
        own |= {"coverage": "conditional"} if name in pooled.METRICS and pool is not None and pool.complete else {}
        rows.append({"metric": f"mean_{name}", "argument": str(k), "rankings": means.total,
                     **{key: value if isinstance(value, str) else scale * value for key, value in own.items()},
                     })  # fmt: skip
    return Sampled(pa.table(columns), pa.Table.from_pylist(rows, schema=_SCHEMA))


# whose predictions serve for what no judge of the first items predicts: any do, and those near it narrow its bounds
_NEAR = {"recall_at": "precision_at", "average_precision_at": "precision_at", "ndcg_at": "dcg_at"}
_SCHEMA = pa.schema(
    [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
     ("upper", pa.float64()), ("coverage", pa.string()), ("rankings", pa.int64()), ("normal_lower", pa.float64()),
     ("normal_upper", pa.float64()), ("width_without_judge", pa.float64())]
)  # fmt: skip


@dataclass(frozen=True)
class _Own:
    """What is predicted of one metric: of the rankings that were drawn, and the sum, least and greatest of all."""

    drawn: FloatArray
    sum: float
    least: float
    greatest: float

    @staticmethod
    def of(known: Predictions, metric: int) -> _Own:
        drawn = np.ascontiguousarray(known.drawn[:, metric])
        return _Own(drawn, *(float(one[metric]) for one in (known.sums, known.least, known.greatest)))

    def sides(self, total: int) -> tuple[Predicted, Predicted]:
        """As the bounds from below and from above take it."""
        return (self.drawn, self.sum, self.greatest), (1 - self.drawn, total - self.sum, 1 - self.least)


@dataclass(frozen=True)
class _Means:
    """Bounds on means, all of them together.

    Attributes:
        total: Rankings that the means are over.
        ends: How many bounds share what `confidence` leaves.
    """

    total: int
    confidence: float
    ends: int

    def bounds(self, low: FloatArray, high: FloatArray, judge: _Own | None) -> dict[str, Any]:
        """Bounds, estimate and normal interval of the mean of numbers in [0, 1], each between two of those drawn."""
        whole = bool(np.all(low == high))
        if whole and low.size == self.total:
            mean = float(low.mean())
            return {"lower": mean, "estimate": mean, "upper": mean, "normal_lower": mean, "normal_upper": mean,
                    "coverage": "exact"}  # fmt: skip
        below, above = self._bounds(low, high, judge)
        found: dict[str, Any] = {"lower": below, "upper": above, "coverage": "simultaneous"}
        if judge is not None:
            without = self._bounds(low, high, None)
            found["width_without_judge"] = without[1] - without[0]
        return {**found, **self._normal(low, judge)} if whole else found

    def _bounds(self, low: FloatArray, high: FloatArray, judge: _Own | None) -> tuple[float, float]:
        sides = (NO_JUDGE, NO_JUDGE) if judge is None else judge.sides(self.total)
        delta = (1 - self.confidence) / self.ends
        below, above = lower_bound(low, self.total, delta, sides[0]), lower_bound(1 - high, self.total, delta, sides[1])
        return below, 1 - above

    def _normal(self, values: FloatArray, judge: _Own | None) -> dict[str, float]:
        """The estimate, and the normal interval around it where more than one ranking was drawn."""
        mean, left, count = float(values.mean()), values, values.size
        if judge is not None and float(np.ptp(judge.drawn)) > 0:
            off = judge.drawn - judge.drawn.mean()
            share = min(max(float(off @ values) / float(off @ off), 0.0), 1.0)
            mean -= share * (float(judge.drawn.mean()) - judge.sum / self.total)
            left = values - share * off
        mean = min(max(mean, 0.0), 1.0)
        if count == 1:
            return {"estimate": mean}
        half = NormalDist().inv_cdf(0.5 + self.confidence / 2) * float(left.std(ddof=1)) / math.sqrt(count)
        half *= math.sqrt(1 - count / self.total)
        return {"estimate": mean, "normal_lower": max(mean - half, 0.0), "normal_upper": min(mean + half, 1.0)}


def _values(of: Positives, cutoffs: Sequence[int]) -> list[FloatArray]:
    """Every metric of each ranking that was drawn, cutoff by cutoff."""
    values, first = [], np.full(of.count, np.inf)
    np.minimum.at(first, of.number, of.place)
    for k in cutoffs:
        found = of.found(k)
        values += [found / k, (found > 0).astype(np.float64), np.where(first <= k, 1.0 / first, 0.0), of.gains(k)]
    return values
