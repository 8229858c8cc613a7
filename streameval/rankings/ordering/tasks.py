"""What a scan makes of row groups: partials that merge.

A task says what one scan does: it is small, can be pickled, and knows no files. Given row groups it makes a `Partial`;
partials of different row groups merge by a sum of counts or by joining rows, in any order, and the merged partial of
all row groups decides the next task (`locate`). Threads, checkpoints, shards and clusters all go through this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from streameval.kernels.bins import count_bins, count_first
from streameval.rankings.ordering.bins import FirstStage, Stage, Words
from streameval.rankings.ordering.sieve import Room, Sieve, flags
from streameval.rankings.ordering.units import Scan
from streameval.types import Int64Array

SUM = "count"  # the column that merges by a sum; all others are joined


@dataclass(frozen=True)
class Partial:
    """What a task made of some row groups.

    Attributes
    ----------
    units : int64 array, strictly increasing
        Numbers of the row groups (or slices of a table), as the scan lists them.
    missing : int
        Rows whose score is null or NaN.
    columns : mapping of str to array
        `count`, items per bin; or `key`, `hash`, `position` (and `low` of decimals), the words of items; or `key` of
        sampled rows.
    """

    units: Int64Array
    missing: int
    columns: Mapping[str, npt.NDArray[Any]]


def merged(partials: Iterable[Partial]) -> Partial:
    """Merge partials of different row groups: associative, and their order does not matter.

    Parameters
    ----------
    partials : iterable of Partial
        Of one task, one at least, no row group in two of them.
    """
    units, missing = [], 0
    sums: dict[str, npt.NDArray[Any]] = {}
    rows: dict[str, list[npt.NDArray[Any]]] = {}
    for part in partials:  # one at a time: each may be as large as the bins
        units.append(part.units)
        missing += part.missing
        for name, values in part.columns.items():
            if name != SUM:
                rows.setdefault(name, []).append(values)
            elif name in sums:
                sums[name] += values
            else:
                sums[name] = values.astype(np.int64)
    joined = {name: np.concatenate(arrays) for name, arrays in rows.items()}
    return Partial(np.sort(np.concatenate(units)), missing, {**sums, **joined})


class Tally(Protocol):
    """A partial in the making, for one thread."""

    def add(self, number: int) -> None:
        """Read a row group and take it in: wholly, or not at all where this raises."""
        ...

    def partial(self) -> Partial:
        """All that was taken in so far."""
        ...


class Task(Protocol):
    """What one scan does."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def digest(self) -> str:
        """Hash of all that decides what its partials are, besides the list."""
        ...

    def units(self, scan: Scan) -> Int64Array:
        """Row groups that it needs."""
        ...

    def begin(self, scan: Scan) -> Tally:
        """An empty partial."""
        ...


def partial_of(task: Task, scan: Scan, numbers: Iterable[int]) -> Partial:
    """Make the partial of some row groups, one after another: what one process of a cluster does."""
    tally = task.begin(scan)
    for number in numbers:
        tally.add(number)
    return tally.partial()


