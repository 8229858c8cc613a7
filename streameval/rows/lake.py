"""Tables of a lake (Iceberg, Delta): the metadata of one snapshot, and the rows of its files.

A plan is made from the metadata alone: files, row counts, columns. Footers are read when items are fetched, and
compared with the metadata. The snapshot is pinned in the plan, so later appends and overwrites change nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.parquet.account import Forecast
from streameval.parquet.footers import Footer, check_column, common_schema, read_footer
from streameval.progress import Progress, silent
from streameval.rows import Rows, Taken
from streameval.rows.mapped import MappedRows, StoredNames, TableFile
from streameval.rows.options import RankingOptions
from streameval.rows.parquet import ParquetRows
from streameval.scans.units import Unit
from streameval.stores.trouble import store_error
from streameval.struct_fields import own_columns, with_fields
from streameval.text.credentials import mask
from streameval.typing import Int64Array

if TYPE_CHECKING:
    from streameval.rows import ColumnBounds, WholeReader

T = TypeVar("T")
_UNREACHED = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ServerError", "ServiceUnavailableError")


@dataclass(frozen=True)
class Snapshot:
    """A table as it was at one moment.

    Attributes:
        source: What opens this very snapshot again.
        table: An identity of the table that survives a move.
        version: Snapshot id or version.
        files: Of those that `--where` keeps.
        names: Of the columns in files.
    """

    source: str
    table: str
    version: int
    files: tuple[TableFile, ...]
    schema: pa.Schema
    names: StoredNames = field(default_factory=StoredNames)


@dataclass(frozen=True)
class LakeRows(ParquetRows):
    """Rows of a snapshot's files, which are not opened before any of their rows are wanted."""

    snapshot: Snapshot

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """From metadata; from footers where they lack it."""
        return sum(_rows_of(file) for file in self.snapshot.files)

    @property
    def fingerprint(self) -> str:
        """Hash over table, snapshot, and the names, sizes and rows of its files, which are never rewritten."""
        digest = hashlib.sha256(f"{self.snapshot.table}\0{self.snapshot.version}\n".encode())
        for file in self.snapshot.files:
            digest.update(f"{file.file.name}\0{file.size}\0{file.rows}\n".encode())
            digest.update(file.deleted.tobytes())  # nothing, of most
        return digest.hexdigest()[:16]

    @cached_property
    def schema(self) -> pa.Schema:  # type: ignore[override]
        """Give that of the table."""
        return with_fields(self.snapshot.schema)

    def facts(self) -> dict[str, Any]:
        """Say what the rows are, JSON-ready."""
        return {**super().facts(), "table": self.snapshot.table, "snapshot": self.snapshot.version}

    def columns(self) -> list[str]:
        """Columns of the table."""
        return own_columns(self.schema)

    def declared_types(self, column: str) -> list[tuple[str, pa.DataType]]:
        """As the table has it."""
        return [(self.name, self.schema.field(column).type)]

    @cached_property
    def footers(self) -> tuple[Footer, ...]:
        """Footers of the snapshot's files; an `InputError` for a file that is gone or differs from the metadata."""
        try:
            footers = self._files.footers
        except InputError as error:
            gone = "a snapshot's files are gone once it expired or was vacuumed"
            raise InputError(f"{self.name}: {error.what}", error.hint or gone) from error
        for name in [self.options.score or "", *self.options.key]:
            check_column(self.schema, name, self.name)
        for table_file, footer in zip(self.snapshot.files, footers, strict=True):
            held = int(footer.row_group_rows.sum())
            if table_file.size != footer.size or table_file.rows not in (None, held):
                raise InputError(
                    f"{table_file.file.path}: {held:,} rows in {footer.size:,} bytes, but the table's metadata say "
                    f"{table_file.rows} in {table_file.size:,}",
                    "the file was overwritten outside its table",
                )
        return footers

    @cached_property
    def _files(self) -> ParquetRows:
        """The rows of its files, whatever the table says of them."""
        return ParquetRows(self.places, self.options, self.files)

    @cached_property
    def _held(self) -> Rows:
        """Its rows as its files hold them, or made from these where the table has them otherwise."""
        if self._as_stored:
            return self._files
        return MappedRows(self.name, self.schema, self.snapshot.names, self.options, self.snapshot.files, self.footers)

    @property
    def _as_stored(self) -> bool:
        """Tell whether files hold all columns under their names, but for keys that are text, and no row was deleted."""
        schemas = list({id(footer.schema): footer.schema for footer in self.footers}.values())
        ranking_columns = {self.options.score, *self.options.key}
        for name in self.columns():
            if name in dict(self.files[0].keys):
                if name in ranking_columns or not _is_text(self.schema.field(name).type):
                    return False
            elif any(self._named_otherwise(name, schema) for schema in schemas):
                return False
        try:
            common_schema(self.footers, self.options.score)
        except InputError:
            return False
        return not any(file.deleted.size for file in self.snapshot.files)

    def _named_otherwise(self, name: str, schema: pa.Schema) -> bool:
        """Tell whether a file lacks a column, calls it otherwise, or holds its times without their zone."""
        if self.snapshot.names.stored([name], schema).get(name) != name:
            return True
        zones = [getattr(columns.field(name).type, "tz", None) for columns in (schema, self.schema)]
        return zones[0] != zones[1]

    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """See `Rows.take`."""
        return self._held.take(positions, columns, progress)

    def units(self, column: str | None = None) -> Sequence[Unit]:
        """See `Rows.units`."""
        return self._held.units(column)

    def types(self, column: str) -> list[tuple[str, pa.DataType]]:
        """See `Rows.types`."""
        return self._held.types(column)

    def bounds(self, column: str) -> Sequence[ColumnBounds]:
        """See `Rows.bounds`."""
        return self._held.bounds(column)

    def nulls(self, column: str) -> Mapping[str, int]:
        """See `Rows.nulls`."""
        return self._held.nulls(column)

    def stretches(
        self, positions: Int64Array, columns: Sequence[str]
    ) -> Iterator[tuple[Int64Array, WholeReader | None]]:
        """See `Rows.stretches`."""
        return self._held.stretches(positions, columns)

    def forecast(self, positions: Int64Array, columns: Sequence[str]) -> Forecast:
        """See `Rows.forecast`."""
        return self._held.forecast(positions, columns)

    def forecast_first(self, n_rows: int, columns: Sequence[str]) -> Forecast:
        """See `Rows.forecast_first`."""
        return self._held.forecast_first(n_rows, columns)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _rows_of(file: TableFile) -> int:
    """Rows of a file that are left."""
    held = file.rows if file.rows is not None else int(read_footer(file.file, None).row_group_rows.sum())
    return held - int(file.deleted.size)


