"""Rankings whose rows are stored together: measured in one stream, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from streameval.counting.labelled_rows import in_order
from streameval.kernels.words import Words
from streameval.queries.batches import NOTHING, Batch, ManyRows
from streameval.queries.measured import MOST, Measure, Measured
from streameval.rows.units import Unit
from streameval.typing import Int64Array, UInt64Array

_BYTES_PER_ROW = 60
Scan = Callable[[int], None]


class ApartError(Exception):
    """Rows of a ranking are stored apart, or there are more than memory holds at once."""


def adjacent(rows: ManyRows, measure: Measure, threads: int, memory: float, done: Scan) -> Iterator[Measured]:
    """Measure rankings in stored order; `ApartError` as soon as rows of one are seen apart.

    That none were is known at the end only: what came before is of no use where the error is raised.
    """
    seen = _Seen(memory / 4)
    most_rows = int(memory / 2 / _BYTES_PER_ROW)

    def read(unit: Unit) -> tuple[Batch, Int64Array]:
        batch = rows.read(unit)
        return batch, batch.starts()

    def one(parts: list[Batch]) -> tuple[Measured, Words, UInt64Array]:
        batch = Batch.joined(parts)
        starts = batch.starts()
        found = measure(measure.adjacent(batch, starts))
        return found, batch.low[starts], batch.high[starts] if batch.high.size else NOTHING

    with ThreadPoolExecutor(threads) as pool:
        batches = in_order(pool, read, rows.rows.units, threads + 1)
        for found, low, high in in_order(pool, one, _blocks(batches, most_rows), threads + 1):
            seen.add(low, high)
            done(int(found.facts[:, 0].sum()))
            yield found
    seen.check()


def _blocks(batches: Iterator[tuple[Batch, Int64Array]], most_rows: int) -> Iterator[list[Batch]]:
    """Parts of batches that together hold whole rankings, at most `MOST` of them."""
    held: list[Batch] = []
    for batch, starts in batches:
        if not starts.size:
            continue
        if starts.size == 1 and held and _same(held[-1], batch):
            held.append(batch)
        else:
            cuts = [*starts[MOST - 1 :: MOST].tolist(), int(starts[-1])]
            first = 0
            for cut in cuts:
                if cut > first or held:
                    yield [*held, *([batch.cut(first, cut)] if cut > first else [])]
                held, first = [], cut
            held = [batch.cut(first, batch.rows)]
        if sum(part.rows for part in held) > most_rows:
            raise ApartError
    if held:
        yield held


def _same(a: Batch, b: Batch) -> bool:
    """Whether the last row of one and the first of another are of one ranking."""
    return bool(a.low[-1] == b.low[0]) and (not a.high.size or bool(a.high[-1] == b.high[0]))


class _Seen:
    """Rankings that were met so far: none twice. While their numbers ascend, or descend, the last is enough."""

    def __init__(self, memory: float) -> None:
        self._memory, self._held = memory, 0
        self._low: list[Words] = []
        self._high: list[UInt64Array] = []
        self._rising = self._falling = self._whole = True

    def add(self, low: Words, high: UInt64Array) -> None:
        """Take in the rankings of a block."""
        numbers = low if not high.size else np.stack([low, high])
        if np.unique(numbers, axis=-1).shape[-1] < low.size:
            raise ApartError
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
