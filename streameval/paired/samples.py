"""The samples of all cutoffs, from one draw and its labels.

A cutoff looks at items with u below its own rate alone, whatever else is labelled. An item that is drawn with
probability 1 at any of its cutoffs is known whatever u is: it is taken off at all of them and counted exactly; without
a label it counts at its extremes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernels.paired_samples import labelled_counts
from streameval.paired.count import ChangedSample, limits
from streameval.typing import BoolArray, FloatArray, Int8Array, Int64Array, UInt64Array


@dataclass(frozen=True)
class LabelledItems:
    """Items of a draw, with their labels (arrays of one shape, (n,)).

    Attributes:
        first_a, first_b: int64; the first cutoff whose top of A, and of B, holds the item; m where none does.
        u: uint64.
        labels: int8; 1 or 0, anything else where it is missing. With a judge, whether the judge is wrong.
        certain: bool; whether it was to be labelled whatever u is, or was before the seed of u was drawn.
        adds: bool; whether a label of 1 adds to the difference: so it is for gains. With a judge, for gains that it
            says are negative and losses that it says are positive.
    """

    first_a: Int64Array
    first_b: Int64Array
    u: UInt64Array
    labels: Int8Array
    certain: BoolArray
    adds: BoolArray

    @staticmethod
    def drawn(
        first_a: Int64Array, first_b: Int64Array, u: UInt64Array, labels: Int8Array, probability: FloatArray
    ) -> LabelledItems:
        """Without a judge, given the rate of each item (`rates.item_probability`)."""
        first_a, first_b = np.asarray(first_a, np.int64), np.asarray(first_b, np.int64)
        return LabelledItems(first_a, first_b, u, np.asarray(labels, np.int8), probability >= 1.0, first_b < first_a)


@dataclass(frozen=True)
class CutoffSample:
    """Labelled items of one cutoff.

    Attributes:
        gains, losses: Samples of what is not certain.
        certain_gains, certain_losses: What is certain; all of it is drawn.
    """

    gains: ChangedSample
    losses: ChangedSample
    certain_gains: ChangedSample
    certain_losses: ChangedSample

    @property
    def known(self) -> tuple[int, int]:
        """The least and the most that certain items add to the difference."""
        gains, losses = self.certain_gains, self.certain_losses
        return gains.positive - losses.positive - losses.missing, gains.positive + gains.missing - losses.positive

    def estimate(self, gains: float | None, losses: float | None) -> float | None:
        """The difference, where labels stand for what is like them; None where nothing says what some of it is.

        Certain items of which none has a label are taken to be like those of their side that were drawn. Not the other
        way round: what was labelled before the draw may have been chosen for what it is.

        Args:
            gains, losses: Shares of positives among those that are not certain; None where nothing says what it is.
        """
        total = 0.0
        for sign, share, drawn, sure in ((1, gains, self.gains, self.certain_gains),
                                         (-1, losses, self.losses, self.certain_losses)):  # fmt: skip
            of_sure = sure.positive / (sure.drawn - sure.missing) if sure.drawn > sure.missing else share
            for size, part in ((drawn.size, share), (sure.size, of_sure)):
                if size and part is None:
                    return None
                total += sign * size * (part or 0.0)
        return total

    def limits(self, error: float) -> tuple[int, int]:
        """Bounds on the difference, each missed with probability `error` at most."""
        lower, upper = limits(self.gains, self.losses, error)
        return lower + self.known[0], upper + self.known[1]


def thresholds(probabilities: FloatArray) -> UInt64Array:
    """Of u, as whole numbers; what has the probability 1 is certain, and needs none.

    Args:
        probabilities (float64 array, shape (m,)): In [0, 1].

    Returns:
        uint64 array, shape (m,): floor(probability 2^64); the largest number there is where the probability is 1.
    """
    below = np.floor(np.ldexp(np.minimum(probabilities, np.nextafter(1.0, 0.0)), 64)).astype(np.uint64)
    return np.where(probabilities >= 1.0, np.uint64(2**64 - 1), below)


def samples(
    items: LabelledItems, probabilities: FloatArray, gains: Int64Array, losses: Int64Array
) -> list[CutoffSample]:
    """The sample of each cutoff.

    Args:
        items: At least all that are certain or have u below the rate of a cutoff at which one top alone holds them.
        probabilities (float64 array, shape (m,)): Rates of the cutoffs.
        gains, losses (int64 arrays, shape (m,)): Items of either side in all.
    """
    runs = np.minimum(items.first_a, items.first_b), np.maximum(items.first_a, items.first_b)
    sides, labels = (~items.adds).astype(np.int8), np.array(items.labels, np.int8)  # copies: tables may be read-only
    u, certain = np.array(items.u, np.uint64), np.array(items.certain, np.bool_)
    counts = labelled_counts(runs, sides, labels, u, certain, thresholds(probabilities))
    by_cutoff = []
    for size, of_cutoff in zip(np.stack([gains, losses], axis=1).tolist(), counts.tolist(), strict=True):
        added, removed = (
            ChangedSample(all_ - sure[0], *drawn) for all_, (drawn, sure) in zip(size, of_cutoff, strict=True)
        )
        more, less = (ChangedSample(sure[0], *sure) for _, sure in of_cutoff)
        by_cutoff.append(CutoffSample(added, removed, more, less))
    return by_cutoff
