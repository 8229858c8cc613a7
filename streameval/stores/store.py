"""Interface of a store of files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from streameval.stores.ranges import Range
from streameval.typing import Int64Array, UInt8Array

State = tuple[int, int]
LAST = 8
# given the size of a file and its last bytes, says how many bytes at its end are wanted
Need = Callable[[int, bytes], int]


class File(Protocol):
    """An open file."""

    @property
    def state(self) -> State:
        """Size in bytes, and a number that changes whenever the content does."""

    @property
    def bytes_read(self) -> int:
        """Bytes read so far, those between near ranges included."""

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """Read (offset, bytes) ranges, near ones in one go; shorter where the file ends.

        Raises `OSError` where the disk fails, `InputError` or `OutsideError` where the store refuses or does not
        answer.
        """

    def gather(self, ranges: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Read many ranges, given as rows of offset and bytes: read-only bytes, and where in these each range begins.

        Where the file ends before, so do the bytes. Errors as of `read`.
        """

    def advise(self, ranges: Int64Array) -> None:
        """Announce ranges that will be read soon, by whoever opens the file."""

    def hold(self, ranges: Int64Array) -> None:
        """Announce small pieces that will be read before the file is closed: worth one request."""

    def stream(self, at: int, end: int) -> None:
        """Announce a range that will be read in small steps."""

    def __enter__(self) -> File: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close."""


class Store(Protocol):
    """A place of files."""

    @property
    def readers(self) -> int:
        """Files worth reading at once."""

    def open(self, path: str) -> File:
        """Open a file for reading; errors as in `File.read`, and where nothing is there."""

    def tail(self, path: str, need: Need, guess: int = 0) -> tuple[State, bytes]:
        """Read the state of a file and so many bytes at its end as `need` says when it sees the last eight.

        That is one read where these are no more than guessed.
        """

    def state(self, path: str) -> State:
        """Ask for the state of a file as it is now."""
