"""Jobs for other machines: a job and its shares go out as bytes, results come back as Arrow batches.

Nothing here knows which cluster it is, or what the job does. A cluster runs `run_shares` on every share and collects
all rows; it may first add up, or reduce, rows that agree in their first column, in any order.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import pyarrow as pa

from streameval import __version__
from streameval.errors import InputError, OutsideError, StreamevalError, StudyError, outside_trouble
from streameval.parquet.footers import Footer
from streameval.rows.row_groups import RowGroup
from streameval.rows.units import Unit, parts_of
from streameval.stores import is_remote

_SHARES = 64  # each is a task, and as many counters more to add up: few, unless they become long
_LEAST_ROWS, _MOST_ROWS = 1 << 20, 1 << 26  # of a share: a task takes a tenth of a second before it begins
_KINDS = {kind.__name__: kind for kind in (StreamevalError, InputError, StudyError, OutsideError)}
_ERROR = re.compile(r"streameval-error:([A-Za-z0-9_=-]+):")


class Work(Protocol):
    """What is done with every share: small, can be pickled, and knows no files."""

    def run(self, share: Any) -> Iterator[pa.RecordBatch]:
        """Do one share; yields rows with the columns of the request."""


class Reduction(Protocol):
    """What is done with all binary rows that agree in `at`; as small as that."""

    def reduced(self, at: int, rows: pa.ChunkedArray) -> pa.Table:
        """Make one row of them, with the same columns."""


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


def serialize(job: Work | Reduction, shares: Sequence[Any] = ()) -> bytes:
    """Make the payload of a request."""
    return pickle.dumps((__version__, _compressed(job), [_compressed(share) for share in shares]))


def run_shares(payload: bytes, shares: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Do some shares of a payload, on a worker.

    Whatever goes wrong with the list is a `RuntimeError`, whose text `reported_error` decodes wherever it is quoted.
    """
    with _reported():
        job, parts = _opened(payload)
        for share in shares:
            yield from job.run(pickle.loads(zlib.decompress(parts[share])))


def reduce_rows(payload: bytes, rows: pa.Table) -> pa.Table:
    """Make one row of all rows that agree in `at`, on a worker; the payload is that of a `Reduction`."""
    with _reported():
        job, _ = _opened(payload)
        return job.reduced(int(rows.column(0)[0].as_py()), rows.column(1))


def _opened(payload: bytes) -> tuple[Any, list[bytes]]:
    version, packed, parts = pickle.loads(payload)
    if version != __version__:
        raise InputError(
            f"the workers have streameval {__version__}, but {version} sent them work", "install one version on all"
        )
    return pickle.loads(zlib.decompress(packed)), parts


@contextmanager
def _reported() -> Iterator[None]:
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


def reported_error(text: str) -> StreamevalError | None:
    """Find the error that a worker encoded in the text of a cluster's own error."""
    match = _ERROR.search(text)
    if match is None:
        return None
    told = json.loads(base64.urlsafe_b64decode(match[1]))
    return _KINDS[told["kind"]](told["what"], told["hint"])


def files_of(units: Sequence[Unit]) -> list[RowGroup]:
    """Row groups under absolute paths, for workers have another working directory.

    An `InputError` for rows in memory, or of a table that its files do not show.
    """
    units = list(parts_of(units))
    if of_table := [unit.place for unit in units if unit.file and not isinstance(unit, RowGroup)]:
        raise InputError(
            f"{of_table[0]}: its table deleted rows, or has columns that files hold otherwise, and workers read files",
            "leave the engine out, or rewrite the table's data files",
        )
    if not all(isinstance(unit, RowGroup) for unit in units):
        raise InputError("a table in memory cannot be scanned elsewhere", "leave the engine out, or give files")
    groups = [unit for unit in units if isinstance(unit, RowGroup)]
    # row groups of a file go on sharing one footer, which is then packed once
    footers = {id(group.footer): group.footer for group in groups}
    anywhere = {key: _anywhere(footer) for key, footer in footers.items()}
    return [replace(group, footer=anywhere[id(group.footer)]) for group in groups]


def count_of_shares(rows: int, most: int) -> int:
    """Number of shares to make of `rows` rows."""
    return min(most, max(1, min(_SHARES, rows // _LEAST_ROWS), rows // _MOST_ROWS))


def check_seen(units: Sequence[RowGroup]) -> None:
    """Refuse, on a worker, files that it cannot see: an `InputError` names the first."""
    for path in dict.fromkeys(unit.file for unit in units):
        if not is_remote(path) and not os.path.exists(path):
            raise InputError(
                f"{path}: the workers do not see this file", "put the list where all machines see it under one path"
            )


def _as_runtime_error(error: StreamevalError) -> RuntimeError:
    kind = next(name for name in (one.__name__ for one in type(error).__mro__) if name in _KINDS)
    told = json.dumps({"kind": kind, "what": error.what, "hint": error.hint}).encode()
    return RuntimeError(f"streameval-error:{base64.urlsafe_b64encode(told).decode()}: {error}")


def _compressed(what: object) -> bytes:
    return zlib.compress(pickle.dumps(what), 1)


def _anywhere(footer: Footer) -> Footer:
    path = footer.file.path
    file = replace(footer.file, path=path if is_remote(path) else os.path.abspath(path))
    return replace(footer, file=file, score_bounds=None)
