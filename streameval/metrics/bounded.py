"""Metrics with bounds, derived from a curve and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from streameval.curve import Curve, areas, points, targets
from streameval.curve import first_k as tops
from streameval.curve.areas import Interval
from streameval.curve.at_cutoff import METRICS, bounds_at
from streameval.curve.bounds import cut_to_bounds
from streameval.curve.extremes import Extremes
from streameval.metrics import BETAS, ELEVEN, PRECISIONS, RECALLS, Row, cutoffs, table, text
from streameval.metrics.estimated import estimates
from streameval.typing import FloatArray, Int64Array


def metrics(curve: Curve) -> pa.Table:
    """Compute every metric.

    Args:
        curve: With its `misses`.

    Returns:
        pyarrow.Table: `metric`, `argument` (text), `lower`, `estimate`, `upper`, `coverage` (of the curve's claim);
            null where a metric is undefined for every list, or for the one at that end. At cutoffs: precision_at,
            yield_at, recall_at, f1_at, e_measure_at, accuracy_at, specificity_at, false_positive_rate_at, mcc_at,
            dcg_at, average_precision_at (over P; …_found: over the positives among the first k; …_capped: over min(P,
            k)). Of the list: average_precision and roc_auc, pr_area, max_f0.5 …, max_f1_rank (where the estimated F1 is
            largest, without bounds), breakeven, r_precision, reciprocal_rank. At targets: rank_at_precision (the
            deepest rank that has it; 0 where none), rank_at_recall, precision_at_recall (the best at or beyond that
            recall: interpolated precision), recall_at_precision, eleven_point_precision.

    Bounds on the yield hold together, so the bounds on all metrics hold together, with the probability and under the
    assumption of the curve. Where its coverage is "none" those at cutoffs are no bounds, and other rows have none.
    Estimates are all of one curve (`Curve.plug_in`).
    """
    rows = {row[:2]: row for row in _rows_of(curve)}
    of_plug_in = {} if curve.plug_in is None else estimates(curve.plug_in, cutoffs(curve.n_items))
    rows = {name: (*name, np.nan, np.nan, np.nan) for name in of_plug_in} | rows
    return table([_estimate_row(row, of_plug_in.get(name, np.nan)) for name, row in rows.items()], curve.claim.coverage)


def _rows_of(curve: Curve) -> list[Row]:
    rows = list(_at_cutoffs(curve))
    if curve.proves:
        ends = [list(_of_the_list(extremes, curve)) for extremes in curve.extremes]
        rows += [_over_misses(pair) for pair in zip(*ends, strict=True)]
    return rows


def _over_misses(pair: tuple[Row, ...]) -> Row:
    """Bounds with the fewest and with the most misses: no metric but R-precision turns between them."""
    metric, argument = pair[-1][:2]
    low, high = (float(side.reduce([row[at] for row in pair])) for side, at in ((np.fmin, 2), (np.fmax, 4)))
    return _row(metric, argument, (low, high))


def _estimate_row(row: Row, estimate: float) -> Row:
    metric, argument, lower, _, upper = row
    return metric, argument, lower, float(cut_to_bounds(estimate, lower, upper)), upper


def _row(metric: str, argument: str, bounds: Interval) -> Row:
    lower, upper = bounds
    return metric, argument, lower, np.nan, upper


def _at_cutoffs(curve: Curve) -> Iterator[Row]:
    ranks = cutoffs(curve.n_items)
    at_cutoffs = curve.known(ranks)
    yield from _rows("precision", bounds_at(at_cutoffs, "precision"), ranks)
    yield from _rows("yield", (at_cutoffs.lower, at_cutoffs.upper), ranks)
    for name in METRICS:
        if name != "precision":
            yield from _rows(name, bounds_at(at_cutoffs, name), ranks)


def _rows(name: str, bounds: tuple[FloatArray, FloatArray], ranks: Int64Array) -> Iterator[Row]:
    for rank, lower, upper in zip(ranks.tolist(), *(side.tolist() for side in bounds), strict=True):
        yield _row(f"{name}_at", str(rank), (lower, upper))


def _of_the_list(extremes: Extremes, curve: Curve) -> Iterator[Row]:
    yield _row("average_precision", "positives", areas.average_precision(extremes))
    without_misses = Extremes(extremes.n_items, 0.0, extremes.early, extremes.late)
    yield _row("average_precision", "found", areas.average_precision(without_misses))
    yield _row("pr_area", "step", areas.average_precision(extremes))
    yield _row("pr_area", "interpolated", areas.interpolated_area(extremes))
    yield _row("roc_auc", "", areas.roc_auc(extremes))
    for beta in BETAS:
        yield _row(f"max_f{beta:g}", "", points.max_f(extremes, beta))
    yield _row("max_f1_rank", "", (np.nan, np.nan))  # an estimate: no bounds are known of where it is
    yield _row("breakeven", "", points.breakeven(extremes))
    fewest = extremes if curve.misses_upper is None else curve.extremes[0]
    yield _row("r_precision", "", points.r_precision(fewest, curve.misses_upper))
    yield _row("reciprocal_rank", "", points.reciprocal_rank(extremes))
    yield from _at_tops(extremes, cutoffs(curve.n_items))
    yield from _at_targets(extremes)


def _at_tops(extremes: Extremes, ranks: Int64Array) -> Iterator[Row]:
    for k in ranks.tolist():
        for name, bounds in tops.average_precision_at(extremes, k).items():
            suffix = "" if name == "positives" else f"_{name}"
            yield _row(f"average_precision_at{suffix}", str(k), bounds)
    for k in ranks[ranks <= tops.DEEPEST_DCG].tolist():
        yield _row("dcg_at", str(k), tops.dcg_at(extremes, k))


def _at_targets(extremes: Extremes) -> Iterator[Row]:
    for recall in RECALLS:
        yield _row("rank_at_recall", text(recall), targets.rank_at_recall(extremes, recall))
    eleven = [targets.interpolated_precision(extremes, recall) for recall in ELEVEN]
    for recall, bounds in zip(ELEVEN, eleven, strict=True):
        yield _row("precision_at_recall", text(recall), bounds)
    yield _row("eleven_point_precision", "", (float(np.mean([low for low, _ in eleven])),
                                              float(np.mean([high for _, high in eleven]))))  # fmt: skip
    for precision in PRECISIONS:
        yield _row("rank_at_precision", text(precision), targets.rank_at_precision(extremes, precision))
        yield _row("recall_at_precision", text(precision), targets.recall_at_precision(extremes, precision))
