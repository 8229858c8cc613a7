"""Estimates while planned labels are missing: those of the labels at hand, where these are a random part of the tasks.

Tasks are numbered in a shuffle, so whoever does them in order and stops has answered a random part of the planned
ranks, whatever the items are. That is said where every answered task comes before every unanswered one, or where the
two kinds lie alike along the list (Kolmogorov and Smirnov's test of two samples does not tell them apart at 5 %).
Otherwise there is no estimate: bounds hold whatever is missing, a middle between them means nothing.

An item that was skipped, or whose votes leave it open, was answered: it is unknown in the bounds, and where more than
a twentieth of the planned items are such, there is no estimate either.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from streameval.curve import Basis
from streameval.labelling.tally import Tallied
from streameval.methods import method_of
from streameval.study.tasks import task_numbers
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, Int64Array

_LEVEL = 0.05
_DECIDED = 0.95


def completed(plan: Plan, tallied: Tallied) -> tuple[Basis, Labels | None]:
    """Fill in missing labels from those at hand, for estimates alone.

    Returns:
        labels: With "labels at hand": each label that nobody gave is that of the nearest planned rank that has one.
    """
    labels, answered = tallied.labels, tallied.answered
    if answered.all():
        return ("bounds" if labels.known.mean() >= _DECIDED else "none"), None
    both = np.unique(labels.label[labels.known]).size == 2  # one kind alone is no random part
    shuffled = method_of(plan).planned  # of labels that were drawn elsewhere, nobody shuffled the tasks
    if not both or not shuffled or not _random_part(task_numbers(plan), answered):
        return "none", None
    known, missing = np.flatnonzero(labels.known), np.flatnonzero(~answered)
    after = np.minimum(np.searchsorted(known, missing), known.size - 1)
    right, left = known[after], known[np.maximum(after - 1, 0)]
    nearest = np.where(np.abs(missing - left) < np.abs(right - missing) + missing % 2, left, right)
    label = labels.label.copy()
    label[missing] = label[nearest]
    return "labels at hand", replace(labels, label=label)


def _random_part(number: Int64Array, answered: BoolArray) -> bool:
    if number[answered].max() < number[~answered].min():
        return True
    share = np.abs(np.cumsum(answered) / answered.sum() - np.cumsum(~answered) / (~answered).sum())
    size = math.sqrt(answered.sum() * float((~answered).sum()) / answered.size)
    reach = (size + 0.12 + 0.11 / size) * float(share.max())
    tail = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * reach) ** 2) for k in range(1, 101))
    return reach < 0.2 or tail >= _LEVEL
