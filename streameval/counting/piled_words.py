"""A counter for every key of a long list, a pile of neighbouring keys at a time: its counters stay in a cache.

One scan leaves two bytes an item, which of the 2^15 keys of its pile it has and its label, in memory or in a scratch
file. Each pile is then counted by itself: nothing is sorted, and no counter is far from the processor.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from streameval.counting.counters import Cells
from streameval.counting.label_counts import TiedGroups
from streameval.kernels import label_counts as kernels
from streameval.kernels.jit import read_only
from streameval.kernels.label_counts import PILE_BITS
from streameval.kernels.sorted_sets import unique
from streameval.scans.threads import own_room
from streameval.spill.store import Spill
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

WORD = np.dtype(np.uint16)
_CELLS_PER_ITEM = 8  # at most: to look through counters that hold nothing takes longer than to sort, then
_MOST_PILES = 1 << 17  # of all keys that 32 bits hold
_MOST_WORDS = 1 << 21  # taken at once: fresh room for the groups of more costs more than what is done in it


@dataclass(frozen=True)
class PiledRows:
    """Some rows as words, pile by pile.

    Attributes:
        piles (uint32 array, shape (k,)): Those that hold some of the rows, ascending.
        edges (uint32 array, shape (k + 1,)): Where each begins among the words, and their number.
        words (uint16 array): See `kernels.label_counts.part_piles`.
    """

    piles: UInt32Array
    edges: UInt32Array
    words: AnyArray = field(repr=False)


class RuledOutError(Exception):
    """A key that statistics rule out."""


@dataclass(frozen=True)
class Piles:
    """Piles of cells."""

    cells: Cells
    word = WORD
    keys: ClassVar[str] = "words"

    @property
    def count(self) -> int:
        """Piles in all."""
        return ((self.cells.count - 1) >> PILE_BITS) + 1

    def suit(self, sample: Callable[[], UInt64Array], n_items: int) -> bool:
        """Tell whether that many items are worth their counters, if their keys are like those of a sample."""
        if self.count > _MOST_PILES or _CELLS_PER_ITEM * n_items < 1 << PILE_BITS:
            return False
        low, shift = self.cells.place
        keys = sample()
        held = unique((keys[keys >= low] - low) >> (shift + np.uint64(PILE_BITS))).size
        return held << PILE_BITS <= _CELLS_PER_ITEM * n_items

    def split(self, keys: AnyArray, labels: UInt8Array, *_: None) -> PiledRows:
        """Part some rows, with keys or the upper halves of them; raises `RuledOutError` for a key that has no cell."""
        edges, words = np.zeros(self.count + 1, np.uint32), np.empty(keys.size, WORD)
        if not kernels.part_piles(keys, read_only(labels), self.cells.place_of(8 * keys.itemsize), edges, words):
            raise RuledOutError
        held = np.flatnonzero(edges[1:] > edges[:-1]).astype(np.uint32)
        return PiledRows(held, np.append(edges[held], edges[-1]), words)


class PiledWords:
    """Words of many rows, in piles."""

    def __init__(self, ranges: Piles, spill: Spill) -> None:
        self.ranges, self._spill, self._lock = ranges, spill, threading.Lock()
        self._kept = list[tuple[int, UInt32Array, UInt32Array]]()

    def take(
        self, keys: AnyArray, labels: UInt8Array, bins: UInt16Array | None = None, hashes: UInt64Array | None = None
    ) -> None:
        """Part some rows and keep them, from any thread and in any order; none have bins: a sample is ordered."""
        self.add(self.ranges.split(keys, labels))

    def add(self, rows: PiledRows) -> None:
        """Keep rows that were parted."""
        number = self._spill.keep(rows.words.data)
        with self._lock:
            self._kept.append((number, rows.piles, rows.edges))

    def counts(self) -> PileCounts:
        """Count them, when all have come."""
        sizes: Int64Array = np.zeros(self.ranges.count, np.int64)
        for _, some, its_edges in self._kept:
            sizes[some] += np.diff(its_edges)
        piles = np.flatnonzero(sizes)
        edges: UInt32Array = np.zeros((piles.size + 1, len(self._kept)), np.uint32)
        for part, (_, some, its_edges) in enumerate(self._kept):
            edges[1 + np.searchsorted(piles, some), part] = np.diff(its_edges)
        np.cumsum(edges, axis=0, out=edges)
        numbers = [number for number, _, _ in self._kept]
        return PileCounts(self.ranges.cells, self._spill, piles, sizes[piles], numbers, edges)


@dataclass(frozen=True)
class PileCounts:
    """Counters of piles; see `LabelCounts`.

    Attributes:
        spill: Where their words are.
        piles, sizes (int64 arrays, shape (k,)): Piles that hold items, and how many.
        numbers: By which the words of some rows are found there.
        edges (uint32 array, shape (k + 1, parts)): Where each pile begins among these.
    """

    cells: Cells
    spill: Spill = field(repr=False)
    piles: Int64Array = field(repr=False)
    sizes: Int64Array = field(repr=False)
    numbers: Sequence[int] = field(repr=False)
    edges: UInt32Array = field(repr=False)

    @cached_property
    def _runs(self) -> list[int]:
        """Tell where the runs of neighbouring piles begin that are read at once; and the number of piles."""
        cuts, rows = [0], 0
        for at, size in enumerate(self.sizes.tolist()):
            if at > cuts[-1] and rows + size > _MOST_WORDS:
                cuts.append(at)
                rows = 0
            rows += size
        return [*cuts, self.piles.size]

    @property
    def n_pieces(self) -> int:
        """Runs of piles that are read at once."""
        return len(self._runs) - 1

    @cached_property
    def _ends(self) -> Int64Array:
        """Items up to the end of each pile."""
        return np.cumsum(self.sizes)

    def before(self, index: int) -> int:
        """See `LabelCounts.before`."""
        return int(self._ends[self._runs[index]] - self.sizes[self._runs[index]])

    def piece(self, index: int) -> TiedGroups:
        """Groups of one run."""
        return self._groups(self._runs[index], self._runs[index + 1])

    def key_at(self, rank: int) -> int:
        """See `LabelCounts.key_at`."""
        pile = int(np.searchsorted(self._ends, rank))
        place = rank - int(self._ends[pile] - self.sizes[pile])
        return int(self._groups(pile, pile + 1).keys_at(np.array([place]))[0])

    def _groups(self, first: int, last: int) -> TiedGroups:
        """Groups of the piles `first` up to, and without, `last`, in `piles`: one long pile, or several short ones."""
        sizes, piles = self.sizes[first:last], self.piles[first:last]
        kind = np.int64 if sizes.max(initial=0) >= 1 << 32 else np.uint32
        counters = np.zeros(2 << PILE_BITS, kind), np.zeros((1 << PILE_BITS) // 64, np.uint64)
        most = int(np.minimum(sizes, 1 << PILE_BITS).sum())
        cells, room = own_room(most // 2 + 1, "cells").view(np.uint32), most * np.dtype(kind).itemsize // 8 + 1
        groups = cells, own_room(room, "sizes").view(kind), own_room(room, "positives").view(kind)

        n = 0
        for words, begin, are_last in self._words(first, last):
            n = int(kernels.count_piles(words, begin, piles, counters, groups, are_last))
        return TiedGroups(self.cells.low, self.cells.shift, *(column[:n] for column in groups))

    def _words(self, first: int, last: int) -> Iterator[tuple[AnyArray, Int64Array, bool]]:
        """Words of some piles, where each of these begins in each part of them, and whether they are the last.

        They come a few million at a time, and those of several piles at once: `begin` has shape (last − first + 1,
        parts).
        """
        edges = self.edges[first : last + 1].astype(np.int64)
        sizes = edges[-1] - edges[0]
        before = np.cumsum(sizes) - sizes
        cuts = [0, *(np.flatnonzero(np.diff(before // _MOST_WORDS)) + 1).tolist(), sizes.size]
        for a, b in pairwise(cuts):
            pieces = zip(self.numbers[a:b], *(WORD.itemsize * edges[[0, -1], a:b]).tolist(), strict=True)
            words = np.concatenate([np.frombuffer(self.spill.read(*piece), WORD) for piece in pieces])
            yield words, before[a:b] - before[a] + edges[:, a:b] - edges[0, a:b], b == sizes.size
