"""Labels in the order of their scores, exactly, where there are too many scores to count each: a word for every item.

One scan parts the words into ranges of keys; a range is sorted when its turn comes. Words stay in memory where they
fit, else in a scratch file, and a range that memory cannot sort at once is parted again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from streameval.counting.label_counts import TiedGroups
from streameval.errors import InputError
from streameval.kernels import words as kernels
from streameval.order.first_bins import FirstStage, first_stage
from streameval.stores.scratch import ScratchFile, Spill
from streameval.typing import Int64Array, UInt8Array, UInt32Array, UInt64Array

BYTES_PER_ITEM = 8
_BYTES_TO_SORT = 48  # per item of a range: its words twice, its groups, and what their sums take
_RANGE_ROWS = 1 << 17  # of a range: what is sorted in the second-level cache
_MOST_PARTS = 1 << 9  # more would be written in pieces too small for a disk
_BINS = 1 << 12
_NOTHING = np.empty(0, np.uint64)


@dataclass(frozen=True)
class PartedRows:
    """Some rows as words, range by range.

    Attributes:
        edges, words, facts (arrays): See `kernels.words.part_words`.
    """

    edges: Int64Array
    words: UInt64Array = field(repr=False)
    facts: UInt64Array = field(repr=False)

    def packed(self) -> bytes:
        """All numbers, 64 bits each."""
        return np.concatenate([self.edges.view(np.uint64), self.facts.ravel(), self.words]).tobytes()

    @staticmethod
    def unpacked(payload: bytes, ranges: int) -> PartedRows:
        """What was packed, of so many ranges."""
        edges, facts, words = np.split(np.frombuffer(payload, np.uint64), [ranges + 1, 4 * ranges + 1])
        return PartedRows(edges.view(np.int64), words, facts.reshape(3, ranges))


@dataclass(frozen=True)
class KeyRanges:
    """Ranges of keys, of about equal content: bins of keys put together.

    Attributes:
        part (uint32 array, shape (bins,)): The part that each bin belongs to. Keys that differ in their highest bit
            share a part, and no range.
    """

    stage: FirstStage
    part: UInt32Array

    @staticmethod
    def of(sample: UInt64Array, n_items: int, most_rows: int) -> KeyRanges:
        """Make ranges from some keys: of up to `most_rows` items, if the others are like them.

        The smallest and the largest key, where they differ, are in different ranges.
        """
        wanted = min(_MOST_PARTS, max(1, n_items // min(_RANGE_ROWS, max(1, most_rows // 4))))
        stage = first_stage(sample, _BINS, _BINS)
        bins = stage.place(sample, _NOTHING, 0, np.empty(sample.size, np.uint32))
        found = np.bincount(bins, minlength=stage.count)
        before = np.cumsum(found) - found
        return KeyRanges(stage, (before * wanted // sample.size + (before > 0)).astype(np.uint32))

    @property
    def count(self) -> int:
        """Ranges in all."""
        return 2 * (int(self.part[-1]) + 1)

    def split(self, keys: UInt64Array, labels: UInt8Array) -> PartedRows:
        """Part some rows."""
        part = self.part[self.stage.place(keys, _NOTHING, 0, np.empty(keys.size, np.uint32))]
        edges, words = np.zeros(self.count + 1, np.int64), np.empty(keys.size, np.uint64)
        facts = np.empty((3, self.count), np.uint64)
        kernels.part_words(keys, labels, part, edges, words, facts)
        return PartedRows(edges, words, facts)


class WordStore:
    """Words that wait, in memory up to a limit of bytes, and beyond it in a file; `n_items` of them will come."""

    def __init__(self, file: ScratchFile, memory: float, n_items: int) -> None:
        self._spill = Spill(file, memory, BYTES_PER_ITEM * n_items)

    def keep(self, words: UInt64Array) -> int:
        """Keep words, from any thread; returns a number by which they are found again."""
        return self._spill.keep(words.data)

    def read(self, number: int, first: int, last: int) -> UInt64Array:
        """Some of the words that were kept under a number."""
        return np.frombuffer(self._spill.read(number, BYTES_PER_ITEM * first, BYTES_PER_ITEM * last), np.uint64)


@dataclass
class Parted:
    """Words of many rows, parted into ranges."""

    ranges: KeyRanges
    store: WordStore
    _kept: list[tuple[int, Int64Array]] = field(default_factory=list, repr=False)
    _facts: list[UInt64Array] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, rows: PartedRows) -> None:
        """Keep some rows, from any thread and in any order."""
        number = self.store.keep(rows.words)
        with self._lock:
            self._kept.append((number, rows.edges))
            self._facts = [rows.facts if not self._facts else _together(self._facts[0], rows.facts)]

    def piles(self, most_rows: int) -> Iterator[Pile]:
        """Ranges that hold items, in order of their keys; those too long are parted again, unless they are one key."""
        sizes: Int64Array = np.zeros(self.ranges.count, np.int64)
        for _, edges in self._kept:
            sizes += np.diff(edges)
        for r in np.flatnonzero(sizes).tolist():
            positives, low, high = (int(fact) for fact in self._facts[0][:, r])
            pile = Pile(self, r, int(sizes[r]), positives, low, high)
            if pile.size <= most_rows or pile.one_key:
                yield pile
            else:
                yield from pile.parted(most_rows).piles(most_rows)

    def pieces(self, r: int) -> Iterator[UInt64Array]:
        """Words of a range, as they were kept."""
        for number, edges in self._kept:
            if edges[r] < edges[r + 1]:
                yield self.store.read(number, int(edges[r]), int(edges[r + 1]))


def _together(facts: UInt64Array, others: UInt64Array) -> UInt64Array:
    return np.stack([facts[0] + others[0], np.minimum(facts[1], others[1]), np.maximum(facts[2], others[2])])


@dataclass(frozen=True)
class Pile:
    """Items of a range of keys.

    Attributes:
        number: Of the range.
        size, positives: Items, and positives among them.
        low, high: Smallest and largest word.
    """

    of: Parted = field(repr=False)
    number: int
    size: int
    positives: int
    low: int
    high: int

    @property
    def top(self) -> np.uint64:
        """The highest bit of its keys, in its place."""
        return np.uint64((self.number & 1) << 63)

    @property
    def start(self) -> int:
        """Its smallest key."""
        return int(self.top) | self.low >> 1

    @property
    def one_key(self) -> bool:
        """Whether all items have one key."""
        return self.low >> 1 == self.high >> 1

    def groups(self) -> TiedGroups:
        """Groups of tied items: the words are sorted, unless they are all of one key."""
        if self.one_key:
            return TiedGroups(np.array([self.start], np.uint64), np.array([self.size]), np.array([self.positives]))
        words = np.concatenate(list(self.of.pieces(self.number)))
        spare = np.empty_like(words)
        if kernels.sort_words(words, spare):
            words, spare = spare, words
        sizes, positives = np.empty(words.size, np.int64), np.empty(words.size, np.int64)
        n = kernels.group_words(words, spare, sizes, positives)
        return TiedGroups(spare[:n] | self.top, sizes[:n], positives[:n])

    def parted(self, most_rows: int) -> Parted:
        """Part it again. Its smallest and largest key come into different ranges, so none stays as it was."""
        step = max(1, self.size >> 16)
        sample = np.concatenate([np.array([self.low, self.high], np.uint64),
                                 *(piece[::step] for piece in self.of.pieces(self.number))])  # fmt: skip
        ranges = KeyRanges.of(sample >> np.uint64(1) | self.top, self.size, most_rows)
        found = Parted(ranges, self.of.store)
        for piece in self.of.pieces(self.number):
            keys, labels = piece >> np.uint64(1) | self.top, (piece & np.uint64(1)).astype(np.uint8)
            found.add(ranges.split(keys, labels))
        return found


@dataclass(frozen=True)
class OrderedWords:
    """Labels in score order; see `label_counts.LabelCounts`."""

    piles: list[Pile] = field(repr=False)
    starts: UInt64Array = field(repr=False)

    @staticmethod
    def of(parted: Parted, n_items: int, memory: float, threads: int) -> OrderedWords:
        """Ranges of which `threads` can be sorted at once; raises `InputError` where rows came or went."""
        piles = list(parted.piles(rows_to_sort(memory, threads)))
        if sum(pile.size for pile in piles) != n_items:
            raise InputError("the list changed while it was read", "run the command again")
        return OrderedWords(piles, np.array([pile.start for pile in piles], np.uint64))

    @property
    def n_pieces(self) -> int:
        """Every range is one."""
        return len(self.piles)

    def piece(self, index: int) -> TiedGroups:
        """Groups of a range."""
        return self.piles[index].groups()

    def between(self, first: int, last: int | None) -> TiedGroups:
        """Groups from the one that has a key up to, and without, that of another."""
        a = int(np.searchsorted(self.starts, np.uint64(first), side="right")) - 1
        b = self.n_pieces if last is None else int(np.searchsorted(self.starts, np.uint64(last)))
        pieces = [self.piece(index) for index in range(a, max(b, a + 1))]
        key, sizes, positives = (np.concatenate([getattr(piece, name) for piece in pieces])
                                 for name in ("key", "sizes", "positives"))  # fmt: skip
        inside = slice(int(np.searchsorted(key, np.uint64(first))),
                       key.size if last is None else int(np.searchsorted(key, np.uint64(last))))  # fmt: skip
        return TiedGroups(key[inside], sizes[inside], positives[inside])

    def single(self, key: int) -> bool:
        """Every group is one score."""
        return True


def rows_to_sort(memory: float, threads: int) -> int:
    """Rows of a range that `threads` can sort at once, and one more hold, in so many bytes."""
    return max(1 << 12, int(memory / _BYTES_TO_SORT / (threads + 1)))
