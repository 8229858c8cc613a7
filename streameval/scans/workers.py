"""Jobs on other machines: shares of units go out as bytes; counts come back added up, other partials as pickled.

Nothing here knows which cluster it is. It runs `run_shares` on every share and collects all rows; it may first add up,
or reduce (`reduce_rows`), rows that agree in their first column, in any order.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.errors import InputError, OutsideError, StreamevalError, StudyError, outside_trouble
from streameval.progress import Progress
from streameval.scans.checkpoints import share_of
from streameval.scans.jobs import SUM, Job, OnWorkers, P, Partial
from streameval.scans.units import Unit, parts_of
from streameval.stores import is_remote
from streameval.typing import Int64Array

WIDTH = 32  # counters to a row: rows that are added up cost far more than their columns, unless these are empty
_FACTS = 2  # at the end of the counters: rows without a score, and units
_BATCH = 1 << 16
_SHARES = 64  # each is a task, and as many counters more to add up: few, unless they become long
_LEAST_ROWS, _MOST_ROWS = 1 << 20, 1 << 26  # of a share: a task takes a tenth of a second before it begins
_KINDS = {kind.__name__: kind for kind in (StreamevalError, InputError, StudyError, OutsideError)}
_ERROR = re.compile(r"streameval-error:([A-Za-z0-9_=-]+):")
Share = tuple[int, int, list[Any]]  # first piece, the one after the last, and units that hold them


@dataclass(frozen=True)
class JobRequest:
    """A job and its shares, ready to be sent.

    Attributes:
        payload: The input of `run_shares`: it can be unpickled, if not used, without this library.
        shares: How many, numbered from 0.
        columns: Columns of the result; `at` first.
        kind ({"long", "binary"}): Type of the columns after `at`, which is int64, as "long" is. Numbers of rows that
            agree in `at` are added up; bytes stay as they are.
        reduction: The input of `reduce_rows`, which then makes one row of all rows that agree in `at`; empty: none.
    """

    payload: bytes
    shares: int
    columns: tuple[str, ...]
    kind: str = "long"
    reduction: bytes = b""


def run_on_workers(job: Job[P], run_job: Callable[[JobRequest], pa.Table], progress: Progress) -> Iterator[P]:
    """Make the partials of a job; see `Engine.run`.

    Args:
        run_job (callable(request)): Runs all shares of a request and collects their rows; its exceptions propagate.

    Raises:
        InputError: Rows that lie in the memory of this process, or that their files do not show.
        OutsideError: Shares that were lost or done twice.
    """
    work = job.for_workers()
    if work is None:
        yield from job.run_local(progress)
        return
    units = [unit.for_workers() for unit in parts_of(job.units)]
    ends = np.cumsum([unit.rows for unit in units], dtype=np.int64) if work.ends is None else work.ends
    done, rows = 0, int(ends[-1])
    while done < ends.size:
        before = int(ends[done - 1]) if done else 0
        last = max(done + 1, int(np.searchsorted(ends, before + work.most_rows, side="right")))
        request = _request(work, units, ends, (done, last))
        if work.counters:
            yield _count(work.counters, len(units), run_job(request))  # type: ignore[misc]
        else:
            yield from _pieces(run_job(request), None if work.reduce is not None else (done, last))
        done = last
        progress(int(ends[last - 1]), rows)


def _request(work: OnWorkers[P], units: Sequence[Unit], pieces: Int64Array, numbers: tuple[int, int]) -> JobRequest:
    """Make the request for some pieces, in shares of neighbours with about equal rows."""
    first, last = numbers
    ends = np.cumsum([unit.rows for unit in units])
    rows = np.diff(pieces, prepend=0)[first:last]
    of = share_of(rows.tolist(), _count_of_shares(int(rows.sum()), last - first))
    cuts = [first, *(first + 1 + np.flatnonzero(np.diff(of))).tolist(), last]
    shares: list[Share] = []
    for begin, end in pairwise(cuts):
        row = max(0, int(pieces[begin - 1]) - work.overlap) if begin else 0
        a, b = np.searchsorted(ends, [row, int(pieces[end - 1]) - 1], side="right")
        shares.append((begin, end, list(units[a : b + 1])))
    if work.extra_units:
        shares.append((0, 0, list(work.extra_units)))
    counters = work.counters + _FACTS if work.counters else 0
    filled = 2 * rows.sum() / len(shares) / max(1, counters)
    width = 1 << int(np.log2(np.clip(WIDTH * filled, 1, WIDTH)))  # about as many as a share fills
    columns = ("at", *(f"c{i}" for i in range(width))) if counters else ("at", "piece")
    payload = serialize(_Shares(work.run_share, width if counters else 0), shares)
    reduction = b"" if work.reduce is None else serialize(_Reduction(work.reduce))
    return JobRequest(payload, len(shares), columns, "long" if counters else "binary", reduction)


def _count_of_shares(rows: int, most: int) -> int:
    return min(most, max(1, min(_SHARES, rows // _LEAST_ROWS), rows // _MOST_ROWS))


@dataclass(frozen=True)
class _Shares:
    """Work of the workers: each share of a job makes rows, of `width` counters or, where that is 0, of bytes."""

    run_share: Callable[[int, int, Sequence[Any]], Iterator[tuple[int, int, Any]]]
    width: int

    def run(self, share: Share) -> Iterator[pa.RecordBatch]:
        """Make the rows of a share."""
        first, last, units = share
        _check_seen(units)
        for number, end, piece in self.run_share(first, last, units):
            if self.width:
                yield from self._rows(np.append(piece.columns[SUM].astype(np.int64), [piece.missing, last - first]))
            else:
                yield from _row(number, end, piece).to_batches()

    def _rows(self, counts: Int64Array) -> list[pa.RecordBatch]:
        blocks = np.pad(counts, (0, -counts.size % self.width)).reshape(-1, self.width)
        some = np.flatnonzero(blocks.any(axis=1))
        columns = {"at": some, **{f"c{i}": blocks[some, i] for i in range(self.width)}}
        batches: list[pa.RecordBatch] = pa.table(columns).to_batches(_BATCH)
        return batches


@dataclass(frozen=True)
class _Reduction:
    """Work on all rows that have one number: they are made one."""

    reduce: Callable[[Iterator[Any]], Any]

    def run(self, at: int, rows: pa.ChunkedArray) -> pa.Table:
        return _row(at, at + 1, self.reduce(pickle.loads(row.as_buffer())[1] for row in rows))


def _row(number: int, end: int, piece: Any) -> pa.Table:
    row = pickle.dumps((end, piece), pickle.HIGHEST_PROTOCOL)
    return pa.table({"at": pa.array([number], pa.int64()), "piece": pa.array([row], pa.binary())})


def _check_seen(units: Sequence[Any]) -> None:
    """Refuse, on a worker, files that it cannot see: an `InputError` names the first."""
    for path in dict.fromkeys(unit.file for unit in units if isinstance(unit, Unit)):
        if not is_remote(path) and not os.path.exists(path):
            raise InputError(
                f"{path}: the workers do not see this file", "put the list where all machines see it under one path"
            )


def _count(counters: int, n_units: int, table: pa.Table) -> Partial:
    """The count of all units."""
    width = table.num_columns - 1
    blocks = np.zeros((-(-(counters + _FACTS) // width), width), np.int64)
    at = table.column(0).to_numpy()
    for i in range(width):
        np.add.at(blocks[:, i], at, table.column(1 + i).to_numpy())
    counts = blocks.ravel()
    missing, read = counts[counters : counters + _FACTS].tolist()
    if read != n_units:
        raise OutsideError(f"{n_units:,} row groups were asked for, and {read:,} came back", "run it again")
    return Partial(np.arange(0), missing, {SUM: counts[:counters]})


def _pieces(table: pa.Table, numbers: tuple[int, int] | None) -> Iterator[Any]:
    """Pieces in the order of their numbers, which are all those asked for, unless these are unknown."""
    at, column = table.column(0).to_numpy(), table.column(1)
    chunks = list(column.chunks)
    left = np.array([len(chunk) for chunk in chunks])
    ends = np.cumsum(left)
    del table, column  # a chunk is let go once its pieces are taken
    expected = numbers[0] if numbers is not None else 0
    for row in np.argsort(at, kind="stable").tolist():
        chunk = int(np.searchsorted(ends, row, side="right"))
        end, piece = pickle.loads(chunks[chunk][row - ends[chunk]].as_buffer())
        left[chunk] -= 1
        if not left[chunk]:
            chunks[chunk] = None
        if numbers is not None and at[row] != expected:
            break
        if isinstance(piece, Exception):
            raise piece
        yield piece
        expected = end
    else:
        if numbers is None or expected == numbers[1]:
            return
    raise OutsideError(f"{numbers[1] - numbers[0]:,} pieces were asked for, and others came back", "run it again")


def serialize(work: object, shares: Sequence[object] = ()) -> bytes:
    """Make the payload of a request: `work.run` yields the rows of a share, or makes one row of some."""
    return pickle.dumps((__version__, _compress(work), [_compress(share) for share in shares]))


def _compress(what: object) -> bytes:
    return zlib.compress(pickle.dumps(what), 1)


def run_shares(payload: bytes, shares: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Do some shares of a payload, on a worker.

    Whatever goes wrong with the list is a `RuntimeError`, whose text `reported_error` decodes wherever it is quoted.
    """
    with _reporting_errors():
        work, parts = _open(payload)
        for share in shares:
            yield from work.run(pickle.loads(zlib.decompress(parts[share])))


