"""Row groups of Parquet files, as scans read them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StreamevalError, outside_trouble
from streameval.parquet.footers import Footer
from streameval.rows.units import Unit
from streameval.stores import is_remote, store_of


@dataclass(frozen=True)
class RowGroup(Unit):
    """A row group of a Parquet file.

    Attributes
    ----------
    path : str
    index : int
        Of the row group in its file.
    first_row : int
        Of the row group in its file.
    first_position : int
        The same over all files.
    rows : int
    state : tuple of int
        Size and time of change of the file when the list was opened.
    reader : {"polars", "pyarrow"}
        What decodes a column by itself.
    score_at, score_bytes : int
        Where its scores begin in the file, and how many compressed bytes they take.
    keys : tuple of (str, str or None)
        Partition keys that are no columns of the file: they are read without it.
    """

    path: str
    index: int
    first_row: int
    first_position: int
    rows: int
    state: tuple[int, int]
    reader: str = "polars"
    score_at: int = 0
    score_bytes: int = 0
    keys: tuple[tuple[str, str | None], ...] = ()

    @property
    def file(self) -> str:
        """The file that it is of."""
        return self.path

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.path}: row group {self.index}"

    def advise(self) -> None:
        """Have the system fetch the scores, for they will be read soon; whatever is wrong shows then."""
        if not hasattr(os, "posix_fadvise") or not self.score_bytes or is_remote(self.path):
            return
        with contextlib.suppress(OSError):
            handle = os.open(self.path, os.O_RDONLY)
            try:
                os.posix_fadvise(handle, self.score_at, self.score_bytes, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(handle)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns whole.

        Raises
        ------
        InputError
            A damaged file, named with the row group, or one that changed since the list was opened.
        """
        kept = dict(self.keys)
        table = self._decoded([name for name in columns if name not in kept])
        for at, name in enumerate(columns):
            if name in kept:
                values = pa.array([kept[name]], pa.large_string()).dictionary_encode()
                table = table.add_column(at, name, values.take(pa.array(np.zeros(self.rows, np.int32))))
        return table

    def _decoded(self, columns: list[str]) -> pa.Table:
        if not columns:
            return pa.table({})
        try:
            # an object is asked for its state once, after the scans: a request a row group would double them
            if not is_remote(self.path) and store_of(self.path).state(self.path) != self.state:
                raise InputError(f"{self.path}: changed while it was read", "run the command again")
            table = self._read(columns)
        except StreamevalError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        if table.num_rows != self.rows:
            raise InputError(f"{self.path}: row group {self.index} holds {table.num_rows:,} rows, not {self.rows:,}")
        return table

    def _read(self, columns: list[str]) -> pa.Table:
        plain = self.reader == "polars" and not is_remote(self.path)
        if plain and len(columns) == 1 and self.first_row + self.rows < 2**32:
            return self._read_by_polars(columns)
        with store_of(self.path).parquet(self.path) as file:
            return file.read_row_group(self.index, columns=columns, use_threads=False)

    def _read_by_polars(self, columns: list[str]) -> pa.Table:
        import polars as pl

        try:
            lazy = pl.scan_parquet(self.path, glob=False, hive_partitioning=False).select(columns)
            return lazy.slice(self.first_row, self.rows).collect().to_arrow()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise self._damaged(error) from error

    def _damaged(self, error: BaseException) -> StreamevalError:
        text = " ".join(str(error).split())[:160]
        return outside_trouble(error) or InputError(
            f"{self.path}: row group {self.index} cannot be decoded ({text})", "the file is corrupt or truncated"
        )


def reader_of(kind: pa.DataType) -> str:
    """Choose what decodes scores of some type: Polars is quicker, but brings times to units of its own."""
    return "pyarrow" if pa.types.is_temporal(kind) else "polars"


def row_groups(footers: Sequence[Footer], column: str) -> list[RowGroup]:
    """Return all row groups that hold rows, in stored order.

    Parameters
    ----------
    column : str
        That will be read: its type decides by what. It may be a partition key.
    """
    units, position = [], 0
    for footer in footers:
        first_row, state, names = 0, (footer.size, footer.changed_ns), footer.schema.names
        reader = reader_of(footer.schema.field(column).type) if column in names else "pyarrow"
        keys = tuple((key, value) for key, value in footer.file.keys if key not in names)
        places = footer.score_bytes or ((0, 0),) * footer.row_group_rows.size
        for index, (count, place) in enumerate(zip(footer.row_group_rows.tolist(), places, strict=True)):
            if count:
                path = footer.file.path
                units.append(RowGroup(path, index, first_row, position, count, state, reader, *place, keys=keys))
            first_row += count
            position += count
    return units
