"""Rows of a table whose files do not hold them as the table has them.

Columns may have other names in some files, be missing from older ones, or lie in partition values; rows may have been
deleted without being rewritten. Positions count the rows that are left, file by file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.parquet.account import Forecast, total
from streameval.parquet.files import DataFile
from streameval.parquet.footers import Footer, check_column
from streameval.parquet.schema import wide_type
from streameval.progress import Progress, silent
from streameval.rows import Rows, Taken
from streameval.rows.options import RankingOptions
from streameval.rows.parquet import ParquetRows
from streameval.rows.row_groups import row_groups
from streameval.scans.units import Unit
from streameval.struct_fields import columns_with, pick
from streameval.typing import Int64Array

NONE_DELETED = np.empty(0, np.int64)
_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True, eq=False)
class TableFile:
    """A data file of a table.

    Attributes:
        size: Bytes.
        rows: Deleted ones included; None where the metadata do not say.
        keys: Partition values that are no columns of the file, by column of the table.
        deleted (int64 array, strictly increasing): Rows of the file that were deleted, from 0.
    """

    file: DataFile
    size: int
    rows: int | None
    keys: Mapping[str, Any] = field(default_factory=dict)
    deleted: Int64Array = field(default_factory=lambda: NONE_DELETED)


@dataclass(frozen=True)
class StoredNames:
    """Names of a table's columns in its files.

    Attributes:
        physical: Names that are not those of the table.
        ids: Field ids, which come first where a file has any.
    """

    physical: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, int] = field(default_factory=dict)

    def stored(self, columns: Sequence[str], file: pa.Schema) -> dict[str, str]:
        """Find the columns that a file has; returns their names in it."""
        ids = {
            int(column.metadata[_FIELD_ID]): column.name
            for column in file
            if column.metadata and _FIELD_ID in column.metadata
        }
        if ids and self.ids:
            return {name: ids[self.ids[name]] for name in columns if self.ids.get(name) in ids}
        names = {name: self.physical.get(name, name) for name in columns}
        return {name: stored for name, stored in names.items() if stored in file.names}


def are_renamed(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Tell whether fields of structs seem to have other names in a file: a cast by names would make them all null."""
    if not (pa.types.is_struct(stored) and pa.types.is_struct(kind)):
        return False
    there, wanted = ({member.name: member.type for member in of} for of in (stored, kind))
    lost, lacking = there.keys() - wanted.keys(), wanted.keys() - there.keys()
    return bool(lost and lacking) or any(
        are_renamed(there[name], wanted[name]) for name in there.keys() & wanted.keys()
    )


@dataclass(frozen=True, eq=False)
class FileColumns:
    """Columns of a table in one of its files.

    Attributes:
        place: The file, for messages.
        schema: Of the table, with wide types.
        stored: Names in the file of those that it has.
        keys: Values of those that are partition keys; what is in neither is null.
    """

    place: str
    schema: pa.Schema
    stored: Mapping[str, str]
    keys: Mapping[str, Any]

    def names(self, columns: Sequence[str]) -> list[str]:
        """Names in the file of some columns of the table, or of those that hold fields, as far as it has them."""
        return [self.stored[name] for name in columns_with(self.schema, columns) if name in self.stored]

    def table(self, stored: pa.Table, columns: Sequence[str], n_rows: int) -> pa.Table:
        """Make columns of the table from those of the file."""
        whole = {name: self._column(stored, name, n_rows) for name in columns_with(self.schema, columns)}
        return pick(pa.table(whole), self.schema, columns)

    def _column(self, stored: pa.Table, name: str, n_rows: int) -> pa.ChunkedArray:
        kind = self.schema.field(name).type
        try:
            if name in self.stored:
                values = stored.column(self.stored[name])
                if are_renamed(values.type, kind):
                    raise InputError(
                        f"{self.place}: fields of '{name}' have other names than in its table ({values.type})",
                        "renamed fields of structs are not read: leave the column out with --columns, or rewrite the "
                        "table's files",
                    )
                return values.cast(kind)
            return pa.chunked_array([pa.array([self.keys.get(name)]).cast(kind).take(pa.array(np.zeros(n_rows, int)))])
        except pa.ArrowException as error:
            raise InputError(
                f"{self.place}: column '{name}' cannot be read as {kind}, which it is in its table",
                "the file was overwritten outside its table, or holds a value that the type has not",
            ) from error


@dataclass(frozen=True, eq=False)
class LeftRows(Unit):
    """Rows of a row group that are left, with the columns of a table.

    Attributes:
        kept (int64 array, strictly increasing, or None): Rows of the row group; None where it is all.
    """

    of: Unit
    columns: FileColumns
    first_position: int
    kept: Int64Array | None

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Tell how many are left."""
        return self.of.rows if self.kept is None else int(self.kept.size)

    @property
    def file(self) -> str:
        """The file that they are of."""
        return self.of.file

    @property
    def place(self) -> str:
        """The place, for messages."""
        return self.of.place

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Read columns of the table."""
        stored = self.of.read(self.columns.names(columns))
        if self.kept is not None and stored.num_columns:
            stored = stored.take(pa.array(self.kept))
        return self.columns.table(stored, columns, self.rows)

    def advise(self, columns: Sequence[str], more: Sequence[Unit] = ()) -> None:
        """Have the system fetch columns ahead."""
        also = [unit.of for unit in more if isinstance(unit, LeftRows)]
        self.of.advise(self.columns.names(columns), also)

    def for_workers(self) -> Unit:
        """Refuse them: an `InputError`."""
        raise InputError(
            f"{self.place}: its table deleted rows, or has columns that files hold otherwise, and workers read files",
            "leave the engine out, or rewrite the table's data files",
        )


