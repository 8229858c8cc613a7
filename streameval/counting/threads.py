"""Scans of a labelled list by threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from streameval.counting.bit_rows import linked, read_bits
from streameval.counting.block_sums import BlockSums
from streameval.counting.blocks import blocks, sum_block
from streameval.counting.counters import Cells, KeyBins, bin_counts, empty_bins
from streameval.counting.label_counts import BinCounts, KeyCounts
from streameval.counting.labelled_rows import LabelledRows, in_batches, in_order
from streameval.counting.parted_words import Parted
from streameval.errors import InputError
from streameval.kernels.exact import BLOCK
from streameval.progress import Progress
from streameval.rows.units import Unit
from streameval.typing import Int64Array, UInt8Array, UInt64Array

_TOGETHER = 4  # units, or blocks, to a task: to hand over each by itself takes a tenth of its time


@dataclass(frozen=True)
class Threads:
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

    def span(self) -> tuple[int, int]:
        """See `LabelledScans.span`."""
        low, high = 2**64, 0
        with ThreadPoolExecutor(self.threads) as pool:
            for keys in in_order(pool, self.rows.keys, self.rows.units, self.threads + 1):
                low, high = min(low, int(keys.min())), max(high, int(keys.max()))
        return low, high

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """See `LabelledScans.dense`: all threads count the same rows, each in cells of its own."""
        counts, spilled, done = cells.counters(), [np.empty(0, np.int64)], 0
        edges = np.linspace(0, cells.count, self.threads + 1).astype(np.int64).tolist()
        with ThreadPoolExecutor(self.threads) as pool:
            for row_range in self.rows.stream(pool, self.threads + 1):
                keys, labels = row_range.keys, row_range.labels
                if keys is None:
                    raise InputError("there is no score to count by")

                def work(i: int, keys: UInt64Array = keys, labels: UInt8Array = labels) -> Int64Array:
                    return cells.add(counts, keys, labels, (edges[i], edges[i + 1]))

                spilled += [one for one in pool.map(work, range(self.threads)) if one.size]
                done += labels.size
                progress(done, self.rows.n_items)
        return KeyCounts(cells.low, cells.shift, counts, np.concatenate(spilled))

    def bins(self, key_bins: KeyBins, progress: Progress) -> BinCounts:
        """See `LabelledScans.bins`: each reader has bins of its own, which are joined."""
        free = [empty_bins(key_bins.count) for _ in range(self.threads)]

        def one(unit: Unit) -> int:
            mine = free.pop()
            try:
                row_range = self.rows.read(unit)
                if row_range.keys is not None:
                    key_bins.add(row_range.keys, row_range.labels, mine)
                return row_range.labels.size
            finally:
                free.append(mine)

        done = 0
        with ThreadPoolExecutor(self.threads) as pool:
            for found in in_order(pool, one, self.rows.units, self.threads + 1):
                done += found
                progress(done, self.rows.n_items)
        total = free.pop()
        while free:
            other = free.pop()
            total[:, :2] += other[:, :2]
            np.minimum(total[:, 2], other[:, 2], out=total[:, 2])
            np.maximum(total[:, 3], other[:, 3], out=total[:, 3])
        return bin_counts(total)

    def part(self, parted: Parted, memory: float, progress: Progress) -> None:
        """See `LabelledScans.part`."""

        def one(unit: Unit) -> int:
            row_range = self.rows.read(unit)
            if row_range.keys is None:
                raise InputError("there is no score to order by")
            parted.add(parted.ranges.split(row_range.keys, row_range.labels))
            return unit.rows

        done = 0
        with ThreadPoolExecutor(self.threads) as pool:
            for found in in_order(pool, one, self.rows.units, self.threads + 1):
                done += found
                progress(done, self.rows.n_items)
