"""Scans of a labelled list as jobs: counters and sums of blocks as rows, and back.

Counters are the columns of rows, a few to a row, which a cluster adds up. The sums of a block come back as
bytes, and blocks are merged here in the order of their ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streameval.counting.bit_rows import BitRows, linked, read_bits
from streameval.counting.block_sums import BlockSums, UnorderedError
from streameval.counting.blocks import blocks, sum_block
from streameval.counting.counters import Cells
from streameval.counting.label_counts import KeyCounts
from streameval.counting.labelled_rows import LabelledRows
from streameval.counting.scans import Ranges, WordReceiver
from streameval.errors import OutsideError
from streameval.kernels.exact import BLOCK
from streameval.progress import Progress, Step, announce
from streameval.remote.block_bytes import packed, unpacked
from streameval.remote.worker import (
    JobRequest,
    batches,
    check_seen,
    checked_rows,
    count_of_shares,
    count_row,
    files_of,
    serialize,
    shares_of,
)
from streameval.rows.row_groups import RowGroup
from streameval.typing import Int64Array, UInt64Array

_MOST_BLOCKS = 512  # to a job
_MOST_CELLS = 16  # to a row: rows that are added up cost more than their columns, unless these are empty


@dataclass(frozen=True)
class RemoteScans:
    """Scans on other machines; see `LabelledScans`. `run_job` runs all shares of a request and collects their rows."""

    rows: LabelledRows
    threads: int
    run_job: Callable[[JobRequest], pa.Table]

    def parts(self, cutoffs: Int64Array, progress: Progress) -> Iterator[tuple[BlockSums, UInt64Array | None]]:
        """See `LabelledScans.parts`."""
        self._announce("sum", progress)
        if self.rows.order is not None:  # before others read a list that is in no order
            keys = self.rows.keys(self.rows.units[0])
            if np.any(keys[1:] < keys[:-1]):
                raise UnorderedError(2 + int(np.argmax(keys[1:] < keys[:-1])))
        files = files_of(self.rows.units)
        n_items, ends = self.rows.n_items, np.array([unit.first_position + unit.rows for unit in files])
        count = -(-n_items // BLOCK)
        cuts = np.linspace(0, count, count_of_shares(n_items, count) + 1).astype(np.int64).tolist()
        shares = []
        for first, last in pairwise(cuts):
            # the row before shows whether the first score ties with it
            begin = max(0, first * BLOCK - int(self.rows.order is not None))
            a, b = np.searchsorted(ends, [begin, min(n_items, last * BLOCK) - 1], side="right")
            shares.append((first, last, files[a : b + 1]))
        job = Summing(self._without_units, cutoffs, BLOCK)
        together = max(1, _MOST_BLOCKS * len(shares) // count)  # a block comes back with its labels
        for one in range(0, len(shares), together):
            asked = shares[one : one + together]
            first, last = asked[0][0], asked[-1][1]
            result = self.run_job(JobRequest(serialize(job, asked), len(asked), ("at", "part"), kind="binary"))
            at = result.column(0).to_numpy()
            lost = OutsideError(f"{last - first:,} blocks were asked for, and others came back", "run it again")
            for block, row in enumerate(np.argsort(at, kind="stable").tolist(), first):
                if at[row] != block:
                    raise lost
                yield unpacked(result.column(1)[row].as_buffer())
            if at.size != last - first:
                raise lost
            progress(min(n_items, last * BLOCK), n_items)

    def dense(self, cells: Cells, progress: Progress) -> KeyCounts:
        """See `LabelledScans.dense`."""
        self._announce("count", progress)
        units = self.rows.units
        filled = self.rows.n_items / count_of_shares(self.rows.n_items, len(units)) / cells.count
        width = 1 << int(np.log2(np.clip(_MOST_CELLS * filled, 1, _MOST_CELLS)))  # about as many as a share fills
        job, shares = CountingCells(self._without_units, cells, width), shares_of(files_of(units))
        request = JobRequest(serialize(job, shares), len(shares), job.columns, ("sum",) * 2 * width)
        columns, counts = checked_rows(self.run_job(request), len(units))[0], cells.counters()
        progress(self.rows.n_items, self.rows.n_items)
        at = next(columns)
        for i, column in enumerate(columns):
            some = column != 0
            counts[(at * (2 * width) + i)[some]] = column[some]
        return KeyCounts(cells.low, cells.shift, counts)

    def part(self, parted: WordReceiver, memory: float, progress: Progress) -> None:
        """See `LabelledScans.part`: row groups are read by as many jobs as memory asks for, each of them once."""
        self._announce("part", progress)
        files, done = files_of(self.rows.units), 0
        job = PartingKeys(self._without_units, parted.ranges)
        most = max(memory / parted.ranges.word.itemsize, max(unit.rows for unit in files))
        ends = np.cumsum([unit.rows for unit in files])
        while done < len(files):
            before = int(ends[done - 1]) if done else 0
            asked = files[done : int(np.searchsorted(ends, before + most, side="right"))]
            shares = shares_of(asked)
            found = self.run_job(JobRequest(serialize(job, shares), len(shares), ("at", "words"), kind="binary"))
            if sorted(found.column(0).to_pylist()) != [unit.first_position for unit in asked]:
                raise OutsideError(
                    f"{len(asked):,} row groups were asked for, and {found.num_rows:,} came back", "run it again"
                )
            for row in found.column(1):
                parted.add(parted.ranges.unpacked(row.as_buffer()))
            done += len(asked)
            progress(int(ends[done - 1]), self.rows.n_items)

    @property
    def _without_units(self) -> LabelledRows:
        """The list without its row groups: a share has its own."""
        return replace(self.rows, units=())

    def _announce(self, name: str, progress: Progress) -> None:
        announce(progress, Step(name, self.rows.n_items, sum(unit.score_bytes for unit in self.rows.units)))


@dataclass(frozen=True)
class Summing:
    """Sums of blocks of `block` ranks; `rows` are without units, as in all jobs."""

    rows: LabelledRows
    cutoffs: Int64Array
    block: int

    def run(self, share: tuple[int, int, list[RowGroup]]) -> Iterator[pa.RecordBatch]:
        """Sum the blocks `share[0]` up to, and without, `share[1]`, whose rows are in the row groups `share[2]`."""
        first, last, units = share
        check_seen(units)
        rows = replace(self.rows, units=units)
        number = first
        try:
            for held in blocks(self._pieces(rows, first * self.block, last * self.block), self.block):
                yield _block(number, packed(*sum_block(held, self.cutoffs)))
                number += 1
        except UnorderedError as error:
            yield _block(number, packed(error))

    def _pieces(self, rows: LabelledRows, first: int, last: int) -> Iterator[BitRows]:
        """Read the rows `first` up to, and without, `last`; the one before shows whether the first score ties."""
        for unit in linked(read_bits(rows, one, self.cutoffs) for one in rows.units):
            begin, end = max(0, first - unit.before), min(unit.size, last - unit.before)
            if begin < end:
                yield unit.cut(begin, end)


@dataclass(frozen=True)
class PartingKeys:
    """Words of every row, range by range."""

    rows: LabelledRows
    ranges: Ranges

    def run(self, share: list[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Part the rows of some row groups, each by itself."""
        check_seen(share)
        for unit in share:
            words = self.ranges.split(self.rows.keys(unit), self.rows.labels(unit)).packed()
            yield pa.record_batch({"at": pa.array([unit.first_position], pa.int64()), "words": pa.array([words])})


