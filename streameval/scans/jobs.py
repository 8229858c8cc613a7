"""Jobs: what engines run. A task says what one scan does; partials of some units merge to that of all.

A task is small, can be pickled, and knows no files. From units it makes a `Partial`; partials of different units merge
by a sum of counts or by joining rows, in any order, and the merged partial of all units decides the next task
(`order.locate`). Threads, checkpoints, shards and clusters all build on this.

A `Job` reads given units: the one thing that an engine runs, whatever it makes of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from streameval.progress import Progress, Step
from streameval.scans.units import Unit
from streameval.typing import AnyArray, Int64Array

SUM = "count"  # the column that merges by a sum; all others are joined

P = TypeVar("P")


@dataclass(frozen=True)
class Partial:
    """Result of a task over some units.

    Attributes:
        units (int64 array, strictly increasing): Numbers of the units, as the scan lists them.
        missing: Rows whose score is null or NaN.
        columns (mapping of str to array): `count`, items per bin; or `key`, `hash`, `position` (and `low` of decimals),
            the words of items; or `key` of sampled rows.
    """

    units: Int64Array
    missing: int
    columns: Mapping[str, AnyArray]


def merge(partials: Iterable[Partial]) -> Partial:
    """Merge partials of one task, one at least, no unit in two of them: associative, in any order."""
    units, missing = [], 0
    sums: dict[str, AnyArray] = {}
    rows: dict[str, list[AnyArray]] = {}
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


class Scannable(Protocol):
    """Input of a task: an `order.scan.Scan`, or a list with labels."""

    @property
    def units(self) -> Sequence[Unit]:
        """Its rows, in stored order."""

    @property
    def scanned(self) -> Sequence[str]:
        """Columns that are read of each unit."""

    def for_worker(self, units: Sequence[Unit]) -> Self:
        """Give the same on a worker, which has some of its units."""


S = TypeVar("S", bound=Scannable)
S_contra = TypeVar("S_contra", bound=Scannable, contravariant=True)


class PartialBuilder(Protocol):
    """A partial in the making, for one thread."""

    def add(self, number: int) -> None:
        """Read a unit and add it: wholly, or not at all where this raises."""

    def partial(self) -> Partial:
        """The partial of all units added so far."""


class Task(Protocol[S_contra]):
    """Work of one scan on what it reads."""

    @property
    def name(self) -> str:
        """Its name in messages and progress."""

    @property
    def counters(self) -> int:
        """Tell how many numbers its count has; 0: its partials are no count."""
        return 0

    @property
    def is_quick(self) -> bool:
        """Tell whether it reads so little that to wait for others would take longer."""
        return False

    def units(self, scan: S_contra) -> Int64Array:
        """Numbers of the units that it needs: of all."""
        return np.arange(len(scan.units))

    def begin(self, scan: S_contra) -> PartialBuilder:
        """A builder of an empty partial."""


def partial_of(task: Task[S], scan: S, numbers: Iterable[int]) -> Partial:
    """Make the partial of some units, one after another: what one process of a cluster does."""
    builder = task.begin(scan)
    for number in numbers:
        builder.add(number)
    return builder.partial()


@dataclass(frozen=True)
class OnWorkers(Generic[P]):
    """A job as other machines do it: in pieces, which are numbered, and in shares of consecutive pieces.

    Attributes:
        run_share (callable(first, last, units)): Makes the pieces `first` up to, and without, `last`, whose rows are in
            some units: yields what becomes of pieces, one or several, with the number of the first and the one after
            the last. An exception among them is raised at home, when all pieces before it are taken. What it is bound
            to is small, can be pickled, and has no units.
        counters: How many numbers a count has that a cluster adds up (a `Partial` of every share); 0: pieces come back.
        ends (int64 array or None): Rows up to the end of each piece; None: pieces are units.
        overlap: Rows before its first that a share needs.
        most_rows: Whose pieces may come back at once.
        extra_units: What else there is to read: a share of its own.
        reduce (callable(pieces) or None): Makes one piece of all that have its number, which the cluster brings
            together.
    """

    run_share: Callable[[int, int, Sequence[Any]], Iterator[tuple[int, int, Any]]]
    counters: int = 0
    ends: Int64Array | None = None
    overlap: int = 0
    most_rows: float = math.inf
    extra_units: Sequence[Any] = ()
    reduce: Callable[[Iterator[Any]], P] | None = None


class Job(ABC, Generic[P]):
    """Work that an engine runs over units: in threads of this process, or in shares on workers."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in progress."""

    @property
    @abstractmethod
    def units(self) -> Sequence[Unit]:
        """Give what is read, in stored order."""

    @property
    def step(self) -> Step:
        """Give the same for progress."""
        return Step(self.name, sum(unit.rows for unit in self.units), sum(unit.score_bytes for unit in self.units))

    @abstractmethod
    def run_local(self, progress: Progress) -> Iterator[P]:
        """Make partials in threads of this process, each unit in one of them."""

    @abstractmethod
    def for_workers(self) -> OnWorkers[P] | None:
        """Give the same for workers; None where it is done here before they would have begun."""


@runtime_checkable
class Engine(Protocol):
    """Runner of the scans of a list: a dataclass whose fields are its settings.

    Its placement is "in process", so that one unit can guide the next, or "on workers".
    """

    placement: ClassVar[str]

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """Make the partials of all units of a job: those of `Job.run_local`, but cut differently and in any order.

        Pieces that are not units come in the order of their numbers.

        Args:
            progress (callable(done, total)): Called with rows.
        """
