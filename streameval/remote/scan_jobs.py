"""Tasks of scans as jobs: counts and words of items as rows of integers, and back.

Counts of neighbouring bins are the columns of one row, so they are added up row by row. Words of items are joined. A
share's count row says how many rows have no score.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.order.partials import SUM, Partial, Task, partial_of
from streameval.order.scan import Scan
from streameval.order.skip_by_statistics import SkippedRows
from streameval.order.tasks import Counting
from streameval.remote.worker import (
    JobRequest,
    batches,
    check_seen,
    checked_rows,
    count_row,
    files_of,
    serialize,
    shares_of,
)
from streameval.rows.row_groups import RowGroup
from streameval.typing import Int64Array, UInt64Array

WIDTH = 32  # counters to a row: rows that are added up cost far more than their columns


def pack(task: Task, scan: Scan, numbers: Int64Array) -> JobRequest:
    """Make the request for a task over row groups; `InputError` for rows that lie in the memory of this process."""
    shares = shares_of(files_of([scan.units[number] for number in numbers.tolist()]))
    without_units = replace(scan, units=(), key_hashes=_not_here, skipped=SkippedRows.none(), threads=1)
    payload = serialize(Scanning(task, without_units), shares)
    if isinstance(task, Counting):
        return JobRequest(payload, len(shares), ("at", *(f"c{i}" for i in range(WIDTH))), ("sum",) * WIDTH)
    words = ("key", "hash", *(["low"] if scan.order.kind == "decimal" else []))
    return JobRequest(payload, len(shares), ("at", *words))


@dataclass(frozen=True)
class Scanning:
    """A task over row groups; its scan is sent without units."""

    task: Task
    without_units: Scan

    def run(self, share: list[RowGroup]) -> Iterator[pa.RecordBatch]:
        """Make the partial of some row groups."""
        check_seen(share)
        partial = partial_of(self.task, replace(self.without_units, units=share), range(len(share)))
        if SUM in partial.columns:
            counts = partial.columns[SUM].astype(np.int64)
            blocks = np.pad(counts, (0, -counts.size % WIDTH)).reshape(-1, WIDTH)
            some = np.flatnonzero(blocks.any(axis=1))
            columns = {"at": some, **{f"c{i}": blocks[some, i] for i in range(WIDTH)}}
        else:
            found = partial.columns
            columns = {"at": found["position"], "key": found["key"], "hash": found["hash"]}
            columns.update({name: found[name] for name in found.keys() & {"low"}})
        yield from batches(columns)
        yield from count_row(list(columns), len(share), partial.missing)


def unpack(task: Task, numbers: Int64Array, result: pa.Table) -> Partial:
    """Make the partial of all row groups, `numbers`, from the rows that came back; errors as in `checked_rows`."""
    (at, *rest), missing = checked_rows(result, numbers.size)
    found: dict[str, npt.NDArray[np.int64 | np.uint64]] = {}
    if isinstance(task, Counting):
        size = task.counters
        blocks = np.zeros((-(-size // WIDTH), WIDTH), np.int64)
        for i, column in enumerate(rest):
            np.add.at(blocks[:, i], at, column)
        found[SUM] = blocks.ravel()[:size]
    else:
        names = ("key", "hash", "low")[: len(rest)]
        found = {name: column.view(np.uint64) for name, column in zip(names, rest, strict=True)}
        found["position"] = at.view(np.uint64)
    return Partial(np.sort(numbers), missing, found)


def _not_here(positions: Int64Array) -> UInt64Array:
    raise TypeError("a share knows its own row groups only")
