"""Further stages of monotone bins: each inside the bins of the stage before that hold wanted ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernels.bins import descend, end_stage
from streameval.kernels.sorted_sets import unique
from streameval.order.first_bins import FirstStage
from streameval.typing import BoolArray, Int32Array, Int64Array, UInt64Array

KEY, LOW, HASH, POSITION = 0, 1, 2, 3
_MOST = (1 << 64) - 1


@dataclass(frozen=True)
class OrderWords:
    """Words of some rows, uint64, in the order that compares them; `low` is empty where scores have no second word."""

    key: UInt64Array
    low: UInt64Array
    hash: UInt64Array
    position: UInt64Array

    def of(self, kind: int) -> UInt64Array:
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
            descend(bins, words.of(kind), self.cell, self.start, self.shift, self.base, self.kind, kind)
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
