"""Rankings: where items lie in rank order. They know no methods and no labels.

A kind of ranking is one file in this folder with a module-level `OPENER`: found by name, asked in turn whether it
accepts a source.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

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
    file_order : {None, "natural", "lexical"}
        Order of a folder's files where `part_2`, `part_10` and their like make the two differ.
    memory : float
        GB that reading may take beyond what is selected.
    threads : int or None
        Readers at work at once; None means one per core.
    """

    score: str | None = None
    ascending: bool = False
    file_order: str | None = None
    memory: float = 2.0
    threads: int | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        if self.file_order not in (None, "natural", "lexical"):
            raise InputError(f"file order is '{self.file_order}'", "it is 'natural' (2 before 10) or 'lexical'")
        if not 0 < self.memory < 1e6:
            raise InputError(f"memory is {self.memory}", "give gigabytes, such as 2")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads is {self.threads}, below 1")
        if self.ascending and self.score is None:
            raise InputError("ascending order was asked for without a score column", "name it with --score COL")

    @staticmethod
    def of(plan: Plan) -> RankingOptions:
        """Return the options that a plan was made with."""
        return RankingOptions(
            score=plan.ranking.get("score"),
            ascending=bool(plan.ranking.get("ascending", False)),
            file_order=plan.location.get("file_order"),
            memory=float(plan.location.get("memory", 2.0)),
            threads=plan.location.get("threads"),
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
        Ranks whose score equals a neighbour's in the ranking: their order among equals is the stored one.
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
    """

    table: pa.Table
    tied_ranks: int = 0
    rows_read: int = 0
    row_groups_read: int = 0
    pages_read: int = 0
    bytes_read: int = 0
    fallbacks: tuple[Fallback, ...] = ()


class Ranking(Protocol):
    """A list of items in rank order that is never loaded."""

    n_items: int
    fingerprint: str

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready: fingerprint, order, score; part of the plan's identity."""
        ...

    def location(self) -> dict[str, Any]:
        """Where it lies and how to read it, JSON-ready: kept in plan.json, no part of the plan's identity."""
        ...

    def columns(self) -> list[str]:
        """Names of the items' columns, partition keys included."""
        ...

    def fetch(self, ranks: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Fetched:
        """Items at `ranks` (strictly increasing, 1-based), in rank order."""
        ...


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
    source : str, path or list of these
        A Parquet file, a folder of partitions, a glob, or a list of them.
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
    raise InputError(f"a {type(source).__name__} is no ranking", "give a path, a folder, a glob or a list of paths")
