"""Scans of a labelled list by threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from streameval.counting.bit_rows import linked, read_bits
from streameval.counting.block_sums import BlockSums
from streameval.counting.blocks import blocks, sum_block
from streameval.counting.counters import Cells
from streameval.counting.label_counts import KeyCounts
from streameval.counting.labelled_rows import LabelledRows, in_batches, in_order, joined
from streameval.counting.scans import WordReceiver
from streameval.errors import InputError
from streameval.kernels.exact import BLOCK
from streameval.progress import Progress
from streameval.rows.units import Unit
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt64Array

_BATCH_ROWS = 1 << 20  # parted at once: of small units, each by itself would have too few in a range
_BYTES_PER_ROW = 64
_TOGETHER = 4  # units, or blocks, to a task: to hand over each by itself takes a tenth of its time


@dataclass(frozen=True)
class LabelledThreads:
    """Reads in `threads` threads; see `LabelledScans`."""

    rows: LabelledRows
    threads: int

    def parts(self, cutoffs: Int64Array, progress: Progress) -> Iterator[tuple[BlockSums, UInt64Array | None]]:
        """See `LabelledScans.parts`."""
        rows, done = self.rows, 0
        together = max(1, min(_TOGETHER, len(rows.units) // (8 * self.threads)))
        read, add = partial(read_bits, rows, cutoffs=cutoffs), partial(sum_block, cutoffs=cutoffs)
        with ThreadPoolExecutor(self.threads) as pool:
            units = linked(in_batches(pool, read, rows.units, self.threads + 2, together))
            for one in in_batches(pool, add, blocks(units, BLOCK), self.threads + 1, together):
                done = min(done + BLOCK, rows.n_items)
                progress(done, rows.n_items)
                yield one

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """See `LabelledScans.dense`: each reader has counters of its own, which are added up."""
        free = [cells.counters() for _ in range(self.threads)]

        def count(keys: UInt64Array, labels: UInt8Array) -> None:
            mine = free.pop()
            cells.add(mine, keys, labels)
            free.append(mine)

        self._each(0, count, progress)
        return KeyCounts(cells.low, cells.shift, np.sum(free, axis=0))

    def part(self, parted: WordReceiver, memory: float, progress: Progress) -> None:
        """See `LabelledScans.part`."""
        self._each(int(min(_BATCH_ROWS, memory / _BYTES_PER_ROW)), parted.take, progress, parted.ranges.keys)

    def _each(
        self, most: int, work: Callable[[AnyArray, UInt8Array], None], progress: Progress, keys: str = "whole"
    ) -> None:
        """Have a reader take the rows of some units at a time: of one, or of several with up to `most` rows.

        With keys ("whole"), or `LabelledRows.words`.
        """

        def one(units: list[Unit]) -> int:
            if len(units) == 1 and keys == "words":
                work(self.rows.words(units[0]), self.rows.labels(units[0]))
                return units[0].rows
            rows = joined([self.rows.read(unit) for unit in units])
            if rows.keys is None:
                raise InputError("there is no score to order by")
            work(rows.keys, rows.labels)
            return rows.labels.size

        done = 0
        with ThreadPoolExecutor(self.threads) as pool:
            for found in in_order(pool, one, _batches(self.rows.units, most), self.threads + 1):
                done += found
                progress(done, self.rows.n_items)


def _batches(units: Sequence[Unit], most: int) -> Iterator[list[Unit]]:
    batch, rows = list[Unit](), 0
    for unit in units:
        if batch and rows + unit.rows > most:
            yield batch
            batch, rows = [], 0
        batch.append(unit)
        rows += unit.rows
    if batch:
        yield batch
