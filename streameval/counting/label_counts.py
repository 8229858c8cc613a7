"""Labels counted per score: a list in score order that was never sorted, as groups of tied items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from streameval.counting.block_sums import before_each
from streameval.typing import Int64Array, UInt64Array


@dataclass(frozen=True)
class TiedGroups:
    """Groups of tied items, best first.

    Attributes:
        key (uint64 array, shape (n,)): Their order key.
        starts, founds (int64 arrays, shape (n + 1,)): Items, and positives, before each and in all, counted from some
            place before the first.
    """

    key: UInt64Array
    starts: Int64Array
    founds: Int64Array

    def cut(self, first: int, last: int) -> TiedGroups:
        """Some of the groups."""
        return TiedGroups(self.key[first:last], self.starts[first : last + 1], self.founds[first : last + 1])

    @property
    def items(self) -> int:
        """Items in all."""
        return int(self.starts[-1] - self.starts[0])

    def key_at(self, place: int) -> int:
        """Key of the group that holds an item, 1-based."""
        return int(self.key[np.searchsorted(self.starts[1:] - self.starts[0], place)])


def joined(pieces: Sequence[TiedGroups]) -> TiedGroups:
    """Groups one after another, their items counted from the first."""
    groups = TiedGroups(*room(sum(piece.key.size for piece in pieces)))
    groups.starts[0], groups.founds[0] = 0, 0
    at = 0
    for piece in pieces:
        end = at + piece.key.size
        groups.key[at:end] = piece.key
        np.add(piece.starts[1:], groups.starts[at] - piece.starts[0], out=groups.starts[at + 1 : end + 1])
        np.add(piece.founds[1:], groups.founds[at] - piece.founds[0], out=groups.founds[at + 1 : end + 1])
        at = end
    return groups


def room(count: int) -> tuple[UInt64Array, Int64Array, Int64Array]:
    """Room for so many groups."""
    return np.empty(count, np.uint64), np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)


class LabelCounts(Protocol):
    """Counts of labels in score order."""

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""

    def piece(self, index: int) -> TiedGroups:
        """Groups of one piece, counted from its first; all pieces, one after another, are the list."""

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

    def piece(self, index: int) -> TiedGroups:
        """Those of the cells that hold items."""
        counts = self.counts.reshape(-1, 2)
        cells = np.flatnonzero(counts.any(axis=1))
        key = np.uint64(self.low) + (cells.astype(np.uint64) << np.uint64(self.shift))
        return TiedGroups(key, before_each(counts[cells].sum(axis=1)), before_each(counts[cells, 1]))

    def key_at(self, rank: int) -> int:
        """See `LabelCounts.key_at`."""
        return self.piece(0).key_at(rank)
