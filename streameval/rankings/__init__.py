"""Rankings: where items lie in rank order. They know no methods and no labels.

A kind of storage is one file in `streameval.rows` with a module-level `OPENER`: found by name, asked in turn whether it
accepts a source.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from streameval import rows
from streameval.errors import InputError
from streameval.parquet.forecast import Forecast
from streameval.parquet.read_items import Fallback
from streameval.progress import Progress, silent
from streameval.rows.options import RankingOptions
from streameval.typing import Int64Array


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
    """What each kind of storage offers."""

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
    for info in pkgutil.iter_modules(rows.__path__):
        opener: Opener | None = getattr(importlib.import_module(f"{rows.__name__}.{info.name}"), "OPENER", None)
        if opener is not None and opener.accepts(source):
            return opener.open(source, options or RankingOptions())
    raise InputError(
        f"a {type(source).__name__} is no ranking", "give paths, a glob, or an Arrow, Polars or pandas table"
    )
