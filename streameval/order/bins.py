"""Monotone bins: over all keys, and then inside the bins that hold wanted ranks.

The first are by key, and by tie hash for keys that many items share. Bins lie in cells, of equal width and few enough
for their counters to stay in a cache: most rows are far from wanted ranks, and to count their cells is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.kernels.bins import descend, end_stage, even_bins, part_heavy, segment_bins
from streameval.kernels.jit import small
from streameval.kernels.sorted_sets import unique
from streameval.typing import AnyArray, BoolArray, Int32Array, Int64Array, UInt32Array, UInt64Array

_KEY, _HASH = 0, 2  # as in `bins`
_CELL_BITS = 16
ALL_ROWS = np.empty(0, np.uint32)
_MOST = (1 << 64) - 1
# bins of equal width are quicker than segments: worth so many times as many bins
_EVEN_BITS = 3
_GROUP_BITS = 12
_HEAVY_BINS = 16  # a key that takes so many bins' worth of items is heavy
KEY, LOW, HASH, POSITION = 0, 1, 2, 3


@dataclass(frozen=True)
class FirstStage:
    """Bins over all keys.

    Attributes:
        bounds (uint64 array, shape (3,)): Smallest and largest key of the sample, and the shift that makes a key's
            segment, or its bin where all bins are of equal width.
        first (int64 array, shape (segments + 1,)): First bin of each segment; the last entry is the bin of all keys
            beyond. Bin 0 is that of all keys before. Bins of equal width: 1, and the last bin; the outermost bins take
            what lies before and beyond.
        inner (uint64 array, shape (segments,)): Shift that makes a key's place in its segment; empty where all bins are
            of equal width.
        heavy, hash_shift (uint64 arrays, shape (heavy keys,)): Keys that many items share, at most one to a bin, and
            the shift of a tie hash that makes its bin.
        start (int64 array, shape (bins + 1,)): Where each bin begins once those with heavy keys are parted; empty where
            there are none.
        heavy_of (int32 array, shape (bins,)): Number of the heavy key in each bin, or −1.
        cell_shift: Makes a key's cell.
        cells (int64 array, shape (cells + 1,)): First bin of each cell; the last entry is the number of bins.
    """

    bounds: UInt64Array
    first: Int64Array
    inner: UInt64Array
    cell_shift: int
    cells: Int64Array
    heavy: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))
    hash_shift: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))
    start: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    heavy_of: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))

    @property
    def count(self) -> int:
        """Bins in all."""
        return int(self.start[-1]) if self.start.size else int(self.first[-1]) + 1

    def place(
        self,
        keys: UInt64Array,
        hashes: UInt64Array,
        first_position: int,
        out: UInt32Array,
        rows: UInt32Array = ALL_ROWS,
    ) -> UInt32Array:
        """Bins of keys, put into `out`.

        Args:
            hashes: Their tie hashes, or empty where positions are hashed.
            first_position, rows: See `kernels.bins.part_heavy`.
        """
        bins = out[: keys.size]
        self._place_key(keys, bins)
        if self.heavy.size:
            ties = self.start, self.heavy_of, self.heavy, self.hash_shift
            part_heavy(keys, hashes, (first_position, rows), *ties, bins)
        return bins

    def place_of_cells(self, bits: int) -> AnyArray:
        """Smallest and largest key, and the shift that makes a cell, of keys cut to so many upper bits.

        Of no use where cells are finer than that.
        """
        cut = 64 - bits
        place = np.append(self.bounds[:2] >> np.uint64(cut), np.uint64(max(0, self.cell_shift - cut)))
        return place.astype(np.uint32 if cut else np.uint64)

    def by_cell(self) -> FirstStage:
        """The cells as bins, without tie hashes."""
        bounds, count = np.append(self.bounds[:2], np.uint64(self.cell_shift)), self.cells.size - 1
        cells = _cells(np.arange(1, count), count)
        return FirstStage(bounds, np.array([1, count - 1]), np.empty(0, np.uint64), self.cell_shift, cells)

    def cell_of(self, bins: Int64Array) -> Int64Array:
        """Cells of bins."""
        return np.searchsorted(self.cells, bins, side="right") - 1

    def with_excess(self, counts: AnyArray, excess: Int64Array) -> Int64Array:
        """Counts of bins and what was counted by cell alone, which is put into the first bin of its cell."""
        total = counts.astype(np.int64)
        total[self.cells[1:-1]] += excess[1:]
        return total

    def each_cell(self, counts: Int64Array) -> Int64Array:
        """Sum counts of bins, cell by cell."""
        return np.append(np.int64(0), np.add.reduceat(counts, self.cells[1:-1]))

    def _place_key(self, keys: UInt64Array, bins: UInt32Array) -> None:
        if self.inner.size:
            with small(keys.size):
                segment_bins(keys, self.bounds, self.first, self.inner, bins)
        else:
            even_bins(keys, self.bounds[0], self.bounds[1], self.bounds[2], bins)

    def ranges(self, bins: Int64Array) -> tuple[Int64Array, UInt64Array, UInt64Array]:
        """Word kind, and smallest and largest word, of some bins that hold items."""
        kind = np.full(bins.size, _KEY, np.int64)
        if not self.heavy.size:
            return kind, *self._key_ranges(bins)
        at = np.searchsorted(self.start, bins, side="right") - 1
        starts, ends = self._key_ranges(at)
        inside, h = bins - self.start[at], self.heavy_of[at]
        after = bins == self.start[at + 1] - 1
        for i in np.flatnonzero(h >= 0).tolist():
            key, shift = int(self.heavy[h[i]]), int(self.hash_shift[h[i]])
            if inside[i] == 0:
                ends[i] = max(key - 1, 0)
            elif after[i]:
                starts[i] = min(key + 1, _MOST)
            else:
                kind[i], starts[i] = _HASH, (int(inside[i]) - 1) << shift
                ends[i] = int(starts[i]) + (1 << shift) - 1
        return kind, starts, ends

    def _key_ranges(self, bins: Int64Array) -> tuple[UInt64Array, UInt64Array]:
        low, high, shift = (int(value) for value in self.bounds)
        if not self.inner.size:
            starts = np.uint64(low) + (np.maximum(bins - 1, 0).astype(np.uint64) << np.uint64(shift))
            room = np.uint64(_MOST) - starts  # so that start + width cannot pass 2⁶⁴
            ends = starts + np.minimum(np.uint64((1 << shift) - 1), room)
            starts[bins <= 1], ends[bins == self.first[-1]] = 0, _MOST
            return starts, ends
        segment = np.clip(np.searchsorted(self.first, bins, side="right") - 1, 0, self.inner.size - 1)
        inner = self.inner[segment]
        start = (segment.astype(np.uint64) << np.uint64(shift)) + (
            (bins - self.first[segment]).astype(np.uint64) << inner
        )
        starts = start + np.uint64(low)
        room = np.uint64(high) - np.minimum(starts, np.uint64(high))
        ends = starts + np.minimum((np.uint64(1) << inner) - np.uint64(1), room)
        before, after = bins == 0, bins == self.first[-1]
        starts[before], ends[before] = 0, max(low - 1, 0)
        starts[after], ends[after] = min(high + 1, _MOST), _MOST
        return starts, ends


def first_stage(sample: UInt64Array, most: int, room: int, ties: str = "whole") -> FirstStage:
    """Bins of about equal content for keys like those of a sample.

    Args:
        sample (uint64 array, not empty): A poor sample costs time, never correctness.
        most: Approximate number of bins to make, if their content is equal.
        room: Bins that fit the memory.
        ties ({"whole", "parted"}): Whether keys that many items share get bins by tie hash.
    """
    keys, counts = np.unique(sample, return_counts=True)
    # of a short list one item is worth so many bins too, but shares its key with none
    heavy = (ties == "parted") & (counts > 1) & (counts * (most / sample.size) >= _HEAVY_BINS)
    light = ~heavy if not heavy.all() else heavy
    plain = _even(keys, counts * light, most, room)
    if plain is None:
        plain = _segments(keys, counts * light, most)
    return _parted(plain, keys[heavy], counts[heavy] * np.float64(most / sample.size)) if heavy.any() else plain


def _even(keys: UInt64Array, counts: Int64Array, most: int, room: int) -> FirstStage | None:
    """Bins of equal width, if none of them would hold much more than its share."""
    low, high = int(keys[0]), int(keys[-1])
    bits = min(most.bit_length() + _EVEN_BITS, room.bit_length() - 1)
    shift = min(63, max(0, (high - low).bit_length() - bits))
    last = ((high - low) >> shift) + 1
    group = ((keys - np.uint64(low)) >> np.uint64(shift)).astype(np.int64) >> max(0, bits - _GROUP_BITS)
    share = np.bincount(group, counts).max() / max(1, counts.sum())
    if shift and share * most > 4 << max(0, bits - _GROUP_BITS):
        return None
    bounds, cell_shift = np.array([low, high, shift], dtype=np.uint64), max(shift, _cell_shift(low, high))
    first = 1 + (np.arange(((high - low) >> cell_shift) + 1) << (cell_shift - shift))
    return FirstStage(bounds, np.array([1, last]), np.empty(0, np.uint64), cell_shift, _cells(first, last + 1))


def _segments(keys: UInt64Array, counts: Int64Array, most: int) -> FirstStage:
    """Bins whose width follows the sample, in segments of equal width."""
    low, high = int(keys[0]), int(keys[-1])
    shift = _cell_shift(low, high)
    segments = ((high - low) >> shift) + 1
    segment = ((keys - np.uint64(low)) >> np.uint64(shift)).astype(np.int64)
    share = np.bincount(segment, counts, minlength=segments) / max(1, counts.sum())
    bits = np.floor(np.log2(np.maximum(share * most, 1))).astype(np.int64)
    bits = np.minimum(bits, shift)
    first = 1 + np.concatenate([[0], np.cumsum(np.int64(1) << bits)])
    bounds = np.array([low, high, shift], dtype=np.uint64)
    return FirstStage(bounds, first, (shift - bits).astype(np.uint64), shift, _cells(first[:-1], int(first[-1]) + 1))


def _cell_shift(low: int, high: int) -> int:
    return max(0, (high - low).bit_length() - _CELL_BITS)


def _cells(first: Int64Array, bins: int) -> Int64Array:
    """First bins of cells numbered from 1, of which the outermost take the keys beyond."""
    return np.concatenate([[0, 0], first[1:], [bins]]).astype(np.int64)


def _parted(plain: FirstStage, heavy: UInt64Array, bins: npt.NDArray[np.floating[Any]]) -> FirstStage:
    """Part the bins of heavy keys; `bins` is how many by tie hash each is worth."""
    at = np.empty(heavy.size, np.uint32)
    plain._place_key(heavy, at)
    heaviest = np.lexsort((-bins, at))
    chosen = np.sort(heaviest[np.unique(at[heaviest], return_index=True)[1]])
    bits = np.clip(np.floor(np.log2(bins[chosen])), 1, 30).astype(np.int64)
    heavy_of = np.full(plain.count, -1, np.int32)
    heavy_of[at[chosen]] = np.arange(chosen.size, dtype=np.int32)
    width = np.ones(plain.count, np.int64)
    width[at[chosen]] = 2 + (np.int64(1) << bits)
    start = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    shift = (64 - bits).astype(np.uint64)
    return replace(
        plain, heavy=heavy[chosen], hash_shift=shift, start=start, heavy_of=heavy_of, cells=start[plain.cells]
    )


@dataclass(frozen=True)
class OrderWords:
    """Words of some rows, uint64, in the order that compares them; `low` is empty where scores have no second word."""

    key: UInt64Array
    low: UInt64Array
    hash: UInt64Array
    position: UInt64Array

    def word(self, kind: int) -> UInt64Array:
        """The word of this kind: `KEY`, `LOW`, `HASH` or `POSITION`."""
        return self.parts[kind]

    @property
    def parts(self) -> tuple[UInt64Array, UInt64Array, UInt64Array, UInt64Array]:
        """All words."""
        return self.key, self.low, self.hash, self.position

    @property
    def matrix(self) -> UInt64Array:
        """All words that there are, shape (words, n), the one that is compared first in the first row."""
        return np.stack([part for part in self.parts if part.size == self.key.size])

    def where(self, kept: BoolArray) -> OrderWords:
        """The words of some of the rows."""
        low = self.low[kept] if self.low.size else self.low
        return OrderWords(self.key[kept], low, self.hash[kept], self.position[kept])


@dataclass(frozen=True)
class Stage:
    """Bins inside cells, one cell per wanted bin of the stage before.

    Attributes:
        cell (int32 array, shape (bins of the stage before,)): Cell of a bin, or −1.
        kind (int64 array, shape (cells,)): Which word the cell splits.
        start, end (uint64 arrays, shape (cells,)): Smallest and largest word in the cell.
        shift (uint64 array, shape (cells,)): Right shift that turns a distance from `start` into a bin of the cell.
        base (int64 array, shape (cells + 1,)): First bin of each cell; the last entry is the number of bins.
    """

    cell: Int32Array
    kind: Int64Array
    start: UInt64Array
    end: UInt64Array
    shift: UInt64Array
    base: Int64Array

    @property
    def count(self) -> int:
        """Bins in all."""
        return int(self.base[-1])

    def ranges(self, bins: Int64Array) -> tuple[Int64Array, UInt64Array, UInt64Array]:
        """Word kind, and smallest and largest word, of some bins."""
        cell = np.searchsorted(self.base, bins, side="right") - 1
        inside = (bins - self.base[cell]).astype(np.uint64)
        starts = self.start[cell] + (inside << self.shift[cell])
        room = self.end[cell] - starts  # so that start + width cannot pass 2⁶⁴
        ends = starts + np.minimum((np.uint64(1) << self.shift[cell]) - np.uint64(1), room)
        return self.kind[cell], starts, ends

    def apply(self, bins: Int64Array, words: OrderWords) -> None:
        """Replace bins of the stage before by bins of this stage, in place; −1 where nothing is wanted."""
        for kind in unique(self.kind).tolist():
            descend(bins, words.word(kind), self.cell, self.start, self.shift, self.base, self.kind, kind)
        end_stage(bins)


def next_stage(
    before: FirstStage | Stage, wanted: Int64Array, counts: Int64Array, most: int, last_position: int, wide: int
) -> Stage:
    """Split wanted bins.

    Args:
        wanted (int64 array, ascending): Bins of `before` that hold wanted ranks.
        counts (int64 array): Items in each of them.
        most: Approximate number of bins to make.
        last_position: Of the list: positions split last.
        wide: The word after the key: `LOW` where scores have a second word, else `HASH`.
    """
    kind, start, end = before.ranges(wanted)
    after_key = np.where(kind == KEY, wide, kind + 1)
    single = (start == end) & (counts > 1)  # an item that is alone shares no score, and is found
    kind = np.minimum(np.where(single, after_key, kind), POSITION)
    start = np.where(single, np.uint64(0), start)
    end = np.where(single, np.where(kind == POSITION, np.uint64(last_position), np.uint64(_MOST)), end)
    share = counts / max(1, counts.sum())
    bits = np.floor(np.log2(np.maximum(share * most, 2)))
    span = np.array([int(b - a).bit_length() for a, b in zip(start, end, strict=True)], dtype=np.int64)
    shift = np.maximum(0, span - bits.astype(np.int64)).astype(np.uint64)
    bins = ((end - start) >> shift).astype(np.int64) + 1
    cell = np.full(before.count, -1, np.int32)
    cell[wanted] = np.arange(wanted.size, dtype=np.int32)
    return Stage(cell, kind, start, end, shift, np.concatenate([[0], np.cumsum(bins)]).astype(np.int64))
