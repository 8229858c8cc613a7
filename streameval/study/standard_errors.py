"""Standard errors of a study's estimates: approximate, and for one rank alone; bounds hold for all."""

from __future__ import annotations

import numpy as np

from streameval.curve.pooling import PooledLabels, odds_of
from streameval.study.result_files import Evaluation
from streameval.typing import FloatArray, Int64Array

_CELL = 8  # labels
_AROUND = 4  # cells on either side whose share is mixed into that of a cell, as one label; half a one of the list
_LEAST = 10  # positives, and negatives: with fewer the error of what is pooled is larger than that of the draw


def precision_error(evaluation: Evaluation, rank: int) -> float | None:
    """Standard error of the estimated precision of the first `rank` items, approximate.

    None where fewer than 10 positive or 10 negative labels of a random draw say something of these items; where there
    is no estimate; and with a judge, or slices, for which it was not measured.
    """
    labels, drawn = evaluation.labels, evaluation.label_table.column("draw_weight").to_numpy(zero_copy_only=False)
    unmeasured = "judge" in evaluation.curve.diagnostics or evaluation.slices
    if unmeasured or evaluation.curve.plug_in is None or not labels.known.any() or np.isnan(drawn).any():
        return None
    pool = PooledLabels.of(labels.rank, labels.label, odds_of(drawn, labels.known))
    error = standard_error(pool, labels.rank[labels.known], rank) / rank if pool.rank.size else np.nan
    return None if np.isnan(error) else float(error)


def standard_error(pool: PooledLabels, labelled: Int64Array, rank: int) -> float:
    """√ Σ u(u/n + 1) q(1 − q) over cells of labels up to a rank; NaN where these are too few of either kind.

    In a cell u items have no label and n do; where odds differ within it, n is (Σ o)²/Σ o². Its share q of positives is
    that of its labels, one label's worth of the nine cells around it and half a one of the list.

    Args:
        pool: The labels with odds above 0, each 0 or 1.
        labelled (int64 array, strictly increasing): All ranks with a label.
        rank: From 1.
    """
    upto = int(np.searchsorted(pool.rank, rank, side="right"))
    positives = int(pool.value[:upto].sum())
    if min(positives, upto - positives) < _LEAST:
        return float("nan")
    first = np.arange(0, pool.rank.size, _CELL)
    odds, hits = (np.add.reduceat(each, first) for each in (pool.odds, pool.odds * pool.value))
    n = odds**2 / np.add.reduceat(pool.odds**2, first)
    q = (n * hits / odds + _around(hits) / _around(odds) + 0.5 * hits.sum() / odds.sum()) / (n + 1.5)
    ends = np.minimum(np.append(pool.rank[first[1:] - 1], np.iinfo(np.int64).max), rank)
    u = np.diff(ends - np.searchsorted(labelled, ends, side="right"), prepend=0)
    return float(np.sqrt(np.sum(u * (u / n + 1) * q * (1 - q))))


def _around(cells: FloatArray) -> FloatArray:
    """Sums over each cell and up to four on either side."""
    sums = np.concatenate([[0.0], np.cumsum(cells)])
    at = np.arange(cells.size)
    return np.asarray(sums[np.minimum(at + _AROUND + 1, cells.size)] - sums[np.maximum(at - _AROUND, 0)])
