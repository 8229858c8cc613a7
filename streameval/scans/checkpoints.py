"""Save what scans have read: partials in a folder, read again after an interruption and shared by processes.

Each run of the program writes one file per scan, whole or not at all, and replaces it by a fuller one as it goes. Its
name identifies the partial: a hash of the list, the wanted ranks, the memory, and everything that decided the scan
(bins and their counts). A file of anything else is never read, and one whose row groups overlap those of a fuller one
is left out, so shards may be repeated, of different counts, or run at once.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from streameval import __version__
from streameval.errors import InputError, StudyError
from streameval.kernels.sorted_sets import isin, setdiff1d, unique
from streameval.parquet.own_tables import read_table
from streameval.progress import Progress
from streameval.scans.jobs import SUM, Engine, Partial, Scannable, Task, merge
from streameval.scans.threads import Scanning, Threads
from streameval.stores import atomic
from streameval.stores.own_files import UNUSABLE, unusable
from streameval.stores.temporary import remove_left
from streameval.typing import Int64Array

_PATTERN = "*.scan.parquet"
_REMOVE = "remove the file; what it covered is read again"


@dataclass(frozen=True)
class Shard:
    """One of `count` shares of every scan.

    Attributes:
        index: From 1 to `count`.

    >>> Shard.parse("3/8")
    Shard(index=3, count=8)
    """

    index: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        """Check both numbers."""
        if not 1 <= self.index <= self.count:
            raise InputError(f"there is not a shard {self.index}/{self.count}", "shards are 1/n to n/n")

    @staticmethod
    def parse(text: str) -> Shard:
        """Read "i/n"."""
        index, slash, count = text.partition("/")
        if not slash or not index.strip().isdecimal() or not count.strip().isdecimal():
            raise InputError(f"'{text}' is not a shard", "write --shard 3/8 for the third of eight")
        return Shard(int(index), int(count))


@dataclass(frozen=True)
class ScanState:
    """Progress of the scans of a ranking.

    Attributes:
        step: The scan under way, or the last one.
        units_done, units: Row groups that it has read, and needs.
        missing: Shards that have some left to read; empty when all scans are done.
    """

    step: str
    units_done: int
    units: int
    missing: tuple[Shard, ...] = ()


def share_of(rows: Sequence[int], count: int) -> Int64Array:
    """Share of each row group, from 0 to `count` − 1: neighbours go together, and shares have about equal rows."""
    held = np.array(rows, dtype=np.int64)
    middle = np.cumsum(held) - (held + 1) // 2
    share: Int64Array = np.minimum((middle / max(1, held.sum()) * count).astype(np.int64), count - 1)
    return share


@dataclass(frozen=True)
class Scans:
    """Settings of the scans of a list.

    Attributes:
        folder: Where partials are saved until the scans are done: an interrupted run continues from them.
        engine: Runs the scans; no result depends on it.
    """

    folder: Path | None = None
    engine: Engine = field(default_factory=Threads)


class Shared(Scannable, Protocol):
    """Input that is read in shares, each in some threads."""

    @property
    def threads(self) -> int:
        """Readers at work at once on this machine."""


R = TypeVar("R", bound=Shared)
R_contra = TypeVar("R_contra", bound=Shared, contravariant=True)


class CheckpointTask(Task[R_contra], Protocol):
    """A task whose partials can be found again."""

    @property
    def digest(self) -> str:
        """Hash of all that decides its partials, besides the list."""


class UnfinishedError(StudyError):
    """Other shards have not read all of their share of a scan."""

    def __init__(self, state: ScanState, where: str) -> None:
        self.state = state
        first = state.missing[0]
        shown = ", ".join(str(shard.index) for shard in state.missing[:12])
        more = " …" if len(state.missing) > 12 else ""
        super().__init__(
            f"{where}: scan '{state.step}' has read {state.units_done:,} of {state.units:,} row groups; missing: "
            f"shard {shown}{more} of {first.count}",
            f"run `streameval scan {where} --shard {first.index}/{first.count}` and so on, "
            f"or `streameval scan {where}` for all that is left",
        )


@dataclass(frozen=True)
class _Saved:
    """A partial in a file."""

    path: Path
    units: Int64Array
    missing: int
    shards: int

    def load(self) -> Partial:
        read = read_table(self.path, _REMOVE, self.path.parents[1])
        columns = {name: read.table.column(name).to_numpy() for name in read.table.column_names}
        if SUM in read.facts:
            columns[SUM] = np.array(read.facts[SUM], dtype=np.int64)
        return Partial(self.units, self.missing, columns)


@dataclass
class Checkpoints:
    """Runs tasks, and saves their partials.

    Attributes:
        identity: Hash of the list, the wanted ranks and the memory: a scan of anything else is another scan.
        folder: Where partials are saved; None saves nothing.
        shard: The share of each scan that is done here, after which others are waited for; None does all that is left,
            unless other processes share the scans.
        engine: Reads row groups.
        alone: Whether this run has read all row groups itself.
    """

    identity: str = ""
    folder: Path | None = None
    shard: Shard | None = None
    engine: Engine = field(default_factory=Threads)
    state: ScanState = field(default_factory=lambda: ScanState("sample", 0, 0))
    alone: bool = True
    _run: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    _shards: int = 1
    _unsaved: dict[str, Partial] = field(default_factory=dict)

    def run(self, scan: R, task: CheckpointTask[R], progress: Progress) -> Partial:
        """Return the partial of all row groups, reading those that no saved partial covers.

        Raises `UnfinishedError` where other shards have some of them to read.
        """
        name = hashlib.sha256(f"{__version__}\0{self.identity}\0{task.digest}".encode()).hexdigest()[:16]
        needed: Int64Array = task.units(scan)
        kept = self._kept_partials(name)
        left = setdiff1d(needed, _covered_units(kept))
        mine = self._mine(scan, task, needed, left)
        self.alone = self.alone and mine.size == needed.size
        parts = (saved.load() for saved in kept)
        if mine.size:
            save = None if self.folder is None else lambda partial: self._save(name, partial)
            partials = self.engine.run(Scanning(task, scan, mine, scan.threads, save), progress)
            result = replace(merge(partials), units=np.sort(mine))
            self._unsaved[name] = result
            if self.shard is not None:
                self.save()
                kept = self._kept_partials(name)
                left = setdiff1d(needed, _covered_units(kept))
                parts = (saved.load() for saved in kept)
            else:
                parts, left = (part for part in [*map(_Saved.load, kept), result]), left[:0]
        self.state = self._state(scan, task, needed, left)
        if left.size:
            raise UnfinishedError(self.state, str(self.folder.parent if self.folder else ""))
        return merge(parts)

    def _mine(self, scan: R, task: CheckpointTask[R], needed: Int64Array, left: Int64Array) -> Int64Array:
        """Row groups to read here."""
        if task.is_quick:
            return left
        if self.shard is not None:
            share: Int64Array = left[_shard_of(scan, self.shard.count)[left] == self.shard.index]
            return share
        return left if self._shards == 1 else left[:0]

    def _state(self, scan: R, task: CheckpointTask[R], needed: Int64Array, left: Int64Array) -> ScanState:
        count = max(self._shards, self.shard.count if self.shard is not None else 1)
        missing = unique(_shard_of(scan, count)[left])
        shards = tuple(Shard(index, count) for index in missing.tolist())
        return ScanState(task.name, needed.size - left.size, needed.size, shards)

    def _save(self, name: str, partial: Partial) -> None:
        self._unsaved[name] = partial
        self.save()

    def save(self) -> None:
        """Write what is not written yet, each scan in place of what this run wrote of it before."""
        if self.folder is None:
            return
        files = {}
        for name, partial in self._unsaved.items():
            if partial.units.size:
                columns = dict(partial.columns)
                # a count beside rows is short, and not as long as they are
                count = {SUM: columns.pop(SUM).tolist()} if SUM in columns and len(columns) > 1 else {}
                table = pa.table({column: pa.array(values) for column, values in columns.items()})
                facts = {
                    **count,
                    "units": partial.units.tolist(),
                    "missing": partial.missing,
                    "shards": self.shard.count if self.shard is not None else 1,
                }
                files[self.folder / f"{name}-{self._run}{_PATTERN[1:]}"] = atomic.parquet(table, facts)
        if files:
            atomic.write_all(files)
        self._unsaved = {}

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save what was read if anything goes wrong; what waits for other shards is saved already."""
        try:
            yield
        except UnfinishedError:
            raise
        except BaseException:
            self.save()
            raise

    def _kept_partials(self, name: str) -> list[_Saved]:
        """Partials of a scan that do not overlap, fuller ones first."""
        if self.folder is None:
            return []
        saved = sorted(_read(self.folder, name), key=lambda partial: (-partial.units.size, partial.path.name))
        self._shards = max([self._shards, *(partial.shards for partial in saved)])
        chosen: list[_Saved] = []
        for part in saved:
            if not isin(part.units, _covered_units(chosen)).any():
                chosen.append(part)
        return chosen


def _read(folder: Path, name: str) -> Iterator[_Saved]:
    for path in folder.glob(f"{name}-{_PATTERN}"):
        try:
            facts = read_table(path, _REMOVE, folder.parent).facts
            yield _Saved(path, np.array(facts["units"], dtype=np.int64), int(facts["missing"]), int(facts["shards"]))
        except StudyError:
            raise
        except UNUSABLE as error:
            raise unusable(path, error, _REMOVE) from error


def _covered_units(kept: list[_Saved]) -> Int64Array:
    return np.concatenate([np.empty(0, np.int64), *(partial.units for partial in kept)])


def _shard_of(scan: Shared, count: int) -> Int64Array:
    """Shard of each row group, from 1 to `count`."""
    return 1 + share_of([unit.rows for unit in scan.units], count)


def forget(folder: Path) -> None:
    """Remove kept scans, and the folder if nothing else is in it."""
    if folder.is_dir():
        for path in folder.glob(_PATTERN):
            path.unlink(missing_ok=True)
        remove_left("streameval", folder)
        if not any(folder.iterdir()):
            folder.rmdir()