@dataclass(frozen=True)
class Sampling:
    """Keys of some rows from all over the list, from which bins are made.

    Attributes
    ----------
    n_units : int
        Row groups to look into, about.
    rows : int
        To take from all of them, about.
    """

    n_units: int
    rows: int
    name: str = "sample"

    @property
    def digest(self) -> str:
        """Hash of its numbers."""
        return _digest(self.name, self.n_units, self.rows)

    def units(self, scan: Scan) -> Int64Array:
        """Row groups at equal distances."""
        return np.arange(0, len(scan.units), max(1, len(scan.units) // self.n_units))[: 2 * self.n_units]

    def begin(self, scan: Scan) -> Tally:
        """Nothing sampled."""
        return _Sample(scan, max(1, self.rows // self.units(scan).size))


@dataclass
class _Sample:
    scan: Scan
    each: int
    done: list[int] = field(default_factory=list)
    keys: list[npt.NDArray[np.uint64]] = field(default_factory=list)

    def add(self, number: int) -> None:
        key = self.scan.scores(self.scan.units[number]).key
        self.keys.append(key[:: max(1, key.size // self.each)].copy())
        self.done.append(number)

    def partial(self) -> Partial:
        return Partial(np.sort(self.done).astype(np.int64), 0, {"key": _joined(self.keys)})


@dataclass(frozen=True)
class Counting:
    """Items per bin of the last stage.

    Attributes
    ----------
    stages : tuple of FirstStage, then Stages
    bins : int64 array
        Bins of the last but one stage that hold wanted ranks; empty where there is none.
    hashed : {"now", "later"}
        Whether a stage splits by the tie hash.
    """

    stages: tuple[FirstStage | Stage, ...]
    bins: Int64Array
    hashed: str

    @property
    def name(self) -> str:
        """What people call it."""
        return "count" if len(self.stages) == 1 else f"split {len(self.stages) - 1}"

    @property
    def digest(self) -> str:
        """Hash of the last stage: what came before decides that."""
        return _digest(self.name, *vars(self.stages[-1]).values())

    def units(self, scan: Scan) -> Int64Array:
        """All of them."""
        return np.arange(len(scan.units))

    def begin(self, scan: Scan) -> Tally:
        """Nothing counted."""
        # half as wide counters are half as far apart, and none of them can pass the number of items
        width = np.uint32 if scan.n_items < 2**32 else np.int64
        counts = np.zeros(self.stages[-1].count, width)
        return _Counts(scan, self, Sieve.of(scan, self.stages, self.bins, self.hashed), counts)


@dataclass
class _Counts:
    scan: Scan
    task: Counting
    sieve: Sieve
    counts: npt.NDArray[Any]
    room: Room = field(default_factory=Room)
    missing: int = 0
    done: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        unit, stage = self.scan.units[number], self.task.stages[-1]
        hashes = self.sieve.hashes(unit)
        column = self.scan.column(unit)  # what can fail comes first: half a row group is never counted
        for first_row, keys in self.scan.order.blocks(column, self.room.keys):
            self.missing += keys.missing
            if isinstance(stage, FirstStage):
                count_first(keys.key, stage.bounds, stage.first, stage.inner, self.counts)
            else:
                bins, _ = self.sieve.pass_through(unit, first_row, keys, hashes, self.room)
                count_bins(bins, self.counts)
        self.done.append(number)

    def partial(self) -> Partial:
        return Partial(np.sort(self.done).astype(np.int64), self.missing, {SUM: self.counts.copy()})


@dataclass(frozen=True)
class Collecting:
    """The items in wanted bins of the last stage.

    Attributes
    ----------
    stages, bins, hashed
        See `Counting`; here the bins are those of the last stage.
    """

    stages: tuple[FirstStage | Stage, ...]
    bins: Int64Array
    hashed: str
    name: str = "candidates"

    @property
    def digest(self) -> str:
        """Hash of the bins, and of what made them."""
        return _digest(self.name, *vars(self.stages[-1]).values(), self.bins)

    def units(self, scan: Scan) -> Int64Array:
        """All of them."""
        return np.arange(len(scan.units))

    def begin(self, scan: Scan) -> Tally:
        """Nothing collected."""
        wanted = flags(self.stages[-1].count, self.bins)
        return _Items(scan, Sieve.of(scan, self.stages, self.bins, self.hashed), wanted)


@dataclass
class _Items:
    scan: Scan
    sieve: Sieve
    wanted: npt.NDArray[np.bool_]
    room: Room = field(default_factory=Room)
    missing: int = 0
    done: list[int] = field(default_factory=list)
    found: list[Words] = field(default_factory=list)

    def add(self, number: int) -> None:
        unit = self.scan.units[number]
        hashes = self.sieve.hashes(unit)
        column = self.scan.column(unit)
        for first_row, keys in self.scan.order.blocks(column, self.room.keys):
            self.missing += keys.missing
            bins, words = self.sieve.pass_through(unit, first_row, keys, hashes, self.room)
            if bins.size:
                self.found.append(words.where(self.wanted[bins]))
        self.done.append(number)

    def partial(self) -> Partial:
        names = ["key", "hash", "position", *(["low"] if self.scan.order.kind == "decimal" else [])]
        columns = {name: _joined([getattr(words, name) for words in self.found]) for name in names}
        return Partial(np.sort(self.done).astype(np.int64), self.missing, columns)


def _joined(arrays: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.uint64]:
    return np.concatenate(arrays) if arrays else np.empty(0, np.uint64)


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
