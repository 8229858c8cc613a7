"""Items at many ranks, as consecutive tables of one schema: in fixed memory, however many they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy

import numpy as np
import pyarrow as pa

from streameval.rankings.ranking import Ranking, free_name
from streameval.rows import Taken
from streameval.typing import Int64Array

_FIRST_ROWS, _GROWTH = 1 << 12, 16  # of the first table, whose rows may be of any size, and of one to the next
_MOST_ROWS = 1 << 20  # of one table
_MOST_POSITIONS = 1 << 24  # that are listed at a time
_BATCH_ROWS = 1 << 18


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


def listed(ranking: Ranking, runs: Int64Array) -> Iterator[Int64Array]:
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
