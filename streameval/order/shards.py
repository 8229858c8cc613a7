"""Shards: shares of the rows that scans read, and how far the scans are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.typing import Int64Array


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
    """How far the scans of a ranking are.

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
