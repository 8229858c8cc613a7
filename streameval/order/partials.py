"""Partials: what a scan makes of some row groups, and how partials of all of them become one.

A task says what one scan does: it is small, can be pickled, and knows no files. From row groups it makes a `Partial`;
partials of different row groups merge by a sum of counts or by joining rows, in any order, and the merged partial of
all row groups decides the next task (`locate`). Threads, checkpoints, shards and clusters all build on this.

A `Job` is a task with its row groups: the one thing that an engine runs, whatever it reads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np

from streameval.progress import Progress, Step
from streameval.rows.units import Unit
from streameval.typing import AnyArray, Int64Array

P = TypeVar("P")
S_contra = TypeVar("S_contra", contravariant=True)

SUM = "count"  # the column that merges by a sum; all others are joined


@dataclass(frozen=True)
class Partial:
    """What a task made of some row groups.

    Attributes:
        units (int64 array, strictly increasing): Numbers of the row groups (or slices of a table), as the scan lists
            them.
        missing: Rows whose score is null or NaN.
        columns (mapping of str to array): `count`, items per bin; or `key`, `hash`, `position` (and `low` of decimals),
            the words of items; or `key` of sampled rows.
    """

    units: Int64Array
    missing: int
    columns: Mapping[str, AnyArray]


def merged(partials: Iterable[Partial]) -> Partial:
    """Merge partials of one task, one at least, no row group in two of them: associative, in any order."""
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


class PartialBuilder(Protocol):
    """A partial in the making, for one thread."""

    def add(self, number: int) -> None:
        """Read a row group and add it: wholly, or not at all where this raises."""

    def partial(self) -> Partial:
        """The partial of all row groups added so far."""


class Task(Protocol[S_contra]):
    """What one scan does with what it reads: an `order.scan.Scan`, or a list with labels."""

    @property
    def name(self) -> str:
        """Its name in messages and progress."""

    @property
    def counters(self) -> int:
        """How many numbers its count has; 0: its partials are no count."""

    def begin(self, scan: S_contra) -> PartialBuilder:
        """A builder of an empty partial."""


def partial_of(task: Task[S_contra], scan: S_contra, numbers: Iterable[int]) -> Partial:
    """Make the partial of some row groups, one after another: what one process of a cluster does."""
    builder = task.begin(scan)
    for number in numbers:
        builder.add(number)
    return builder.partial()


class Job(ABC, Generic[P]):
    """A task over row groups, as an engine runs it: in threads of this process, or in shares on workers.

    It is read in pieces, which are numbered: the row groups, unless it says otherwise.

    Attributes:
        name: In progress.
        counters: How many numbers a count has that a cluster adds up (a `Partial` of every share); 0: pieces come back.
        overlap: Rows before its first that a share needs.
        is_small: Whether it is read before workers would have begun.
        is_reduced: Whether a cluster brings pieces of one number together, to make one of them (`reduced`).
        most_rows: Whose pieces may come back at once.
        beside: What else there is to read: a share of its own.
    """

    name: str
    counters: int = 0
    overlap: int = 0
    is_small: bool = False
    is_reduced: ClassVar[bool] = False
    most_rows: float = math.inf
    beside: Sequence[Any] = ()

    @property
    @abstractmethod
    def units(self) -> Sequence[Unit]:
        """What is read, in stored order."""

    @property
    def step(self) -> Step:
        """The same for progress."""
        return Step(self.name, sum(unit.rows for unit in self.units), sum(unit.score_bytes for unit in self.units))

    @abstractmethod
    def here(self, progress: Progress) -> Iterator[P]:
        """Make partials in threads of this process, each row group in one of them."""

    @abstractmethod
    def sent(self) -> Self:
        """The same without what a worker has no use for, its row groups among that."""

    def pieces(self, ends: Int64Array) -> Int64Array:
        """Where each piece ends, in rows, if row groups end there."""
        return ends

    @abstractmethod
    def there(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Any]]:
        """On a worker, make the pieces `first` up to, and without, `last`, whose rows are in some row groups.

        Yields what becomes of pieces, one or several, with the number of the first and the one after the last. An
        exception among them is raised at home, when all pieces before it are taken.
        """

    def reduced(self, pieces: Iterator[Any]) -> P:
        """On a worker, make one piece of all that have its number."""
        raise NotImplementedError


class Engine(Protocol):
    """What runs the scans of a list: a dataclass whose fields are its settings.

    Its placement is "in process", so that one row group can guide the next, or "on workers".
    """

    placement: ClassVar[str]

    def run(self, job: Job[P], progress: Progress) -> Iterator[P]:
        """Make the partials of all row groups of a job: those of `Job.here`, but cut differently and in any order.

        Pieces that are not row groups come in the order of their numbers.

        Args:
            progress (callable(done, total)): Called with rows.
        """
