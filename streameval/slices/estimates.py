"""Estimates of slices and of the list that they make up: one sums to the other.

The list's estimate at a cutoff at which slices were counted is the sum of theirs, and runs straight over the unlabelled
items between two of these. A slice none of whose labels says anything of its other items takes the rates of the whole
list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from streameval.curve import Curve
from streameval.curve.estimated import YieldEstimate, join
from streameval.curve.pooling import PooledLabels, odds_of
from streameval.methods import DrawsAtRandom, method_of
from streameval.slices.pool import SlicePlan
from streameval.types import Labels
from streameval.typing import FloatArray, Int64Array


def with_list_rates(
    parts: Sequence[SlicePlan], curves: Mapping[str, Curve], labels: Labels, counted: tuple[Int64Array, Int64Array]
) -> dict[str, Curve]:
    """Estimate slices that have no estimate of their own by the rates of the whole list.

    Args:
        parts, curves: Of all slices, in one order.
        labels: Of the whole plan.
        counted: Ranks of the list at which slices were counted, and how many items of each are among them, int64,
            shape (cutoffs, slices).
    """
    pool = _whole_pool(parts, labels)
    if not pool.rank.size or all(curve.estimated is not None for curve in curves.values()):
        return dict(curves)
    cutoffs, inside = counted
    middle = (np.concatenate([[0], cutoffs[:-1]]) + cutoffs + 1) / 2
    gap, rates = pool.gap_of(middle), pool.rates()
    estimated = {}
    for at, (part, (name, curve)) in enumerate(zip(parts, curves.items(), strict=True)):
        if curve.estimated is None:
            part_labels = part.labels(labels)
            rank, label = part_labels.rank[part_labels.known], part_labels.label[part_labels.known]
            ends, some = np.unique(inside[:, at], return_index=True)
            some, ends = some[ends > 0], ends[ends > 0]
            curve = replace(curve, estimated=join(ends, rates[gap[some]], rank, label))
        estimated[name] = curve
    return estimated


def list_estimate(
    parts: Sequence[SlicePlan], curves: Mapping[str, Curve], labels: Labels, counted: tuple[Int64Array, Int64Array]
) -> YieldEstimate | None:
    """Add up the estimates of all slices; None where one has none. Arguments are those of `with_list_rates`."""
    plugs = [curve.plug_in for curve in curves.values()]
    yields = [plug.curve for plug in plugs if plug is not None]
    if len(yields) < len(parts):
        return None
    cutoffs, inside = counted
    sums = np.sum([estimate.at(inside[:, at]) for at, estimate in enumerate(yields)], axis=0)
    rank, label = labels.rank[labels.known], labels.label[labels.known]
    at = np.searchsorted(rank, cutoffs, side="right")
    positives = np.concatenate([[0], np.cumsum(label)])[at]
    unlabelled = np.diff(cutoffs - at, prepend=0)
    rate = np.diff(sums - positives, prepend=0) / np.maximum(unlabelled, 1)
    if np.any((rate < -1e-6) | (rate > 1 + 1e-6)):  # cut to bounds that were widened for wrong labels
        estimate = YieldEstimate(np.concatenate([[0], cutoffs]), np.concatenate([[0.0], sums]))
    else:
        estimate = join(cutoffs, np.clip(rate, 0, 1), rank, label)
    return replace(estimate, weight=_weights(parts, yields, labels, counted))


def _whole_pool(parts: Sequence[SlicePlan], labels: Labels) -> PooledLabels:
    odds = np.zeros(labels.rank.size)
    for part in parts:
        method, mask = method_of(part.plan), labels.known[part.rows]
        if isinstance(method, DrawsAtRandom):
            odds[part.rows] = odds_of(method.weights(part.plan), mask)
    return PooledLabels.from_labels(labels.rank, labels.label, odds)


def _weights(
    parts: Sequence[SlicePlan], yields: Sequence[YieldEstimate], labels: Labels, counted: tuple[Int64Array, Int64Array]
) -> FloatArray:
    """Items that each label stands for: of its slice, and of slices that took the rates of the list."""
    weight = np.zeros(labels.rank.size)
    cutoffs, inside = counted
    middle = (np.concatenate([[0], cutoffs[:-1]]) + cutoffs + 1) / 2
    for at, (part, estimate) in enumerate(zip(parts, yields, strict=True)):
        if estimate.weight is not None:
            weight[part.rows] += estimate.weight
            continue
        mask = labels.known[part.rows]
        weight[part.rows] += mask
        pool, n_drawn = _whole_pool(parts, labels), np.searchsorted(part.plan.ranks[mask], inside[:, at], side="right")
        items = np.diff(inside[:, at] - n_drawn, prepend=0).astype(np.float64)
        gaps = np.bincount(pool.gap_of(middle), items, pool.rank.size + 1).astype(np.float64)
        weight[np.searchsorted(labels.rank, pool.rank)] += pool.stand_for(gaps, pool.rates())
    return weight
