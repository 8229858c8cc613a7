"""What a scan reads: the score (and key columns) of one row group at a time, several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.kernels.tie_hash import position_hashes
from streameval.order.finer_bins import OrderWords
from streameval.order.item_keys import as_whole, refuse_inexact
from streameval.order.scores import Keys, ScoreOrder
from streameval.order.skip_by_statistics import SkippedRows
from streameval.order.tie_hashes import key_hashes
from streameval.scans.units import Unit, parts_of
from streameval.typing import AnyArray, Int64Array, UInt32Array, UInt64Array


@dataclass(frozen=True)
class Scan:
    """How units are read.

    Attributes:
        key_columns: Empty where ties are ordered by position.
        key_hashes (callable(positions) -> uint64 array): Tie hashes of the items at some stored positions, from their
            key columns.
        skipped: Rows of the list that are in none of the units.
        whole: Key columns of numbers that are hashed by value, whatever their type.
    """

    units: Sequence[Unit]
    order: ScoreOrder
    score: str
    key_columns: tuple[str, ...]
    threads: int
    key_hashes: Callable[[Int64Array], UInt64Array]
    skipped: SkippedRows = field(default_factory=SkippedRows.none)
    whole: tuple[str, ...] = ()

    @property
    def n_items(self) -> int:
        """N."""
        return sum(unit.rows for unit in self.units) + int(self.skipped.rows.sum())

    @property
    def scanned(self) -> Sequence[str]:
        """Columns that are read of each unit."""
        return [self.score]

    def elsewhere(self, units: Sequence[Unit]) -> Scan:
        """The same on a worker, which has some of the units and can hash no others."""
        return replace(self, units=units, key_hashes=_not_here, skipped=SkippedRows.none(), threads=1)

    def column(self, unit: Unit) -> pa.ChunkedArray:
        """Scores of a unit's rows."""
        return unit.read([self.score]).column(0)

    def read(self, unit: Unit, room: UInt64Array) -> AnyArray | pa.ChunkedArray:
        """Scores of a unit's rows; plain numbers are put into `room`, as long as the unit."""
        values = None if self.order.kind == "decimal" else unit.numbers(self.score, room, "any")
        return self.column(unit) if values is None else values

    def scores(self, unit: Unit) -> Keys:
        """Order keys of a unit's rows."""
        return self.order.keys(self.column(unit))

    def tie_hashes(self, positions: Int64Array) -> UInt64Array:
        """Tie hashes of the items at some stored positions."""
        return self.key_hashes(positions) if self.key_columns else position_hashes(positions)

    def hashes(self, unit: Unit) -> UInt64Array:
        """Tie hashes of all rows of a unit from its key columns."""
        keys = unit.read(self.key_columns).select(list(self.key_columns))
        refuse_inexact(keys, unit.place)
        return key_hashes(as_whole(keys, self.whole))

    def words(self, first_position: int, keys: Keys, rows: UInt32Array, hashes: UInt64Array | None) -> OrderWords:
        """All words of some rows of a block.

        Args:
            first_position: Where the block begins.
            keys: Of the block.
            rows (uint32 array): Within the block.
            hashes (uint64 array or None): Tie hashes of the block's rows from key columns; None where they are not
                needed yet, and 0 then.
        """
        positions = rows.astype(np.int64) + first_position
        low = keys.low[rows] if keys.low.size else keys.low
        if not self.key_columns:
            tie = position_hashes(positions)
        else:
            tie = np.zeros(rows.size, np.uint64) if hashes is None else hashes[rows]
        return OrderWords(keys.key[rows], low, tie, positions.view(np.uint64))

    def missing_places(self, limit: int = 3) -> Iterator[tuple[Unit, int]]:
        """First rows whose score is null or NaN, in stored order."""
        for unit in parts_of(self.units):
            scores = self.column(unit)
            gone = scores.is_null(nan_is_null=True).combine_chunks().to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(gone).tolist():
                yield unit, row
                limit -= 1
                if not limit:
                    return


def _not_here(positions: Int64Array) -> UInt64Array:
    raise TypeError("a share knows its own row groups only")