def reduce_rows(payload: bytes, rows: pa.Table) -> pa.Table:
    """Make one row of all rows that agree in `at`, on a worker; the payload is that of a reduction."""
    with _reporting_errors():
        work, _ = _open(payload)
        return work.run(int(rows.column(0)[0].as_py()), rows.column(1))


def _open(payload: bytes) -> tuple[Any, list[bytes]]:
    version, packed, parts = pickle.loads(payload)
    if version != __version__:
        raise InputError(
            f"the workers have streameval {__version__}, but {version} sent them work", "install one version on all"
        )
    return pickle.loads(zlib.decompress(packed)), parts


@contextmanager
def _reporting_errors() -> Iterator[None]:
    """Turn errors into those that travel."""
    try:
        yield
    except StreamevalError as error:
        raise _as_runtime_error(error) from error
    except (OSError, MemoryError) as error:
        trouble = outside_trouble(error)
        if trouble is None:
            raise
        raise _as_runtime_error(trouble) from error


def _as_runtime_error(error: StreamevalError) -> RuntimeError:
    kind = next(name for name in (base.__name__ for base in type(error).__mro__) if name in _KINDS)
    facts = json.dumps({"kind": kind, "what": error.what, "hint": error.hint}).encode()
    return RuntimeError(f"streameval-error:{base64.urlsafe_b64encode(facts).decode()}: {error}")


def reported_error(text: str) -> StreamevalError | None:
    """Find the error that a worker encoded in the text of a cluster's own error."""
    match = _ERROR.search(text)
    if match is None:
        return None
    facts = json.loads(base64.urlsafe_b64decode(match[1]))
    return _KINDS[facts["kind"]](facts["what"], facts["hint"])
