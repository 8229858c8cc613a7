"""Tasks on their way to other machines, and partials on their way back: bytes out, Arrow batches of integers home.

Nothing here knows which cluster it is. A cluster runs `work` on every share and brings all rows together; rows of
counts it may add up by their first column, in any order (a sum per `at`), since the count of a bin stands in one place
of one block. Words of items are joined. One row more per share is its account: how many row groups were read, and how
many rows have no score; so a share that is lost or done twice is noticed.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import pickle
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval import __version__
from streameval.errors import InputError, OutsideError, StreamevalError, StudyError, outside_trouble
from streameval.rankings.ordering.partials import SUM, Partial, Task, partial_of
from streameval.rankings.ordering.skipping import Lumps
from streameval.rankings.ordering.tasks import Counting
from streameval.rankings.ordering.units import RowGroup, Scan, share_of
from streameval.stores import is_remote
from streameval.types import Int64Array

WIDTH = 32  # counters to a row: rows that are added up cost far more than their columns
_ACCOUNT = -1  # no block and no position has this number
_BATCH = 1 << 16
_SHARES = 64  # each is a task, and as many counters more to add up: few, unless they become long
_LEAST_ROWS, _MOST_ROWS = 1 << 20, 1 << 26  # of a share: a task takes a tenth of a second before it begins
_KINDS = {kind.__name__: kind for kind in (StreamevalError, InputError, StudyError, OutsideError)}
_TOLD = re.compile(r"streameval-error:([A-Za-z0-9_=-]+):")


@dataclass(frozen=True)
class Parcel:
    """A task over some row groups, ready to be sent.

    Attributes
    ----------
    sent : bytes
        What `work` takes: it can be unpacked, if not used, without this library.
    shares : int
        They are numbered from 0.
    columns : tuple of str
        What comes back, int64 all of it; `at` first.
    merge : {"sum", "join"}
        Whether rows that agree in `at` are added up, or all rows stay.
    """

    sent: bytes
    shares: int
    columns: tuple[str, ...]
    merge: str


def pack(task: Task, scan: Scan, numbers: Int64Array) -> Parcel:
    """Pack a task, and the row groups that it is about, in shares of neighbours with about equal rows.

    Raises
    ------
    InputError
        Rows that lie in the memory of this process.
    """
    units = [scan.units[number] for number in numbers.tolist()]
    if not all(isinstance(unit, RowGroup) for unit in units):
        raise InputError("a table in memory cannot be scanned elsewhere", "leave the engine out, or give files")
    files = [replace(unit, path=_anywhere(unit.path)) for unit in units if isinstance(unit, RowGroup)]
    total = sum(unit.rows for unit in files)
    count = min(len(files), max(1, min(_SHARES, total // _LEAST_ROWS), total // _MOST_ROWS))
    of = zip(share_of([unit.rows for unit in files], count).tolist(), files, strict=True)
    shares = [[unit for _, unit in group] for _, group in itertools.groupby(of, key=lambda pair: pair[0])]
    bare = replace(scan, units=(), key_hashes=_not_here, lumps=Lumps.none(), threads=1)
    sent = pickle.dumps((__version__, _squeezed((task, bare)), [_squeezed(share) for share in shares]))
    if isinstance(task, Counting):
        return Parcel(sent, len(shares), ("at", *(f"c{i}" for i in range(WIDTH))), "sum")
    words = ("key", "hash", *(["low"] if scan.order.kind == "decimal" else []))
    return Parcel(sent, len(shares), ("at", *words), "join")


def work(sent: bytes, shares: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Do some shares of a parcel: what a worker runs.

    Raises
    ------
    RuntimeError
        Whatever goes wrong with the list, told so that `heard` finds it in any text that quotes it.
    """
    version, task, files = pickle.loads(sent)
    try:
        if version != __version__:
            raise InputError(
                f"the workers have streameval {__version__}, but {version} sent them work", "install one version on all"
            )
        for share in shares:
            yield from _work(task, files[share]).to_batches(max_chunksize=_BATCH)
    except StreamevalError as error:
        raise _told(error) from error
    except (OSError, MemoryError) as error:
        trouble = outside_trouble(error)
        if trouble is None:
            raise
        raise _told(trouble) from error


