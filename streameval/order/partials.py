"""Partials: what a scan makes of some row groups, and how partials of all of them become one.

A task says what one scan does: it is small, can be pickled, and knows no files. From row groups it makes a `Partial`;
partials of different row groups merge by a sum of counts or by joining rows, in any order, and the merged partial of
all row groups decides the next task (`locate`). Threads, checkpoints, shards and clusters all build on this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from streameval.order.scan import Scan
from streameval.typing import AnyArray, Int64Array

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


class Task(Protocol):
    """What one scan does."""

    @property
    def name(self) -> str:
        """Its name in messages and progress."""

    @property
    def digest(self) -> str:
        """Hash of all that decides its partials, besides the list."""

    def units(self, scan: Scan) -> Int64Array:
        """Row groups that it needs."""

    def begin(self, scan: Scan) -> PartialBuilder:
        """A builder of an empty partial."""


def partial_of(task: Task, scan: Scan, numbers: Iterable[int]) -> Partial:
    """Make the partial of some row groups, one after another: what one process of a cluster does."""
    builder = task.begin(scan)
    for number in numbers:
        builder.add(number)
    return builder.partial()
