"""The groups of tied items of one block, looked up: as arrays, or as bits where every item is a group of its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from streameval.kernels.bits import WORD, counts_at, counts_before
from streameval.kernels.groups import ROOM, GroupSource, every_group, steps
from streameval.kernels.jit import small
from streameval.typing import Int64Array, UInt64Array

Ends = tuple[Int64Array, Int64Array]


class BlockGroups(Protocol):
    """Groups, numbered from 0; items and positives are counted from the first."""

    @property
    def size(self) -> int:
        """Tell how many groups there are."""

    def of_item(self, item: int) -> int:
        """Tell which group holds an item, 1-based; -1 for none before the first."""

    def of_positive(self, j: int) -> int:
        """Tell which group holds the j-th positive, 1-based; -1 for none before the first."""

    def of_negative(self, j: int) -> int:
        """Tell which group holds the j-th negative, 1-based; -1 for none before the first."""

    def twice_roc_area(self, group: int) -> int:
        """Twice the area under the ROC curve of all groups before one, in pairs of a positive and a negative."""

    def before(self, groups: Int64Array) -> Ends:
        """Items, and positives, before some groups; `size` stands for the end of all."""

    def between(self, first: int, last: int) -> Ends:
        """Give the same of groups `first` to `last`, both included."""

    def with_positives(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Groups that hold positives: items before and at the end of each, and its positives."""


@dataclass(frozen=True, eq=False)
class TiedRows:
    """Groups of any size.

    Attributes:
        starts, founds (int64 arrays, shape (groups + 1,)): Items, and positives, before each, and in all.
    """

    starts: Int64Array
    founds: Int64Array

    @staticmethod
    def from_rows(source: GroupSource, rows: tuple[int, int], most: int) -> TiedRows:
        """Read groups, `most` of them at most; see `streameval.kernels.groups.read_stretch`."""
        ends = np.empty((2, most + ROOM), np.int64)
        with small(steps(source, rows)):
            size = every_group(source, rows, *ends) + 1
        return TiedRows(ends[0, :size], ends[1, :size])

    @property
    def size(self) -> int:
        """See `BlockGroups`."""
        return self.starts.size - 1

    def of_item(self, item: int) -> int:
        """See `BlockGroups`."""
        return int(np.searchsorted(self.starts, item)) - 1

    def of_positive(self, j: int) -> int:
        """See `BlockGroups`."""
        return int(np.searchsorted(self.founds, j)) - 1

    def of_negative(self, j: int) -> int:
        """See `BlockGroups`."""
        return int(np.searchsorted(self.starts - self.founds, j)) - 1

    def twice_roc_area(self, group: int) -> int:
        """See `BlockGroups`."""
        founds = self.founds[: group + 1]
        wrong = self.starts[: group + 1] - founds
        return int(np.sum(np.diff(wrong) * (founds[:-1] + founds[1:])))

    def before(self, groups: Int64Array) -> Ends:
        """See `BlockGroups`."""
        return self.starts[groups], self.founds[groups]

    def between(self, first: int, last: int) -> Ends:
        """See `BlockGroups`."""
        return self.starts[first : last + 1], self.founds[first : last + 1]

    def with_positives(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """See `BlockGroups`."""
        held = np.flatnonzero(self.founds[1:] > self.founds[:-1])
        return self.starts[held], self.starts[held + 1], self.founds[held + 1] - self.founds[held]


@dataclass(frozen=True, eq=False)
class UntiedRows:
    """Items that are groups of one.

    Attributes:
        labels (uint64 array): See `streameval.kernels.bits`.
        first: Bit of the first item.
        size: How many items there are.
    """

    labels: UInt64Array
    first: int
    size: int

    @cached_property
    def _counts(self) -> Int64Array:
        """Bits that are set before each word, less those before the first item."""
        counts = counts_before(self.labels)
        word, below = divmod(self.first, WORD)
        counts -= counts[word] + (int(self.labels[word]) & ((1 << below) - 1)).bit_count()
        return counts

    def positives(self, items: int) -> Int64Array:
        """Places of the positives among the first items, from 1."""
        begin, shift = divmod(self.first, 8)
        bits = np.unpackbits(self.labels.view(np.uint8)[begin:], count=shift + items, bitorder="little")
        return np.flatnonzero(bits[shift:].view(np.bool_)) + 1  # five times as fast as of numbers

    def of_item(self, item: int) -> int:
        """See `BlockGroups`."""
        return item - 1

    def of_positive(self, j: int) -> int:
        """See `BlockGroups`."""
        if j <= 0:
            return -1
        word = int(np.searchsorted(self._counts, j)) - 1
        bits = np.flatnonzero(np.unpackbits(self.labels[word : word + 1].view(np.uint8), bitorder="little"))
        return int(WORD * word + bits[j - self._counts[word] - 1]) - self.first

    def of_negative(self, j: int) -> int:
        """See `BlockGroups`."""
        if j <= 0:
            return -1
        edges = np.arange(0, self.size, WORD)
        items, positives = self.before(edges)
        first = int(edges[np.searchsorted(items - positives, j) - 1])
        items, positives = self.between(first, min(first + WORD, self.size))
        return first + int(np.searchsorted(items - positives, j)) - 1

    def twice_roc_area(self, group: int) -> int:
        """See `BlockGroups`."""
        places = self.positives(group)
        n_positives = places.size
        return 2 * n_positives * (group - n_positives) - (2 * int(places.sum()) - n_positives * (n_positives + 1))

    def before(self, groups: Int64Array) -> Ends:
        """See `BlockGroups`."""
        return groups, counts_at(self.labels, groups + self.first, self._counts)

    def between(self, first: int, last: int) -> Ends:
        """See `BlockGroups`."""
        begin, shift = divmod(self.first + first, 8)
        stored = self.labels.view(np.uint8)[begin:]
        bits = np.unpackbits(stored, count=shift + last - first, bitorder="little")[shift:]
        founds = np.empty(bits.size + 1, np.int64)
        founds[0] = self.before(np.array([first]))[1][0]
        np.cumsum(bits, dtype=np.int64, out=founds[1:])
        founds[1:] += founds[0]
        return np.arange(first, last + 1), founds

    def with_positives(self) -> tuple[Int64Array, Int64Array, Int64Array]:
        """See `BlockGroups`."""
        places = self.positives(self.size)
        return places - 1, places, np.ones_like(places)
