"""Which hashes are drawn: those below the rate of their item, in whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streameval.paired.rates import item_probability
from streameval.rankings.draw_by_key import limits
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt64Array


@dataclass(frozen=True)
class CutoffRates:
    """Rates of the cutoffs.

    Attributes:
        rate (float64 array, shape (m,)): In [0, 1]; 1 draws every item.
        known (uint64 array, rising): Hashes that are drawn wherever their items gain or lose.
    """

    rate: FloatArray
    known: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))

    def kept(self, hashes: UInt64Array, first: Int64Array) -> BoolArray:
        """Whether rows are kept whose first top of either ranking is that of cutoff `first`, in 0..m-1.

        Whatever cutoff of the other ranking holds them first, or none, those that are `drawn` are among them.
        """
        most = np.maximum.accumulate(self.rate[::-1])[::-1]
        kept: BoolArray = below(hashes, most[first]) | self.among_known(hashes)
        return kept

    def drawn(self, hashes: UInt64Array, first_a: Int64Array, first_b: Int64Array) -> BoolArray:
        """Whether items are drawn: at the largest rate of the cutoffs at which they gain or lose, or if known."""
        drawn = below(hashes, item_probability(first_a, first_b, self.rate))
        known: BoolArray = self.among_known(hashes) & (first_a != first_b)
        return drawn | known

    def among_known(self, hashes: UInt64Array) -> BoolArray:
        """Which hashes are known."""
        if not self.known.size:
            return np.zeros(hashes.size, np.bool_)
        at = np.minimum(np.searchsorted(self.known, hashes), self.known.size - 1)
        found: BoolArray = self.known[at] == hashes
        return found


def below(hashes: UInt64Array, rate: FloatArray) -> BoolArray:
    """Which items are drawn: those whose hash is less than their rate times 2⁶⁴; a rate of 1 draws all."""
    drawn: BoolArray = (hashes < limits(rate)) | (rate >= 1)
    return drawn
