"""Tables of a lake (Iceberg, Delta): what their metadata say of one snapshot, and a ranking by score over its files.

A plan is made from the metadata alone: files, row counts, columns. Footers are read when items are fetched, and held
against what the metadata said. The snapshot is pinned in the plan, so later appends and overwrites change nothing.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from streameval.credentials import masked
from streameval.errors import InputError, OutsideError, StreamevalError
from streameval.rankings import Fetched, Forecast, Progress, Ranking, RankingOptions, silent
from streameval.rankings.byscore import scored_from
from streameval.rankings.engines import Engine
from streameval.rankings.engines.local import Local
from streameval.rankings.files import DataFile
from streameval.rankings.footers import check_column, read_footer
from streameval.rankings.ordering.scores import order_of
from streameval.rankings.ordering.ties import check_key, describe
from streameval.rankings.scans import ScanState, Shard
from streameval.rankings.scored import ScoredRanking
from streameval.rankings.stored import stored_from
from streameval.stores.trouble import told
from streameval.types import Int64Array

T = TypeVar("T")
_UNREACHED = ("ConnectionError", "ConnectTimeout", "ReadTimeout", "ServerError", "ServiceUnavailableError")


@dataclass(frozen=True)
class TableFile:
    """A data file of a table.

    Attributes
    ----------
    file : DataFile
    size : int
        Bytes.
    rows : int or None
        None where the metadata do not say.
    """

    file: DataFile
    size: int
    rows: int | None


@dataclass(frozen=True)
class Snapshot:
    """A table as it was at one moment.

    Attributes
    ----------
    source : str
        What opens this very snapshot again.
    table : str
        An identity of the table that survives a move.
    version : int
        Snapshot id or version.
    files : tuple of TableFile
        Of those that `--where` keeps.
    schema : pyarrow.Schema
    """

    source: str
    table: str
    version: int
    files: tuple[TableFile, ...]
    schema: pa.Schema


@dataclass(frozen=True)
class LakeRanking:
    """A snapshot in the order of a score column."""

    snapshot: Snapshot
    options: RankingOptions
    folder: Path | None = None
    engine: Engine = field(default_factory=Local)

    @cached_property
    def n_items(self) -> int:
        """N, from metadata; from footers where they lack it."""
        return sum(read_rows(one) if one.rows is None else one.rows for one in self.snapshot.files)

    @property
    def fingerprint(self) -> str:
        """Hash over table, snapshot, and the names, sizes and rows of its files, which are never rewritten."""
        digest = hashlib.sha256(f"{self.snapshot.table}\0{self.snapshot.version}\n".encode())
        for one in self.snapshot.files:
            digest.update(f"{one.file.name}\0{one.size}\0{one.rows}\n".encode())
        return digest.hexdigest()[:16]

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready."""
        found = {
            "fingerprint": self.fingerprint,
            "files": len(self.snapshot.files),
            "table": self.snapshot.table,
            "snapshot": self.snapshot.version,
        }
        return {**found, **describe(self.options)}

    def location(self) -> dict[str, Any]:
        """Where it lies, the snapshot pinned."""
        return {
            "source": [self.snapshot.source],
            "file_order": self.options.file_order,
            "memory": self.options.memory,
            "threads": self.options.threads,
            **({} if self.options.verify == "on" else {"verify": self.options.verify}),
        }

    def columns(self) -> list[str]:
        """Columns of the table."""
        return list(self.snapshot.schema.names)

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
    ) -> Fetched:
        """Find the items at `ranks` (see `ScoredRanking.fetch`).

        Raises
        ------
        InputError
            A file of the snapshot that is gone, or is not what the metadata say.
        """
        return self.opened.fetch(ranks, columns, progress, cutoffs)

    def keeping(self, folder: Path) -> LakeRanking:
        """Return the same ranking, its scans kept in `folder`."""
        return replace(self, folder=folder)

    def scanned_by(self, engine: Engine) -> LakeRanking:
        """Return the same ranking, its scans run by `engine`."""
        return replace(self, engine=engine)

    def scan(
        self, ranks: Int64Array, cutoffs: Int64Array | None, shard: Shard, progress: Progress = silent
    ) -> ScanState:
        """Do one share of every scan (see `ScoredRanking.scan`)."""
        return self.opened.scan(ranks, cutoffs, shard, progress)

    def forget_scans(self) -> None:
        """Remove the kept scans."""
        self.opened.forget_scans()

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `fetch` would scan; footers are read for it."""
        return self.opened.forecast(ranks, columns)

    @cached_property
    def opened(self) -> ScoredRanking:
        """The files of the snapshot, their footers read."""
        files = [one.file for one in self.snapshot.files]
        try:
            rows = stored_from(files, (self.snapshot.source,), self.options)
        except InputError as error:
            gone = "a snapshot's files are gone once it expired or was vacuumed"
            raise InputError(f"{self.snapshot.source}: {error.what}", error.hint or gone) from error
        for one, footer in zip(self.snapshot.files, rows.footers, strict=True):
            held = int(footer.row_group_rows.sum())
            if one.size != footer.size or one.rows not in (None, held):
                raise InputError(
                    f"{one.file.path}: {held:,} rows in {footer.size:,} bytes, but the table's metadata say "
                    f"{one.rows} in {one.size:,}",
                    "the file was overwritten outside its table",
                )
        ranking = scored_from(rows, self.options).scanned_by(self.engine)
        return ranking if self.folder is None else ranking.keeping(self.folder)


def read_rows(one: TableFile) -> int:
    """Rows of a file, from its footer."""
    return int(read_footer(one.file, None).row_group_rows.sum())


def open_table(snapshot: Snapshot, options: RankingOptions) -> LakeRanking:
    """Check what can be checked of a ranking without opening a file.

    Raises
    ------
    InputError
        No score, a column that is missing or cannot be ordered or hashed, no rows.
    """
    where = snapshot.source
    if options.score is None:
        raise InputError(
            f"{where}: a table has no order of its own", "name the column whose order is the ranking: --score COL"
        )
    check_column(snapshot.schema, options.score, where)
    order_of([(where, snapshot.schema.field(options.score).type)], options.score, options.ascending, options.nan)
    for name in options.key:
        check_column(snapshot.schema, name, where)
        check_key(snapshot.schema.field(name).type, name)
    ranking = LakeRanking(snapshot, options)
    if not ranking.n_items:
        raise InputError(f"{where}: no rows in {len(snapshot.files):,} files", "a ranking needs at least one item")
    return ranking


@dataclass(frozen=True)
class TableOpener:
    """Opens tables that are named by a scheme.

    Attributes
    ----------
    scheme : str
        Such as "delta:".
    read_snapshot : callable(source, where) -> Snapshot
    """

    scheme: str
    read_snapshot: Callable[[str, Any], Snapshot]

    def accepts(self, source: Any) -> bool:
        """Whether it is one name, of this scheme."""
        one = source[0] if isinstance(source, list | tuple) and len(source) == 1 else source
        return isinstance(one, str) and one.startswith(self.scheme)

    def open(self, source: Any, options: RankingOptions) -> Ranking:
        """Open the table at the snapshot it names, or at its newest."""
        one = source if isinstance(source, str) else source[0]
        return open_table(self.read_snapshot(one, options.where), options)


def need(module: str, extra: str, what: str | None = None) -> Any:
    """Import a library that an extra brings.

    Parameters
    ----------
    what : str, optional
        What needs it, in the plural; by default the extra's tables.

    Raises
    ------
    InputError
        It is not installed; says how it is.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"{what or f'{extra} tables'} need {module.split('.')[0]}, which is not installed",
            f"pip install 'streameval[{extra}]'",
        ) from error


def asked(where: str, call: Callable[[], T]) -> T:
    """Ask a table's library, whose errors are of any kind.

    Raises
    ------
    OutsideError
        Network trouble, a store that does not answer.
    InputError
        Anything else, in one line without user names and passwords.
    """
    try:
        return call()
    except StreamevalError:
        raise
    except Exception as error:
        if (trouble := told(where, error)) is not None:
            raise trouble from None
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        text = masked(" ".join(first.split()))[:200]
        if isinstance(error, ConnectionError | TimeoutError) or type(error).__name__.endswith(_UNREACHED):
            raise OutsideError(f"{where}: its store does not answer", "run the command again later") from None
        raise InputError(f"{where}: {text}") from None
