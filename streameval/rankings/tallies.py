"""A fully labelled list in score order, without sorting it: labels counted per score in one scan or a few.

Where a counter for every key fits the memory, the counts are the list: groups of tied items, exactly. Otherwise keys
fall into bins, and what the order inside a bin can change is bounded; the bins that matter are counted again in parts,
until what they leave open is small enough or they hold a single score.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.kernels import tally as kernels
from streameval.rankings import Progress, silent
from streameval.rankings.ordering.first import first_stage
from streameval.rankings.ordering.units import Unit
from streameval.rankings.streams import LabelledRows, in_order
from streameval.types import FloatArray, Int64Array

UInt64Array = npt.NDArray[np.uint64]
_PIECE = 1 << 22  # cells looked through at once
_MOST_BINS = 1 << 24
_MOST_PARTS = 1 << 21
_SAMPLE_ROWS = 1 << 18
_SAMPLE_UNITS = 32
_CACHED_ROWS = 1 << 17
_GUIDE_BITS = 18
_BYTES_PER_BIN = 40  # two counters, two keys, and what their sums take
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@dataclass(frozen=True)
class Piece:
    """Groups of tied items, best first.

    Attributes
    ----------
    key : uint64 array, shape (n,)
        Their order key; of a bin, the smallest.
    sizes, positives : int64 arrays, shape (n,)
    """

    key: UInt64Array
    sizes: Int64Array
    positives: Int64Array


class Tally(Protocol):
    """Counts of labels in score order."""

    @property
    def n_pieces(self) -> int:
        """How many pieces there are."""
        ...

    def piece(self, index: int) -> Piece:
        """Groups of one piece; all pieces, one after another, are the list."""
        ...

    def between(self, first: int, last: int | None) -> Piece:
        """Groups from the one that begins at a key up to, and without, that of another; None: to the end."""
        ...

    def single(self, key: int) -> bool:
        """Whether all items of the group with that key have one score."""
        ...


@dataclass(frozen=True)
class DenseTally:
    """A counter for every key.

    Attributes
    ----------
    low : int
        Smallest key.
    shift : int
        What makes a distance from it a cell.
    counts : uint16 array, shape (2 · cells,)
        Negatives and positives of each cell, modulo 2^16.
    spilled : int64 array
        Counters that passed 2^16, once for each time.
    """

    low: int
    shift: int
    counts: npt.NDArray[np.uint16] = field(repr=False)
    spilled: Int64Array = field(repr=False)

    @property
    def n_pieces(self) -> int:
        """Pieces of 2^22 cells."""
        return -(-self.counts.size // (2 * _PIECE))

    def piece(self, index: int) -> Piece:
        """Those of its cells that hold items."""
        return self._cells(index * _PIECE, min((index + 1) * _PIECE, self.counts.size // 2))

    def between(self, first: int, last: int | None) -> Piece:
        """Cells from that of a key up to, and without, that of another."""
        end = self.counts.size // 2 if last is None else (last - self.low) >> self.shift
        return self._cells((first - self.low) >> self.shift, end)

    def _cells(self, first: int, last: int) -> Piece:
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
        return Piece(key, sizes, positives)

    def single(self, key: int) -> bool:
        """Every cell is one score."""
        return True


@dataclass(frozen=True)
class BinTally:
    """Counters for bins of keys.

    Attributes
    ----------
    start, end : uint64 arrays, shape (n,)
        Smallest and largest key in each bin that holds items, ascending.
    sizes, positives : int64 arrays, shape (n,)
    """

    start: UInt64Array = field(repr=False)
    end: UInt64Array = field(repr=False)
    sizes: Int64Array = field(repr=False)
    positives: Int64Array = field(repr=False)

    @property
    def n_pieces(self) -> int:
        """All bins are one piece."""
        return 1

    def piece(self, index: int) -> Piece:
        """All bins that hold items."""
        return Piece(self.start, self.sizes, self.positives)

    def between(self, first: int, last: int | None) -> Piece:
        """Bins from the one that begins at a key up to, and without, that of another."""
        a = int(np.searchsorted(self.start, np.uint64(first)))
        b = self.start.size if last is None else int(np.searchsorted(self.start, np.uint64(last)))
        return Piece(self.start[a:b], self.sizes[a:b], self.positives[a:b])

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Bins that hold several scores, and a positive."""
        several: npt.NDArray[np.bool_] = self.start != self.end
        return several & (self.positives > 0)

    def single(self, key: int) -> bool:
        """Whether all items of the bin that begins at a key have one score."""
        at = int(np.searchsorted(self.start, np.uint64(key)))
        return bool(self.start[at] == self.end[at])

    def widths(self) -> tuple[FloatArray, FloatArray]:
        """What the order inside each bin can change; see `kernels.tally.open_widths`."""
        starts, founds = (np.concatenate([[0], np.cumsum(one)]) for one in (self.sizes, self.positives))
        widths, grouped = np.empty((2, self.sizes.size)), np.empty((2, self.sizes.size))
        kernels.open_widths(starts, founds, widths, grouped)
        return np.where(self.open, widths, 0.0), np.where(self.open, grouped, np.nan)