def _work(sent_task: bytes, sent_units: bytes) -> pa.Table:
    task, bare = pickle.loads(zlib.decompress(sent_task))
    units = pickle.loads(zlib.decompress(sent_units))
    _check_seen(units)
    partial = partial_of(task, replace(bare, units=units), range(len(units)))
    if SUM in partial.columns:
        counts = partial.columns[SUM].astype(np.int64)
        blocks = np.pad(counts, (0, -counts.size % WIDTH)).reshape(-1, WIDTH)
        some = np.flatnonzero(blocks.any(axis=1))
        columns = {"at": some, **{f"c{i}": blocks[some, i] for i in range(WIDTH)}}
    else:
        columns = {"at": partial.columns["position"], "key": partial.columns["key"], "hash": partial.columns["hash"]}
        columns.update({name: partial.columns[name] for name in partial.columns.keys() & {"low"}})
    account = [_ACCOUNT, len(units), partial.missing]
    found = {name: _signed(values) for name, values in columns.items()}
    last = {name: (account[i] if i < 3 else 0) for i, name in enumerate(found)}
    return pa.table({name: np.append(values, last[name]) for name, values in found.items()})


def _check_seen(units: list[RowGroup]) -> None:
    for path in dict.fromkeys(unit.path for unit in units):
        if not is_remote(path) and not os.path.exists(path):
            raise InputError(
                f"{path}: the workers do not see this file", "put the list where all machines see it under one path"
            )


def unpack(task: Task, numbers: Int64Array, home: pa.Table) -> Partial:
    """Make the partial of all row groups from what came home.

    Parameters
    ----------
    numbers : int64 array
        The row groups that were packed.
    home : pyarrow.Table
        The parcel's columns, by their order.

    Raises
    ------
    OutsideError
        Row groups that were lost, or read twice.
    """
    columns = [column.to_numpy() for column in home.columns]
    account = columns[0] == _ACCOUNT
    read, missing = (int(column[account].sum()) for column in columns[1:3])
    if read != numbers.size:
        raise OutsideError(f"{numbers.size:,} row groups were asked for, and {read:,} came back", "run it again")
    at, *rest = (column[~account] for column in columns)
    found: dict[str, npt.NDArray[np.int64 | np.uint64]] = {}
    if isinstance(task, Counting):
        size = task.stages[-1].count
        blocks = np.zeros((-(-size // WIDTH), WIDTH), np.int64)
        for i, column in enumerate(rest):
            np.add.at(blocks[:, i], at, column)
        found[SUM] = blocks.ravel()[:size]
    else:
        names = ("key", "hash", "low")[: len(rest)]
        found = {name: column.view(np.uint64) for name, column in zip(names, rest, strict=True)}
        found["position"] = at.view(np.uint64)
    return Partial(np.sort(numbers), missing, found)


def heard(text: str) -> StreamevalError | None:
    """Find what `work` told of in the text of a cluster's own error."""
    found = _TOLD.search(text)
    if found is None:
        return None
    told = json.loads(base64.urlsafe_b64decode(found[1]))
    return _KINDS[told["kind"]](told["what"], told["hint"])


def _told(error: StreamevalError) -> RuntimeError:
    kind = next(name for name in (one.__name__ for one in type(error).__mro__) if name in _KINDS)
    told = json.dumps({"kind": kind, "what": error.what, "hint": error.hint}).encode()
    return RuntimeError(f"streameval-error:{base64.urlsafe_b64encode(told).decode()}: {error}")


def _signed(values: npt.NDArray[np.int64 | np.uint64]) -> Int64Array:
    """The same 64 bits: Spark has no unsigned integers."""
    return np.ascontiguousarray(values).view(np.int64)


def _squeezed(what: object) -> bytes:
    return zlib.compress(pickle.dumps(what), 1)


def _anywhere(path: str) -> str:
    """Workers have another working directory."""
    return path if is_remote(path) else os.path.abspath(path)


def _not_here(positions: Int64Array) -> npt.NDArray[np.uint64]:
    raise TypeError("a share knows its own row groups only")
