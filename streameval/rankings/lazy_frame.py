"""A ranking as a lazy frame of Polars: what a query asks of ranks and columns decides which pages are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.options import takes
from streameval.rankings import open_ranking
from streameval.rankings.items import ItemReader, beside_rank, listed
from streameval.rankings.rank_filters import conjuncts, kept_ranks
from streameval.rankings.ranking import Ranking
from streameval.rows.lake import call_library
from streameval.rows.options import RankingOptions, described
from streameval.rows.where import need_polars
from streameval.typing import Int64Array

if TYPE_CHECKING:
    import polars as pl

_READ_TOGETHER = 1 << 20  # ranks of a stored order
_BYTES_PER_ITEM = 256  # that finding ranks by score takes


@takes(RankingOptions)
def scan_ranking(source: Any, *, options: RankingOptions | None = None, **ranking: Any) -> pl.LazyFrame:
    """Look at a ranking as a lazy frame of Polars: `rank` from 1 to N, then the items' columns, in rank order.

    Only what a query asks for is read: columns, and of Parquet the pages that hold the ranks that conditions leave.
    Conditions on `rank` are understood where they compare it with numbers, or say `is_between` or `is_in`, and where
    "and" and "or" join these with others. All others are evaluated too: on ranks alone before anything is read, else on
    rows as they are read, a batch at a time. `head` reads the first ranks; all else is done by Polars.

    By score, ranks are found by scans of the scores, as `select` finds them: two or more for every 8 million ranks that
    remain (at --memory 2). A column of the items that is called `rank` is `rank_item` here.

    DuckDB 2 hands its conditions on to the frame: `connection.register("items", frame)`. Older releases read all of it.

    Args:
        source: See `open_ranking`: Parquet, Iceberg, Delta or a table; of a text or a query, the STUDY/ranking that
            `plan` has read it into, with the same `score`. The list is opened now, and read when the query runs.
        options: What describes the ranking, or its parts as keywords: `score` and so on.

    Raises:
        InputError: See `open_ranking`; when the query runs, a damaged file, or one that changed; without Polars.
    """
    need_polars("scan_ranking")
    from polars.io.plugins import register_io_source

    opened = open_ranking(source, described(options, ranking))
    items = _LazyItems(opened)
    schema = call_library(opened.rows.name, items.schema)
    return register_io_source(items, schema=schema, validate_schema=True, is_pure=True)


@dataclass(frozen=True)
class _LazyItems:
    """What Polars calls for the rows of the frame."""

    ranking: Ranking

    @cached_property
    def items(self) -> ItemReader:
        """Of all columns."""
        return ItemReader(self.ranking, self.ranking.options.memory * 1e9)

    @cached_property
    def stored(self) -> dict[str, str]:
        """Stored name of each column of the frame, besides `rank`."""
        return {beside_rank(name, self.items.columns): name for name in self.items.columns}

    def schema(self) -> pl.Schema:
        """Names and types."""
        nothing = pa.table([pa.nulls(1, field.type) for field in self.items.schema], names=[*self.stored])
        return _frame(np.ones(1, np.int64), [*self.stored], nothing).schema

    def __call__(
        self, columns: list[str] | None, condition: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        """Give columns of the first `n_rows`, as far as they satisfy a condition, in rank order.

        Ranks that the condition rules out are not read, and nothing is where it asks for ranks alone.
        """
        of_ranks, rest = _parted(condition)
        asked = ["rank", *self.stored] if columns is None else columns
        needed = dict.fromkeys([*asked, *(name for part in rest for name in part.meta.root_names())])
        names = [name for name in needed if name != "rank"]
        items = self.items.only([self.stored[name] for name in names])
        last = self.ranking.n_items if n_rows is None else min(n_rows, self.ranking.n_items)
        kept = np.array([[1, last]]) if condition is None else kept_ranks(condition, last)
        for ranks in self._ranks(kept, of_ranks):
            tables = items.read_ranks(ranks) if names else [pa.table({"": ranks}).select([])]
            at = 0
            for table in tables:
                frame = _frame(ranks[at : at + table.num_rows], names, table)
                at += table.num_rows
                yield frame.lazy().filter(*rest).select(asked).collect() if rest else frame.select(asked)

    def _ranks(self, kept: Int64Array, conditions: list[pl.Expr]) -> Iterator[Int64Array]:
        """Ranks of runs that satisfy conditions, as many at a time as are read together."""
        ranks = _gathered(listed(self.ranking, kept), _READ_TOGETHER)
        if conditions:
            ranks = (_satisfying(some, conditions) for some in ranks)
        each_scans = self.ranking.order is not None
        scanned = int(self.ranking.options.memory * 1e9 / _BYTES_PER_ITEM) if each_scans else 0
        return _gathered(ranks, max(_READ_TOGETHER, scanned))


def _gathered(several: Iterator[Int64Array], least: int) -> Iterator[Int64Array]:
    """Join short lists of ranks."""
    waiting: list[Int64Array] = []
    for ranks in several:
        waiting.append(ranks)
        if sum(some.size for some in waiting) >= least:
            yield np.concatenate(waiting)
            waiting = []
    if any(some.size for some in waiting):
        yield np.concatenate(waiting)


def _satisfying(ranks: Int64Array, conditions: list[pl.Expr]) -> Int64Array:
    import polars as pl

    few = pl.DataFrame({"rank": ranks}).filter(*conditions).to_series().to_numpy()
    return few.copy()  # what Polars gives keeps room for all that were there


def _parted(condition: pl.Expr | None) -> tuple[list[pl.Expr], list[pl.Expr]]:
    """Conditions on ranks alone, and those that need columns."""
    parts = [] if condition is None else conjuncts(condition)
    of_ranks = [part for part in parts if {*part.meta.root_names()} == {"rank"}]
    return of_ranks, [part for part in parts if {*part.meta.root_names()} != {"rank"}]


def _frame(ranks: Int64Array, names: list[str], table: pa.Table) -> pl.DataFrame:
    """Items beside their ranks; Polars has no decimals of more than 38 digits."""
    import polars as pl

    columns = {"rank": pa.array(ranks)}
    for name, column in zip(names, table.columns, strict=True):
        wide = pa.types.is_decimal256(column.type)
        columns[name] = column.cast(pa.decimal128(38, column.type.scale)) if wide else column
    frame = pl.DataFrame(pl.from_arrow(pa.table(columns)))
    frame.columns = list(columns)  # Polars gives a column without a name one of its own
    return frame
