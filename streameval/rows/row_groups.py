"""Row groups of Parquet files, as scans read them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StreamevalError
from streameval.parquet.footers import Footer, refuse_changed
from streameval.parquet.undecodable import decoding
from streameval.scans.units import Unit
from streameval.stores import is_remote
from streameval.typing import AnyArray, UInt64Array

T = TypeVar("T")

FEW_FILES, MOST_FILES = 8, 64  # small ones, that are read at once: it pays, and several threads are to have some
DIRECT_ROWS = 1 << 16  # of a row group that is read without a library: kernels for it take a second to compile


@dataclass(frozen=True)
class RowGroup(Unit):
    """A row group of a Parquet file.

    Attributes:
        footer: Of its file.
        index: Of the row group in its file.
        first_position: Of its first row over all files.
    """

    footer: Footer
    index: int
    first_position: int

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Tell how many rows it has."""
        return int(self.footer.row_group_rows[self.index])

    @property
    def score_bytes(self) -> int:  # type: ignore[override]
        """Bytes that its scores take where they are stored; 0 where the order has no score."""
        score_bytes = self.footer.score_bytes
        return int(score_bytes[self.index, 1]) if score_bytes.size else 0

    @property
    def file(self) -> str:
        """The file that it is of."""
        return self.footer.file.path

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.file}: row group {self.index}"

    def advise(self, columns: Sequence[str], more: Sequence[Unit] = ()) -> None:
        """Have the system fetch columns ahead; errors are left to the read that follows."""
        if is_remote(self.file):
            return
        from streameval.parquet.groups import advise_groups

        stored = [name for name in columns if name in self.footer.schema.names]
        with contextlib.suppress(OSError, StreamevalError):
            advise_groups(self.footer, self._indexes(more), stored)

    def for_workers(self) -> RowGroup:
        """See `Unit.for_workers`: under an absolute path."""
        return replace(self, footer=self.footer.anywhere)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns whole; a partition key that is no column of the file is known without it."""
        return with_keys([self], columns, self._decode)

    def _decode(self, columns: list[str]) -> pa.Table:
        if not columns:
            return pa.table({})
        from streameval.parquet.groups import read_group

        table = self._read(lambda: read_group(self.footer, self.index, columns))
        if table.num_rows != self.rows:
            raise InputError(f"{self.place} holds {table.num_rows:,} rows, not {self.rows:,}")
        return table

    def bits(self, column: str, more: Sequence[Unit] = ()) -> UInt64Array | None:
        """See `Unit.bits`."""
        from streameval.parquet.plain_chunks import read_bits

        return self._read(lambda: read_bits(self.footer, self._indexes(more), column)) if self._direct(column) else None

    def _indexes(self, more: Sequence[Unit]) -> list[int]:
        return [self.index, *(unit.index for unit in more if isinstance(unit, RowGroup))]

    def numbers(self, column: str, room: UInt64Array, order: str = "sorted") -> AnyArray | None:
        """See `Unit.numbers`."""
        from streameval.parquet.plain_chunks import read_numbers

        if not self._direct(column):
            return None
        return self._read(lambda: read_numbers(self.footer, self.index, column, room, order))

    def _direct(self, column: str) -> bool:
        return self.rows >= DIRECT_ROWS and column in self.footer.schema.names

    def _read(self, read: Callable[[], T]) -> T:
        with decoding(self.place):
            # an object is asked for its state once, after the scans: a request a row group would double them
            if not is_remote(self.file):
                refuse_changed(self.footer)
            return read()


@dataclass(frozen=True)
class SmallFiles(Unit):
    """Consecutive row groups, each of a small file of its own and all of one schema, read at once."""

    groups: tuple[RowGroup, ...]

    @property
    def first_position(self) -> int:  # type: ignore[override]
        """Stored position of its first row."""
        return self.groups[0].first_position

    @cached_property
    def rows(self) -> int:  # type: ignore[override]
        """Tell how many rows they have."""
        return sum(group.rows for group in self.groups)

    @property
    def score_bytes(self) -> int:  # type: ignore[override]
        """Bytes that their scores take where they are stored."""
        return sum(group.score_bytes for group in self.groups)

    @property
    def place(self) -> str:
        """The place, for messages; whoever can names that of one of its `parts`."""
        return f"{self.groups[0].place} to {self.groups[-1].place}"

    @property
    def parts(self) -> Sequence[Unit]:
        """See `Unit.parts`."""
        return self.groups

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns whole; a partition key that is no column of the files is known without it."""
        return with_keys(self.groups, columns, self._decode)

    def _decode(self, columns: list[str]) -> pa.Table:
        from streameval.parquet.small_files import read_small

        footers = [group.footer for group in self.groups]
        with decoding(self.place):
            if not is_remote(self.groups[0].file):
                for footer in footers:
                    refuse_changed(footer)
            table = read_small(footers, columns) if columns else None
        return pa.concat_tables([group.read(columns) for group in self.groups]) if table is None else table


def with_keys(groups: Sequence[RowGroup], columns: Sequence[str], read: Callable[[list[str]], pa.Table]) -> pa.Table:
    """Put columns of row groups of one schema, as `read` reads them, beside the partition keys among them."""
    stored = set(groups[0].footer.schema.names)
    keys = [name for name in dict(groups[0].footer.file.keys) if name in columns and name not in stored]
    table = read([name for name in columns if name not in keys])
    if not keys:
        return table
    number = pa.array(np.repeat(np.arange(len(groups), dtype=np.int32), [group.rows for group in groups]))
    key_columns = {}
    for name in keys:
        values = pa.array([dict(group.footer.file.keys)[name] for group in groups], pa.large_string())
        coded = values.dictionary_encode()
        key_columns[name] = pa.DictionaryArray.from_arrays(coded.indices.take(number), coded.dictionary)
    return pa.table({name: key_columns[name] if name in key_columns else table.column(name) for name in columns})


def together(units: Sequence[Unit]) -> list[Unit]:
    """Join consecutive small files, many to a unit."""
    joined, some, rows = list[Unit](), list[RowGroup](), 0
    for unit in units:
        small = unit if isinstance(unit, RowGroup) and unit.footer.is_small else None
        if some and not (small and rows + small.rows <= DIRECT_ROWS and _go_together(some, small)):
            joined += _join(some)
            some, rows = [], 0
        if small:
            some.append(small)
            rows += small.rows
        else:
            joined.append(unit)
    return [*joined, *_join(some)]


def _go_together(some: Sequence[RowGroup], unit: RowGroup) -> bool:
    last = some[-1]
    follows = unit.first_position == last.first_position + last.rows
    return follows and len(some) < MOST_FILES and unit.footer.schema is last.footer.schema


def _join(groups: list[RowGroup]) -> Sequence[Unit]:
    return groups if len(groups) < FEW_FILES else [SmallFiles(tuple(groups))]


def row_groups(footers: Sequence[Footer]) -> list[RowGroup]:
    """Return all row groups that hold rows, in stored order."""
    units, position = [], 0
    for footer in footers:
        for index, count in enumerate(footer.row_group_rows.tolist()):
            if count:
                units.append(RowGroup(footer, index, position))
            position += count
    return units
