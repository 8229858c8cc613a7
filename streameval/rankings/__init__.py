"""Rankings: where items lie in rank order. They know no methods and no labels.

A kind of ranking is one file in this folder with a module-level `OPENER`: found by name, asked in turn whether it
accepts a source.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.types import Int64Array, Plan

Progress = Callable[[int, int], None]


def silent(done: int, total: int) -> None:
    """Report progress to nobody."""


@dataclass(frozen=True)
class RankingOptions:
    """What describes a ranking besides where it lies; kept in plan.json and obeyed ever after.

    Attributes
    ----------
    score : str or None
        Score column; None means that the stored order is the ranking.
    ascending : bool
        Whether small scores come first.
    key : tuple of str
        Columns that tell items apart: ties in score are broken by their hash, which survives re-ordering of the rows.
    nan : {"refuse", "last"}
        What becomes of items whose score is null or NaN.
    file_order : {None, "natural", "lexical"}
        Order of a folder's files where `part_2`, `part_10` and their like make the two differ.
    where : str or None
        Condition on partition keys, in SQL: files that it rules out are no part of the ranking.
    memory : float
        GB that reading may take beyond what is selected.
    threads : int or None
        Readers at work at once; None means one per core.
    verify : {"on", "off"}
        Whether checksums of pages, and statistics, are held against what is read.
    """

    score: str | None = None
    ascending: bool = False
    key: tuple[str, ...] = ()
    nan: str = "refuse"
    file_order: str | None = None
    where: str | None = None
    memory: float = 2.0
    threads: int | None = None
    verify: str = "on"

    def __post_init__(self) -> None:
        """Check every value."""
        if self.file_order not in (None, "natural", "lexical"):
            raise InputError(f"file order is '{self.file_order}'", "it is 'natural' (2 before 10) or 'lexical'")
        if not 0 < self.memory < 1e6:
            raise InputError(f"memory is {self.memory}", "give gigabytes, such as 2")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}, below 1")
        if self.nan not in ("refuse", "last"):
            raise InputError(f"nan is '{self.nan}'", "it is 'refuse' or 'last'")
        if self.verify not in ("on", "off"):
            raise InputError(f"verify is '{self.verify}'", "it is 'on' or 'off'")
        if self.score is None and (self.ascending or self.key or self.nan != "refuse"):
            raise InputError("an order by score was described without a score column", "name it with --score COL")

    @staticmethod
    def of(plan: Plan) -> RankingOptions:
        """Return the options that a plan was made with."""
        return RankingOptions(
            score=plan.ranking.get("score"),
            ascending=bool(plan.ranking.get("ascending", False)),
            key=tuple(plan.ranking.get("key", ())),
            nan=plan.ranking.get("nan", "refuse"),
            file_order=plan.location.get("file_order"),
            where=plan.ranking.get("where"),
            memory=float(plan.location.get("memory", 2.0)),
            threads=plan.location.get("threads"),
            verify=plan.location.get("verify", "on"),
        )


@dataclass(frozen=True)
class Fallback:
    """A column that was read in a slower way than by its page index.

    Attributes
    ----------
    column : str
    why : str
    row_groups, files : int
        How many it concerns.
    """

    column: str
    why: str
    row_groups: int
    files: int


@dataclass(frozen=True)
class Fetched:
    """Items of planned ranks.

    Attributes
    ----------
    table : pyarrow.Table
        `rank` int64 in rank order; `score` where the order has one; then the item's columns.
    tied_ranks : int
        Ranks whose score another item of the list has too: the tie rule orders them.
    rows_read : int
        Rows decoded, of the column that took most.
    row_groups_read : int
        Row groups that hold any of the items.
    pages_read : int
        Pages decoded, of all columns.
    bytes_read : int
        Bytes read from the files, footers and indexes included.
    fallbacks : tuple of Fallback
        Columns that were not read by a page index.
    equal_keys : int
        Neighbours in the order, among the candidates that were compared, that agree in score and in all key columns.
    missing_scores : int
        Items whose score is null or NaN.
    scans : int
        Times that scores were read to find the items.
    rows_scanned : int
        Rows whose scores were read each time; statistics show that no wanted rank lies among the others.
    thresholds : pyarrow.Table or None
        `rank`, `score` of the cutoffs that were asked for, where the order has a score.
    """

    table: pa.Table
    tied_ranks: int = 0
    rows_read: int = 0
    row_groups_read: int = 0
    pages_read: int = 0
    bytes_read: int = 0
    fallbacks: tuple[Fallback, ...] = ()
    equal_keys: int = 0
    missing_scores: int = 0
    scans: int = 0
    rows_scanned: int = 0
    thresholds: pa.Table | None = None


@dataclass(frozen=True)
class Forecast:
    """What fetching would read.

    Attributes
    ----------
    files, row_groups : int
        That hold wanted items; those that may, in an order by score.
    pages : int
        Of all columns; 0 where a scan has to find the items first.
    bytes : int
        Of these pages, and of the column chunks that have no page index.
    whole_chunks : int
        Column chunks without a page index.
    rows_to_scan : int
        Rows whose scores have to be read to find the items.
    least_scans : int
        Times that they are read at least.
    """

    files: int = 0
    row_groups: int = 0
    pages: int = 0
    bytes: int = 0
    whole_chunks: int = 0
    rows_to_scan: int = 0
    least_scans: int = 0


def total(forecasts: Sequence[Forecast]) -> Forecast:
    """Add up forecasts of parts of one fetch."""
    names = [field.name for field in fields(Forecast)]
    return Forecast(**{name: sum(getattr(one, name) for one in forecasts) for name in names})


class Ranking(Protocol):
    """A list of items in rank order that is never loaded."""

    @property
    def n_items(self) -> int:
        """N."""
        ...

    @property
    def fingerprint(self) -> str:
        """Changes whenever the list does."""
        ...

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready: fingerprint, order, score; part of the plan's identity."""
        ...

    def location(self) -> dict[str, Any]:
        """Where it lies and how to read it, JSON-ready: kept in plan.json, no part of the plan's identity."""
        ...

    def columns(self) -> list[str]:
        """Names of the items' columns, partition keys included."""
        ...

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
    ) -> Fetched:
        """Items at `ranks` (strictly increasing, 1-based), in rank order, and the scores at `cutoffs`."""
        ...

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `fetch` would read, without reading it."""
        ...


def check_ranks(ranks: Int64Array, n_items: int) -> None:
    """Refuse ranks that are not in 1..N or do not strictly increase.

    Raises
    ------
    InputError
        Names the first one.
    """
    if ranks.size == 0:
        return
    if ranks[0] < 1 or ranks[-1] > n_items:
        wrong = int(ranks[0] if ranks[0] < 1 else ranks[-1])
        raise InputError(f"there is no rank {wrong:,}: the ranking has {n_items:,} items", "ranks are 1 to N")
    falls = np.flatnonzero(np.diff(ranks) <= 0)
    if falls.size:
        first = int(falls[0])
        raise InputError(f"rank {int(ranks[first + 1]):,} follows rank {int(ranks[first]):,}: ranks have to increase")


class Opener(Protocol):
    """What each file of this folder offers."""

    def accepts(self, source: Any) -> bool:
        """Whether `source` is of this kind."""
        ...

    def open(self, source: Any, options: RankingOptions) -> Ranking:
        """Open it."""
        ...


def open_ranking(source: Any, options: RankingOptions | None = None) -> Ranking:
    """Open a ranking of whatever kind.

    Parameters
    ----------
    source : str, path or list of these; or a table
        A Parquet file, a folder of partitions, a glob, or a list of them, on disk or on an object store;
        `iceberg:CATALOG.NAMESPACE.TABLE[@SNAPSHOT]`, `delta:PATH[@VERSION]`; a pyarrow Table, a Polars DataFrame or
        LazyFrame, a pandas DataFrame.
    options : RankingOptions, optional

    Raises
    ------
    InputError
        If the source is of no known kind, is missing or damaged, or its stored order is not what `options` say.
    """
    for info in pkgutil.iter_modules(__path__):
        opener: Opener | None = getattr(importlib.import_module(f"{__name__}.{info.name}"), "OPENER", None)
        if opener is not None and opener.accepts(source):
            return opener.open(source, options or RankingOptions())
    raise InputError(
        f"a {type(source).__name__} is no ranking", "give paths, a glob, or an Arrow, Polars or pandas table"
    )
