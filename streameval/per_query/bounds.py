"""Bounds on means over all rankings, from labels of the first items of some that were drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.tied_items import discounts
from streameval.kernels.without_replacement import NO_JUDGE, Predicted, lower_bound
from streameval.per_query import positives as pooled
from streameval.per_query.positives import Pool, Positives
from streameval.per_query.predicted import METRICS, Predictions, predictions_of
from streameval.types import Labels, Plan
from streameval.typing import FloatArray


@dataclass(frozen=True)
class SampledMeans:
    """Estimates of the drawn rankings, and bounds on the means of all.

    Attributes:
        rankings: The columns that name it, `items` (labelled or not, k at most), `labelled`, and each metric between
            `…_lower` and `…_upper`: they differ where labels are missing.
        metrics: Means over all rankings; see `bounds_on_means`.
    """

    rankings: pa.Table = field(repr=False)
    metrics: pa.Table = field(repr=False)


def bounds_on_means(plan: Plan, labels: Labels, cutoffs: Sequence[int], pool: Pool | None = None) -> SampledMeans:
    """Bound the mean of every metric at every cutoff over all rankings.

    With probability `confidence` all bounds hold together, at all cutoffs, whatever the rankings and labels are, and
    whyever labels are missing: each bound has its share of what is left. `estimate` is the mean of the rankings that
    were drawn, where no label is missing; with a judge, it is moved by what the judge predicts of all others, and kept
    within its bounds. `normal_lower` and `normal_upper` are the normal interval around it, of each mean by itself; it
    promises nothing of skewed values, and is cut off at the least and largest value of the metric. Of what divides by
    all positives, coverage is "conditional": on the table of positives, and on its completeness where that is stated.
    Where it is not, lower bounds are 0 and take no share.
    """
    count = int(plan.parameters["rankings"])
    number, place = (plan.table.column(name).to_numpy() for name in ("stratum", "place"))
    positive = [np.where(labels.known, labels.label, missing) == 1 for missing in (0, 1)]
    fewest, most = (Positives(number[mask], place[mask], count) for mask in positive)
    by_metric = _first_items((fewest, most), cutoffs, predictions_of(plan))
    if pool is not None:
        by_metric += _pool_values((fewest, most), pool, cutoffs, by_metric)
    confidence = float(plan.parameters["confidence"])
    means = _Means(
        int(plan.notes["rankings"]), confidence, (1 - confidence) / sum(metric.bounds for metric in by_metric)
    )
    columns = {**pooled.ranking_names(plan),
               "items": np.bincount(number, minlength=count),
               "labelled": np.bincount(number[labels.known], minlength=count)}  # fmt: skip
    rows = []
    for entry in by_metric:
        columns |= {f"{entry.name}_{entry.cutoff}_lower": entry.low, f"{entry.name}_{entry.cutoff}_upper": entry.high}
        scale = float(discounts(entry.cutoff).sum()) if entry.name == "dcg_at" else 1.0
        bounds = means.bounds(replace(entry, low=entry.low / scale, high=entry.high / scale))
        bounds |= {"coverage": "conditional"} if entry.name in pooled.METRICS else {}
        rows.append({"metric": f"mean_{entry.name}", "argument": str(entry.cutoff), "rankings": means.total,
                     **{key: value if isinstance(value, str) else scale * value for key, value in bounds.items()},
                     })  # fmt: skip
    return SampledMeans(pa.table(columns), pa.Table.from_pylist(rows, schema=_SCHEMA))


# A judge predicts none of these three. Bounds hold with any predictions, and those of a similar metric narrow them.
_SIMILAR = {"recall_at": "precision_at", "average_precision_at": "precision_at", "ndcg_at": "dcg_at"}
_SCHEMA = pa.schema(
    [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
     ("upper", pa.float64()), ("coverage", pa.string()), ("rankings", pa.int64()), ("normal_lower", pa.float64()),
     ("normal_upper", pa.float64()), ("width_without_judge", pa.float64())]
)  # fmt: skip


@dataclass(frozen=True)
class _Prediction:
    """Predictions of one metric: of the drawn rankings, and the sum, least and greatest of all."""

    drawn: FloatArray
    sum: float
    least: float
    greatest: float

    @staticmethod
    def of_metric(predictions: Predictions, metric: int) -> _Prediction:
        drawn = np.ascontiguousarray(predictions.drawn[:, metric])
        return _Prediction(
            drawn, *(float(values[metric]) for values in (predictions.sums, predictions.least, predictions.greatest))
        )

    def sides(self, total: int) -> tuple[Predicted, Predicted]:
        """As the bounds from below and from above take it."""
        return (self.drawn, self.sum, self.greatest), (1 - self.drawn, total - self.sum, 1 - self.least)


@dataclass(frozen=True)
class _Values:
    """A metric at a cutoff, of each ranking that was drawn.

    Attributes:
        low, high: What it lies between; they differ where labels are missing, or positives unknown.
        bounds: How many bounds its mean has: 2, or 1 where nothing bounds it from below but 0.
    """

    name: str
    cutoff: int
    low: FloatArray
    high: FloatArray
    judge: _Prediction | None
    bounds: int = 2


def _first_items(of: tuple[Positives, Positives], cutoffs: Sequence[int], judged: Predictions | None) -> list[_Values]:
    """The metrics that the first items decide, cutoff by cutoff."""
    named = [(name, k) for k in cutoffs for name in METRICS]
    values = zip(named, _values(of[0], cutoffs), _values(of[1], cutoffs), strict=True)
    return [_Values(*name, low, high, None if judged is None else _Prediction.of_metric(judged, m))
            for m, (name, low, high) in enumerate(values)]  # fmt: skip


def _pool_values(
    of: tuple[Positives, Positives], pool: Pool, cutoffs: Sequence[int], others: Sequence[_Values]
) -> list[_Values]:
    """The metrics that divide by all positives, cutoff by cutoff."""
    named = [(name, k) for k in cutoffs for name in pooled.METRICS]
    judges = {(value.name, value.cutoff): value.judge for value in others}
    values = zip(named, *pooled.pooled_values(of, pool, cutoffs), strict=True)
    return [_Values(*name, low, high, judges[_SIMILAR[name[0]], name[1]], 2 if pool.complete else 1)
            for name, low, high in values]  # fmt: skip


@dataclass(frozen=True)
class _Means:
    """Bounds on means, all of them together.

    Attributes:
        total: Rankings that the means are over.
        delta: Probability that one bound may miss: its share of what `confidence` leaves.
    """

    total: int
    confidence: float
    delta: float

    def bounds(self, of: _Values) -> dict[str, Any]:
        """Bounds, estimate and normal interval of the mean of a metric in [0, 1]."""
        whole = bool(np.all(of.low == of.high))
        if whole and of.low.size == self.total:
            mean = float(of.low.mean())
            return {"lower": mean, "estimate": mean, "upper": mean, "normal_lower": mean, "normal_upper": mean,
                    "coverage": "exact"}  # fmt: skip
        below, above = self._bounds(of)
        row: dict[str, Any] = {"lower": below, "upper": above, "coverage": "simultaneous"}
        if of.judge is not None:
            without = self._bounds(replace(of, judge=None))
            row["width_without_judge"] = without[1] - without[0]
        return {**row, **self._normal(of.low, of.judge, (below, above))} if whole else row

    def _bounds(self, of: _Values) -> tuple[float, float]:
        judge = (NO_JUDGE, NO_JUDGE) if of.judge is None else of.judge.sides(self.total)
        below = lower_bound(of.low, self.total, self.delta, judge[0]) if of.bounds == 2 else 0.0
        return below, 1 - lower_bound(1 - of.high, self.total, self.delta, judge[1])

    def _normal(self, values: FloatArray, judge: _Prediction | None, bounds: tuple[float, float]) -> dict[str, float]:
        """The estimate within its bounds, and the normal interval around it where more than one ranking was drawn."""
        mean, left, count = float(values.mean()), values, values.size
        if judge is not None and float(np.ptp(judge.drawn)) > 0:
            off = judge.drawn - judge.drawn.mean()
            share = min(max(float(off @ values) / float(off @ off), 0.0), 1.0)
            mean -= share * (float(judge.drawn.mean()) - judge.sum / self.total)
            left = values - share * off
        mean = min(max(mean, bounds[0]), bounds[1])
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
        count = of.count_at(k)
        values += [count / k, (count > 0).astype(np.float64), np.where(first <= k, 1.0 / first, 0.0), of.gains(k)]
    return values
