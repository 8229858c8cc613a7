"""Many rankings as a job: workers part rows by ranking, a cluster brings those of a part together to be measured.

Nothing but sums comes home, and the rows of rankings where these are kept. A worker holds the rows of one part.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa

from streameval.errors import OutsideError
from streameval.kernels.parting import parts_of
from streameval.progress import Progress, Step, announce
from streameval.queries.batches import ARRAYS, NOTHING, ManyRows, RowBatch
from streameval.queries.measured import Gathered, Measure, gathered
from streameval.queries.scattered import measured_part
from streameval.remote.worker import JobRequest, check_seen, files_of, serialize, shares_of
from streameval.rows.row_groups import RowGroup

_PART_ROWS, _MOST_BITS = 1 << 21, 12
_SALT = np.uint64(1)
_COLUMNS = ("at", "found")


@dataclass(frozen=True)
class MeasuredOnWorkers:
    """Measures rankings on other machines: `queries.evaluate.Elsewhere`.

    Args:
        run_job: Runs all shares of a request and collects their rows.
        keeps_rows: Whether the rows of rankings come home.
    """

    run_job: Callable[[JobRequest], pa.Table]
    keeps_rows: bool

    def __call__(
        self, rows: ManyRows, beside: Sequence[RowBatch], progress: Progress
    ) -> Iterator[tuple[Gathered, pa.Table]]:
        """Measure all; `beside` are items that rankings never returned. Errors as in `run_job`."""
        announce(progress, Step("measure", rows.n_items, sum(unit.score_bytes for unit in rows.rows.units)))
        bits = min(_MOST_BITS, (rows.n_items // _PART_ROWS).bit_length())
        there = rows.without_units()
        shares = [*shares_of(files_of(rows.rows.units)), *([list(beside)] if beside else [])]
        job, reduction = (
            serialize(PartingRankings(there, bits), shares),
            serialize(Measuring(there, bits, self.keeps_rows)),
        )
        found = self.run_job(JobRequest(job, len(shares), _COLUMNS, kind="binary", reduction=reduction))
        items = 0
        for row in found.column(1):
            part, table = pickle.loads(row.as_buffer())
            items += part.sums.items
            yield part, table
        if items != rows.n_items:
            raise OutsideError(f"{rows.n_items:,} rows were sent, and {items:,} were measured", "run it again")
        progress(rows.n_items, rows.n_items)


@dataclass(frozen=True)
class PartingRankings:
    """Rows of every part, as bytes."""

    rows: ManyRows
    bits: int

    def run(self, share: list[RowGroup] | list[RowBatch]) -> Iterator[pa.RecordBatch]:
        """Part the rows of some row groups, each by itself; or rows that are sent along."""
        check_seen([unit for unit in share if isinstance(unit, RowGroup)])
        for unit in share:
            batch = self.rows.read(unit) if isinstance(unit, RowGroup) else unit
            edges, place = np.zeros((1 << self.bits) + 1, np.int64), np.empty(batch.rows, np.int32)
            parts_of(batch.low.astype(np.uint64, copy=False), _SALT, place, edges)
            order = np.argsort(place)
            for part, (first, last) in enumerate(pairwise(edges.tolist())):
                if first < last:
                    own = batch.taken(order[first:last])
                    yield pa.record_batch({"at": pa.array([part], pa.int64()), "found": pa.array([_packed(own)])})


@dataclass(frozen=True)
class Measuring:
    """Sums of the rankings of one part."""

    rows: ManyRows
    bits: int
    keeps_rows: bool

    def reduced(self, at: int, rows: pa.ChunkedArray) -> pa.Table:
        """Measure all rows of the part."""
        batch = RowBatch.joined([_unpacked(row.as_buffer()) for row in rows])
        measure = Measure(self.rows, self.keeps_rows)
        parts = list(gathered(measured_part(batch, self.bits, self.rows, measure)))
        table = pa.concat_tables([table for _, table in parts])
        total = reduce(Gathered.plus, (part for part, _ in parts))
        return pa.table({"at": pa.array([at], pa.int64()), "found": pa.array([pickle.dumps((total, table))])})


def _packed(batch: RowBatch) -> bytes:
    arrays = {name: one for name in ARRAYS if (one := getattr(batch, name)).size}
    return pickle.dumps((arrays, batch.table.combine_chunks()))


def _unpacked(raw: pa.Buffer) -> RowBatch:
    arrays, table = pickle.loads(raw)
    return RowBatch(**{**dict.fromkeys(ARRAYS, NOTHING), **arrays}, table=table)
