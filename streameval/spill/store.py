"""Rows that are too many for memory, for as long as a command runs: in a file, by what part they are of."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import outside_trouble
from streameval.kernels.jit import small
from streameval.kernels.parting import partition
from streameval.process.system import read_at, reserve, write_at
from streameval.typing import AnyArray, Int32Array, Int64Array

_TABLE = "table"  # its rows as Arrow streams, one for each part
ColumnOfParts = tuple[int, np.dtype[Any], Int64Array]  # number in a spill, type, and where each part begins


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

    def remove(self) -> None:
        """Give back its room on the disk."""
        self.__exit__()
        self._path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes that were written."""
        return self._end

    def reserve(self, size: int) -> None:
        """Have room for so many bytes."""
        with self._outside():
            reserve(self._open(), size)

    def append(self, content: memoryview) -> int:
        """Write bytes; returns where they begin."""
        with self._lock:
            file, begin = self._open(), self._end
            self._end += content.nbytes
        with self._outside():
            write_at(file.fileno(), content.cast("B"), begin)
        return begin

    def read(self, begin: int, size: int) -> bytes:
        """Read `size` bytes that were written at a place."""
        return read_at(self._open().fileno(), size, begin)

    def _open(self) -> FileIO:
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
    """Rows in parts, kept as they come from any thread, and read again part by part.

    Attributes:
        sizes (int64 array, shape (parts,)): Rows of each part.
    """

    def __init__(self, spill: Spill, parts: int) -> None:
        self.sizes: Int64Array = np.zeros(parts, np.int64)
        self._spill, self._lock = spill, threading.Lock()
        self._kept = list[tuple[Int64Array, Mapping[str, ColumnOfParts]]]()

    def add_rows(self, part: Int32Array, columns: Mapping[str, AnyArray], table: pa.Table | None = None) -> None:
        """Keep columns of some rows, and a table of them, in the parts that they are of."""
        place, edges = placed_by(part, self.sizes.size)
        if table is not None and table.num_columns:
            table = table.take(pa.array(order_of(place)))
        self.add(edges, {name: put(values, place) for name, values in columns.items()}, table)

    def add(self, edges: Int64Array, columns: Mapping[str, AnyArray], table: pa.Table | None = None) -> None:
        """Keep rows that lie part by part already; `edges` says where each part begins, and ends with their number."""
        kept = {name: self._column(values, edges) for name, values in columns.items()}
        if table is not None and table.num_columns:
            streams = [_stream(table.slice(a, b - a)) if a < b else b"" for a, b in pairwise(edges.tolist())]
            ends = np.cumsum([0, *map(len, streams)])
            kept[_TABLE] = self._column(np.frombuffer(b"".join(streams), np.uint8), ends)
        with self._lock:
            self.sizes += np.diff(edges)
            self._kept.append((edges, kept))

    def _column(self, values: AnyArray, ends: Int64Array) -> ColumnOfParts:
        return self._spill.keep(values.view(np.uint8).data), values.dtype, ends

    def pieces(self, part: int) -> Iterator[PartRows]:
        """Give rows of a part as they were kept together."""
        kept = (columns for edges, columns in self._kept if edges[part] < edges[part + 1])
        return (PartRows(part, [columns], self._spill) for columns in kept)

    def whole(self, part: int) -> PartRows:
        """All rows of a part."""
        return PartRows(part, [columns for rows in self.pieces(part) for columns in rows.kept], self._spill)


@dataclass(frozen=True)
class PartRows:
    """Rows of one part, to be read a column at a time.

    Attributes:
        kept: Columns of those that were kept together.
    """

    part: int
    kept: Sequence[Mapping[str, ColumnOfParts]] = field(repr=False)
    spill: Spill = field(repr=False)

    def column(self, name: str) -> AnyArray:
        """A column of them, writable as compiled code expects arrays to be; empty where they have none of that name."""
        chunks = list(self._read(name))
        return np.concatenate(chunks) if chunks else np.empty(0, np.uint64)

    def table(self) -> pa.Table:
        """Their table; one of no columns where they have none."""
        tables = [pa.ipc.open_stream(pa.py_buffer(stream)).read_all() for stream in self._read(_TABLE)]
        return pa.concat_tables(tables) if tables else pa.table({})

    def _read(self, name: str) -> Iterator[AnyArray]:
        for columns in self.kept:
            if name in columns:
                number, kind, ends = columns[name]
                first, last = (kind.itemsize * end for end in ends[self.part : self.part + 2].tolist())
                yield np.frombuffer(self.spill.read(number, first, last), kind)


def placed_by(part: Int32Array, parts: int) -> tuple[Int64Array, Int64Array]:
    """Place rows part by part, each part in the order of rows: the place of each row, and where each part begins."""
    place, edges = np.empty(part.size, np.int64), np.zeros(parts + 1, np.int64)
    with small(2 * part.size):
        partition(part, place, edges)
    return place, edges


def order_of(place: AnyArray) -> Int64Array:
    """Say which row is at each place."""
    return put(np.arange(place.size), place)


def put(values: AnyArray, place: AnyArray) -> AnyArray:
    """Put values where their places are."""
    out = np.empty_like(values)
    out[place] = values
    return out


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
