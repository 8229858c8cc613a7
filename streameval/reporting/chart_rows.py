"""The rows that charts draw: estimates and sound bands of one curve, sampled finely enough for a screen."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.at_cutoff import bounds_at
from streameval.curve.estimate import between
from streameval.curve.extremes import Walk
from streameval.curve.targets import interpolated_precision
from streameval.typing import FloatArray, Int64Array

Rows = list[dict[str, Any]]
_RECALLS = 100


def thinned(n_items: int, grid: Int64Array) -> Int64Array:
    """Ranks to draw: 700 along a log axis, and the grid beyond the head."""
    even = np.unique(np.rint(np.geomspace(1, n_items, 700)).astype(np.int64))
    jumps = grid[1:][np.diff(grid) > 1] if grid.size > 1 else grid
    return np.unique(np.concatenate([even, jumps[:2000]]))


def by_rank(curve: Curve) -> Rows:
    """`rank`, and `lower`, `estimate`, `upper` of precision."""
    return _precision(curve, thinned(curve.n_items, curve.grid))


def by_rank_small(curve: Curve) -> Rows:
    """The same at fewer ranks: what a small chart of a slice shows."""
    return _precision(curve, np.unique(np.rint(np.geomspace(1, curve.n_items, 120)).astype(np.int64)))


def _with_estimates(rows: Rows, curve: Curve, draw: Callable[[Curve], Rows]) -> Rows:
    """Put the estimates of a curve's center in place of the middle of its bounds; none where it has none."""
    central = curve.central
    if central is curve:
        return rows
    known = {} if central is None else {row[next(iter(row))]: row.get("estimate") for row in draw(central)}
    plain = [{key: value for key, value in row.items() if key != "estimate"} for row in rows]
    found = [known.get(row[next(iter(row))]) for row in plain]
    return [row if one is None else {**row, "estimate": one} for row, one in zip(plain, found, strict=True)]


def _precision(curve: Curve, ranks: Int64Array) -> Rows:
    drawn = curve.at(ranks)
    names = {"rank": "rank", "precision_lower": "lower", "precision": "estimate", "precision_upper": "upper"}
    return _rows(drawn.select(list(names)).rename_columns(list(names.values())))


def by_recall(curve: Curve) -> Rows:
    """Best precision at or beyond a recall (`recall`), with the bounds that all lists inside the envelope give it.

    Where nothing is proven, only the estimated points of the curve, in order.
    """
    if not curve.proves:
        return _estimates(curve, "recall", "precision")
    rows, extremes = [], curve.extremes()
    for recall in (Fraction(i, _RECALLS) for i in range(_RECALLS + 1)):
        ends = [interpolated_precision(one, recall) for one in extremes]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        if not np.isnan(low):
            rows.append(_row("recall", float(recall), low, high))
    return _with_estimates(rows, curve, by_recall)


def by_false_positive_rate(curve: Curve) -> Rows:
    """Recall at a false positive rate (`rate`).

    At every cutoff the true point is right of the least rate and below the largest recall; both rise with the rank, so
    the true curve runs between the two monotone curves of those corners.
    """
    if not curve.proves:
        return _estimates(curve, "rate", "recall")
    known = curve.known(thinned(curve.n_items, curve.grid))
    recalls, rates = bounds_at(known, "recall"), bounds_at(known, "false_positive_rate")
    if any(np.isnan(side).any() for side in (*recalls, *rates)):
        return []
    rate = np.unique(np.concatenate([np.linspace(0, 1, 101), np.geomspace(1e-4, 1, 100)]))
    late = np.minimum(
        np.searchsorted(rates[0], rate, side="right"), rates[0].size - 1
    )  # the next sample: never too low
    early = np.searchsorted(rates[1], rate, side="right") - 1
    low = np.where(early >= 0, recalls[0][np.maximum(early, 0)], 0.0)
    ends = zip(rate.tolist(), low.tolist(), recalls[1][late].tolist(), strict=True)
    return _with_estimates([_row("rate", *sides) for sides in ends], curve, by_false_positive_rate)


def by_yield(curve: Curve) -> Rows:
    """Precision where so many positives (`found`) have been seen: j over the rank of the j-th, with bounds."""
    if not curve.proves:
        return _estimates(curve, "found", "precision")
    extremes = curve.extremes()[0]
    if extremes.early.total < 1:
        return []
    found = np.unique(np.rint(np.geomspace(1, extremes.early.total, 300)))
    low, high = (_precision_of(walk, found) for walk in (extremes.late, extremes.early))
    rows = [_row("found", *sides) for sides in zip(found.tolist(), low.tolist(), high.tolist(), strict=True)]
    return _with_estimates(rows, curve, by_yield)


def _precision_of(walk: Walk, found: FloatArray) -> FloatArray:
    """Precision at the j-th positive; 0 where there is none."""
    return found / (found + walk.before(found))


def labels_spent(ranks: Int64Array, n_items: int) -> Rows:
    """Labels per quarter of a decade of ranks: `rank`, `end`, `labels`."""
    edges = np.unique(np.rint(10 ** np.arange(0, np.log10(n_items) + 0.25, 0.25)).astype(np.int64))
    edges = edges[edges <= n_items]
    ends = np.append(edges[1:], n_items + 1)
    counts, _ = np.histogram(ranks, bins=np.append(edges, n_items + 1))
    return [{"rank": int(a), "end": int(b), "labels": int(n)} for a, b, n in zip(edges, ends, counts, strict=True) if n]


def local_shares(labels: pa.Table, n_items: int) -> Rows:
    """Share of positives among the labels of each eighth of a decade of ranks: `rank`, `share`, `labels`."""
    known = labels.filter(labels.column("label").is_valid())
    ranks, label = known.column("rank").to_numpy(), known.column("label").to_numpy()
    edges = np.unique(np.rint(10 ** np.arange(0, np.log10(max(n_items, 2)) + 0.125, 0.125)).astype(np.int64))
    at = np.searchsorted(edges, ranks, side="right") - 1
    count, positive = np.bincount(at, minlength=edges.size), np.bincount(at, weights=label, minlength=edges.size)
    middle = np.sqrt(edges * np.append(edges[1:], n_items + 1.0))
    shares = zip(middle.tolist(), positive.tolist(), count.tolist(), strict=True)
    return [{"rank": round(r), "share": round(y / n, 5), "labels": n} for r, y, n in shares if n >= 5]


def _estimates(curve: Curve, x: str, y: str) -> Rows:
    ranks = thinned(curve.n_items, curve.grid)
    table = curve.at(ranks).select(["yield", "precision", "recall"]).to_pylist()
    known = curve.known(ranks)
    rates = bounds_at(known, "false_positive_rate")
    rows = []
    for row, low, high in zip(table, *(side.tolist() for side in rates), strict=True):
        values = {**row, "found": row["yield"], "rate": between(low, high)}
        if values[x] is not None and values[y] is not None and not np.isnan(values[x]):
            rows.append({x: _short(values[x]), "estimate": _short(values[y])})
    return rows


def _row(name: str, value: float, low: float, high: float) -> dict[str, Any]:
    sides = {"lower": low, "upper": high}
    if low > 0 or high == 0:  # between nothing and something lies no estimate worth a line
        sides["estimate"] = between(low, high)
    return {name: _short(value), **{side: _short(end) for side, end in sides.items()}}


def _rows(table: pa.Table) -> Rows:
    return [{key: _short(value) for key, value in row.items()} for row in table.to_pylist()]


def _short(value: float) -> float:
    return round(value, 5) if isinstance(value, float) else value
