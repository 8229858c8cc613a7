"""Storage of items: one file per kind of storage, whose rows have a fixed order. None knows what a rank is.

A kind is a file in this folder with a module-level `OPENER`. A source that is named `KIND:…` is opened by the file of
that name, every path by `parquet`; other objects are offered to each file in turn. Only what a source needs is
imported.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from streameval.errors import InputError
from streameval.parquet.account import Fallback, Forecast
from streameval.progress import Progress, silent
from streameval.rows.options import RankingOptions
from streameval.scans.units import Unit

if TYPE_CHECKING:  # help texts name the options of a list, and need none of this
    from collections.abc import Callable

    import pyarrow as pa

    from streameval.parquet.statistics import ChunkBounds
    from streameval.typing import Int64Array

    # decodes the wanted rows of a stretch whole, so many rows at a time
    WholeReader = Callable[[int], Iterator[pa.Table]]
    # least and largest value of units, one after another; and their type
    ColumnBounds = tuple[pa.DataType, ChunkBounds]

_UNIT_ROWS = 1 << 20


@dataclass(frozen=True)
class Taken:
    """Rows that were read, and what was read for them.

    Attributes:
        table: The columns as asked.
        rows_read: Rows decoded, of the column that took most.
        row_groups_read: Row groups that hold any of the rows.
        pages_read: Pages decoded, of all columns.
        bytes_read: Bytes read from the files, footers and indexes included.
        fallbacks: Columns that were not read by a page index.
    """

    table: pa.Table
    rows_read: int = 0
    row_groups_read: int = 0
    pages_read: int = 0
    bytes_read: int = 0
    fallbacks: tuple[Fallback, ...] = ()


class Rows(ABC):
    """Items in the order in which they are stored, never loaded whole.

    A kind of storage has to say how many there are, what they are, and to read rows at positions; all else follows from
    these, and is overridden where a kind can do better. Laws: `units` cover all rows once, in stored order; `take` at
    the positions of a unit gives what the unit reads; `bounds` hold every value of their unit.
    """

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever the rows do."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Names and types of the stored columns, and of fields of structs (`with_fields`)."""

    @abstractmethod
    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Read columns (of `all_names`), each named once, of the rows at strictly increasing positions, counted from 0.

        Raises `InputError`, with file and place, for a column that is missing, or a file that is damaged or changed.
        """

    @property
    def source(self) -> Sequence[str] | None:
        """Say what opens these rows again; None where they lie in memory."""
        return None

    @property
    def name(self) -> str:
        """The place, for messages."""
        return self.source[0] if self.source else "the table"

    @property
    def readers(self) -> int:
        """Readers worth having at work at once."""
        return os.cpu_count() or 1

    def facts(self) -> dict[str, Any]:
        """Say what the rows are, JSON-ready; part of the plan's identity."""
        return {"fingerprint": self.fingerprint, "files": 0}

    def columns(self) -> list[str]:
        """Names of all columns, partition keys included."""
        from streameval.struct_fields import own_columns

        return own_columns(self.schema)

    def all_names(self) -> list[str]:
        """Names that can be asked for: those of all columns, and of fields of structs."""
        return list(dict.fromkeys([*self.columns(), *self.schema.names]))

    def hint_for(self, name: str) -> str:
        """Hint at why there is no such name, or at the closest of those that there are."""
        from streameval.struct_fields import hint_for

        return hint_for(name, self.schema, self.all_names())

    def index_columns(self) -> list[str]:
        """Columns that were the index of a frame when pandas wrote them: row numbers, where nothing else was."""
        try:
            named = json.loads((self.schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        except (ValueError, KeyError, TypeError):
            named = []
        return [name for name in self.columns() if name in named or re.fullmatch("__index_level_[0-9]+__", name)]

    def types(self, column: str) -> list[tuple[str, pa.DataType]]:
        """Place and type of a column, wherever it may differ."""
        return [(self.name, self.schema.field(column).type)]

    def declared_types(self, column: str) -> list[tuple[str, pa.DataType]]:
        """Give the same, as far as it is known before any file of a table is opened."""
        return self.types(column)

    def units(self, column: str | None = None) -> Sequence[Unit]:
        """All rows, as scans read them; `column` is the one whose place in each unit is to be known."""
        starts = range(0, self.n_rows, _UNIT_ROWS)
        return [RowRun(first, min(_UNIT_ROWS, self.n_rows - first), self) for first in starts]

    def bounds(self, column: str) -> Sequence[ColumnBounds]:
        """Statistics of a column, by its type, units in order; nothing where none are kept."""
        return ()

    def nulls(self, column: str) -> Mapping[str, int]:
        """Values of a column that are null, by file, as far as that is known without reading them."""
        return {}

    def stretches(
        self, positions: Int64Array, columns: Sequence[str]
    ) -> Iterator[tuple[Int64Array, WholeReader | None]]:
        """Cut strictly increasing positions into runs; with each, a decoder of the whole run where that is quicker."""
        yield positions, None

    def forecast(self, positions: Int64Array, columns: Sequence[str]) -> Forecast:
        """Forecast what `take` would read."""
        return Forecast()

    def forecast_first(self, n_rows: int, columns: Sequence[str]) -> Forecast:
        """Forecast reading columns of the first rows."""
        return Forecast()

    def check_unchanged(self) -> None:  # noqa: B027  (what cannot change has nothing to refuse)
        """Refuse rows that changed since they were opened: an `InputError` names the file."""

    def read(self, first: int, count: int, columns: Sequence[str]) -> pa.Table:
        """Read consecutive rows, as a `RowRun` does."""
        import numpy as np

        return self.take(np.arange(first, first + count), list(columns)).table

    def take_anywhere(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Read rows at positions that differ, given in any order."""
        import numpy as np
        import pyarrow as pa

        order = np.argsort(positions, kind="stable")
        in_order = self.take(positions[order], columns, progress)
        back = np.empty(order.size, np.int64)
        back[order] = np.arange(order.size)
        return replace(in_order, table=in_order.table.take(pa.array(back)))


@dataclass(frozen=True)
class RowRun(Unit):
    """Some consecutive rows of any storage."""

    first_position: int
    rows: int
    of: Rows

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.of.name} from row {self.first_position + 1:,} on"

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read the columns of all its rows."""
        return self.of.read(self.first_position, self.rows, columns)


class Opener(Protocol):
    """Interface of the file of each kind."""

    def accepts(self, source: Any) -> bool:
        """Tell whether `source` is of this kind."""

    def open(self, source: Any, options: RankingOptions) -> Rows:
        """Open it."""


def open_rows(source: Any, options: RankingOptions) -> Rows:
    """Open rows of any kind; an `InputError` where no kind accepts the source, or the kind refuses it."""
    for kind in _kinds(source):
        opener: Opener | None = getattr(importlib.import_module(f"{__name__}.{kind}"), "OPENER", None)
        if opener is not None and opener.accepts(source):
            return opener.open(source, options)
    raise InputError(
        f"a {type(source).__name__} is not a ranking", "give paths, a glob, or an Arrow, Polars or pandas table"
    )


def _kinds(source: Any) -> list[str]:
    """Kinds that may accept a source."""
    kinds = [info.name for info in pkgutil.iter_modules(__path__)]
    first = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
    named = re.match("([a-z_]+):", first) if isinstance(first, str) else None
    if named and named[1] in kinds:
        return [named[1]]
    paths = source if isinstance(source, list | tuple) else [source]
    return ["parquet"] if all(isinstance(path, str | os.PathLike) for path in paths) else kinds
