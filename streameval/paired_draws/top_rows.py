"""Read the rows of a unit that are in a top of either ranking, with the hashes of their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.draw import sample_hashes
from streameval.order.filter import Buffers
from streameval.order.item_keys import as_keys, missing
from streameval.order.scores import Keys
from streameval.order.tie_hashes import key_hashes
from streameval.paired_draws.tops import Tops
from streameval.scans.units import Unit
from streameval.typing import Int64Array, UInt64Array

SECOND_SEED = np.uint64(0x7061697265643031)  # "paired01": with the tie hash, 128 bits that tell keys apart
_HALF = 0.5


@dataclass(frozen=True)
class TopRows:
    """Rows in a top.

    Attributes:
        position (int64 array, shape (n,)): Where they are stored.
        first (int64 arrays, shape (n,)): Of each ranking, first cutoff whose top holds the row; m where none does.
        hash (uint64 array, shape (n,)): Tie hash of the key.
        predicted (int64 array, shape (n,)): 0 or 1 as the judge says; 0 without a judge.
        keys: Key columns.
    """

    position: Int64Array
    first: tuple[Int64Array, ...]
    hash: UInt64Array
    predicted: Int64Array
    keys: pa.Table


@dataclass(frozen=True)
class TopScan:
    """What a scan reads: rows of one table that are in a top of one or several orders of it.

    Attributes:
        key: Types of the key columns, as they are returned.
    """

    units: Sequence[Unit]
    tops: tuple[Tops, ...]
    key: pa.Schema
    judge: str | None
    threads: int

    @property
    def scanned(self) -> Sequence[str]:
        """Columns that are read of every unit."""
        return [name for one in self.tops for name in one.columns]

    def elsewhere(self, units: Sequence[Unit]) -> TopScan:
        """The same on a worker, which has some of the units."""
        return replace(self, units=units, tops=tuple(one.elsewhere() for one in self.tops), threads=1)


@dataclass
class TopReader:
    """Reads units for one thread.

    Attributes:
        missing: Scores so far that are null or NaN.
    """

    scan: TopScan
    missing: int = 0
    _buffers: list[Buffers] = field(default_factory=list)

    def read(self, unit: Unit) -> TopRows:
        """Read a unit; an `InputError` names the place of a key that is null."""
        rows, keys = self._inside(unit)
        if not rows.size:
            none = np.empty(0, np.int64)
            return TopRows(none, (none,) * len(self.scan.tops), none.view(np.uint64), none, self.scan.key.empty_table())
        names = [*self.scan.key.names, *([self.scan.judge] if self.scan.judge else [])]
        stored = unit.read(list(dict.fromkeys(names)))
        if rows.size < unit.rows:
            stored = stored.take(pa.array(rows))
        keys_as_stored = stored.select(self.scan.key.names)
        _refuse_nulls(keys_as_stored, unit)
        named = as_keys(keys_as_stored, self.scan.key, unit.place)
        hashes, position = key_hashes(named), rows + unit.first_position
        first = tuple(one.first(of, hashes, position) for one, of in zip(self.scan.tops, keys, strict=True))
        predicted = np.zeros(rows.size, np.int64)
        if self.scan.judge is not None:
            predicted = _predictions(stored.column(self.scan.judge))
        return _in_a_top(TopRows(position, first, hashes, predicted, named), self.scan.tops[0].ends.shape[1])

    def _inside(self, unit: Unit) -> tuple[Int64Array, list[Keys]]:
        """Rows that may be in a top, by their first words, and these words of each order."""
        tops = self.scan.tops
        self._buffers = self._buffers or [Buffers() for _ in tops]
        sides = [one.blocks(unit, buffers) for one, buffers in zip(tops, self._buffers, strict=True)]
        rows, words = list[Int64Array](), [list[Keys]() for _ in tops]
        missing = 0
        for blocks in zip(*sides, strict=True):
            inside = np.logical_or.reduce([of.key <= one.last for one, (_, of) in zip(tops, blocks, strict=True)])
            at = np.flatnonzero(inside)
            missing += sum(of.missing for _, of in blocks)
            rows.append(at + blocks[0][0])
            for some, (_, of) in zip(words, blocks, strict=True):
                some.append(Keys(of.key[at], of.low[at] if of.low.size else of.low, 0))
        self.missing += missing
        return np.concatenate(rows), [_joined(some) for some in words]


def draws_of(hashes: UInt64Array, seed: int) -> UInt64Array:
    """The hash that draws items, of the tie hashes of their keys: one to one, as `rankings.draw_by_key` draws."""
    return sample_hashes(hashes, np.uint64(seed % 2**64))


def second_hashes(keys: pa.Table) -> UInt64Array:
    """Another hash of keys, independent of the tie hash."""
    return key_hashes(keys, SECOND_SEED)


def _joined(parts: list[Keys]) -> Keys:
    return Keys(np.concatenate([one.key for one in parts]), np.concatenate([one.low for one in parts]), 0)


def _in_a_top(rows: TopRows, m: int) -> TopRows:
    """Leave out rows that tie with the last item of a top, and come after it."""
    kept = np.logical_or.reduce([first < m for first in rows.first])
    if kept.all():
        return rows
    first = tuple(one[kept] for one in rows.first)
    keys = rows.keys.filter(pa.array(kept))
    return TopRows(rows.position[kept], first, rows.hash[kept], rows.predicted[kept], keys)


def _refuse_nulls(keys: pa.Table, unit: Unit) -> None:
    for name in keys.column_names:
        if count := missing(keys.column(name)):
            raise InputError(
                f"{unit.place}: key column '{name}' is null in {count:,} of the rows that are in a top",
                "every item needs a key: leave such rows out of both lists",
            )


def _predictions(column: pa.ChunkedArray) -> Int64Array:
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    return np.asarray(values >= _HALF, dtype=np.int64)
