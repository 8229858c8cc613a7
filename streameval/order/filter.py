"""The rows of a scan that lie in wanted bins, selected in blocks that fit a cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streameval.kernels.bins import keep_open
from streameval.order.bins import FirstStage, OrderWords, Stage
from streameval.order.scan import Scan
from streameval.order.scores import Keys
from streameval.scans.units import Unit
from streameval.typing import BoolArray, Int64Array, UInt32Array, UInt64Array

BLOCK = 1 << 15  # rows whose keys, bins and counters fit a cache
NO_HASHES = np.empty(0, np.uint64)


@dataclass
class Buffers:
    """Arrays that one thread reuses from block to block."""

    keys: UInt64Array = field(default_factory=lambda: np.empty(BLOCK, np.uint64))
    rows: UInt32Array = field(default_factory=lambda: np.empty(BLOCK, np.uint32))
    bins: UInt32Array = field(default_factory=lambda: np.empty(2 * BLOCK, np.uint32))  # words are half as long as keys
    _numbers: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))

    def numbers(self, rows: int) -> UInt64Array:
        """Room for the scores of a unit of so many rows, as they are stored."""
        if self._numbers.size < rows:
            self._numbers = np.empty(rows, np.uint64)
        return self._numbers


@dataclass(frozen=True)
class StageFilter:
    """All stages of a search: selects the rows in wanted bins of the last but one stage, and finds their last bins."""

    scan: Scan
    first: FirstStage
    rest: tuple[Stage, ...]
    open_bins: UInt64Array
    hashed: str

    @staticmethod
    def from_stages(scan: Scan, stages: Sequence[FirstStage | Stage], bins: Int64Array, hashed: str) -> StageFilter:
        """Chain the stages; `bins` are those of the last stage that hold wanted ranks."""
        first = stages[0]
        if not isinstance(first, FirstStage):
            raise TypeError("the first stage comes first")
        rest = tuple(stage for stage in stages[1:] if isinstance(stage, Stage))
        wanted = rest[0].cell >= 0 if rest else flags(first.count, bins)
        return StageFilter(scan, first, rest, bits(wanted), hashed)

    def hashes(self, unit: Unit) -> UInt64Array | None:
        """Tie hashes of a unit from its key columns, where a stage splits by them."""
        return self.scan.hashes(unit) if self.scan.key_columns and self.hashed == "now" else None

    def select(
        self, unit: Unit, first_row: int, keys: Keys, hashes: UInt64Array | None, buffers: Buffers
    ) -> tuple[Int64Array, OrderWords]:
        """Bins at the last stage, and words, of the rows of a block that get there."""
        position = unit.first_position + first_row
        bins = self.first.place(keys.key, NO_HASHES, position, buffers.bins)
        rows = buffers.rows[: keep_open(bins, self.open_bins, buffers.rows)]
        block = hashes[first_row : first_row + keys.key.size] if hashes is not None else None
        words = self.scan.words(position, keys, rows, block)
        return self._descend(bins[rows].astype(np.int64), words)

    def place_words(self, items: OrderWords) -> tuple[Int64Array, OrderWords]:
        """Give the same for items whose words are known."""
        bins = self.first.place(items.key, items.hash, 0, np.empty(items.key.size, np.uint32))
        rows = np.empty(items.key.size, np.uint32)
        rows = rows[: keep_open(bins, self.open_bins, rows)]
        return self._descend(bins[rows].astype(np.int64), items.where(flags(items.key.size, rows)))

    def _descend(self, bins: Int64Array, words: OrderWords) -> tuple[Int64Array, OrderWords]:
        for stage in self.rest:
            stage.apply(bins, words)
            words = words.where(bins >= 0)
            bins = bins[bins >= 0]
        return bins, words


def flags(count: int, bins: Int64Array | UInt32Array) -> BoolArray:
    """Flags of `count` bins, set for some of them."""
    flags = np.zeros(count, np.bool_)
    flags[bins] = True
    return flags


def bits(flags: BoolArray) -> UInt64Array:
    """Pack flags, eight to a byte, the first lowest."""
    padded = np.zeros(-(-flags.size // 64) * 64, np.bool_)
    padded[: flags.size] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)
