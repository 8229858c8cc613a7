"""What is said about scans: shards, how far they are, and rankings that are found by them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from streameval.errors import InputError
from streameval.progress import Progress
from streameval.rankings import Ranking
from streameval.typing import Int64Array

if TYPE_CHECKING:  # engines are built of what this file says
    from streameval.engines import Engine


@dataclass(frozen=True)
class Shard:
    """One of `count` shares of every scan.

    Attributes
    ----------
    index : int
        From 1 to `count`.
    count : int

    Examples
    --------
    >>> Shard.parse("3/8")
    Shard(index=3, count=8)
    """

    index: int = 1
    count: int = 1

    def __post_init__(self) -> None:
        """Check both numbers."""
        if not 1 <= self.index <= self.count:
            raise InputError(f"there is no shard {self.index}/{self.count}", "shards are 1/n to n/n")

    @staticmethod
    def parse(text: str) -> Shard:
        """Read "i/n"."""
        index, slash, count = text.partition("/")
        if not slash or not index.strip().isdecimal() or not count.strip().isdecimal():
            raise InputError(f"'{text}' is no shard", "write --shard 3/8 for the third of eight")
        return Shard(int(index), int(count))


@dataclass(frozen=True)
class ScanState:
    """How far the scans of a ranking are.

    Attributes
    ----------
    step : str
        The scan under way, or the last one.
    units_done, units : int
        Row groups that it has read, and needs.
    missing : tuple of Shard
        Shards that have some left to read; empty when all scans are done.
    """

    step: str
    units_done: int
    units: int
    missing: tuple[Shard, ...] = ()


@runtime_checkable
class Scanned(Protocol):
    """A ranking whose ranks are found by scans, which can be kept, resumed and shared out."""

    def keeping(self, folder: Path) -> ScannedRanking:
        """Return the same ranking, its scans kept in `folder` as long as they are not done."""
        ...

    def scanned_by(self, engine: Engine) -> ScannedRanking:
        """Return the same ranking, its scans run by `engine`."""
        ...

    def scan(self, ranks: Int64Array, cutoffs: Int64Array | None, shard: Shard, progress: Progress = ...) -> ScanState:
        """Do one share of the scans that find items at `ranks`, as far as the other shares let it."""
        ...

    def forget_scans(self) -> None:
        """Remove the kept scans."""
        ...


class ScannedRanking(Ranking, Scanned, Protocol):
    """A `Ranking` that is `Scanned`."""
