"""Labels counted per score: a list in score order that was never sorted, as groups of tied items."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from streameval.typing import AnyArray, Int64Array, UInt64Array


@dataclass(frozen=True)
class TiedGroups:
    """Groups of tied items, best first.

    Attributes:
        cells (unsigned array, shape (n,)): Where their keys lie: `low` + (cell << `shift`).
        sizes, positives (arrays of whole numbers, shape (n,)): Items, and positives, of each.
    """

    low: int
    shift: int
    cells: AnyArray = field(repr=False)
    sizes: AnyArray = field(repr=False)
    positives: AnyArray = field(repr=False)

    @cached_property
    def ends(self) -> AnyArray:
        """Items up to the end of each, as numbers of the type of sizes: another one would take five times as long."""
        return np.cumsum(self.sizes, dtype=self.sizes.dtype)

    def keys_at(self, places: Int64Array) -> UInt64Array:
        """Keys of items, counted from 1 and from the first group."""
        return self.keys(np.searchsorted(self.ends, places.astype(self.ends.dtype)))

    def keys(self, some: slice | Int64Array) -> UInt64Array:
        """Keys of some groups."""
        return np.uint64(self.low) + (self.cells[some].astype(np.uint64) << np.uint64(self.shift))

    @property
    def numbers(self) -> AnyArray:
        """Sizes and positives, shape (2, n), in as few bytes as they fit in."""
        packed = np.empty((2, self.sizes.size), np.min_scalar_type(int(self.sizes.max(initial=0))))
        packed[0], packed[1] = self.sizes, self.positives
        return packed


class LabelCounts(Protocol):
    """Counts of labels in score order."""

    @property
    def n_pieces(self) -> int:
        """Tell how many pieces there are."""

    def before(self, index: int) -> int:
        """Items before a piece."""

    def piece(self, index: int) -> TiedGroups:
        """Groups of one piece, until this thread asks for another; all pieces, one after another, are the list."""

    def key_at(self, rank: int) -> int:
        """Key of the item at a rank."""


@dataclass(frozen=True)
class KeyCounts:
    """A counter for every key.

    Attributes:
        low: Smallest key.
        shift: Right shift that turns a distance from it into a cell.
        counts (int64 array, shape (2 · cells,)): Negatives and positives of each cell.
    """

    low: int
    shift: int
    counts: Int64Array = field(repr=False)

    @property
    def n_pieces(self) -> int:
        """All cells at once: there are few."""
        return 1

    def before(self, index: int) -> int:
        """See `LabelCounts.before`."""
        return 0

    def piece(self, index: int) -> TiedGroups:
        """Give those of the cells that hold items."""
        counts = self.counts.reshape(-1, 2)
        cells = np.flatnonzero(counts.any(axis=1)).astype(np.uint64)
        return TiedGroups(self.low, self.shift, cells, counts[cells].sum(axis=1), counts[cells, 1])

    def key_at(self, rank: int) -> int:
        """See `LabelCounts.key_at`."""
        return int(self.piece(0).keys_at(np.array([rank]))[0])
