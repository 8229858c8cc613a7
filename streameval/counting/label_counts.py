"""Labels counted per score: a list in score order that was never sorted, as groups of tied items."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from streameval.kernels import label_counts as kernels
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt16Array, UInt64Array

_PIECE = 1 << 20  # cells looked through at once


@dataclass(frozen=True)
class TiedGroups:
    """Groups of tied items, best first.

    Attributes:
        key (uint64 array, shape (n,)): Their order key; of a bin, the smallest.
        sizes, positives (int64 arrays, shape (n,)): Items, and positives among them.
    """

    key: UInt64Array
    sizes: Int64Array
    positives: Int64Array


class LabelCounts(Protocol):
    """Counts of labels in score order."""

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""

    def piece(self, index: int) -> TiedGroups:
        """Groups of one piece; all pieces, one after another, are the list."""

    def between(self, first: int, last: int | None) -> TiedGroups:
        """Groups from the one that begins at a key up to, and without, that of another; None: to the end."""

    def single(self, key: int) -> bool:
        """Whether all items of the group with that key have one score."""


@dataclass(frozen=True)
class KeyCounts:
    """A counter for every key.

    Attributes:
        low: Smallest key.
        shift: Right shift that turns a distance from it into a cell.
        counts (uint16 array, shape (2 · cells,)): Negatives and positives of each cell, modulo 2^16.
        spilled (int64 array): Counters that passed 2^16, once for each time.
    """

    low: int
    shift: int
    counts: UInt16Array = field(repr=False)
    spilled: Int64Array = field(repr=False)

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
        spilled = self.spilled[(self.spilled >= 2 * first) & (self.spilled < 2 * last)]
        marked = np.zeros(last - first if spilled.size else 0, np.bool_)
        marked[spilled // 2 - first] = True
        found = np.empty((3, last - first), np.int64)
        found = found[:, : kernels.gather(self.counts, first, last, marked, found)]
        cells, sizes, positives = found[0], found[1] + found[2], found[2].copy()
        if spilled.size:
            at, times = np.unique(spilled, return_counts=True)
            place = np.searchsorted(cells, at // 2)
            np.add.at(sizes, place, times << 16)
            np.add.at(positives, place[at % 2 == 1], times[at % 2 == 1] << 16)
        key = np.uint64(self.low) + (cells.astype(np.uint64) << np.uint64(self.shift))
        return TiedGroups(key, sizes, positives)

    def single(self, key: int) -> bool:
        """Every cell is one score."""
        return True


@dataclass(frozen=True)
class BinCounts:
    """Counters for bins of keys.

    Attributes:
        start, end (uint64 arrays, shape (n,)): Smallest and largest key in each bin that holds items, ascending.
        sizes, positives (int64 arrays, shape (n,)): Items, and positives among them.
    """

    start: UInt64Array = field(repr=False)
    end: UInt64Array = field(repr=False)
    sizes: Int64Array = field(repr=False)
    positives: Int64Array = field(repr=False)

    @property
    def n_pieces(self) -> int:
        """All bins are one piece."""
        return 1

    def piece(self, index: int) -> TiedGroups:
        """All bins that hold items."""
        return TiedGroups(self.start, self.sizes, self.positives)

    def between(self, first: int, last: int | None) -> TiedGroups:
        """Bins from the one that begins at a key up to, and without, that of another."""
        a = int(np.searchsorted(self.start, np.uint64(first)))
        b = self.start.size if last is None else int(np.searchsorted(self.start, np.uint64(last)))
        return TiedGroups(self.start[a:b], self.sizes[a:b], self.positives[a:b])

    @property
    def open(self) -> BoolArray:
        """Bins that hold several scores, and a positive."""
        several: BoolArray = self.start != self.end
        return several & (self.positives > 0)

    def single(self, key: int) -> bool:
        """Whether all items of the bin that begins at a key have one score."""
        at = int(np.searchsorted(self.start, np.uint64(key)))
        return bool(self.start[at] == self.end[at])

    def widths(self) -> tuple[FloatArray, FloatArray]:
        """How much the order inside each bin can change; see `kernels.label_counts.open_widths`."""
        starts, founds = (np.concatenate([[0], np.cumsum(one)]) for one in (self.sizes, self.positives))
        widths, grouped = np.empty((2, self.sizes.size)), np.empty((2, self.sizes.size))
        kernels.open_widths(starts, founds, widths, grouped)
        return np.where(self.open, widths, 0.0), np.where(self.open, grouped, np.nan)
