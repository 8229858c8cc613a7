"""Estimates while planned labels are missing: those of the labels at hand, where these are a random part of the tasks.

Tasks are numbered in a shuffle, so whoever does them in order and stops has answered a random part of the planned
ranks, whatever the items are. That is said where every answered task comes before every unanswered one, or where the
two kinds lie alike along the list (Kolmogorov and Smirnov's test of two samples does not tell them apart at 5 %).
Otherwise there is no estimate, though bounds hold whatever is missing.

An item that was skipped, or whose votes leave it open, was answered: it is unknown in the bounds, and where more than
a twentieth of the planned items are such, there is no estimate either.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.curve import Basis
from streameval.kernels.sorted_sets import unique
from streameval.labelling.tally import Tallied
from streameval.methods import method_of
from streameval.study.tasks import task_numbers
from streameval.types import Plan
from streameval.typing import BoolArray, Int64Array

_LEVEL = 0.05
_DECIDED = 0.95


def basis_of(plan: Plan, tallied: Tallied) -> Basis:
    """What estimates may be made of."""
    labels, answered = tallied.labels, tallied.answered
    if answered.all():
        return "labels" if labels.known.mean() >= _DECIDED else "none"
    both = unique(labels.label[labels.known]).size == 2  # one kind alone is no random part
    shuffled = method_of(plan).planned  # of labels that were drawn elsewhere, nobody shuffled the tasks
    return "labels at hand" if both and shuffled and _random_part(task_numbers(plan), answered) else "none"


def _random_part(number: Int64Array, answered: BoolArray) -> bool:
    if number[answered].max() < number[~answered].min():
        return True
    share = np.abs(np.cumsum(answered) / answered.sum() - np.cumsum(~answered) / (~answered).sum())
    size = math.sqrt(answered.sum() * float((~answered).sum()) / answered.size)
    reach = (size + 0.12 + 0.11 / size) * float(share.max())
    tail = 2 * sum((-1) ** (k - 1) * math.exp(-2 * (k * reach) ** 2) for k in range(1, 101))
    return reach < 0.2 or tail >= _LEVEL
