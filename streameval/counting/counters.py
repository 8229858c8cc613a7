"""Counters of one scan of labelled scores: for every key, or for bins of keys, over all keys or inside some bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from streameval.counting.label_counts import BinCounts
from streameval.counting.labelled_rows import LabelledRows
from streameval.errors import InputError
from streameval.kernels import label_counts as kernels
from streameval.order.first_bins import FirstStage, first_stage
from streameval.typing import AnyArray, FloatArray, Int64Array, UInt8Array, UInt64Array

_MOST_BINS = 1 << 24
_MOST_PARTS = 1 << 21
_SAMPLE_ROWS = 1 << 18
_SAMPLE_UNITS = 32
_CACHED_ROWS = 1 << 17
_GUIDE_BITS = 18
_BYTES_PER_BIN = 40  # two counters, two keys, and what their sums take
_NOTHING = np.array([0, 0, 0xFFFFFFFFFFFFFFFF, 0], np.uint64)  # of a bin: no items, no key


@dataclass(frozen=True)
class Cells:
    """A counter for every key between two.

    Attributes:
        low: Smallest key.
        shift: Right shift that turns a distance from it into a cell.
        count: Cells in all.
    """

    low: int
    shift: int
    count: int

    @staticmethod
    def between(span: tuple[int, int], rows: LabelledRows) -> Cells:
        """Cells for keys from one to another; low bits that all keys of a type of score share are left out."""
        shift = free_bits(rows)
        low = span[0] >> shift << shift
        return Cells(low, shift, ((span[1] - low) >> shift) + 1)

    @property
    def place(self) -> UInt64Array:
        """Smallest key and shift, for kernels."""
        return np.array([self.low, self.shift], np.uint64)

    def place_of(self, bits: int) -> AnyArray:
        """The same for keys cut to so many upper bits, which the shift leaves out."""
        cut = 64 - bits
        return np.array([self.low >> cut, self.shift - cut], np.uint32 if cut else np.uint64)

    def counters(self) -> Int64Array:
        """Zeros: negatives and positives of each cell."""
        return np.zeros(2 * self.count, np.int64)

    def add(self, counts: Int64Array, keys: UInt64Array, labels: UInt8Array) -> None:
        """Count some rows; keys without a cell are passed over."""
        kernels.count_keys(keys, labels, self.place, counts)


def free_bits(rows: LabelledRows) -> int:
    """Lowest bits that are zero in every key: keys of 32-bit floats fill the upper half only."""
    return 32 if rows.order is not None and rows.order.kind == "float32" else 0


class KeyBins(Protocol):
    """Assigns keys to bins, and counts labels in them."""

    @property
    def count(self) -> int:
        """Bins in all."""

    def add(self, keys: UInt64Array, labels: UInt8Array, bins: UInt64Array) -> None:
        """Count some rows in bins: negatives, positives, smallest and largest key of each."""


def empty_bins(count: int) -> UInt64Array:
    """Bins that hold nothing: negatives, positives, smallest and largest key of each."""
    return np.tile(_NOTHING, (count, 1))


def bin_counts(bins: UInt64Array) -> BinCounts:
    """Leave out the bins that hold nothing."""
    held = bins[:, 3] >= bins[:, 2]
    counts = bins[held, :2].astype(np.int64)
    return BinCounts(bins[held, 2], bins[held, 3], counts.sum(axis=1), np.ascontiguousarray(counts[:, 1]))


@dataclass(frozen=True)
class AllBins:
    """Bins over all keys."""

    stage: FirstStage

    @staticmethod
    def of(rows: LabelledRows, memory: float, threads: int) -> AllBins:
        """Make bins from a sample: as many as `memory` bytes hold, once for each thread and once for their sum."""
        most = int(min(_MOST_BINS, max(1 << 12, memory / (_BYTES_PER_BIN * (threads + 1))), max(1 << 12, rows.n_items)))
        return AllBins(first_stage(sample(rows, _SAMPLE_UNITS), most, most))

    @property
    def count(self) -> int:
        """Bins in all."""
        return self.stage.count

    def add(self, keys: UInt64Array, labels: UInt8Array, bins: UInt64Array) -> None:
        """See `KeyBins.add`."""
        room, nothing = np.empty(min(_CACHED_ROWS, keys.size), np.uint32), np.empty(0, np.uint64)
        for first in range(0, keys.size, _CACHED_ROWS):
            part = keys[first : first + _CACHED_ROWS]
            placed = self.stage.place(part, nothing, 0, room)
            kernels.count_placed(part, labels[first : first + _CACHED_ROWS], placed, bins)


@dataclass(frozen=True)
class SplitBins:
    """Some bins, split into parts; keys in others are passed over.

    Attributes:
        chosen (int64 array, shape (k,)): The bins that are split.
        start, end, shift, base, guide (arrays): See `kernels.label_counts.count_inside`.
    """

    chosen: Int64Array
    start: UInt64Array
    end: UInt64Array
    shift: UInt64Array
    base: Int64Array
    guide: tuple[UInt64Array, Int64Array]

    @staticmethod
    def of(label_counts: BinCounts, weight: FloatArray) -> SplitBins:
        """Split bins in proportion to `weight`, shape (bins,), what each leaves open; those of weight 0 stay as is."""
        chosen = np.flatnonzero(weight)
        if chosen.size > _MOST_PARTS // 2:
            chosen = np.sort(chosen[np.argsort(weight[chosen])[-_MOST_PARTS // 2 :]])
        start, end = label_counts.start[chosen], label_counts.end[chosen]
        share = np.maximum(weight[chosen] / weight[chosen].sum() * _MOST_PARTS, 2.0)
        span = np.array([int(b - a).bit_length() for a, b in zip(start, end, strict=True)], np.int64)
        shift = np.maximum(0, span - np.floor(np.log2(share)).astype(np.int64)).astype(np.uint64)
        base = np.concatenate([[0], np.cumsum(((end - start) >> shift).astype(np.int64) + 1)])
        return SplitBins(chosen, start, end, shift, base, _guide(start, int(end[-1])))

    @property
    def count(self) -> int:
        """Parts in all."""
        return int(self.base[-1])

    def add(self, keys: UInt64Array, labels: UInt8Array, bins: UInt64Array) -> None:
        """See `KeyBins.add`."""
        kernels.count_inside(keys, labels, self.start, self.end, self.shift, self.base, self.guide, bins)

    def refined(self, label_counts: BinCounts, parts: BinCounts) -> BinCounts:
        """Put the parts in the place of their bins; raises `InputError` where they do not add up."""
        if parts.sizes.sum() != label_counts.sizes[self.chosen].sum():
            raise InputError("the list changed between two scans of it", "run the command again")
        kept = np.ones(label_counts.start.size, np.bool_)
        kept[self.chosen] = False
        order = np.argsort(np.concatenate([label_counts.start[kept], parts.start]), kind="stable")
        names = ("start", "end", "sizes", "positives")
        return BinCounts(*(np.concatenate([getattr(label_counts, n)[kept], getattr(parts, n)])[order] for n in names))


def _guide(start: UInt64Array, last: int) -> tuple[UInt64Array, Int64Array]:
    """Where to begin looking for the interval of a key."""
    origin = int(start[0])
    coarse = max(0, (last - origin).bit_length() - _GUIDE_BITS)
    edges = origin + (np.arange(((last - origin) >> coarse) + 1, dtype=np.uint64) << np.uint64(coarse))
    begun = np.append(np.searchsorted(start, edges, side="left"), start.size)
    return np.array([origin, coarse], np.uint64), begun.astype(np.int64)


def sample(rows: LabelledRows, units: int) -> UInt64Array:
    """Keys of some rows from all over the list: of `units` to twice as many units."""
    step = max(1, len(rows.units) // units)
    chosen = list(rows.units[::step])[: 2 * units]
    each = max(1, _SAMPLE_ROWS // len(chosen))
    keys = (rows.keys(unit) for unit in chosen)  # one unit at a time: a view of its keys would keep all of them
    return np.concatenate([key[:: max(1, key.size // each)].copy() for key in keys])
