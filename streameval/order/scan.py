"""Input of a scan: score and tie hash of one row group at a time, but for those that statistics show to be far away.

A row group whose scores lie in [min, max] holds ranks after all rows of groups that are wholly better, and up to all
rows of groups that are not wholly worse. Groups that can hold a wanted rank are read, and so are those whose scores
overlap theirs. Each of the others is skipped and counts as its number of rows at its best score, for none of them lies
among scores that matter. Groups without statistics are read. A float's statistics do not count NaN: one in a skipped
group goes unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.kernels.jit import read_only, small
from streameval.kernels.order import LAST, NULL_WORD, SEED, WIDE_WORD, add_strings, add_words, position_hashes
from streameval.order.bins import OrderWords
from streameval.order.item_keys import as_whole, key_type, refuse_inexact, stored_type
from streameval.order.scores import Keys, ScoreOrder, missing_rows
from streameval.rows.options import RankingOptions
from streameval.scans.units import Unit
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt32Array, UInt64Array

if TYPE_CHECKING:
    from streameval.rows import ColumnBounds

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a unit, in a second
_ALL_ONES = np.uint64(2**64 - 1)
TIE_RULE = "score, then the 64-bit tie hash of {what}, then the stored position"


def key_hashes(keys: pa.Table, seed: np.uint64 = SEED) -> UInt64Array:
    """Tie hashes of rows with key columns (`streameval.kernels.order` has the specification)."""
    state = np.full(keys.num_rows, seed, np.uint64)
    for column in keys.columns:
        array = _hashed_form(column)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if array.type in (pa.large_string(), pa.large_binary()):
            offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
            data = np.frombuffer(array.buffers()[2] or b"", np.uint8)
            with small(state.size + data.size):
                add_strings(state, read_only(offsets), read_only(data), valid)
        elif pa.types.is_decimal(array.type):
            _add_decimals(state, array, valid)
        elif pa.types.is_timestamp(array.type):
            _add(state, _moments(array), valid)
        else:
            _add(state, [_words(array)], valid)
    return state


def _hashed_form(column: pa.ChunkedArray) -> pa.Array:
    """Make one array of a column, of a type that stands for its family; see `item_keys`."""
    kind = stored_type(column.type)
    if kind == pa.uuid():
        kind = pa.large_binary()
    elif pa.types.is_decimal(kind):
        kind = key_type(kind)
    elif pa.types.is_date(kind):
        kind = pa.date32()
    chunks = (column if column.type == kind else column.cast(kind)).chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays([*chunks, pa.array([], kind)])


def _add(state: UInt64Array, words: Sequence[UInt64Array], valid: BoolArray) -> None:
    """Take words of every row into its hash, in place; where it is null, the one word of that."""
    null = None if valid.all() else state[~valid]
    for each in words:
        _add_words(state, each)
    if null is not None:
        _add_words(null, np.full(null.size, NULL_WORD))
        state[~valid] = null


def _add_words(state: UInt64Array, words: UInt64Array) -> None:
    with small(state.size):
        add_words(state, words)


def _words(array: pa.Array) -> UInt64Array:
    if pa.types.is_date(array.type):
        array = array.cast(pa.int32())
    filled = array.fill_null(pa.scalar(0).cast(array.type)).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(array.type):
        words = (filled.astype(np.float64) + 0.0).view(np.uint64)  # −0.0 + 0.0 is 0.0
    else:
        words = filled.astype(np.uint64 if pa.types.is_unsigned_integer(array.type) else np.int64).view(np.uint64)
    return np.asarray(words)


def _moments(array: pa.Array) -> list[UInt64Array]:
    """Whole seconds since 1970, and the nanoseconds beyond them."""
    ticks = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    second = _TICKS[array.type.unit]
    return [(ticks // second).view(np.uint64), (ticks % second * (_TICKS["ns"] // second)).astype(np.uint64)]


def _add_decimals(state: UInt64Array, array: pa.Array, valid: BoolArray) -> None:
    """Take whole decimals into the hashes, in place: as an integer of 64 bits has it, or as three words beyond."""
    halves = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)[array.offset : array.offset + len(array)]
    low, high = (np.where(valid, half, np.uint64(0)) for half in halves.T)
    narrow = high == np.where(low >> np.uint64(63) == 1, _ALL_ONES, np.uint64(0))
    wide = state[~narrow]
    _add(state, [low], valid)
    for words in (np.full(wide.size, WIDE_WORD), low[~narrow], high[~narrow]):
        _add_words(wide, words)
    state[~narrow] = wide


@dataclass(frozen=True)
class SkippedRows:
    """Units whose rows are counted without being read.

    Attributes:
        key (uint64 array, shape (n,)): Order key of the best score of each unit.
        rows (int64 array, shape (n,)): Rows of each unit.
    """

    key: UInt64Array
    rows: Int64Array

    @staticmethod
    def none() -> SkippedRows:
        """No unit is skipped."""
        return SkippedRows(np.empty(0, np.uint64), np.empty(0, np.int64))


def must_be_read(first: UInt64Array, last: UInt64Array, rows: Int64Array, wanted: Int64Array) -> BoolArray:
    """Mark the units that have to be read; returns a bool array, shape (n,).

    Args:
        first, last (uint64 arrays, shape (n,)): Smallest and largest order key of each unit; 0 and 2⁶⁴ − 1 where
            nothing is known.
        rows (int64 array, shape (n,)): Rows of each unit.
        wanted (int64 array, strictly increasing): Wanted ranks.
    """
    before = _rows_up_to(last, rows, first, "left")
    up_to = _rows_up_to(first, rows, last, "right")
    holds = np.searchsorted(wanted, before, side="right") < np.searchsorted(wanted, up_to, side="right")
    starts, ends = _merge(first[holds], last[holds])
    at = np.searchsorted(starts, last, side="right") - 1
    return (at >= 0) & (ends[np.maximum(at, 0)] >= first)


def _rows_up_to(keys: UInt64Array, rows: Int64Array, at: UInt64Array, side: str) -> Int64Array:
    """Rows of the units whose key comes before each of some keys ("right": or equals it)."""
    order = np.argsort(keys, kind="stable")
    total = np.concatenate([[0], np.cumsum(rows[order])])
    place = np.searchsorted(keys[order], at, side="left" if side == "left" else "right")
    return np.asarray(total[place], dtype=np.int64)


def _merge(first: UInt64Array, last: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
    """Disjoint intervals that cover the same keys, ascending."""
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(last[order])
    begins = np.concatenate([[True], first[1:] > reach[:-1]])
    return first[begins], reach[np.concatenate([np.flatnonzero(begins)[1:] - 1, [first.size - 1]])]


def key_bounds(statistics: Sequence[ColumnBounds], order: ScoreOrder) -> tuple[UInt64Array, UInt64Array] | None:
    """Find the smallest and largest order key of each unit, from statistics of its scores; None without any."""
    if order.kind == "decimal" or not statistics:
        return None
    first, last = [], []
    for kind, bounds in statistics:
        try:
            ends = [order.keys(pa.array(bounds.ends[:, side]).cast(kind)).key if bounds.known.any() else
                    np.zeros(bounds.known.size, np.uint64) for side in (0, 1)]  # fmt: skip
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None  # statistics of a type that has no plain value
        first.append(np.where(bounds.known, np.minimum(*ends), np.uint64(0)))
        last.append(np.where(bounds.known, np.maximum(*ends), LAST))
    return np.concatenate(first), np.concatenate(last)


def describe(options: RankingOptions) -> dict[str, Any]:
    """Describe an order by score, JSON-ready."""
    by = ", ".join(options.key) if options.key else "the stored position"
    return {
        "order": "score",
        "score": options.score,
        "ascending": options.ascending,
        "key": list(options.key),
        "nan": options.nan,
        "tie_rule": TIE_RULE.format(what=by),
    }


@dataclass(frozen=True)
class Scan:
    """Units to read, and the way to read them.

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

    def for_worker(self, units: Sequence[Unit]) -> Scan:
        """Give the same on a worker, which has some of the units and can hash no others."""
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

    def missing_rows(self) -> Iterator[str]:
        """Name the rows whose score is null or NaN, in stored order."""
        return missing_rows(self.units, self.column)


def _not_here(positions: Int64Array) -> UInt64Array:
    raise TypeError("a share knows its own row groups only")
