"""Rankings whose rows are stored together: measured in one stream, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from streameval.kernels.words import Words
from streameval.per_query.batches import NOTHING, ManyRows, RowBatch, first_of_each
from streameval.per_query.measured import MOST, Measure, Measured
from streameval.process.threads import ThreadPool
from streameval.scans.units import Unit
from streameval.typing import Int64Array, UInt64Array

_BYTES_PER_ROW = 60
_ENOUGH = 1 << 16  # rows at the ends of units, from which on the whole rankings among them are measured


class ApartError(Exception):
    """Rows of a ranking are stored apart, or there are more than memory holds at once."""


@dataclass(frozen=True)
class _Adjoining:
    """Rows of rankings that lie one after another.

    Attributes:
        rows: Without what tells their rankings apart.
        starts (int64 array): First row of each ranking.
        low, high: What tells each apart; see `RowBatch`.
    """

    rows: RowBatch
    starts: Int64Array
    low: Words
    high: UInt64Array

    @classmethod
    def read(cls, rows: ManyRows, unit: Unit) -> _Adjoining:
        """Give those of a unit."""
        batch = rows.read(unit)
        starts = batch.starts()
        low, high = batch.low[starts], batch.high[starts] if batch.high.size else NOTHING
        return cls(replace(batch, low=NOTHING, high=NOTHING), starts, low, high)

    def cut(self, first: int, last: int) -> _Adjoining:
        """Consecutive rankings; nothing is copied."""
        edges = np.append(self.starts, self.rows.rows)
        begin, end = int(edges[first]), int(edges[last])
        return _Adjoining(
            self.rows.cut(begin, end), self.starts[first:last] - begin, self.low[first:last], self.high[first:last]
        )

    def copy(self) -> _Adjoining:
        """Give the same, their rows in memory of their own."""
        return replace(self, rows=self.rows.copy())

    @classmethod
    def join(cls, parts: list[_Adjoining]) -> _Adjoining:
        """One after another, where the last ranking of one may go on in the next."""
        sizes = np.cumsum([0, *(part.rows.rows for part in parts)])
        starts = np.concatenate([part.starts + first for part, first in zip(parts, sizes[:-1], strict=True)])
        low, high = (np.concatenate([getattr(part, name) for part in parts]) for name in ("low", "high"))
        new = first_of_each(low, high)
        whole = RowBatch.concatenate([part.rows for part in parts])
        return cls(whole, starts[new], low[new], high[new] if high.size else high)


@dataclass(frozen=True)
class _MeasuredBlock:
    """Rankings that were measured, and what tells them apart."""

    found: Measured
    low: Words
    high: UInt64Array


# the first ranking of a unit, those between, the last if that is another: the ends may go on in other units
_MeasuredUnit = tuple[_Adjoining, list[_MeasuredBlock], _Adjoining]


def adjacent(
    rows: ManyRows, measure: Measure, threads: int, memory: float, done: Callable[[int], None]
) -> Iterator[Measured]:
    """Measure rankings in stored order; `ApartError` as soon as rows of one are seen apart.

    That none were is known at the end only: what came before is of no use where the error is raised.
    """
    seen = _Seen(memory / 4)

    def blocks(rankings: _Adjoining) -> list[_MeasuredBlock]:
        pieces = []
        for at in range(0, rankings.starts.size, MOST):
            block = rankings.cut(at, min(at + MOST, rankings.starts.size))
            result = measure(measure.adjacent(block.rows, block.low, block.starts))
            pieces.append(_MeasuredBlock(result, block.low, block.high))
        return pieces

    def read(unit: Unit) -> _MeasuredUnit:
        adjoining = _Adjoining.read(rows, unit)
        count = adjoining.starts.size
        if count < 2:
            return adjoining.copy(), [], adjoining.cut(count, count)
        _refuse_apart(adjoining)
        inner = blocks(adjoining.cut(1, count - 1))
        return adjoining.cut(0, 1).copy(), inner, adjoining.cut(count - 1, count).copy()

    def measured(part: list[_Adjoining] | list[_MeasuredBlock]) -> list[_MeasuredBlock]:
        ends = [piece for piece in part if isinstance(piece, _Adjoining)]
        if not ends:
            return [piece for piece in part if isinstance(piece, _MeasuredBlock)]
        joined = _Adjoining.join(ends)
        _refuse_apart(joined)
        return blocks(joined)

    with ThreadPool(threads) as pool:
        units = pool.in_order(read, rows.rows.units, threads + 1)
        parts = _parts(units, int(memory / 2 / _BYTES_PER_ROW))
        for measured_blocks in pool.in_order(measured, parts, threads + 1):
            for block in measured_blocks:
                seen.add(block.low, block.high)
                done(int(block.found.facts[:, 0].sum()))
                yield block.found
    seen.check()


def _parts(units: Iterator[_MeasuredUnit], most_rows: int) -> Iterator[list[_Adjoining] | list[_MeasuredBlock]]:
    """Give what was measured, and between, in their order, ends of units that together hold whole rankings."""
    held: list[_Adjoining] = []
    for head, blocks, tail in units:
        if not head.rows.rows:
            continue
        if held and not _same(held[-1], head) and _size(held) >= _ENOUGH:
            yield held
            held = []
        held.append(head)
        if tail.rows.rows and (blocks or _size(held) >= _ENOUGH):
            yield held
            held = []
        if blocks:
            yield blocks
        if tail.rows.rows:
            held.append(tail)
        if _size(held) > most_rows:
            raise ApartError
    if held:
        yield held


def _size(parts: list[_Adjoining]) -> int:
    return sum(part.rows.rows for part in parts)


def _same(a: _Adjoining, b: _Adjoining) -> bool:
    """Tell whether the last row of one and the first of another are of one ranking."""
    return bool(a.low[-1] == b.low[0]) and (not a.high.size or bool(a.high[-1] == b.high[0]))


def _refuse_apart(rankings: _Adjoining) -> None:
    """Raise `ApartError` where two of the rankings are one."""
    low, wide = rankings.low, rankings.high.size > 0
    steps = np.diff(low.view(np.int64))
    if not wide and ((steps > 0).all() or (steps < 0).all()):
        return
    ordered = np.sort(low)
    if not np.any(ordered[1:] == ordered[:-1]):
        return
    if not wide or np.unique(np.stack([low, rankings.high]), axis=1).shape[1] < low.size:
        raise ApartError


class _Seen:
    """Rankings that were met so far: none is in two blocks. While they ascend, or descend, the last is enough."""

    def __init__(self, memory: float) -> None:
        self._memory, self._held = memory, 0
        self._low: list[Words] = []
        self._high: list[UInt64Array] = []
        self._rising = self._falling = self._whole = True

    def add(self, low: Words, high: UInt64Array) -> None:
        """Take in the rankings of a block."""
        last = self._low[-1][-1:] if self._low else NOTHING
        steps = np.diff(np.append(last, low).view(np.int64))
        self._rising &= not high.size and bool((steps > 0).all())
        self._falling &= not high.size and bool((steps < 0).all())
        self._low.append(low)
        self._high.append(high)
        self._held += low.nbytes + high.nbytes
        if self._held > self._memory and (self._rising or self._falling):
            self._low, self._high, self._held, self._whole = [low], [high], 0, False
        if not (self._rising or self._falling) and (self._held > self._memory or not self._whole):
            raise ApartError

    def check(self) -> None:
        """Raise `ApartError` where one was met twice."""
        if self._rising or self._falling:
            return
        low, high = np.concatenate(self._low), np.concatenate(self._high)
        order = np.lexsort((high, low)) if high.size else np.argsort(low)
        again = low[order][1:] == low[order][:-1]
        if high.size:
            again &= high[order][1:] == high[order][:-1]
        if again.any():
            raise ApartError
