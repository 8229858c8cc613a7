"""Bounds on means over all rankings, from labels of the first items of some that were drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np
import pyarrow as pa

from streameval.kernels.discounts import discounts
from streameval.kernels.without_replacement import lower_bound
from streameval.types import Labels, Plan
from streameval.typing import AnyArray, FloatArray

METRICS = ("precision_at", "success_at", "reciprocal_rank_at", "dcg_at")


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


def bounds_on_means(plan: Plan, labels: Labels, cutoffs: Sequence[int]) -> Sampled:
    """Bound the mean of every metric at every cutoff over all rankings.

    With probability `confidence` all bounds hold together, at all cutoffs, whatever the rankings and labels are, and
    whyever labels are missing: each metric has its share of what is left. `estimate` is the mean of the rankings that
    were drawn, where no label is missing; `normal_lower` and `normal_upper` are the normal interval of each mean by
    itself, which promises nothing of skewed values; it is cut off at the least and largest value of the metric.
    """
    confidence = float(plan.parameters["confidence"])
    count, total = int(plan.parameters["rankings"]), int(plan.notes["rankings"])
    number, place = (plan.table.column(name).to_numpy() for name in ("stratum", "place"))
    ends = [_values(number, place, np.where(labels.known, labels.label, missing), count, cutoffs) for missing in (0, 1)]
    named = [(name, k) for k in cutoffs for name in METRICS]
    first = np.unique(number, return_index=True)[1]
    names = [json.loads(name) for name in plan.table.column("ranking").take(pa.array(first)).to_pylist()]
    columns = {**dict(zip(plan.notes["per"], zip(*names, strict=True), strict=True)),
               "items": np.bincount(number, minlength=count),
               "labelled": np.bincount(number[labels.known], minlength=count)}  # fmt: skip
    for m, (name, k) in enumerate(named):
        columns |= {f"{name}_{k}_lower": ends[0][m], f"{name}_{k}_upper": ends[1][m]}
    delta = (1 - confidence) / (2 * len(named))
    rows = []
    for m, (name, k) in enumerate(named):
        scale = float(discounts(k).sum()) if name == "dcg_at" else 1.0
        low, high = ends[0][m] / scale, ends[1][m] / scale
        own = {"lower": scale * lower_bound(low, float(total), delta),
               "upper": scale * (1 - lower_bound(1 - high, float(total), delta))}  # fmt: skip
        whole = bool(labels.known.all())
        mean, half = float(ends[0][m].mean()), math.nan
        if count > 1:
            half = NormalDist().inv_cdf(0.5 + confidence / 2) * float(ends[0][m].std(ddof=1)) / math.sqrt(count)
            half *= math.sqrt(1 - count / total)
        normal = {"normal_lower": max(mean - half, 0.0), "normal_upper": min(mean + half, scale)}
        known = {"estimate": mean, **({} if math.isnan(half) else normal)}
        known = known if whole else {}
        coverage = "exact" if whole and count == total else "simultaneous"
        if coverage == "exact":
            own = {"lower": mean, "upper": mean}
        rows.append({"metric": f"mean_{name}", "argument": str(k), **own, **known, "coverage": coverage,
                     "rankings": total})  # fmt: skip
    return Sampled(pa.table(columns), pa.Table.from_pylist(rows, schema=_SCHEMA))


_SCHEMA = pa.schema(
    [("metric", pa.string()), ("argument", pa.string()), ("lower", pa.float64()), ("estimate", pa.float64()),
     ("upper", pa.float64()), ("coverage", pa.string()), ("rankings", pa.int64()), ("normal_lower", pa.float64()),
     ("normal_upper", pa.float64())]
)  # fmt: skip


def _values(
    number: AnyArray, place: AnyArray, label: AnyArray, count: int, cutoffs: Sequence[int]
) -> list[FloatArray]:  # fmt: skip
    """Every metric of each ranking that was drawn, cutoff by cutoff."""
    table, values = discounts(max(cutoffs)), []
    for k in cutoffs:
        positive = (label == 1) & (place <= k)
        found = np.bincount(number[positive], minlength=count).astype(np.float64)
        first = np.full(count, np.inf)
        np.minimum.at(first, number[positive], place[positive])
        gain = np.zeros(count)
        np.add.at(gain, number[positive], table[place[positive] - 1])
        values += [found / k, (found > 0).astype(np.float64), 1.0 / first, gain]
    return values