def _block(number: int, part: bytes) -> pa.RecordBatch:
    return pa.record_batch({"at": pa.array([number], pa.int64()), "part": pa.array([part], pa.binary())})


@dataclass(frozen=True)
class CountingCells:
    """Labels per key, `width` neighbours to a row."""

    rows: LabelledRows
    cells: Cells
    width: int

    @property
    def columns(self) -> tuple[str, ...]:
        """Negatives and positives of each cell."""
        return ("at", *(f"c{i}" for i in range(2 * self.width)))

    def run(self, share: list[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Count the rows of some row groups."""
        check_seen(share)
        cells, counts = self.cells, self.cells.counters()
        for unit in share:
            cells.add(counts, self.rows.keys(unit), self.rows.labels(unit))
        label_counts = KeyCounts(cells.low, cells.shift, counts)
        for number in range(label_counts.n_pieces):
            yield from batches(self._rows(label_counts, number))
        yield from count_row(self.columns, len(share))

    def _rows(self, label_counts: KeyCounts, number: int) -> dict[str, Int64Array]:
        """Cells of one piece that hold items."""
        piece = label_counts.piece(number)
        cell = ((piece.key - np.uint64(label_counts.low)) >> np.uint64(label_counts.shift)).astype(np.int64)
        at, inside = cell // self.width, 2 * (cell % self.width)
        first = np.diff(at, prepend=-1) != 0
        row = np.cumsum(first) - 1
        counters = np.zeros((int(first.sum()), 2 * self.width), np.int64)
        counters[row, inside] = piece.sizes - piece.positives
        counters[row, inside + 1] = piece.positives
        return {"at": at[first], **{name: counters[:, i] for i, name in enumerate(self.columns[1:])}}