def open_table(snapshot: Snapshot, options: RankingOptions) -> LakeRows:
    """Check all that can be checked of a ranking without opening a file: it needs a score, and rows."""
    where = snapshot.source
    if options.score is None:
        raise InputError(
            f"{where}: a table has no order of its own", "name the column whose order is the ranking: --score COL"
        )
    rows = LakeRows((where,), options, tuple(file.file for file in snapshot.files), snapshot)
    if not rows.n_rows:
        raise InputError(f"{where}: no rows in {len(snapshot.files):,} files", "a ranking needs at least one item")
    return rows


@dataclass(frozen=True)
class TableOpener:
    """Opens tables that are named by a scheme, such as "delta:"; `read_snapshot` takes a source and `where`."""

    scheme: str
    read_snapshot: Callable[[str, Any], Snapshot]

    def accepts(self, source: Any) -> bool:
        """Tell whether it is one name, of this scheme."""
        name = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
        return isinstance(name, str) and name.startswith(self.scheme)

    def open(self, source: Any, options: RankingOptions) -> Rows:
        """Open the table at the snapshot it names, or at its newest."""
        name = source if isinstance(source, str) else source[0]
        return open_table(self.read_snapshot(name, options.where), options)


def call_library(where: str, call: Callable[[], T]) -> T:
    """Call a table's library, whose errors are of any kind, panics of Rust too.

    Raises `OutsideError` where its store does not answer, else `InputError`: one line, without user names and
    passwords.
    """
    try:
        return call()
    except StreamevalError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":  # Rust's, no Exception
            raise
        if isinstance(error, Exception) and (trouble := store_error(where, error)) is not None:
            raise trouble from None
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        text = mask(" ".join(first.split()))[:200]
        if isinstance(error, ConnectionError | TimeoutError) or type(error).__name__.endswith(_UNREACHED):
            raise OutsideError(f"{where}: its store does not answer", "run the command again later") from None
        raise InputError(f"{where}: {text}") from None
