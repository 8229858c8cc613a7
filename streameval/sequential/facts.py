"""Bounds that labels prove by counting, whatever the items without one are: no draw and no probability is in it.

A claim that evidence has proven is false with the probability that is said, and labels that come later may show that it
is. Where counts refute a claim it is withdrawn; where they prove one it is made; bounds are cut to what is possible.

Theorem.  That makes no claim more often false.

Proof.  What counts prove is true. All else that is claimed then was claimed before. ∎
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from streameval.sequential import KnownItems
from streameval.typing import Int8Array, Int64Array

_Number = TypeVar("_Number", int, float)


@dataclass(frozen=True)
class LabelFacts:
    """Items that have a label.

    Attributes:
        positive, negative (int64 arrays): Their ranks, strictly increasing.
    """

    n_items: int
    positive: Int64Array
    negative: Int64Array

    @staticmethod
    def from_labels(n_items: int, known_items: KnownItems, rank: Int64Array, label: Int8Array) -> LabelFacts:
        """Of what is known, and of items that were asked for."""
        ranks, labels = np.append(known_items.rank, rank), np.append(known_items.label, label)
        return LabelFacts(n_items, *(np.sort(ranks[labels == value]) for value in (1, 0)))

    def positives(self, rank: int) -> tuple[int, int]:
        """Fewest and most positives that the first `rank` items can have."""
        fewest, negatives = (int(np.searchsorted(ranks, rank, "right")) for ranks in (self.positive, self.negative))
        return fewest, rank - negatives

    def deepest(self, precision: str) -> tuple[int, int]:
        """The deepest rank that has a precision whatever is not labelled, and the deepest that can have it; or 0."""
        target = Fraction(precision)
        ends, first = np.append(self.negative - 1, self.n_items).tolist(), self.positive.tolist()
        most = next((end for j, end in reversed([*enumerate(ends)]) if j <= (1 - target) * end), 0)
        after = [*first[1:], self.n_items + 1]
        reached = (
            (min(j * target.denominator // target.numerator, before - 1), rank)
            for j, (rank, before) in enumerate(zip(first, after, strict=False), 1)
        )
        return max((end for end, rank in reached if end >= rank), default=0), most

    def refute(self, ranks: Iterable[int], precision: str) -> list[bool]:
        """Tell whether each of some ranks cannot have a precision."""
        target = Fraction(precision)
        return [self.positives(rank)[1] < target * rank for rank in ranks]


def cut_to(claimed: tuple[_Number, _Number], facts: tuple[_Number, _Number]) -> tuple[_Number, _Number]:
    """Bounds that were claimed, as far as facts allow them; the facts alone where they refute them."""
    lower, upper = max(claimed[0], facts[0]), min(claimed[1], facts[1])
    return (lower, upper) if lower <= upper else facts
