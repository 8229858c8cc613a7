"""Files of this machine: positioned reads, and hints to the system's page cache."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

import numpy as np

from streameval.process import system
from streameval.stores.ranges import Range, blocks
from streameval.stores.store import LAST, Need, State
from streameval.typing import Int64Array, UInt8Array

# two ranges this close are one read: a second system call costs more than these bytes
_GAP = 4096
_SMALL = 1 << 14  # bytes of a file that is read at once: to read a part takes as long


class LocalFile:
    """A file of this machine; a small one is read as it is opened."""

    def __init__(self, path: str) -> None:
        self._handle = system.open_for_reading(path)
        try:
            size = os.fstat(self._handle).st_size
            self._whole = system.read_at(self._handle, size, 0) if size <= _SMALL else None
        except BaseException:
            os.close(self._handle)
            raise
        self.bytes_read = 0 if self._whole is None else len(self._whole)
        if self._whole is None:
            system.expect_scattered_reads(self._handle)

    @property
    def state(self) -> State:
        """Size, and time of change."""
        return _state(os.fstat(self._handle))

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._handle)

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """Read ranges."""
        if self._whole is not None:
            content = memoryview(self._whole)
            return [content[at : at + size] for at, size in ranges]
        memory, places = self.gather(np.array(ranges, np.int64).reshape(-1, 2))
        return [memory.data[at : at + size] for at, (_, size) in zip(places.tolist(), ranges, strict=True)]

    def gather(self, ranges: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Read many ranges, near ones in one go, into one piece of memory."""
        if self._whole is not None:
            return np.frombuffer(self._whole, np.uint8), ranges[:, 0].copy()
        joined, places = blocks(ranges, _GAP)
        memory = np.empty(int(joined[:, 1].sum()), np.uint8)
        done = system.read_into(self._handle, memory.data, joined.tolist())
        self.bytes_read += done
        memory = memory[:done]
        memory.flags.writeable = False
        return memory, places

    def advise(self, ranges: Int64Array) -> None:
        """Have the system fetch ranges ahead, many at once."""
        if self._whole is None:
            system.read_ahead(self._handle, blocks(ranges, _GAP)[0].tolist())

    def hold(self, ranges: Int64Array) -> None:
        """Nothing: a small read costs little here."""

    def stream(self, at: int, end: int) -> None:
        """Have the system fetch the range ahead."""
        if self._whole is None:
            system.read_ahead(self._handle, [(at, end - at)])


class LocalStore:
    """The disks of this machine."""

    readers = 1

    def open(self, path: str) -> LocalFile:
        """Open a file."""
        return LocalFile(path)

    def tail(self, path: str, need: Need, guess: int = 0) -> tuple[State, bytes]:
        """Read the end of a file."""
        handle = system.open_for_reading(path)
        try:
            state = _state(os.fstat(handle))
            size = state[0]
            guess = min(max(guess, LAST), size)
            raw = system.read_at(handle, guess, size - guess)
            length = min(need(size, raw[-LAST:]), size)
            if length > len(raw):
                raw = system.read_at(handle, length, size - length)
            return state, raw[len(raw) - length :]
        finally:
            os.close(handle)

    def state(self, path: str) -> State:
        """Size, and time of change."""
        return _state(os.stat(path))


def _state(status: os.stat_result) -> State:
    return status.st_size, status.st_mtime_ns


LOCAL = LocalStore()
