"""What a scan reads: the score (and key columns) of one row group at a time, several at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from streameval import system
from streameval.errors import InputError, StreamevalError, outside_trouble
from streameval.kernels.tiehash import position_hashes
from streameval.rankings.footers import Footer, refuse_changed
from streameval.rankings.ordering.bins import Words
from streameval.rankings.ordering.scores import Keys, ScoreOrder
from streameval.rankings.ordering.skipping import Lumps
from streameval.rankings.ordering.ties import key_hashes
from streameval.rankings.paging.groups import read_group
from streameval.stores import is_remote
from streameval.types import Int64Array


class Unit(Protocol):
    """A stretch of rows that is read at once."""

    @property
    def first_position(self) -> int:
        """Stored position of its first row."""
        ...

    @property
    def rows(self) -> int:
        """How many rows it has."""
        ...

    @property
    def where(self) -> str:
        """The place, for messages."""
        ...

    @property
    def score_bytes(self) -> int:
        """Bytes that its scores take where they are stored."""
        ...

    def advise(self) -> None:
        """Hear that its scores will be read soon."""
        ...

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read the columns of all its rows."""
        ...


@dataclass(frozen=True)
class RowGroup:
    """A row group of a Parquet file.

    Attributes
    ----------
    footer : Footer
        Of its file.
    index : int
        Of the row group in its file.
    first_position : int
        Of its first row over all files.
    """

    footer: Footer
    index: int
    first_position: int

    @property
    def path(self) -> str:
        """Where its file lies."""
        return self.footer.file.path

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return int(self.footer.row_group_rows[self.index])

    @property
    def score_bytes(self) -> int:
        """Bytes that its scores take where they are stored; 0 where the order has no score."""
        return self._score_place[1]

    @property
    def _score_place(self) -> tuple[int, int]:
        return self.footer.score_bytes[self.index] if self.footer.score_bytes else (0, 0)

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.path}: row group {self.index}"

    def advise(self) -> None:
        """Have the system fetch the scores, for they will be read soon; whatever is wrong shows then."""
        if not self.score_bytes or is_remote(self.path):
            return
        with contextlib.suppress(OSError):
            handle = system.open_for_reading(self.path)
            try:
                system.read_ahead(handle, *self._score_place)
            finally:
                os.close(handle)

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns whole.

        Raises
        ------
        InputError
            A damaged file, named with the row group, or one that changed since the list was opened.
        """
        try:
            # an object is asked for its state once, after the scans: a request a row group would double them
            if not is_remote(self.path):
                refuse_changed(self.footer)
            table = read_group(self.footer, self.index, list(columns))
        except StreamevalError:
            raise
        except (pl.exceptions.PolarsError, pa.ArrowException, OSError, pl.exceptions.PanicException) as error:
            trouble = outside_trouble(error)
            text = " ".join(str(error).split())[:160]
            raise trouble or InputError(
                f"{self.where} cannot be decoded ({text})", "the file is corrupt or truncated"
            ) from error
        if table.num_rows != self.rows:
            raise InputError(f"{self.where} holds {table.num_rows:,} rows, not {self.rows:,}")
        return table


def share_of(rows: Sequence[int], count: int) -> Int64Array:
    """Share of each row group, from 0 to `count` − 1: neighbours go together, and shares have about equal rows."""
    held = np.array(rows, dtype=np.int64)
    middle = np.cumsum(held) - (held + 1) // 2
    share: Int64Array = np.minimum((middle / max(1, held.sum()) * count).astype(np.int64), count - 1)
    return share


@dataclass(frozen=True)
class Scan:
    """How units are read.

    Attributes
    ----------
    units : sequence of Unit
    order : ScoreOrder
    score : str
    keys : tuple of str
        Key columns; empty where ties are told apart by position.
    threads : int
    key_hashes : callable(positions) -> uint64 array
        Tie hashes of the items at some stored positions, from their key columns.
    lumps : Lumps
        Rows of the list that are in none of the units.
    """

    units: Sequence[Unit]
    order: ScoreOrder
    score: str
    keys: tuple[str, ...]
    threads: int
    key_hashes: Callable[[Int64Array], npt.NDArray[np.uint64]]
    lumps: Lumps = field(default_factory=Lumps.none)

    @property
    def n_items(self) -> int:
        """N."""
        return sum(unit.rows for unit in self.units) + int(self.lumps.rows.sum())

    def column(self, unit: Unit) -> pa.ChunkedArray:
        """Scores of a unit's rows."""
        return unit.read([self.score]).column(0)

    def scores(self, unit: Unit) -> Keys:
        """Order keys of a unit's rows."""
        return self.order.keys(self.column(unit))

    def hashes(self, unit: Unit) -> npt.NDArray[np.uint64]:
        """Tie hashes of all rows of a unit from its key columns."""
        return key_hashes(unit.read(self.keys).select(list(self.keys)))

    def words(
        self, first_position: int, keys: Keys, rows: npt.NDArray[np.uint32], hashes: npt.NDArray[np.uint64] | None
    ) -> Words:
        """All words of some rows of a block.

        Parameters
        ----------
        first_position : int
            Where the block begins.
        keys : Keys
            Of the block.
        rows : uint32 array
            Within the block.
        hashes : uint64 array or None
            Tie hashes of the block's rows from key columns; None where they are not needed yet, and 0 then.
        """
        positions = rows.astype(np.int64) + first_position
        low = keys.low[rows] if keys.low.size else keys.low
        if not self.keys:
            tie = position_hashes(positions)
        else:
            tie = np.zeros(rows.size, np.uint64) if hashes is None else hashes[rows]
        return Words(keys.key[rows], low, tie, positions.view(np.uint64))

    def missing_places(self, limit: int = 3) -> Iterator[tuple[Unit, int]]:
        """First rows whose score is null or NaN, in stored order."""
        for unit in self.units:
            scores = self.column(unit)
            gone = scores.is_null(nan_is_null=True).combine_chunks().to_numpy(zero_copy_only=False)
            for row in np.flatnonzero(gone).tolist():
                yield unit, row
                limit -= 1
                if not limit:
                    return
