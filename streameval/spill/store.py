"""What is too long for memory, for as long as a command runs: in files whose room on the disk is reserved first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from streameval.errors import outside_trouble
from streameval.process.system import read_at, reserve, write_at
from streameval.typing import AnyArray, Int64Array


class ScratchFile:
    """A file of bytes that are appended and read again, from any thread; it is made when it is needed first.

    An `OutsideError` says that the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._end, self._lock = path, 0, threading.Lock()
        self._file: FileIO | None = None

    def __enter__(self) -> ScratchFile:
        """Begin to use it."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close it; its folder is removed by whoever made that."""
        if self._file is not None:
            self._file.close()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever written."""
        return self._end == 0

    def reserve(self, size: int) -> None:
        """Have room for so many bytes."""
        with self._outside():
            reserve(self._opened(), size)

    def append(self, content: memoryview) -> int:
        """Write bytes; returns where they begin."""
        with self._lock:
            file, begin = self._opened(), self._end
            self._end += content.nbytes
        with self._outside():
            write_at(file.fileno(), content.cast("B"), begin)
        return begin

    def read(self, begin: int, size: int) -> bytes:
        """Read `size` bytes that were written at a place."""
        return read_at(self._opened().fileno(), size, begin)

    def _opened(self) -> FileIO:
        if self._file is None:
            self._file = FileIO(self._path, "w+b")
        return self._file

    @contextmanager
    def _outside(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise outside_trouble(error, self._path.parent) or error from error


class Spill:
    """Bytes that wait: in memory up to a limit, and beyond it in a file.

    Args:
        memory: Bytes that may be held.
        size: How many are expected: room on the disk for those beyond is reserved before the first.
    """

    def __init__(self, file: ScratchFile, memory: float, size: int = 0) -> None:
        self._file, self._memory, self._lock = file, memory, threading.Lock()
        self._held: list[memoryview] = []
        if size > memory:
            file.reserve(size - int(memory))

    def keep(self, content: memoryview) -> int:
        """Keep bytes, from any thread; returns a number by which they are found again: below 0 in memory."""
        with self._lock:
            if content.nbytes <= self._memory:
                self._memory -= content.nbytes
                self._held.append(content.cast("B"))
                return -len(self._held)
        return self._file.append(content)

    def read(self, number: int, first: int, last: int) -> bytes | memoryview:
        """Some of the bytes that were kept under a number."""
        if number < 0:
            return self._held[-number - 1][first:last]
        return self._file.read(number + first, last - first)


class PartedSpill:
    """Arrays in the order of parts, kept as they come from any thread, and read again part by part.

    Attributes:
        sizes (int64 array, shape (parts,)): Rows of each part.
    """

    def __init__(self, spill: Spill, parts: int) -> None:
        self.sizes: Int64Array = np.zeros(parts, np.int64)
        self._spill, self._lock = spill, threading.Lock()
        self._kept = list[tuple[Int64Array, dict[str, tuple[int, np.dtype[Any], Int64Array]]]]()

    def add(self, edges: Int64Array, columns: Mapping[str, tuple[AnyArray, Int64Array]]) -> None:
        """Keep columns of some rows, each with where its parts begin; `edges` says where the rows of each do."""
        kept = {name: (self._spill.keep(values.view(np.uint8).data), values.dtype, ends)
                for name, (values, ends) in columns.items()}  # fmt: skip
        with self._lock:
            self.sizes += np.diff(edges)
            self._kept.append((edges, kept))

    def pieces(self, part: int) -> Iterator[Callable[[str], AnyArray]]:
        """What reads a column of some rows of a part, as they were kept: empty where they have none of that name."""
        return (partial(self._read, columns, part) for edges, columns in self._kept if edges[part] < edges[part + 1])

    def _read(self, columns: Mapping[str, tuple[int, np.dtype[Any], Int64Array]], part: int, name: str) -> AnyArray:
        if name not in columns:
            return np.empty(0, np.uint64)
        number, kind, ends = columns[name]
        first, last = (int(end) * kind.itemsize for end in ends[part : part + 2])
        return np.frombuffer(self._spill.read(number, first, last), kind)
