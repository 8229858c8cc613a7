"""Labels counted per score: a list in score order that was never sorted, as groups of tied items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from streameval.kernels import label_counts as kernels
from streameval.typing import Int64Array, UInt64Array

_PIECE = 1 << 20  # cells looked through at once


@dataclass(frozen=True)
class TiedGroups:
    """Groups of tied items, best first.

    Attributes:
        key (uint64 array, shape (n,)): Their order key.
        sizes, positives (int64 arrays, shape (n,)): Items, and positives among them.
    """

    key: UInt64Array
    sizes: Int64Array
    positives: Int64Array

    def cut(self, first: int, last: int) -> TiedGroups:
        """Some of the groups."""
        return TiedGroups(self.key[first:last], self.sizes[first:last], self.positives[first:last])


def joined(pieces: Sequence[TiedGroups]) -> TiedGroups:
    """Groups one after another."""
    if len(pieces) == 1:
        return pieces[0]
    kinds = {"key": np.uint64, "sizes": np.int64, "positives": np.int64}
    return TiedGroups(*(np.concatenate([np.empty(0, kind), *(getattr(one, name) for one in pieces)])
                        for name, kind in kinds.items()))  # fmt: skip


def room(count: int) -> tuple[UInt64Array, Int64Array, Int64Array]:
    """Room for so many groups."""
    return np.empty(count, np.uint64), np.empty(count, np.int64), np.empty(count, np.int64)


class LabelCounts(Protocol):
    """Counts of labels in score order."""

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""

    def piece(self, index: int) -> TiedGroups:
        """Groups of one piece; all pieces, one after another, are the list."""

    def between(self, first: int, last: int | None) -> TiedGroups:
        """Groups from the one that begins at a key up to, and without, that of another; None: to the end."""


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
        """Pieces of 2^20 cells."""
        return -(-self.counts.size // (2 * _PIECE))

    def piece(self, index: int) -> TiedGroups:
        """Those of its cells that hold items."""
        return self._cells(index * _PIECE, min((index + 1) * _PIECE, self.counts.size // 2))

    def between(self, first: int, last: int | None) -> TiedGroups:
        """Cells from that of a key up to, and without, that of another."""
        end = self.counts.size // 2 if last is None else (last - self.low) >> self.shift
        return self._cells((first - self.low) >> self.shift, end)

    def _cells(self, first: int, last: int) -> TiedGroups:
        groups, place = room(last - first), np.array([self.low, self.shift], np.uint64)
        return TiedGroups(*groups).cut(0, kernels.gather(self.counts[2 * first : 2 * last], place, first, groups, 0))
