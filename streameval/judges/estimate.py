"""The estimated yield where a judge has answered: every class of its answers has rates of its own.

The slope of block j on its unlabelled ranks is Σ_c U_jc q_jc over their number, where U_jc of them are in class c and
q_jc is the rate of that class around the middle of the block (`streameval.curve.pooling`). This is the difference
estimator with the factor that suits each class best. Where only a sample was judged, the classes of the other items are
estimated from it in the same way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from streameval.curve.estimated import YieldEstimate, join
from streameval.curve.pooling import PooledLabels
from streameval.types import Labels, Plan
from streameval.typing import FloatArray, Int64Array

_CLASS_REACH = 6  # labels of a class either side: half of what is pooled without classes, for as much error, less bias
_JUDGED_REACH = 24  # judged items either side: there are many


def judged_estimate(
    plan: Plan, labels: Labels, odds: FloatArray, judged_rate: FloatArray | None
) -> YieldEstimate | None:
    """Estimate the yield of a list from labels and what a judge said.

    Args:
        plan: With `judge_counts`; `judge_class` of each planned rank is in its table.
        odds (float64 array, shape (n_planned,)): Of each planned rank (`streameval.curve.pooling.odds_of`).
        judged_rate (float64 array, shape (blocks,)): Where a judge answered for a sample: the probability with which it
            was asked about each rank of a block. None where it answered for all.

    Returns:
        YieldEstimate: None where no label says anything of the ranks without one.
    """
    if plan.judge_counts is None:
        raise ValueError("the judge of this plan has not answered")
    everyone = PooledLabels.from_labels(labels.rank, labels.label, odds)
    if not everyone.rank.size:
        return None
    judge_class = plan.table.column("judge_class").to_numpy()
    judged, ends = _judged_items(plan.judge_counts)
    middle, is_labelled = _middle(ends), labels.known
    block = np.searchsorted(ends, labels.rank[is_labelled])
    labelled = np.zeros(judged.shape)
    np.add.at(labelled, (block, judge_class[is_labelled]), 1.0)
    unlabelled = judged - labelled
    if judged_rate is not None:
        others = np.diff(ends, prepend=0) - judged.sum(axis=1)
        unlabelled += others[:, None] * _shares(plan, 1 / judged_rate - 1, ends)
    rates = np.zeros(judged.shape)
    weight = is_labelled.astype(np.float64)
    for code in range(judged.shape[1]):
        pool = PooledLabels.from_labels(
            labels.rank, np.where(judge_class == code, labels.label, -1), odds, _CLASS_REACH
        )
        pool = pool if pool.rank.size else everyone
        gap, of_gaps = pool.gap_of(middle), pool.rates()
        rates[:, code] = of_gaps[gap]
        items = np.bincount(gap, unlabelled[:, code], of_gaps.size).astype(np.float64)
        weight[np.searchsorted(labels.rank, pool.rank)] += pool.stand_for(items, of_gaps)
    total = unlabelled.sum(axis=1)
    slope = np.divide((unlabelled * rates).sum(axis=1), total, out=np.zeros(total.size), where=total > 0)
    return replace(join(ends, slope, labels.rank[is_labelled], labels.label[is_labelled]), weight=weight)


def _judged_items(counts: pa.Table) -> tuple[FloatArray, Int64Array]:
    """Items of each block in each class, and the last rank of each block."""
    last = counts.column("stratum_last").to_numpy()
    classes = int(counts.column("judge_class").to_numpy().max()) + 1
    return counts.column("items").to_numpy().reshape(-1, classes).astype(np.float64), last[::classes]


def _middle(ends: Int64Array) -> FloatArray:
    return np.asarray((np.concatenate([[0], ends[:-1]]) + ends + 1) / 2)


def _shares(plan: Plan, odds: FloatArray, ends: Int64Array) -> FloatArray:
    """Share of each class among items that were not judged, around the middle of each block; odds are of blocks."""
    if plan.judge_sample is None:
        raise ValueError("no sample was judged")
    rank, code = (plan.judge_sample.column(name).to_numpy() for name in ("rank", "judge_class"))
    sample_odds = odds[np.searchsorted(ends, rank)]
    sample_odds = sample_odds if np.any(sample_odds > 0) else np.ones(sample_odds.size)
    counts = plan.judge_counts
    classes = 0 if counts is None else int(counts.column("judge_class").to_numpy().max()) + 1
    pools = [
        PooledLabels.from_labels(rank, code == judge_class, sample_odds, _JUDGED_REACH)
        for judge_class in range(classes)
    ]
    return np.stack([pool.rates()[pool.gap_of(_middle(ends))] for pool in pools], axis=1)
