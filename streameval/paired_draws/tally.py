"""Counts by cutoff that add up over shares of the rows: of every pair of first cutoffs, or of steps from one to next.

Items are counted by pairs of first cutoffs, (m + 1)² cells, where these are few. Otherwise by steps: an item that gains
from one cutoff on until another adds 1 at the first and takes 1 at the second, and sums along the cutoffs are counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.paired_draws.pair import DrawnPair
from streameval.typing import Int64Array

MOST_CELLS = 1 << 20


@dataclass(frozen=True)
class CutoffCounts:
    """How items are counted.

    Attributes:
        cutoffs: m.
        predictions: 2 where items are counted by the prediction of a judge, else 1.
    """

    cutoffs: int
    predictions: int

    @property
    def by_cell(self) -> bool:
        """Whether cells are counted."""
        return self.predictions * (self.cutoffs + 1) ** 2 <= MOST_CELLS

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the counts, before they are made flat."""
        m = self.cutoffs + 1
        return (self.predictions, m, m) if self.by_cell else (self.predictions, 4, m)

    def zero(self) -> Int64Array:
        """Counts of nothing, flat."""
        return np.zeros(int(np.prod(self.shape)), np.int64)

    def count(self, first_a: Int64Array, first_b: Int64Array, predicted: Int64Array) -> Int64Array:
        """Counts of some items, flat.

        Args:
            predicted (int64 array): 0 or 1; all 0 without a judge.
        """
        m = self.cutoffs + 1
        if self.by_cell:
            at = (predicted * m + first_a) * m + first_b
            return np.bincount(at, minlength=self.predictions * m * m).astype(np.int64)
        steps = np.zeros(self.shape, np.int64)
        gain, loss = first_b < first_a, first_a < first_b
        for row, (some, begin, end) in enumerate(((gain, first_b, first_a), (loss, first_a, first_b))):
            steps[:, row] += self._at(predicted[some], begin[some]) - self._at(predicted[some], end[some])
        steps[:, 2] += self._at(predicted, first_a)
        steps[:, 3] += self._at(predicted, first_b)
        return steps.ravel()

    def _at(self, predicted: Int64Array, first: Int64Array) -> Int64Array:
        m = self.cutoffs + 1
        return np.bincount(predicted * m + first, minlength=self.predictions * m).reshape(-1, m)

    def drawn(self, flat: Int64Array, table: pa.Table) -> DrawnPair:
        """Put counts beside the items that were drawn."""
        counts = flat.reshape(self.shape)
        sums = np.cumsum(_steps(counts) if self.by_cell else counts, axis=2)[:, :, : self.cutoffs]
        gains, losses, size_a, size_b = sums.sum(axis=0)
        predicted = sums[1] if self.predictions == 2 else np.zeros_like(sums[0])
        return DrawnPair(
            table, gains, losses, predicted[0], predicted[1], size_a, size_b, counts if self.by_cell else None
        )


def _steps(cells: Int64Array) -> Int64Array:
    """Steps that come to the same as cells."""
    above, below = np.tril(cells, -1), np.triu(cells, 1)  # of gains first_b < first_a, of losses first_a < first_b
    gains = above.sum(axis=1) - above.sum(axis=2)
    losses = below.sum(axis=2) - below.sum(axis=1)
    return np.stack([gains, losses, cells.sum(axis=2), cells.sum(axis=1)], axis=1)