def grain_of(rows: LabelledRows) -> int:
    """Low bits that all order keys of a type of score share: a float32 fills the upper half only."""
    return 32 if rows.order is not None and rows.order.kind == "float32" else 0


def span_of(rows: LabelledRows, pool: Executor, threads: int) -> tuple[int, int]:
    """Smallest and largest key, by a scan of the scores alone."""
    low, high = int(_ALL), 0
    for keys in in_order(pool, rows.keys, rows.units, threads + 1):
        low, high = min(low, int(keys.min())), max(high, int(keys.max()))
    return low, high


def count_dense(
    rows: LabelledRows, span: tuple[int, int], pool: Executor, threads: int, progress: Progress
) -> DenseTally:
    """Count labels per key in one scan."""
    shift = grain_of(rows)
    low = span[0] >> shift << shift
    cells = ((span[1] - low) >> shift) + 1
    counts = np.zeros(2 * cells, np.uint16)
    place = np.array([low, shift], np.uint64)
    edges = np.linspace(0, cells, threads + 1).astype(np.int64)
    spilled, done = [], 0
    for stretch in rows.stream(pool, threads + 1):
        keys, labels = stretch.keys, stretch.labels
        if keys is None:
            raise InputError("there is no score to count by")

        def work(own: Int64Array, keys: UInt64Array = keys, labels: npt.NDArray[np.uint8] = labels) -> Int64Array:
            room = np.empty(keys.size, np.int64)
            return room[: kernels.count_keys(keys, labels, place, counts, own, room)].copy()

        spilled += [one for one in pool.map(work, [edges[i : i + 2] for i in range(threads)]) if one.size]
        done += labels.size
        progress(done, rows.n_items)
    return DenseTally(low, shift, counts, np.concatenate([np.empty(0, np.int64), *spilled]))


def count_bins(rows: LabelledRows, memory: float, pool: Executor, threads: int, progress: Progress) -> BinTally:
    """Count labels per bin in one scan."""
    sample = _sample(rows)
    most = int(min(_MOST_BINS, max(1 << 12, memory / (_BYTES_PER_BIN * (threads + 1))), max(1 << 12, rows.n_items)))
    stage = first_stage(sample, most, most)
    nothing = np.empty(0, np.uint64)

    def work(keys: UInt64Array, labels: npt.NDArray[np.uint8], bins: UInt64Array) -> None:
        room = np.empty(min(_CACHED_ROWS, keys.size), np.uint32)
        for first in range(0, keys.size, _CACHED_ROWS):
            part = keys[first : first + _CACHED_ROWS]
            kernels.count_placed(part, labels[first : first + _CACHED_ROWS], stage.place(part, nothing, 0, room), bins)

    return _counted(rows, stage.count, work, pool, threads, progress)


