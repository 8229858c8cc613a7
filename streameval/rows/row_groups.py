"""Row groups of Parquet files, as scans read them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
        """How many rows it has."""
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
        stored = set(self.footer.schema.names)
        kept = {key: value for key, value in self.footer.file.keys if key not in stored}
        table = self._decoded([name for name in columns if name not in kept])
        if not any(name in kept for name in columns):
            return table
        same = pa.array(np.zeros(self.rows, np.int32))
        keys = {
            name: pa.array([kept[name]], pa.large_string()).dictionary_encode().take(same)
            for name in columns
            if name in kept
        }
        return pa.table({name: keys[name] if name in keys else table.column(name) for name in columns})

    def _decoded(self, columns: list[str]) -> pa.Table:
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
        return [self.index, *(one.index for one in more if isinstance(one, RowGroup))]

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


def row_groups(footers: Sequence[Footer]) -> list[RowGroup]:
    """Return all row groups that hold rows, in stored order."""
    units, position = [], 0
    for footer in footers:
        for index, count in enumerate(footer.row_group_rows.tolist()):
            if count:
                units.append(RowGroup(footer, index, position))
            position += count
    return units
