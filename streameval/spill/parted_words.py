"""Words of labelled items, parted into ranges of keys by one scan, and each range sorted by itself.

Words stay in memory where they fit, else in a scratch file, and a range that memory cannot sort at once is parted
again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from streameval.kernels import words as kernels
from streameval.kernels.jit import read_only, small
from streameval.kernels.words import Words
from streameval.order.bins import FirstStage, first_stage
from streameval.spill.store import PartedSpill, Spill
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array

_RANGE_ROWS = 1 << 17  # of a range: what is sorted in the second-level cache
_MOST_PARTS = 1 << 9  # more would be written in pieces too small for a disk
_BINS = 1 << 12
_NOTHING = np.empty(0, np.uint64)


def word_type(shift: int) -> np.dtype[Any]:
    """Type of the words of keys whose lowest `shift` bits are zero."""
    return np.dtype(np.uint32 if shift >= 32 else np.uint64)


@dataclass(frozen=True)
class PartedRows:
    """Some rows as words, range by range.

    Attributes:
        edges, words, facts (arrays): See `kernels.words.part_words`.
        bins (uint16 array, or None): Of the rows' clusters, where the list is a sample; in the order of the words.
        hashes (uint64 array, or None): Their sums of hashes (`streameval.counting.influence`).
    """

    edges: Int64Array
    words: Words = field(repr=False)
    facts: UInt64Array = field(repr=False)
    bins: UInt16Array | None = field(default=None, repr=False)
    hashes: UInt64Array | None = field(default=None, repr=False)


@dataclass(frozen=True)
class KeyRanges:
    """Ranges of keys, of about equal content: bins of keys put together.

    Attributes:
        part (uint32 array, shape (bins,)): The part that each bin belongs to. Keys that differ in their highest bit
            share a part, and no range.
        shift: Lowest bits that are zero in every key; with 32 or more, words are 32 bits long.
    """

    stage: FirstStage
    part: UInt32Array
    shift: int = 0
    keys: ClassVar[str] = "whole"

    @staticmethod
    def from_keys(sample: UInt64Array, n_items: int, most_rows: int, shift: int = 0) -> KeyRanges:
        """Make ranges from some keys: of up to `most_rows` items, if the others are like them.

        The smallest and the largest key, where they differ, are in different ranges. A bin that is as long by itself is
        a range, so that few partings leave a key alone that many items share.
        """
        wanted = min(_MOST_PARTS, max(1, n_items // min(_RANGE_ROWS, max(1, most_rows // 4))))
        stage = first_stage(sample, _BINS, _BINS)
        bins = stage.place(sample, _NOTHING, 0, np.empty(sample.size, np.uint32))
        counts = np.bincount(bins, minlength=stage.count)
        before, long = np.cumsum(counts) - counts, counts * wanted > sample.size
        place = before * wanted // sample.size + (before > 0)
        begins = (place[1:] > place[:-1]) | long[1:] | long[:-1]
        return KeyRanges(stage, np.append(0, np.cumsum(begins)).astype(np.uint32), shift)

    @property
    def count(self) -> int:
        """Ranges in all."""
        return 2 * (int(self.part[-1]) + 1)

    @property
    def word(self) -> np.dtype[Any]:
        """Type of words."""
        return word_type(self.shift)

    def split(
        self,
        keys: UInt64Array,
        labels: UInt8Array,
        bins: UInt16Array | None = None,
        hashes: UInt64Array | None = None,
    ) -> PartedRows:
        """Part some rows, with the bins of their clusters and their sums of hashes where the list is a sample."""
        places = self.stage.place(keys, _NOTHING, 0, np.empty(keys.size, np.uint32))
        edges, words = np.zeros(self.count + 1, np.int64), np.empty(keys.size, self.word)
        facts = np.empty((3, self.count), np.uint64)
        with small(4 * keys.size):
            kernels.part_words((keys, read_only(labels), places), self.part, np.uint64(self.shift), edges, words, facts)
        if bins is None:
            return PartedRows(edges, words, facts)
        parted_bins = np.empty_like(bins)
        with small(2 * keys.size):
            kernels.part_beside(keys, places, self.part, edges, bins, parted_bins)
        return PartedRows(edges, words, facts, parted_bins, hashes)


@dataclass
class Parted:
    """Words of many rows, parted into ranges.

    Attributes:
        hashes (uint64 array, or None): Sums of hashes of all rows, where the list is a sample.
    """

    ranges: KeyRanges
    spill: Spill
    hashes: UInt64Array | None = field(default=None, repr=False)
    kept: PartedSpill = field(init=False, repr=False)
    _facts: list[UInt64Array] = field(default_factory=list, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.kept = PartedSpill(self.spill, self.ranges.count)

    def take(
        self,
        keys: UInt64Array,
        labels: UInt8Array,
        bins: UInt16Array | None = None,
        hashes: UInt64Array | None = None,
    ) -> None:
        """Part some rows and keep them, from any thread and in any order."""
        self.add(self.ranges.split(keys, labels, bins, hashes))

    def add(self, rows: PartedRows) -> None:
        """Keep rows that were parted."""
        self.kept.add(
            rows.edges, {"words": rows.words} if rows.bins is None else {"words": rows.words, "bins": rows.bins}
        )
        with self._lock:
            self._facts = [rows.facts if not self._facts else _together(self._facts[0], rows.facts)]
            if rows.hashes is not None:
                self.hashes = rows.hashes if self.hashes is None else self.hashes + rows.hashes

    def piles(self, most_rows: int) -> Iterator[Pile]:
        """Ranges that hold items, in order of their keys; those too long are parted again, unless they are one key."""
        sizes = self.kept.sizes
        for r in np.flatnonzero(sizes).tolist():
            positives, low, high = (int(fact) for fact in self._facts[0][:, r])
            pile = Pile(self, r, int(sizes[r]), positives, low, high)
            if pile.size <= most_rows or pile.one_key:
                yield pile
            else:
                yield from pile.part_again(most_rows).piles(most_rows)


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
        return int(self.top) | self.low >> 1 << self.of.ranges.shift

    @property
    def one_key(self) -> bool:
        """Tell whether all items have one key."""
        return self.low >> 1 == self.high >> 1

    def rows(self) -> SortedRows:
        """Its items in order: the words are sorted, unless they are all of one key."""
        kept = self.of.kept.whole(self.number)
        if self.one_key:
            return SortedRows(self, None, 0, self.size, self._counted_bins())
        words, bins = kept.column("words"), kept.column("bins")
        if bins.size:
            order = np.argsort(words)
            return SortedRows(self, words[order], 0, self.size, bins[order])
        spare = np.empty_like(words)
        with small(5 * words.size):
            in_spare = kernels.sort_words(words, spare)
        return SortedRows(self, spare if in_spare else words, 0, self.size)

    def _counted_bins(self) -> Int64Array:
        """Count rows of one key by bin: positives up to each bin, then negatives; empty where the list is no sample."""
        counts: Int64Array = np.zeros(0, np.int64)
        for piece in self.of.kept.pieces(self.number):
            bins = piece.column("bins").astype(np.int64)
            if bins.size:
                places = bins + (1 << 16) * (1 - (piece.column("words") & 1).astype(np.int64))
                counts = np.bincount(places, minlength=1 << 17) + (counts if counts.size else 0)
        return np.cumsum(counts)

    def part_again(self, most_rows: int) -> Parted:
        """Part it again. Its smallest and largest key come into different ranges, so none stays as it was."""
        step, shift = max(1, self.size >> 16), self.of.ranges.shift
        ends = np.array([self.low, self.high], np.uint64)
        pieces = self.of.kept.pieces(self.number)
        some = [piece.column("words")[::step].astype(np.uint64) for piece in pieces]
        sample = np.concatenate([ends, *some]) >> np.uint64(1) << np.uint64(shift) | self.top
        ranges = KeyRanges.from_keys(sample, self.size, most_rows, shift)
        parts = Parted(ranges, self.of.spill)
        for piece in self.of.kept.pieces(self.number):
            words, bins = piece.column("words"), piece.column("bins")
            keys, labels = np.empty(words.size, np.uint64), np.empty(words.size, np.uint8)
            kernels.unpack_words(words, self.top, np.uint64(shift), keys, labels)
            parts.take(keys, labels, bins if bins.size else None)
        return parts


@dataclass(frozen=True)
class SortedRows:
    """Items of a pile in order of their keys.

    Attributes:
        words (array or None): Of the whole pile, sorted; None where all have one key, and positives are put first.
        first, size: Which of them these are.
        bins (array): Of their clusters where the list is a sample, else empty: of each word; where all have one key,
            how many rows are positive, and then negative, up to each bin.
    """

    pile: Pile = field(repr=False)
    words: Words | None = field(repr=False)
    first: int
    size: int
    bins: AnyArray = field(repr=False, default_factory=lambda: np.empty(0, np.uint16))

    def cut(self, first: int, last: int) -> SortedRows:
        """Some of the rows; nothing is copied."""
        return replace(self, first=self.first + first, size=last - first)

    def put(self, keys: UInt64Array, labels: UInt8Array) -> None:
        """Fill arrays of that size."""
        if self.words is not None:
            words = self.words[self.first : self.first + self.size]
            kernels.unpack_words(words, self.pile.top, np.uint64(self.pile.of.ranges.shift), keys, labels)
        else:
            keys[:] = self.pile.start
            labels[:] = np.arange(self.first, self.first + self.size) < self.pile.positives

    def put_bins(self, bins: UInt16Array) -> None:
        """Fill an array of that size with the bins of their clusters."""
        rows = slice(self.first, self.first + self.size)
        if self.words is not None:
            bins[:] = self.bins[rows]
        else:
            bins[:] = np.searchsorted(self.bins, np.arange(rows.start, rows.stop), side="right")  # cut to 16 bits