@dataclass(frozen=True, eq=False)
class MappedRows(Rows):
    """The rows that are left of a table's files, with the columns of the table.

    Attributes:
        at: The place, for messages.
        files, footers: One after another.
    """

    at: str
    table_schema: pa.Schema
    names: StoredNames
    options: RankingOptions
    files: Sequence[TableFile]
    footers: Sequence[Footer]

    @property
    def name(self) -> str:
        """The place."""
        return self.at

    @property
    def fingerprint(self) -> str:
        """None of its own: it is that of the table."""
        raise TypeError("a table's rows are told apart by the table")

    @property
    def schema(self) -> pa.Schema:
        """Give that of the table."""
        return self.table_schema

    @property
    def n_rows(self) -> int:
        """Rows that are left."""
        return int(self._ends[-1]) if len(self.files) else 0

    @cached_property
    def _ends(self) -> Int64Array:
        """Rows that are left up to the last of each file."""
        held = [int(footer.row_group_rows.sum()) for footer in self.footers]
        return np.cumsum([n - file.deleted.size for n, file in zip(held, self.files, strict=True)])

    @cached_property
    def _columns(self) -> list[FileColumns]:
        """Of each file."""
        schema, names = (
            pa.schema([column.with_type(wide_type(column.type)) for column in self.table_schema]),
            self.columns(),
        )
        return [
            FileColumns(footer.file.path, schema, self.names.stored(names, footer.schema), file.keys)
            for file, footer in zip(self.files, self.footers, strict=True)
        ]

    @cached_property
    def _alike(self) -> list[tuple[ParquetRows, list[int]]]:
        """Files that hold the same columns under the same names, which are read together; and their numbers."""
        numbers: dict[str, list[int]] = {}
        for number, (footer, columns) in enumerate(zip(self.footers, self._columns, strict=True)):
            kinds = {name: footer.schema.field(name).type for name in columns.stored.values()}
            numbers.setdefault(f"{columns.stored} {kinds}", []).append(number)
        alone = replace(self.options, score=None, key=())
        return [
            (ParquetRows((self.at,), alone, tuple(self.footers[i].file for i in mine)), mine)
            for mine in numbers.values()
        ]

    def units(self, column: str | None = None) -> Sequence[Unit]:
        """Row groups that have rows left."""
        left_units, position, begin, last = list[Unit](), 0, 0, ""
        of = {footer.file.path: number for number, footer in enumerate(self.footers)}
        for unit in row_groups(self.footers):
            number = of[unit.file]
            begin, last = (0 if unit.file != last else begin), unit.file
            deleted = self.files[number].deleted
            gone = deleted[np.searchsorted(deleted, begin) : np.searchsorted(deleted, begin + unit.rows)] - begin
            kept = np.delete(np.arange(unit.rows), gone) if gone.size else None
            begin += unit.rows
            if kept is None or kept.size:
                left = LeftRows(unit, self._columns[number], position, kept)
                left_units.append(left)
                position += left.rows
        return left_units

    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Read rows page by page; see `Rows.take`."""
        for name in columns:
            check_column(self.schema, name, self.name)
        if not positions.size:
            return Taken(pa.table({name: pa.array([], wide_type(self.schema.field(name).type)) for name in columns}))
        file, rows = self._places(positions)
        tables, parts = dict[int, pa.Table](), list[Taken]()
        for of, first, mine in self._among_alike(file):
            stored = self._columns[int(file[mine[0]])].names(columns)
            fetched = of.take(first[file[mine]] + rows[mine], stored, progress)
            parts.append(fetched)
            at = 0
            for number, some in groupby(file[mine].tolist()):
                n_rows = len(list(some))
                tables[number] = self._columns[number].table(fetched.table.slice(at, n_rows), columns, n_rows)
                at += n_rows
        counts: dict[str, Any] = {
            count.name: reduce(add, (getattr(part, count.name) for part in parts))
            for count in fields(Taken)
            if count.name != "table"
        }
        return Taken(pa.concat_tables([tables[number] for number in sorted(tables)]), **counts)

    def forecast(self, positions: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `take` would read."""
        file, rows = self._places(positions)
        return total(
            [
                of.forecast(first[file[mine]] + rows[mine], self._columns[int(file[mine[0]])].names(columns))
                for of, first, mine in self._among_alike(file)
            ]
        )

    def _places(self, positions: Int64Array) -> tuple[Int64Array, Int64Array]:
        """File of each of some rows that are left, and the row in it."""
        file = np.searchsorted(self._ends, positions, side="right")
        rows = positions - np.append(0, self._ends)[file]
        for number in np.unique(file).tolist():
            if (deleted := self.files[number].deleted).size:
                mine = file == number
                before = deleted - np.arange(deleted.size)  # rows that are left before each
                rows[mine] += np.searchsorted(before, rows[mine], side="right")
        return file, rows

    def _among_alike(self, file: Int64Array) -> Iterator[tuple[ParquetRows, Int64Array, Int64Array]]:
        """Files that are read together; the first row of each file among theirs; and which of the rows are of them."""
        for of, numbers in self._alike:
            held = [int(self.footers[i].row_group_rows.sum()) for i in numbers]
            first = np.full(len(self.files), -1, np.int64)
            first[numbers] = np.cumsum([0, *held[:-1]])
            mine = np.flatnonzero(first[file] >= 0)
            if mine.size:
                yield of, first, mine
