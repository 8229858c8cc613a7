"""Sufficient statistics of the band: positives and labels of each block and class."""

from __future__ import annotations

import numpy as np

from streameval.judges.classes import judge_of
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array


def counts(
    plan: Plan, labels: Labels, drawn: BoolArray, items: Int64Array, prior: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """Count labels.

    Args:
        drawn: Which planned ranks are of the draw.
        items, prior: Ranks of each block, and the prediction, where the plan has no judge.

    Returns:
        counts: Four arrays of shape (blocks, classes): items (or those that the judge answered for), labels, positives
            with missing labels as 0 and as 1.
        prior (float64 array, shape (classes,)): What the plan predicts of each class.
    """
    judge, classes, judge_class = judge_of(plan), 1, np.zeros(plan.table.num_rows, np.int64)
    shape = (items.size, classes)
    if judge is not None and plan.judge_counts is not None:
        classes, prior, judge_class = judge.classes, judge.prior, plan.table.column("judge_class").to_numpy()
        shape, items = (items.size, classes), plan.judge_counts.column("items").to_numpy()
    cell = plan.table.column("stratum").to_numpy() * classes + judge_class
    counted = [
        np.bincount(cell[chosen], minlength=shape[0] * classes).astype(np.float64).reshape(shape)
        for chosen in (drawn, drawn & (labels.label == 1), drawn & (labels.label != 0))
    ]
    return [items.astype(np.float64).reshape(shape), *counted], prior


def labelled_head(plan: Plan) -> int:
    """Last rank up to which every rank is planned."""
    gaps = np.flatnonzero(plan.ranks != np.arange(1, plan.ranks.size + 1))
    return int(gaps[0]) if gaps.size else plan.ranks.size
