"""Bounds on the difference of one cutoff that hold at any time, while labels come in.

Gains and losses together come in the order of u, which is uniformly random; z is 1 for a positive gain and for a
negative loss, so that D is Σ z less the number of losses. Each side is a martingale that is tested all the time
(`kernels.paired_bet`): all bounds of all times hold together, and the sign of D is known as soon as D = 0 is refused.
Whatever decides to go on or to stop, other cutoffs, money or patience, is harmless.

A cutoff with the rate `probability` takes the items with u below it in the order of u. If labels are asked for in the
order of u / (rate of the item), what is labelled is a beginning of that order for every cutoff at once.

**Gaps.** By default predictions are those of the plan throughout. An item without a label then counts as what is worst
for each bound and is passed over: harmless whatever the reason, and its label may come late. Predictions that are
`learned` from labels are better where gains and losses differ much, but then what is missing may have been chosen by
what lies behind it: the walk stops at the first item without a label until that is declared `LOST`, which must be done
before anything behind it, at any cutoff, is looked at; a label that comes later is ignored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from streameval.errors import InputError
from streameval.kernels.paired_bet import BetSteps, bet_path, bet_steps, least_totals
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

WAITING, LOST = -1, -2  # in the place of a label
_LARGEST = 1.5  # stake


@dataclass(frozen=True)
class BetPlan:
    """Parameters that are fixed before any label of a cutoff.

    Attributes:
        sizes (int64 array, shape (classes,)): Items of each class: gains or losses, with a judge of each prediction.
        losses (bool array, shape (classes,)): Which classes are of losses.
        error: One-sided, in (0, 1).
        labels: The most that one would ever ask for at this cutoff; more are valid too.
        predictions: Those of the plan throughout, or learned from labels.
        expected (float64 array, shape (classes,)): Shares of positives that the plan predicts; .5 where None.
        known: The least and the most that items add to D which are in no class: those known before the draw.
    """

    sizes: Int64Array
    losses: BoolArray
    error: float
    labels: int
    predictions: Literal["planned", "learned"] = "planned"
    expected: FloatArray | None = None
    known: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        if not 0 < self.error < 1:
            raise InputError(f"an error of {self.error}", "it is a probability, above 0 and below 1")

    @property
    def stakes(self) -> FloatArray:
        """λ of the mixture, of equal weights: twice as large each, up to the largest that is of use."""
        first = 1.4 * math.sqrt(2 * math.log(1 / self.error) / max(1, self.labels))
        return np.array([first * 2.0**j for j in range(max(1, math.floor(math.log2(_LARGEST / first)) + 1))])

    def steps(self, classes: Int64Array, labels: Int8Array) -> tuple[BetSteps, BetSteps]:
        """Give what evidence for a larger difference, and for a smaller one, is made of, as far as the walk goes."""
        classes, labels = np.array(classes, np.int64), np.array(labels, np.int8)
        if (np.bincount(classes, minlength=self.sizes.size) > self.sizes).any():
            raise InputError("more labels than there are items in a class", "give every item once, with its class")
        learned = (labels >= 0).astype(np.int8)
        if self.predictions == "planned":
            learned[:] = 0
        else:
            stop = int(np.argmax(np.append(labels == WAITING, True)))
            classes, labels, learned = classes[:stop], labels[:stop], learned[:stop]
        expected = np.full(self.sizes.size, 0.5) if self.expected is None else np.asarray(self.expected, np.float64)
        expected = np.where(self.losses, 1 - expected, expected)
        for_more, for_less = ((labels == 1) != self.losses[classes]), ((labels == 0) != self.losses[classes])
        both = []
        for z, prediction in ((for_more, expected), (for_less, 1 - expected)):
            is_good = (z & (labels >= 0)).astype(np.int8)
            both.append(bet_steps(classes, is_good, learned, np.array(self.sizes, np.int64), prediction))
        return both[0], both[1]


@dataclass(frozen=True)
class BetLimits:
    """Limits that labels prove, by a `BetPlan`.

    Attributes:
        at (int64 array, shape (k,)): Numbers of items, in the order of u.
        lower, upper (int64 arrays, shape (k,)): Bounds on D from the first so many, intersected over all times before.
        sign: 1 where D > 0 is proved, −1 where D < 0 is, else 0.
        decided_at: After how many items that was; 0 where it is not decided, or what was known decides it.
    """

    at: Int64Array
    lower: Int64Array
    upper: Int64Array
    sign: int
    decided_at: int


def limits_of_walk(plan: BetPlan, classes: Int64Array, labels: Int8Array, at: Int64Array | None = None) -> BetLimits:
    """Bounds from the labels of gains and losses in the order of u.

    Args:
        plan: Fixed before any of the labels.
        classes (integer array, shape (n,)): Class of each item.
        labels (int8 array, shape (n,)): 1 or 0; `WAITING` or `LOST` where there is none.
        at (int64 array, rising): After how many items bounds are wanted; after all of them where None.
    """
    at = np.array([len(labels)], np.int64) if at is None else np.asarray(at, np.int64)
    items, lost, needed = int(plan.sizes.sum()), int(plan.sizes[plan.losses].sum()), 1 / plan.error
    more, less = plan.steps(classes, labels)
    lower = least_totals(more, plan.stakes, items, needed, at) - lost + plan.known[0]
    upper = items - lost - least_totals(less, plan.stakes, items, needed, at) + plan.known[1]
    decided = [_n_reached(plan, more, lost - plan.known[0]), _n_reached(plan, less, items - lost + plan.known[1])]
    sign = 0 if max(decided) < 0 else 1 if decided[1] < 0 or 0 <= decided[0] < decided[1] else -1
    return BetLimits(at, lower, upper, sign, decided[0 if sign > 0 else 1] if sign else 0)


def _n_reached(plan: BetPlan, steps: BetSteps, total: int) -> int:
    """After how many items more than `total` are proved, −1 if never."""
    path = np.full(steps[0].size + 1, 1 / plan.error)
    return int(bet_path(steps, plan.stakes, int(plan.sizes.sum()), total, path))
