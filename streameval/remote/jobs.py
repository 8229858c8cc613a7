"""Any job on workers: its shares go out, counts come back added up, and other partials as they were pickled."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import OutsideError
from streameval.order.checkpoints import share_of
from streameval.order.partials import SUM, Job, P, Partial
from streameval.progress import Progress
from streameval.remote.worker import JobRequest, check_seen, count_of_shares, files_of, serialize
from streameval.rows.row_groups import RowGroup
from streameval.typing import Int64Array

WIDTH = 32  # counters to a row: rows that are added up cost far more than their columns, unless these are empty
_FACTS = 2  # at the end of the counters: rows without a score, and row groups
_BATCH = 1 << 16
Share = tuple[int, int, list[Any]]  # first piece, the one after the last, and row groups that hold them


def run_on_workers(job: Job[P], run_job: Callable[[JobRequest], pa.Table], progress: Progress) -> Iterator[P]:
    """See `Engine.run`; `run_job` runs all shares of a request and collects their rows, and may raise what it likes.

    Raises `InputError` for rows that lie in the memory of this process, `OutsideError` for shares that were lost or
    done twice.
    """
    files = files_of(job.units)
    pieces = job.pieces(np.cumsum([unit.rows for unit in files], dtype=np.int64))
    done, rows = 0, int(pieces[-1])
    while done < pieces.size:
        before = int(pieces[done - 1]) if done else 0
        last = max(done + 1, int(np.searchsorted(pieces, before + job.most_rows, side="right")))
        request = _request(job, files, pieces, (done, last))
        if request.kind == "long":
            yield _counted(job, len(files), run_job(request))  # type: ignore[misc]
        else:
            yield from _pieces(run_job(request), None if job.is_reduced else (done, last))
        done = last
        progress(int(pieces[last - 1]), rows)


def _request(job: Job[P], files: list[RowGroup], pieces: Int64Array, asked: tuple[int, int]) -> JobRequest:
    """Make the request for some pieces, in shares of neighbours with about equal rows."""
    first, last = asked
    ends = np.cumsum([unit.rows for unit in files])
    rows = np.diff(pieces, prepend=0)[first:last]
    of = share_of(rows.tolist(), count_of_shares(int(rows.sum()), last - first))
    cuts = [first, *(first + 1 + np.flatnonzero(np.diff(of))).tolist(), last]
    shares: list[Share] = []
    for begin, end in pairwise(cuts):
        row = max(0, int(pieces[begin - 1]) - job.overlap) if begin else 0
        a, b = np.searchsorted(ends, [row, int(pieces[end - 1]) - 1], side="right")
        shares.append((begin, end, files[a : b + 1]))
    if job.beside:
        shares.append((0, 0, list(job.beside)))
    counters = job.counters + _FACTS if job.counters else 0
    filled = 2 * rows.sum() / len(shares) / max(1, counters)
    width = 1 << int(np.log2(np.clip(WIDTH * filled, 1, WIDTH)))  # about as many as a share fills
    work = _Shares(job.sent(), width)
    columns = ("at", *(f"c{i}" for i in range(width))) if counters else ("at", "piece")
    reduction = serialize(work) if job.is_reduced else b""
    return JobRequest(serialize(work, shares), len(shares), columns, "long" if counters else "binary", reduction)


@dataclass(frozen=True)
class _Shares:
    """What workers do: each share of a job makes rows, of `width` counters or of bytes."""

    job: Job[Any]
    width: int

    def run(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Make the rows of a share."""
        first, last, units = share
        check_seen([unit for unit in units if isinstance(unit, RowGroup)])
        for number, end, piece in self.job.there(first, last, units):
            if self.job.counters:
                yield from self._rows(np.append(piece.columns[SUM].astype(np.int64), [piece.missing, last - first]))
            else:
                yield from _row(number, end, piece).to_batches()

    def reduced(self, at: int, rows: pa.ChunkedArray) -> pa.Table:
        """Make one row of all that have a number."""
        return _row(at, at + 1, self.job.reduced(pickle.loads(row.as_buffer())[1] for row in rows))

    def _rows(self, counts: Int64Array) -> list[pa.RecordBatch]:
        blocks = np.pad(counts, (0, -counts.size % self.width)).reshape(-1, self.width)
        some = np.flatnonzero(blocks.any(axis=1))
        columns = {"at": some, **{f"c{i}": blocks[some, i] for i in range(self.width)}}
        batches: list[pa.RecordBatch] = pa.table(columns).to_batches(_BATCH)
        return batches


def _row(number: int, end: int, piece: Any) -> pa.Table:
    row = pickle.dumps((end, piece), pickle.HIGHEST_PROTOCOL)
    return pa.table({"at": pa.array([number], pa.int64()), "piece": pa.array([row], pa.binary())})


def _counted(job: Job[Any], asked: int, table: pa.Table) -> Partial:
    """The count of all row groups."""
    width = table.num_columns - 1
    blocks = np.zeros((-(-(job.counters + _FACTS) // width), width), np.int64)
    at = table.column(0).to_numpy()
    for i in range(width):
        np.add.at(blocks[:, i], at, table.column(1 + i).to_numpy())
    counts = blocks.ravel()
    missing, read = counts[job.counters : job.counters + _FACTS].tolist()
    if read != asked:
        raise OutsideError(f"{asked:,} row groups were asked for, and {read:,} came back", "run it again")
    return Partial(np.arange(0), missing, {SUM: counts[: job.counters]})


def _pieces(table: pa.Table, asked: tuple[int, int] | None) -> Iterator[Any]:
    """Pieces in the order of their numbers, which are all those asked for, unless these are unknown."""
    at, column = table.column(0).to_numpy(), table.column(1)
    chunks = list(column.chunks)
    left = np.array([len(chunk) for chunk in chunks])
    ends = np.cumsum(left)
    del table, column  # a chunk is let go once its pieces are taken
    expected = asked[0] if asked is not None else 0
    for row in np.argsort(at, kind="stable").tolist():
        chunk = int(np.searchsorted(ends, row, side="right"))
        end, piece = pickle.loads(chunks[chunk][row - ends[chunk]].as_buffer())
        left[chunk] -= 1
        if not left[chunk]:
            chunks[chunk] = None
        if asked is not None and at[row] != expected:
            break
        if isinstance(piece, Exception):
            raise piece
        yield piece
        expected = end
    else:
        if asked is None or expected == asked[1]:
            return
    raise OutsideError(f"{asked[1] - asked[0]:,} pieces were asked for, and others came back", "run it again")
