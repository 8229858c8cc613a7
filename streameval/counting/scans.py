"""Scans of a fully labelled list: sums of its blocks where it is stored in its order, labels per score where not.

Each is a `Job`, and so runs wherever an engine reads. `in_stored_order` and `by_score` decide which are needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any, Protocol

import numpy as np

from streameval.counting.bit_rows import BitRows, link_units, read_bits
from streameval.counting.block_sums import BlockSums, UnorderedError
from streameval.counting.blocks import blocks, sum_block
from streameval.counting.counters import Cells
from streameval.counting.label_counts import KeyCounts
from streameval.counting.labelled_rows import LabelledRows, join
from streameval.errors import InputError
from streameval.kernels.exact import BLOCK
from streameval.process.threads import ThreadPool
from streameval.progress import Progress
from streameval.scans.jobs import SUM, Engine, Job, OnWorkers, Partial, PartialBuilder, Task, merge
from streameval.scans.threads import Scanning, prefetch
from streameval.scans.units import Unit
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt16Array, UInt64Array

_MOST_BLOCKS = 512  # that come back from workers at once, with their labels
_BATCH_ROWS = 1 << 20  # parted at once: of small units, each by itself would have too few in a range
_TOGETHER_ROWS = 1 << 23  # of units that are read together
_BYTES_PER_ROW = 64
_TOGETHER = 8  # units, or blocks, to a task: to hand over each by itself takes a tenth of its time
SummedBlock = tuple[BlockSums, UInt64Array | None]


class WordReceiver(Protocol):
    """Receives the words of all rows: `parted_words` sorts them, `piled_words` counts them."""

    @property
    def ranges(self) -> Any:
        """Give what parts rows, by their whole "keys" or by `LabelledRows.words`; workers have it too."""

    def take(
        self,
        keys: AnyArray,
        labels: UInt8Array,
        bins: UInt16Array | None = None,
        hashes: UInt64Array | None = None,
    ) -> None:
        """Part some rows and keep them, from any thread and in any order; of a sample with bins and sums of hashes."""

    def add(self, rows: Any) -> None:
        """Keep rows that were parted."""


@dataclass(frozen=True)
class LabelledScans:
    """Runs scans of a labelled list; no result depends on the engine.

    Attributes:
        threads: Readers at work at once on this machine.
    """

    rows: LabelledRows
    threads: int
    engine: Engine

    def parts(self, cutoffs: Int64Array, progress: Progress) -> Iterator[SummedBlock]:
        """Sum the list in its stored order: the sums of each block, and the order keys at the cutoffs in it.

        Raises `UnorderedError` where that is not the order of the scores, `InputError` for a label or score that cannot
        be used.
        """
        if self.rows.order is not None and self.engine.placement == "on workers":
            keys = self.rows.keys(self.rows.units[0])  # before others read a list that is in no order
            if np.any(keys[1:] < keys[:-1]):
                raise UnorderedError(2 + int(np.argmax(keys[1:] < keys[:-1])))
        return self.engine.run(Summing(self.rows, self.threads, cutoffs, BLOCK), progress)

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """Count labels per key; keys outside the cells are passed over."""
        units = np.arange(len(self.rows.units))
        job = Scanning(CountingLabels(cells), self.rows, units, self.threads)
        return KeyCounts(cells.low, cells.shift, merge(self.engine.run(job, progress)).columns[SUM])

    def part(self, parted: WordReceiver, memory: float, progress: Progress) -> None:
        """Part all rows as words; where others read them, no more come back at once than `memory` bytes hold."""
        for rows in self.engine.run(Parting(self.rows, self.threads, parted.ranges, memory, parted), progress):
            parted.add(rows)


@dataclass(frozen=True)
class Summing(Job[SummedBlock]):
    """Sums of blocks of `block` ranks, and order keys at the cutoffs in them, in the order of their ranks."""

    rows: LabelledRows
    threads: int
    cutoffs: Int64Array
    block: int
    name: str = "sum"

    @property
    def units(self) -> Sequence[Unit]:
        """See `Job.units`."""
        return self.rows.units

    def run_local(self, progress: Progress) -> Iterator[SummedBlock]:
        """See `Job.run_local`."""
        rows, done = self.rows, 0
        together = max(1, min(_TOGETHER, len(rows.units) // (8 * self.threads)))
        most = BLOCK if rows.has_bins else _TOGETHER_ROWS  # bins take 16 times as much as labels
        add = partial(sum_block, cutoffs=self.cutoffs, clusters=rows.clusters)
        with ThreadPool(self.threads) as pool:
            read = pool.in_order(self._read, _batches(rows.units, most, together), self.threads + 2)
            units = link_units(chain.from_iterable(read))
            for summed in pool.in_order(add, blocks(units, self.block), self.threads + 1, together):
                done = min(done + self.block, rows.n_items)
                progress(done, rows.n_items)
                yield summed

    def _read(self, numbers: range) -> list[BitRows]:
        prefetch(self.rows.units, numbers, self.rows.scanned, self.threads)
        return list(read_bits(self.rows, self.rows.units[numbers.start : numbers.stop], self.cutoffs))

    def for_workers(self) -> OnWorkers[SummedBlock]:
        """See `Job.for_workers`: pieces are blocks, and the row before shows whether the first score ties with it."""
        bare, n_items = replace(self, rows=self.rows.for_worker(())), self.rows.n_items
        ends = np.append(np.arange(self.block, n_items, self.block), n_items)
        overlap = int(self.rows.order is not None)
        return OnWorkers(bare.run_share, ends=ends, overlap=overlap, most_rows=_MOST_BLOCKS * self.block)

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
        """See `OnWorkers`: scores that are in no order end it."""
        number = first
        try:
            for held in blocks(self._rows(units, first * self.block, last * self.block), self.block):
                yield number, number + 1, sum_block(held, self.cutoffs, self.rows.clusters)
                number += 1
        except UnorderedError as error:
            yield number, number + 1, error

    def _rows(self, units: Sequence[Unit], first: int, last: int) -> Iterator[BitRows]:
        """Read the rows `first` up to, and without, `last`."""
        read = (read_bits(self.rows, units[few.start : few.stop], self.cutoffs)
                for few in _batches(units, _TOGETHER_ROWS))  # fmt: skip
        for unit in link_units(chain.from_iterable(read)):
            begin, end = max(0, first - unit.before), min(unit.size, last - unit.before)
            if begin < end:
                yield unit.cut(begin, end)


@dataclass(frozen=True)
class CountingLabels(Task[LabelledRows]):
    """Negatives and positives of each cell."""

    cells: Cells
    name: str = "count"

    @property
    def counters(self) -> int:
        """Two of each cell."""
        return 2 * self.cells.count

    def begin(self, rows: LabelledRows) -> PartialBuilder:
        """Empty counts."""
        return _LabelCounter(rows, self.cells, self.cells.counters())


@dataclass
class _LabelCounter:
    rows: LabelledRows
    cells: Cells
    counts: Int64Array

    def add(self, number: int) -> None:
        unit = self.rows.units[number]
        labels = self.rows.labels(unit)  # what that takes is free again before keys take more
        self.cells.add(self.counts, self.rows.keys(unit), labels)

    def partial(self) -> Partial:
        return Partial(np.arange(0), 0, {SUM: self.counts})


@dataclass(frozen=True)
class Parting(Job[Any]):
    """Words of every row, range by range: threads give them to the receiver, and those of workers come back.

    Attributes:
        ranges: Those of the receiver.
    """

    rows: LabelledRows
    threads: int
    ranges: Any
    memory: float
    parted: WordReceiver | None = field(repr=False)
    name: str = "part"

    @property
    def units(self) -> Sequence[Unit]:
        """See `Job.units`."""
        return self.rows.units

    def run_local(self, progress: Progress) -> Iterator[Any]:
        """See `Job.run_local`: the receiver has taken all; a reader parts one unit at a time, or several small ones."""
        done = 0
        most = int(min(_BATCH_ROWS, self.memory / _BYTES_PER_ROW))
        with ThreadPool(self.threads) as pool:
            for rows in pool.in_order(self._take, _batches(self.units, most), self.threads + 1):
                done += rows
                progress(done, self.rows.n_items)
        yield from ()

    def _take(self, numbers: range) -> int:
        prefetch(self.rows.units, numbers, self.rows.scanned, self.threads)
        units = self.rows.units[numbers.start : numbers.stop]
        take: Callable[..., None] = self.parted.take  # type: ignore[union-attr]
        if len(units) == 1 and self.ranges.keys == "words":
            take(self.rows.words(units[0]), self.rows.labels(units[0]))
            return units[0].rows
        rows = join([self.rows.read(unit) for unit in units])
        if rows.keys is None:
            raise InputError("there is no score to order by")
        take(rows.keys, rows.labels, rows.bins, rows.hashes)
        return rows.labels.size

    def for_workers(self) -> OnWorkers[Any]:
        """See `Job.for_workers`: no more come back at once than the memory holds."""
        bare = replace(self, rows=self.rows.for_worker(()), parted=None)
        return OnWorkers(bare.run_share, most_rows=float(self.memory / self.ranges.word.itemsize))

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
        """See `OnWorkers`: the rows of each unit, parted by themselves."""
        for number, unit in enumerate(units, first):
            keys, labels = self.rows.keys(unit), self.rows.labels(unit)
            yield number, number + 1, self.ranges.split(keys, labels, *self.rows.bins([unit], labels))


def _batches(units: Sequence[Unit], most: int, count: float = math.inf) -> Iterator[range]:
    """Numbers of consecutive units: of so many rows and units at most, or of one."""
    first, rows = 0, 0
    for number, unit in enumerate(units):
        if rows and (rows + unit.rows > most or number - first >= count):
            yield range(first, number)
            first, rows = number, 0
        rows += unit.rows
    if rows:
        yield range(first, len(units))
