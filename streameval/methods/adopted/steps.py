"""A sample as steps in rank order: what `streameval.kernels.sequential_band` takes.

A step ends at a taken rank, or at the end of a stratum. In a stratum of which n ranks are drawn without replacement,
rank r is taken with probability (n - z)/(last - r + 1), z of them taken before it; of a Poisson sample it is the item's
own probability. Where a second draw of ours, by strata too and independent of the first, was added, a rank is taken by
either with probability 1 - (1 - p)(1 - p'); within the strata of both these only rise, so the first rank of a gap has
the least.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streameval.kernels.sequential_band import (
    DRAWN,
    FOUND_HIGH,
    FOUND_LOW,
    LABEL,
    LEAST,
    PROBABILITY,
    RANK,
    REFERENCE,
    UNTAKEN,
    WIDTH,
)
from streameval.kernels.sorted_sets import isin, unique
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array

FEW = 30  # draws below which a stratum is one step
_COLUMNS = 10


@dataclass(frozen=True)
class Strata:
    """Ranges of ranks from each of which so many are drawn, uniformly without replacement.

    Attributes:
        last (int64 array, shape (k,)): Their last ranks, strictly increasing to N.
        drawn (int64 array, shape (k,)): Ranks drawn from each.
    """

    last: Int64Array
    drawn: Int64Array

    @property
    def width(self) -> Int64Array:
        """Ranks of each stratum."""
        return np.diff(self.last, prepend=0)

    def rates(self, drawn_ranks: Int64Array, starts: Int64Array, at: Int64Array) -> tuple[FloatArray, FloatArray]:
        """Probability of the first rank of each gap, and of the rank that ends it.

        Args:
            drawn_ranks (int64 array, strictly increasing): Ranks that this draw took.
            starts, at (int64 arrays, shape (s,)): The rank before each gap, and the one that ends it; no gap crosses
                the end of a stratum.
        """
        stratum = np.searchsorted(self.last, at)
        first = np.concatenate([[0], self.last[:-1]])[stratum]
        before = np.searchsorted(drawn_ranks, starts, side="right") - np.searchsorted(drawn_ranks, first, side="right")
        left = (self.drawn[stratum] - before).astype(np.float64)
        return left / (self.last[stratum] - starts), left / (self.last[stratum] - at + 1)


@dataclass(frozen=True)
class Floor:
    """Ranges of ranks, and the smallest probability with which any item of each could be drawn.

    Attributes:
        last (int64 array, shape (k,)): Their last ranks, strictly increasing to N.
        least: float64 array, shape (k,), in (0, 1].
        items (float64 array, shape (c,)): Where every item's probability is known: items in each of some classes of
            about one probability. Empty where it is not.
        total (float64 array, shape (c,)): Sum of the probabilities of each class.
    """

    last: Int64Array
    least: FloatArray
    items: FloatArray = field(default_factory=lambda: np.empty(0))
    total: FloatArray = field(default_factory=lambda: np.empty(0))


def strata_steps(first: Strata, drawn_ranks: Int64Array, label: Int8Array) -> FloatArray:
    """Steps of a stratified sample; strata of few draws are one step each.

    Args:
        drawn_ranks (int64 array, shape (n,), strictly increasing): The sample.
        label (int8 array, shape (n,)): 1, 0, or -1 where it is missing.
    """
    few = (first.drawn > 0) & (first.drawn < FEW) & (first.drawn < first.width)
    single = few[np.searchsorted(first.last, drawn_ranks)]
    steps = _sequence(drawn_ranks[~single], label[~single], first.last)
    _fill_rates(steps, [(first, drawn_ranks)])
    steps[isin(steps[:, RANK], first.last[few])] = _steps_of_few(first, drawn_ranks, label, few)
    return steps


def joined_steps(draws: list[tuple[Strata, Int64Array]], drawn_ranks: Int64Array, label: Int8Array) -> FloatArray:
    """Steps of several independent draws by strata that count together.

    Args:
        draws: The strata of each, and the ranks that it took.
        drawn_ranks, label: The ranks that any of them took, and their labels.
    """
    steps = _sequence(drawn_ranks, label, unique(*(strata.last for strata, _ in draws)))
    _fill_rates(steps, draws)
    return steps


def poisson_steps(drawn_ranks: Int64Array, label: Int8Array, probability: FloatArray, floor: Floor) -> FloatArray:
    """Steps of a Poisson sample.

    Args:
        probability (float64 array, shape (n,)): With which each taken rank was drawn.
        floor: Least probability of any rank, drawn or not.
    """
    steps = _sequence(drawn_ranks, label, floor.last)
    least = floor.least[np.searchsorted(floor.last, steps[:, RANK].astype(np.int64))]
    here = np.flatnonzero(steps[:, PROBABILITY] > 0)
    steps[here, PROBABILITY] = probability
    previous = np.concatenate([[0.0], probability])[np.searchsorted(drawn_ranks, steps[:, RANK] - 0.5)]
    steps[:, REFERENCE] = np.maximum(previous, least)  # of the rank taken before: what follows has about the same
    steps[:, LEAST] = least
    return steps


def _sequence(drawn_ranks: Int64Array, label: Int8Array, ends: Int64Array) -> FloatArray:
    """Steps that end at taken ranks and at ends, without probabilities but for a 1 where a rank was taken."""
    rank = unique(drawn_ranks, ends)
    steps = np.zeros((rank.size, _COLUMNS))
    at = np.searchsorted(rank, drawn_ranks)
    steps[:, RANK] = rank
    steps[at, PROBABILITY] = 1.0
    steps[at, LABEL] = label
    steps[:, UNTAKEN] = np.diff(rank, prepend=0) - steps[:, PROBABILITY]
    return steps


def _fill_rates(steps: FloatArray, draws: list[tuple[Strata, Int64Array]]) -> None:
    """Put the probabilities of steps whose strata are given: in either of the draws."""
    at = steps[:, RANK].astype(np.int64)
    starts = np.concatenate([[0], at[:-1]])
    any_first, any_here = np.zeros(at.size), np.zeros(at.size)
    for strata, drawn_ranks in draws:
        first, here = strata.rates(drawn_ranks, starts, at)
        any_first += first * (1.0 - any_first)
        any_here += here * (1.0 - any_here)
    steps[:, REFERENCE] = steps[:, LEAST] = any_first
    steps[:, PROBABILITY] = np.where(steps[:, PROBABILITY] > 0, any_here, 0.0)


def _steps_of_few(first: Strata, drawn_ranks: Int64Array, label: Int8Array, few: BoolArray) -> FloatArray:
    """Strata of few draws, each as one step at its last rank."""
    stratum = np.searchsorted(first.last, drawn_ranks)
    low, high = (np.bincount(stratum, values, first.last.size)[few] for values in (label == 1, label != 0))
    cells = np.zeros((int(few.sum()), _COLUMNS))
    cells[:, RANK], cells[:, WIDTH], cells[:, DRAWN] = first.last[few], first.width[few], first.drawn[few]
    cells[:, FOUND_LOW], cells[:, FOUND_HIGH] = low, high
    return cells


def flip(steps: FloatArray) -> FloatArray:
    """Exchange positives and negatives, for the lower bound."""
    other = steps.copy()
    is_labelled = steps[:, LABEL] >= 0
    other[is_labelled, LABEL] = 1 - steps[is_labelled, LABEL]
    other[:, FOUND_LOW], other[:, FOUND_HIGH] = (
        steps[:, DRAWN] - steps[:, FOUND_HIGH],
        steps[:, DRAWN] - steps[:, FOUND_LOW],
    )
    return other
