"""The tasks of scans: sample keys, count bins, collect the items in wanted bins."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.kernels.bins import count_bins
from streameval.order.early_candidates import Hoard, Pile
from streameval.order.filter import NO_HASHES, Room, Sieve, flags
from streameval.order.finer_bins import Stage, Words
from streameval.order.first_bins import FirstStage
from streameval.order.partials import SUM, Partial, Tally
from streameval.order.scan import Scan
from streameval.typing import Int64Array


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
    hoard : Hoard or None
        Keeps likely candidates on the way, of the first stage; what is counted does not depend on it.
    """

    stages: tuple[FirstStage | Stage, ...]
    bins: Int64Array
    hashed: str
    hoard: Hoard | None = None

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
        if isinstance(self.stages[-1], FirstStage):
            pile = self.hoard.pile(counts) if self.hoard is not None else None
            return _FirstCounts(scan, self.stages[-1], counts, self.hoard, pile)
        return _Counts(scan, Sieve.of(scan, self.stages, self.bins, self.hashed), counts=counts)


@dataclass
class _FirstCounts:
    scan: Scan
    stage: FirstStage
    counts: npt.NDArray[Any]
    hoard: Hoard | None
    pile: Pile | None
    room: Room = field(default_factory=Room)
    missing: int = 0
    done: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        unit = self.scan.units[number]
        column = self.scan.column(unit)  # what can fail comes first: half a row group is never counted
        for first_row, keys in self.scan.order.blocks(column, self.room.keys):
            self.missing += keys.missing
            position = unit.first_position + first_row
            bins = self.stage.place(keys.key, NO_HASHES, position, self.room.bins)
            count_bins(bins, self.counts)
            if self.hoard is not None and self.pile is not None:
                self.hoard.take(self.pile, keys.key, position, bins)
        self.done.append(number)
        if self.hoard is not None and self.pile is not None:
            self.hoard.settle(self.pile)

    def partial(self) -> Partial:
        return Partial(np.sort(self.done).astype(np.int64), self.missing, {SUM: self.counts.copy()})


@dataclass
class _Sieved:
    """What passes the stages before, row group by row group; `take` says what becomes of it."""

    scan: Scan
    sieve: Sieve
    room: Room = field(default_factory=Room)
    missing: int = 0
    done: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        unit = self.scan.units[number]
        hashes = self.sieve.hashes(unit)
        column = self.scan.column(unit)
        for first_row, keys in self.scan.order.blocks(column, self.room.keys):
            self.missing += keys.missing
            self.take(*self.sieve.pass_through(unit, first_row, keys, hashes, self.room))
        self.done.append(number)

    def take(self, bins: Int64Array, words: Words) -> None:
        raise NotImplementedError


@dataclass
class _Counts(_Sieved):
    counts: npt.NDArray[Any] = field(kw_only=True)

    def take(self, bins: Int64Array, words: Words) -> None:
        count_bins(bins, self.counts)

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
        return _Items(scan, Sieve.of(scan, self.stages, self.bins, self.hashed), wanted=wanted)


@dataclass
class _Items(_Sieved):
    wanted: npt.NDArray[np.bool_] = field(kw_only=True)
    found: list[Words] = field(default_factory=list)

    def take(self, bins: Int64Array, words: Words) -> None:
        if bins.size:
            self.found.append(words.where(self.wanted[bins]))

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