def refine(tally: BinTally, weight: FloatArray, rows: LabelledRows, pool: Executor, threads: int) -> BinTally:
    """Count the bins that leave most open again, in parts, by one more scan.

    Parameters
    ----------
    weight : float64 array, shape (bins,)
        What each leaves open; 0: it stays as it is.
    """
    chosen = np.flatnonzero(weight)
    if chosen.size > _MOST_PARTS // 2:
        chosen = np.sort(chosen[np.argsort(weight[chosen])[-_MOST_PARTS // 2 :]])
    start, end = tally.start[chosen], tally.end[chosen]
    share = np.maximum(weight[chosen] / weight[chosen].sum() * _MOST_PARTS, 2.0)
    span = np.array([int(b - a).bit_length() for a, b in zip(start, end, strict=True)], np.int64)
    shift = np.maximum(0, span - np.floor(np.log2(share)).astype(np.int64)).astype(np.uint64)
    base = np.concatenate([[0], np.cumsum(((end - start) >> shift).astype(np.int64) + 1)])
    guide = _guide(start, int(end[-1]))

    def work(keys: UInt64Array, labels: npt.NDArray[np.uint8], bins: UInt64Array) -> None:
        kernels.count_inside(keys, labels, start, end, shift, base, guide, bins)

    parts = _counted(rows, int(base[-1]), work, pool, threads, silent)
    if parts.sizes.sum() != tally.sizes[chosen].sum():
        raise InputError("the list changed between two scans of it", "run the command again")
    kept = np.ones(tally.start.size, np.bool_)
    kept[chosen] = False
    order = np.argsort(np.concatenate([tally.start[kept], parts.start]), kind="stable")
    names = ("start", "end", "sizes", "positives")
    return BinTally(*(np.concatenate([getattr(tally, n)[kept], getattr(parts, n)])[order] for n in names))


def _guide(start: UInt64Array, last: int) -> tuple[UInt64Array, Int64Array]:
    """Where to begin looking for the interval of a key."""
    origin = int(start[0])
    coarse = max(0, (last - origin).bit_length() - _GUIDE_BITS)
    edges = origin + (np.arange(((last - origin) >> coarse) + 1, dtype=np.uint64) << np.uint64(coarse))
    begun = np.append(np.searchsorted(start, edges, side="left"), start.size)
    return np.array([origin, coarse], np.uint64), begun.astype(np.int64)


class _Counting(Protocol):
    def __call__(self, keys: UInt64Array, labels: npt.NDArray[np.uint8], bins: UInt64Array) -> None: ...


def _counted(
    rows: LabelledRows, count: int, work: _Counting, pool: Executor, threads: int, progress: Progress
) -> BinTally:
    """Fill bins by several readers, each its own, and join them."""
    empty = np.array([0, 0, _ALL, 0], np.uint64)
    free: list[UInt64Array] = [np.tile(empty, (count, 1)) for _ in range(threads)]

    def one(unit: Unit) -> int:
        mine = free.pop()
        try:
            stretch = rows.read(unit)
            if stretch.keys is not None:
                work(stretch.keys, stretch.labels, mine)
            return stretch.labels.size
        finally:
            free.append(mine)

    done = 0
    for found in in_order(pool, one, rows.units, threads + 1):
        done += found
        progress(done, rows.n_items)
    total = free.pop()
    while free:
        other = free.pop()
        total[:, :2] += other[:, :2]
        np.minimum(total[:, 2], other[:, 2], out=total[:, 2])
        np.maximum(total[:, 3], other[:, 3], out=total[:, 3])
    held = total[:, 3] >= total[:, 2]
    counts = total[held, :2].astype(np.int64)
    return BinTally(total[held, 2], total[held, 3], counts.sum(axis=1), np.ascontiguousarray(counts[:, 1]))


def _sample(rows: LabelledRows) -> UInt64Array:
    """Keys of some rows from all over the list."""
    step = max(1, len(rows.units) // _SAMPLE_UNITS)
    chosen = list(rows.units[::step])[: 2 * _SAMPLE_UNITS]
    each = max(1, _SAMPLE_ROWS // len(chosen))
    keys = [rows.read(unit).keys for unit in chosen]
    return np.concatenate([key[:: max(1, key.size // each)] for key in keys if key is not None])
