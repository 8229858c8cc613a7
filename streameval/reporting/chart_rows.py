"""The rows that charts draw: estimates and sound bands of one curve, sampled finely enough for a screen."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.at_cutoff import bounds_at
from streameval.curve.bounds import cut_to_bounds
from streameval.curve.extremes import Walk
from streameval.curve.plug_in import PlugIn
from streameval.curve.targets import interpolated_precision
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray, Int64Array

ChartRows = list[dict[str, Any]]
_RECALLS = 100


def ranks_to_draw(n_items: int, grid: Int64Array) -> Int64Array:
    """Ranks to draw: 700 along a log axis, and the grid beyond the head."""
    even = unique(np.rint(np.geomspace(1, n_items, 700)).astype(np.int64))
    jumps = grid[1:][np.diff(grid) > 1] if grid.size > 1 else grid
    return unique(even, jumps[:2000])


def by_rank(curve: Curve) -> ChartRows:
    """`rank`, and `lower`, `estimate`, `upper` of precision."""
    return _precision(curve, ranks_to_draw(curve.n_items, curve.grid))


def by_rank_small(curve: Curve) -> ChartRows:
    """Give the same at fewer ranks: what a small chart of a slice shows."""
    return _precision(curve, unique(np.rint(np.geomspace(1, curve.n_items, 120)).astype(np.int64)))


def _precision(curve: Curve, ranks: Int64Array) -> ChartRows:
    drawn = curve.at(ranks)
    names = {"rank": "rank", "precision_lower": "lower", "precision": "estimate", "precision_upper": "upper"}
    return _rows(drawn.select(list(names)).rename_columns(list(names.values())))


def by_recall(curve: Curve) -> ChartRows:
    """Best precision at or beyond a recall (`recall`), with the bounds that all lists inside the envelope give it.

    Where nothing is proven, only the estimated points of the curve, in order.
    """
    if not curve.proves:
        return _estimates(curve, "recall", "precision")
    shares = [Fraction(i, _RECALLS) for i in range(_RECALLS + 1)]
    precisions = [curve.at_target(interpolated_precision, PlugIn.interpolated_precision, recall) for recall in shares]
    rows = zip(shares, precisions, strict=True)
    return [_row("recall", float(recall), *bounds) for recall, bounds in rows if not np.isnan(bounds.lower)]


def by_false_positive_rate(curve: Curve) -> ChartRows:
    """Recall at a false positive rate (`rate`).

    At every cutoff the true point is right of the least rate and below the largest recall; both rise with the rank, so
    the true curve runs between the two monotone curves of those corners.
    """
    if not curve.proves:
        return _estimates(curve, "rate", "recall")
    samples = curve.known(ranks_to_draw(curve.n_items, curve.grid))
    recalls, rates = bounds_at(samples, "recall"), bounds_at(samples, "false_positive_rate")
    if any(np.isnan(side).any() for side in (*recalls, *rates)):
        return []
    rate = unique(np.linspace(0, 1, 101), np.geomspace(1e-4, 1, 100))
    late = np.minimum(
        np.searchsorted(rates[0], rate, side="right"), rates[0].size - 1
    )  # the next sample: never too low
    early = np.searchsorted(rates[1], rate, side="right") - 1
    low = np.where(early >= 0, recalls[0][np.maximum(early, 0)], 0.0)
    return _band_rows("rate", rate, low, _recall_at_rate(curve, rate), recalls[1][late])


def _recall_at_rate(curve: Curve, rate: FloatArray) -> FloatArray:
    """Estimated recall at false positive rates: straight between the knots of the estimated curve."""
    if curve.plug_in is None:
        return np.full(rate.size, np.nan)
    ranks = curve.plug_in.curve.rank[1:]
    x, y = (np.append(0.0, curve.plug_in.at(name, ranks)) for name in ("false_positive_rate", "recall"))
    here = np.searchsorted(x, rate, side="right") - 1  # where the line is upright, its upper end
    after = np.minimum(here + 1, x.size - 1)
    width = np.maximum(x[after] - x[here], np.finfo(float).tiny)
    straight = np.asarray(y[here] + (y[after] - y[here]) * np.minimum((rate - x[here]) / width, 1.0))
    return np.where((here == 0) & (curve.plug_in.curve.first > 1), np.nan, straight)


def by_yield(curve: Curve) -> ChartRows:
    """Precision where so many positives (`found`) have been seen: j over the rank of the j-th, with bounds."""
    if not curve.proves:
        return _estimates(curve, "found", "precision")
    extremes = curve.extremes[0]
    if extremes.early.total < 1:
        return []
    positives = unique(np.rint(np.geomspace(1, extremes.early.total, 300)))
    low, high = (_precision_of(walk, positives) for walk in (extremes.late, extremes.early))
    estimate = np.full(positives.size, np.nan)
    if curve.plug_in is not None:
        reached = positives <= curve.plug_in.found
        estimate[reached] = positives[reached] / curve.plug_in.ranks_of(positives[reached])
    return _band_rows("found", positives, low, estimate, high)


def _precision_of(walk: Walk, positives: FloatArray) -> FloatArray:
    """Precision at the j-th positive; 0 where there is none."""
    return positives / (positives + walk.before(positives))


def labels_spent(ranks: Int64Array, n_items: int) -> ChartRows:
    """Labels per quarter of a decade of ranks: `rank`, `end`, `labels`."""
    edges = unique(np.rint(10 ** np.arange(0, np.log10(n_items) + 0.25, 0.25)).astype(np.int64))
    edges = edges[edges <= n_items]
    ends = np.append(edges[1:], n_items + 1)
    counts, _ = np.histogram(ranks, bins=np.append(edges, n_items + 1))
    return [{"rank": int(a), "end": int(b), "labels": int(n)} for a, b, n in zip(edges, ends, counts, strict=True) if n]


def local_shares(labels: pa.Table, n_items: int) -> ChartRows:
    """Share of positives among the labels of each eighth of a decade of ranks: `rank`, `share`, `labels`."""
    labelled = labels.filter(labels.column("label").is_valid())
    ranks, label = labelled.column("rank").to_numpy(), labelled.column("label").to_numpy()
    edges = unique(np.rint(10 ** np.arange(0, np.log10(max(n_items, 2)) + 0.125, 0.125)).astype(np.int64))
    at = np.searchsorted(edges, ranks, side="right") - 1
    count, positive = np.bincount(at, minlength=edges.size), np.bincount(at, weights=label, minlength=edges.size)
    middle = np.sqrt(edges * np.append(edges[1:], n_items + 1.0))
    shares = zip(middle.tolist(), positive.tolist(), count.tolist(), strict=True)
    return [{"rank": round(r), "share": round(y / n, 5), "labels": n} for r, y, n in shares if n >= 5]


def _estimates(curve: Curve, x: str, y: str) -> ChartRows:
    if curve.plug_in is None:
        return []
    ranks = ranks_to_draw(curve.n_items, curve.grid)
    names = {"found": "yield", "rate": "false_positive_rate"}
    values = [curve.plug_in.at(names.get(name, name), ranks).tolist() for name in (x, y)]
    return [
        {x: _short(across), "estimate": _short(other)}
        for across, other in zip(*values, strict=True)
        if not np.isnan(across + other)
    ]


def _band_rows(name: str, at: FloatArray, low: FloatArray, estimate: FloatArray, high: FloatArray) -> ChartRows:
    sides = (at, low, cut_to_bounds(estimate, low, high), high)
    return [_row(name, *row) for row in zip(*(side.tolist() for side in sides), strict=True)]


def _row(name: str, value: float, low: float, estimate: float, high: float) -> dict[str, Any]:
    sides = {name: value, "lower": low, "upper": high} | ({} if np.isnan(estimate) else {"estimate": estimate})
    return {side: _short(end) for side, end in sides.items()}


def _rows(table: pa.Table) -> ChartRows:
    return [{key: _short(value) for key, value in row.items()} for row in table.to_pylist()]


def _short(value: float) -> float:
    return round(value, 5) if isinstance(value, float) else value
