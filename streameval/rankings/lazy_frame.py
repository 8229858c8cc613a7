"""A ranking as a lazy frame of Polars: what a query asks of ranks and columns decides which pages are read.

Polars tells the inputs of an expression, but not reliably what it does with them. So an expression is taken for a
comparison, say, only where the comparison that is made of its inputs equals it. What is not recognised may keep every
rank: the answer is never too small, whatever the version of Polars.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.typing import Int64Array

if TYPE_CHECKING:
    import polars as pl


from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from streameval.options import takes
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rankings.top_items import ItemReader, beside_rank, list_ranks
from streameval.rows.lake import call_library
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.rows.where import need_polars

if TYPE_CHECKING:
    import polars as pl

# first and last rank that `rank OP x` keeps, of 1..N
_COMPARED: dict[str, Callable[[float, int], tuple[int, int]]] = {
    "lt": lambda x, n: (1, math.ceil(x) - 1),
    "le": lambda x, n: (1, math.floor(x)),
    "gt": lambda x, n: (math.floor(x) + 1, n),
    "ge": lambda x, n: (math.ceil(x), n),
    "eq": lambda x, n: (math.ceil(x), math.floor(x)),
}
_BETWEEN: dict[Any, tuple[str, str]] = {
    "both": ("ge", "le"), "left": ("ge", "lt"), "right": ("gt", "le"), "none": ("gt", "lt")
}  # fmt: skip
_READ_TOGETHER = 1 << 20  # ranks of a stored order
_BYTES_PER_ITEM = 256  # that finding ranks by score takes


def kept_ranks(condition: pl.Expr, n_items: int) -> Int64Array:
    """Ranks that a condition may keep, of 1..N.

    Returns:
        int64 array, shape (k, 2): First and last rank of each run of them, disjoint, in ascending order.
    """
    every = np.array([[1, n_items]])
    if len(_parts(condition, operator.and_)) > 1:
        return reduce(lambda a, b: _intersection(a, kept_ranks(b, n_items), n_items), conjuncts(condition), every)
    if len(parts := _parts(condition, operator.or_)) > 1:
        return _union([kept_ranks(part, n_items) for part in parts])
    inputs = condition.meta.pop()[::-1]
    for recognised in (_ranks_compared, _ranks_listed, _ranks_between, _ranks_by_case, _never):
        if (runs := recognised(condition, inputs, n_items)) is not None:
            return runs
    return every


def conjuncts(condition: pl.Expr) -> list[pl.Expr]:
    """Conditions that have to hold all for a condition to hold; without those that Polars left as its own notes."""
    return [part for part in _parts(condition, operator.and_) if not _is_note(part)]


def _parts(condition: pl.Expr, join: Callable[[Any, Any], Any]) -> list[pl.Expr]:
    """Conditions that are joined by "and", or by "or", into one; not by recursion, for they may be a thousand."""
    waiting, parts = [condition], []
    while waiting:
        expression = waiting.pop()
        inputs = expression.meta.pop()  # the last of them first
        if len(inputs) == 2 and join(inputs[1], inputs[0]).meta.eq(expression):
            waiting += inputs
        else:
            parts.append(expression)
    return parts


def _is_note(condition: pl.Expr) -> bool:
    """Tell whether a condition is a note of `sort` and `head` in Polars 1.39 to 1.40, which cannot be evaluated."""
    inputs = condition.meta.pop()
    note = re.escape(str(inputs[0])) + r"\.dynamic_pred: [0-9a-f-]{36}\(\)" if len(inputs) == 1 else ""
    return bool(note and re.fullmatch(note, str(condition)))


def _ranks_compared(condition: pl.Expr, inputs: Sequence[pl.Expr], n: int) -> Int64Array | None:
    if len(inputs) != 2 or not _is_rank(inputs[0]):
        return None
    names = [name for name in _COMPARED if getattr(inputs[0], name)(inputs[1]).meta.eq(condition)]
    return _comparison_ranks(names[0], inputs[1], n) if names else None


def _ranks_listed(condition: pl.Expr, inputs: Sequence[pl.Expr], n: int) -> Int64Array | None:
    import polars as pl

    if len(inputs) != 2 or not _is_rank(inputs[0]) or not inputs[0].is_in(inputs[1]).meta.eq(condition):
        return None
    members = _value(inputs[1])
    if members is None or not isinstance(members.dtype, pl.List) or not members.dtype.inner.is_integer():
        return None
    values = members.explode().cast(pl.Int64, strict=False)  # N may not fit into their own type
    ranks = values.filter(values.is_between(1, n)).to_numpy()
    return _union([np.stack([ranks, ranks], 1)])


def _ranks_between(condition: pl.Expr, inputs: Sequence[pl.Expr], n: int) -> Int64Array | None:
    if len(inputs) != 3 or not _is_rank(inputs[0]):
        return None
    for closed, (first, last) in _BETWEEN.items():
        if inputs[0].is_between(inputs[1], inputs[2], closed=closed).meta.eq(condition):
            return _intersection(_comparison_ranks(first, inputs[1], n), _comparison_ranks(last, inputs[2], n), n)
    return None


def _ranks_by_case(condition: pl.Expr, inputs: Sequence[pl.Expr], n: int) -> Int64Array | None:
    """`when … then … otherwise`: so DuckDB writes IN."""
    import polars as pl

    if len(inputs) != 3 or not pl.when(inputs[2]).then(inputs[0]).otherwise(inputs[1]).meta.eq(condition):
        return None
    then, otherwise, when = (kept_ranks(branch, n) for branch in inputs)
    return _union([_intersection(when, then, n), otherwise])


def _never(condition: pl.Expr, inputs: Sequence[pl.Expr], n: int) -> Int64Array | None:
    """Give what is null or false by itself."""
    value = _value(condition)
    return np.empty((0, 2), np.int64) if value is not None and value.to_list() in ([None], [False]) else None


def _is_rank(operand: pl.Expr) -> bool:
    import polars as pl

    rank = pl.col("rank")  # beside a float it becomes one, exactly
    return any(operand.meta.eq(form) for form in (rank, *(rank.cast(pl.Float64, strict=s) for s in (True, False))))


def _comparison_ranks(name: str, operand: pl.Expr, n: int) -> Int64Array:
    """Ranks that a comparison with a number keeps; all where it is none."""
    value = _value(operand)
    if value is None or len(value) != 1 or not value.dtype.is_numeric() or value.is_null()[0] or value.is_nan()[0]:
        return np.array([[1, n]])
    first, last = _COMPARED[name](min(max(value[0], 0), n + 1), n)
    return _union([np.array([[max(first, 1), min(last, n)]])])


def _value(expression: pl.Expr) -> pl.Series | None:
    """The value of a literal; None for anything else."""
    import polars as pl

    return pl.select(expression).to_series() if expression.meta.is_literal(allow_aliasing=True) else None


def _union(several: Sequence[Int64Array]) -> Int64Array:
    """Runs of ranks that are in any of several; none of them has to be in order, and some may be empty."""
    runs = np.concatenate(several)
    runs = runs[runs[:, 0] <= runs[:, 1]]
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    ends = np.maximum.accumulate(runs[:, 1])
    new = np.flatnonzero(np.append(True, runs[1:, 0] > ends[:-1] + 1)[: runs.shape[0]])
    return np.stack([runs[new, 0], ends[np.append(new[1:] - 1, runs.shape[0] - 1)[: new.size]]], 1)


def _intersection(a: Int64Array, b: Int64Array, n: int) -> Int64Array:
    """Ranks that are in both: those that are in the complement of neither."""
    return _complement(_union([_complement(a, n), _complement(b, n)]), n)


def _complement(runs: Int64Array, n: int) -> Int64Array:
    return _union([np.stack([np.append(1, runs[:, 1] + 1), np.append(runs[:, 0] - 1, n)], 1)])


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

    opened = open_ranking(source, take_ranking_options(options, ranking))
    items = _LazyItems(opened)
    schema = call_library(opened.rows.name, items.schema)
    return register_io_source(items, schema=schema, validate_schema=True, is_pure=True)


@dataclass(frozen=True)
class _LazyItems:
    """Source of the frame's rows, which Polars calls."""

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
        of_ranks, rest = _split_condition(condition)
        selected = ["rank", *self.stored] if columns is None else columns
        needed = dict.fromkeys([*selected, *(name for part in rest for name in part.meta.root_names())])
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
                yield frame.lazy().filter(*rest).select(selected).collect() if rest else frame.select(selected)

    def _ranks(self, kept: Int64Array, conditions: list[pl.Expr]) -> Iterator[Int64Array]:
        """Ranks of runs that satisfy conditions, as many at a time as are read together."""
        ranks = _join_lists(list_ranks(self.ranking, kept), _READ_TOGETHER)
        if conditions:
            ranks = (_satisfying(some, conditions) for some in ranks)
        each_scans = self.ranking.order is not None
        scanned = int(self.ranking.options.memory * 1e9 / _BYTES_PER_ITEM) if each_scans else 0
        return _join_lists(ranks, max(_READ_TOGETHER, scanned))


def _join_lists(several: Iterator[Int64Array], least: int) -> Iterator[Int64Array]:
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


def _split_condition(condition: pl.Expr | None) -> tuple[list[pl.Expr], list[pl.Expr]]:
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
