"""The items down to a rank, or at many ranks, as consecutive tables: in fixed memory, however many they are.

By score, the place of the last rank in the order (score, tie hash, stored position) is found by counting scans; one
more scan keeps the rows at or before it, and their items are read where they are stored. In rank order the items go
through files on disk, one per interval of ranks that fits the memory, and each is sorted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.order import count_before
from streameval.kernels.sorted_sets import unique
from streameval.order.bins import OrderWords
from streameval.order.by_score import ByScore
from streameval.order.scan import Scan
from streameval.rankings.ranking import Ranking, free_name
from streameval.rows import Taken
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.spill.item_files import ItemSpill
from streameval.typing import Int64Array

_FIRST_ROWS, _GROWTH = 1 << 12, 16  # of the first table, whose rows may be of any size, and of one to the next
_MOST_ROWS = 1 << 20  # of one table
_MOST_POSITIONS = 1 << 24  # that are listed at a time
_BATCH_ROWS = 1 << 18
_GATHERED = 1 << 18  # rows that are read together where they lie scattered
_SAMPLE_PLACES, _SAMPLE_ROWS = 16, 16
_MOST_FILES = 200
_MOST_BYTES = 1 << 30  # of an interval that is sorted, so that no text overflows Arrow's 32-bit offsets


class ItemReader:
    """Reads columns of items, as many items at a time as fit the memory.

    Attributes:
        schema: Of every table that is read.
    """

    def __init__(self, ranking: Ranking, limit_bytes: float) -> None:
        self.rows, self.order = ranking.rows, ranking.order
        self.columns = list(dict.fromkeys(self.rows.columns()))
        self.schema = self._take(np.zeros(1, np.int64)).table.schema
        if self.order is not None and self.order.score in self.columns:  # its type may differ between files
            at = self.columns.index(self.order.score)
            self.schema = self.schema.set(at, self.schema.field(at).with_type(self.order.kind))
        self._limit = limit_bytes / 8
        self._rows_at_once = min(_FIRST_ROWS, _MOST_ROWS)

    def only(self, columns: Sequence[str]) -> ItemReader:
        """Make a reader of some of the columns."""
        reader = copy(self)
        reader.columns = list(columns)
        reader.schema = pa.schema([self.schema.field(name) for name in columns])
        return reader

    def read(self, positions: Int64Array) -> Iterator[pa.Table]:
        """Items at some positions, in ascending order."""
        scattered: list[Int64Array] = []
        for here, whole in self.rows.stretches(positions, self.columns):
            if whole is None:
                scattered.append(here)
                continue
            yield from self._pieces(np.concatenate([*scattered, here[:0]]), self._take)
            scattered = []
            for table in whole(min(_BATCH_ROWS, self._rows_at_once)):
                yield self._as_planned(table)
        yield from self._pieces(np.concatenate([*scattered, positions[:0]]), self._take)

    def read_ranks(self, ranks: Int64Array) -> Iterator[pa.Table]:
        """Items at some ranks, in ascending order; by score, the list is scanned for them."""
        if self.order is None:
            return self.read(ranks - 1)
        positions = self.order.locate(ranks).position
        self.rows.check_unchanged()
        return self._pieces(positions, lambda some: self.rows.take_anywhere(some, self.columns))

    def _pieces(self, positions: Int64Array, take: Callable[[Int64Array], Taken]) -> Iterator[pa.Table]:
        at = 0
        while at < positions.size:
            table = take(positions[at : at + self._rows_at_once]).table
            at += table.num_rows
            yield self._as_planned(table)

    def _as_planned(self, table: pa.Table) -> pa.Table:
        if table.num_rows:
            fit = int(self._limit * table.num_rows / max(1, table.nbytes))
            self._rows_at_once = max(1, min(fit, _GROWTH * self._rows_at_once, _MOST_ROWS))
        return table.cast(self.schema)

    def _take(self, positions: Int64Array) -> Taken:
        return self.rows.take(positions, self.columns)


def list_ranks(ranking: Ranking, runs: Int64Array) -> Iterator[Int64Array]:
    """List the ranks of runs, some at a time; of a stored order, no row group is in two lists unless it is huge.

    Args:
        runs (int64 array, shape (k, 2)): First and last rank of each, disjoint, in ascending order.
    """
    ends = np.cumsum([unit.rows for unit in ranking.rows.units()])
    at, done, last = 0, 0, int(runs[-1, 1]) if runs.size else 0
    while done < last:
        done = max(done, int(runs[at, 0]) - 1)
        end = min(done + _MOST_ROWS, last)
        end = min(int(ends[np.searchsorted(ends, end)]), done + _MOST_POSITIONS, last)
        till = int(np.searchsorted(runs[:, 0], end, side="right"))
        first = np.maximum(runs[at:till, 0], done + 1)
        count = np.minimum(runs[at:till, 1], end) - first + 1
        if count.size == 1:  # as where all rows are counted: `select(pl.len())` costs no more than this
            yield np.arange(first[0], first[0] + count[0])
        else:
            yield np.arange(count.sum()) + np.repeat(first - np.cumsum(count) + count, count)
        at, done = int(np.searchsorted(runs[:, 1], end, side="right")), end


def beside_rank(name: str, columns: Collection[str]) -> str:
    """Name that a column of items has beside their ranks."""
    return free_name(name, columns) if name == "rank" else name


@dataclass(frozen=True)
class FirstItems:
    """Items of ranks 1..last, in pieces.

    Attributes:
        schema: `rank` where the pieces are in rank order, then the item's columns.
        tables: The pieces, of this schema.
    """

    schema: pa.Schema
    tables: Iterator[pa.Table]


def read_top(ranking: Ranking, last_rank: int, order: str, folder: Path, limit_bytes: float) -> FirstItems:
    """Read the items of ranks 1..`last_rank`.

    Args:
        last_rank: In 1..N.
        order ({"storage", "rank"}): Order of the items. Where the stored order is the ranking the two are one.
        folder: For files that are removed again: in rank order by score, all items are written there once,
            uncompressed.
        limit_bytes: That reading may take.
    """
    items = ItemReader(ranking, limit_bytes)
    if ranking.order is None:
        lists = list_ranks(ranking, np.array([[1, last_rank]]))
        return _number_rows(items, (table for ranks in lists for table in items.read_ranks(ranks)))
    if order == "storage":
        kept = _join_pieces(_kept_rows(ranking.order, ranking.order.places(np.array([last_rank])), "ties"), last_rank)
        return FirstItems(items.schema, (table for words, _ in kept for table in items.read(_positions(words))))
    return _number_rows(items, _by_rank(ranking.order, items, last_rank, folder, min(limit_bytes / 4, _MOST_BYTES)))


def _number_rows(items: ItemReader, tables: Iterator[pa.Table]) -> FirstItems:
    """Number the rows of tables in rank order."""
    fields = [field.with_name(beside_rank(field.name, items.columns)) for field in items.schema]
    schema = pa.schema([pa.field("rank", pa.int64()), *fields])

    def numbered() -> Iterator[pa.Table]:
        done = 0
        for table in tables:
            ranks = pa.array(np.arange(done + 1, done + table.num_rows + 1))
            yield pa.Table.from_arrays([ranks, *table.columns], schema=schema)
            done += table.num_rows

    return FirstItems(schema, numbered())


def _by_rank(order: ByScore, items: ItemReader, last_rank: int, folder: Path, limit: float) -> Iterator[pa.Table]:
    """Distribute the items over files, one per interval of ranks, then sort one interval after another."""
    sample = items.rows.take(_sample(items.rows.n_rows), items.columns).table
    size = last_rank * max(1.0, sample.nbytes / sample.num_rows)
    files = int(np.clip(np.ceil(size / limit), 1, min(_MOST_FILES, last_rank)))
    ends = np.array([-(-last_rank * (i + 1) // files) for i in range(files)], dtype=np.int64)
    with ItemSpill(folder, items.schema, files) as spill:
        for words, interval in _join_pieces(_kept_rows(order, order.places(ends), "all"), last_rank):
            at = 0
            for table in items.read(_positions(words)):
                here = slice(at, at + table.num_rows)
                spill.add(table, words.matrix[:, here], interval[here])
                at += table.num_rows
        for file in range(files):
            yield from spill.sort(file, limit)


def _sample(n_rows: int) -> Int64Array:
    """Positions from all over the list, few pages of them: a page of long texts is large."""
    starts = np.linspace(0, n_rows - 1, _SAMPLE_PLACES).astype(np.int64)
    positions = unique(starts[:, None] + np.arange(_SAMPLE_ROWS))
    return positions[positions < n_rows]


def _kept_rows(order: ByScore, ends: OrderWords, hashed: str) -> Iterator[tuple[OrderWords, Int64Array]]:
    """Rows at or before the last of some places, in stored order, and the first place at or after each.

    `hashed` says which rows' key columns are hashed: "all", or, for "ties", those of row groups where a score is that
    of the last place.
    """
    units = list(order.units)
    if order.bounds is not None:
        units = [unit for unit, best in zip(units, order.bounds[0].tolist(), strict=True) if best <= ends.key[-1]]
    scan = replace(order.scan_all(1), units=units)
    for _, kept in each_unit(lambda unit: _kept_of(scan, unit, ends, hashed), units, scan.threads):
        yield kept


def _kept_of(scan: Scan, unit: Unit, ends: OrderWords, hashed: str) -> tuple[OrderWords, Int64Array]:
    keys = scan.scores(unit)
    rows = np.flatnonzero(keys.key <= ends.key[-1]).astype(np.uint32)
    needed = bool(rows.size) if hashed == "all" else bool(np.any(keys.key[rows] == ends.key[-1]))
    hashes = scan.hashes(unit) if scan.key_columns and needed else None
    words = scan.words(unit.first_position, keys, rows, hashes)
    interval = count_before(words.matrix, ends.matrix)
    inside = interval < ends.key.size
    return words.where(inside), interval[inside]


def _join_pieces(
    kept: Iterator[tuple[OrderWords, Int64Array]], last_rank: int
) -> Iterator[tuple[OrderWords, Int64Array]]:
    """Join small pieces, so that their rows are read together; check that nothing is missing."""
    waiting: list[tuple[OrderWords, Int64Array]] = []
    total, count = 0, 0
    for words, interval in kept:
        waiting.append((words, interval))
        count += interval.size
        total += interval.size
        if count >= _GATHERED:
            yield _join(waiting)
            waiting, count = [], 0
    if total != last_rank:
        raise InputError(f"{total:,} items lie above rank {last_rank:,}: the list changed while it was read")
    if count:
        yield _join(waiting)


def _join(pieces: list[tuple[OrderWords, Int64Array]]) -> tuple[OrderWords, Int64Array]:
    words = (np.concatenate(parts) for parts in zip(*(piece.parts for piece, _ in pieces), strict=True))
    return OrderWords(*words), np.concatenate([interval for _, interval in pieces])


def _positions(words: OrderWords) -> Int64Array:
    return np.asarray(words.position.astype(np.int64))
