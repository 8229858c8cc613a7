"""The tasks of scans: sample keys, count bins, collect the items in wanted bins."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streameval.kernels.bins import count_bins
from streameval.order.bins import ALL_ROWS, FirstStage, OrderWords, Stage
from streameval.order.early_candidates import EarlyCandidates, ThreadCandidates
from streameval.order.filter import NO_HASHES, Buffers, StageFilter, flags
from streameval.order.scan import Scan
from streameval.scans.jobs import SUM, Partial, PartialBuilder, Task
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt64Array


@dataclass(frozen=True)
class Sampling(Task[Scan]):
    """Keys of about `rows` rows, from about `n_units` units all over the list, from which bins are made."""

    n_units: int
    rows: int
    name: str = "sample"

    @property
    def is_quick(self) -> bool:
        """Yes."""
        return True

    @property
    def digest(self) -> str:
        """Hash of its numbers."""
        return _digest(self.name, self.n_units, self.rows)

    def units(self, scan: Scan) -> Int64Array:
        """Row groups at equal distances."""
        return np.arange(0, len(scan.units), max(1, len(scan.units) // self.n_units))[: 2 * self.n_units]

    def begin(self, scan: Scan) -> PartialBuilder:
        """An empty sample."""
        return _KeySample(scan, max(1, self.rows // self.units(scan).size))


@dataclass
class _KeySample:
    scan: Scan
    each: int
    done: list[int] = field(default_factory=list)
    keys: list[UInt64Array] = field(default_factory=list)

    def add(self, number: int) -> None:
        key = self.scan.scores(self.scan.units[number]).key
        self.keys.append(key[:: max(1, key.size // self.each)].copy())
        self.done.append(number)

    def partial(self) -> Partial:
        return Partial(np.sort(self.done).astype(np.int64), 0, {"key": _join(self.keys)})


@dataclass(frozen=True)
class Counting(Task[Scan]):
    """Items per bin of the last stage.

    Attributes:
        stages: Of the search.
        bins (int64 array): Bins of the last but one stage that hold wanted ranks; empty where there is none.
        hashed ({"now", "later"}): Whether a stage splits by the tie hash.
        early_candidates: Keeps likely candidates of the first stage on the way; what is counted does not depend on it.
    """

    stages: tuple[FirstStage | Stage, ...]
    bins: Int64Array
    hashed: str
    early_candidates: EarlyCandidates | None = None

    @property
    def name(self) -> str:
        """The count of the first stage, or a split with the number of its stage."""
        return "count" if len(self.stages) == 1 else f"split {len(self.stages) - 1}"

    @property
    def digest(self) -> str:
        """Hash of the last stage: what came before decides that."""
        return _digest(self.name, *vars(self.stages[-1]).values())

    @property
    def counters(self) -> int:
        """Bins, and after those of the first stage its cells, for rows that are counted by cell alone."""
        stage = self.stages[-1]
        return stage.count + (stage.cells.size - 1 if isinstance(stage, FirstStage) else 0)

    def begin(self, scan: Scan) -> PartialBuilder:
        """Empty counts."""
        # half as wide counters are half as far apart, and none of them can pass the number of items
        width = np.uint32 if scan.n_items < 2**32 else np.int64
        counts = np.zeros(self.stages[-1].count, width)
        if isinstance(self.stages[-1], FirstStage):
            candidates = self.early_candidates.of_thread(counts) if self.early_candidates is not None else None
            return _FirstCounts(scan, self.stages[-1], counts, self.early_candidates, candidates)
        return _BinCounts(scan, StageFilter.from_stages(scan, self.stages, self.bins, self.hashed), counts=counts)


@dataclass
class _FirstCounts:
    scan: Scan
    stage: FirstStage
    counts: AnyArray
    early_candidates: EarlyCandidates | None
    candidates: ThreadCandidates | None
    buffers: Buffers = field(default_factory=Buffers)
    missing: int = 0
    done: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        unit = self.scan.units[number]
        # what can fail comes first: half a row group is never counted
        scores = self.scan.read(unit, self.buffers.numbers(unit.rows))
        for first_row, words, missing in self.scan.order.word_blocks(scores, self.buffers.keys):
            self.missing += missing
            self._count(words, unit.first_position + first_row)
        self.done.append(number)
        if self.early_candidates is not None and self.candidates is not None:
            self.early_candidates.end_row_group(self.candidates)

    def _count(self, words: AnyArray, position: int) -> None:
        candidates = self.candidates
        if candidates is not None:
            candidates.rows += words.size
        if candidates is not None and candidates.narrow:
            rows, keys = candidates.open_rows(words, self.scan.order)
        else:
            rows, keys = ALL_ROWS, self.scan.order.wide(words)
        bins = self.stage.place(keys, NO_HASHES, position, self.buffers.bins, rows)
        count_bins(bins, self.counts)
        if self.early_candidates is not None and candidates is not None:
            self.early_candidates.take(candidates, keys, (position, rows), bins)

    def partial(self) -> Partial:
        excess: Int64Array = np.zeros(self.stage.cells.size - 1, np.int64)
        if self.candidates is not None:
            self.candidates.sum_cells()
            excess = self.candidates.excess
        counts = np.concatenate([self.counts, excess])
        return Partial(np.sort(self.done).astype(np.int64), self.missing, {SUM: counts})


@dataclass
class _Filtered:
    """Receiver of the rows in wanted bins of the last but one stage."""

    scan: Scan
    stage_filter: StageFilter
    buffers: Buffers = field(default_factory=Buffers)
    missing: int = 0
    done: list[int] = field(default_factory=list)

    def selected(self, number: int) -> Iterator[tuple[Int64Array, OrderWords]]:
        """Bins and words of the selected rows of a row group, block by block."""
        unit = self.scan.units[number]
        hashes = self.stage_filter.hashes(unit)
        # what can fail comes first: half a row group is never counted
        scores = self.scan.read(unit, self.buffers.numbers(unit.rows))
        for first_row, keys in self.scan.order.blocks(scores, self.buffers.keys):
            self.missing += keys.missing
            yield self.stage_filter.select(unit, first_row, keys, hashes, self.buffers)
        self.done.append(number)


@dataclass
class _BinCounts(_Filtered):
    counts: AnyArray = field(kw_only=True)

    def add(self, number: int) -> None:
        for bins, _ in self.selected(number):
            count_bins(bins, self.counts)

    def partial(self) -> Partial:
        return Partial(np.sort(self.done).astype(np.int64), self.missing, {SUM: self.counts.copy()})


@dataclass(frozen=True)
class Collecting(Task[Scan]):
    """The items in wanted bins of the last stage; see `Counting`, but here `bins` are those of the last stage."""

    stages: tuple[FirstStage | Stage, ...]
    bins: Int64Array
    hashed: str
    name: str = "candidates"

    @property
    def digest(self) -> str:
        """Hash of the bins, and of what made them."""
        return _digest(self.name, *vars(self.stages[-1]).values(), self.bins)

    def begin(self, scan: Scan) -> PartialBuilder:
        """No items yet."""
        wanted = flags(self.stages[-1].count, self.bins)
        return _Candidates(scan, StageFilter.from_stages(scan, self.stages, self.bins, self.hashed), wanted=wanted)


@dataclass
class _Candidates(_Filtered):
    wanted: BoolArray = field(kw_only=True)
    words: list[OrderWords] = field(default_factory=list)

    def add(self, number: int) -> None:
        for bins, words in self.selected(number):
            if bins.size:
                self.words.append(words.where(self.wanted[bins]))

    def partial(self) -> Partial:
        names = ["key", "hash", "position", *(["low"] if self.scan.order.kind == "decimal" else [])]
        columns = {name: _join([getattr(words, name) for words in self.words]) for name in names}
        return Partial(np.sort(self.done).astype(np.int64), self.missing, columns)


def _join(arrays: Sequence[UInt64Array]) -> UInt64Array:
    return np.concatenate(arrays) if arrays else np.empty(0, np.uint64)


def _digest(*parts: Any) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes() if isinstance(part, np.ndarray) else repr(part).encode())
        digest.update(b"\0")
    return digest.hexdigest()
