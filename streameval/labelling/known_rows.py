"""Which items of a list a label table is about that was there before any plan: their keys, or the rank of every row.

Of a sample that somebody drew, nothing may be left out: every row has to be about exactly one item of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, did_you_mean
from streameval.kernels.sorted_sets import setdiff1d
from streameval.labelling.columns import SourceColumns, as_columns, find, item_names, joined_on, key_join, shared_names
from streameval.labelling.duckdb_session import Connection, one_line_errors
from streameval.labelling.key_forms import (
    first_of_each,
    item_value,
    refuse_ambiguous,
    refuse_inexact_items,
    refuse_unreadable_items,
)
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import ROW, database_for, name_of, open_source, source_column
from streameval.text import number_of
from streameval.typing import FloatArray, Int64Array

_PLACE = "se_rank"


@dataclass(frozen=True)
class ListKeys:
    """Key columns of a list in rank order.

    Attributes:
        names: Columns that the list has.
        batches (callable(names) -> iterator of (int, pyarrow.Table)): First rank, and those columns, of items in turn.
    """

    n_items: int
    names: Sequence[str]
    batches: Callable[[Sequence[str]], Iterator[tuple[int, pa.Table]]]


@dataclass(frozen=True)
class DrawnRows:
    """The items of a sample.

    Attributes:
        rank: int64 array, shape (n,), strictly increasing.
        probability (float64 array, shape (n,)): Of the column asked for; None where none was.
        keys: `rank`, and the columns that the rows were joined by; None where that was the rank.
        on: Those columns as `LabelColumns.on` takes them.
    """

    rank: Int64Array
    probability: FloatArray | None
    keys: pa.Table | None
    on: str


def locate_rows(source: Any, columns: LabelColumns, probability: str | None, listed: ListKeys) -> DrawnRows:
    """Find the rank of every row of a label table.

    Raises:
        InputError: A source that cannot be read, or a row that is about no item, about several, or about the item of
            another row; a probability outside (0, 1].
    """
    with one_line_errors(name_of(source)), database_for(source) as connection:
        opened = open_source(connection, source)
        source_columns = find(
            connection, opened, columns, lambda there: [name for name, _ in shared_names(there, listed.names)]
        )
        if source_columns.role == "task":
            raise InputError(
                f"{opened.name}: its rows are tasks of a study", "evaluate that study, or name the items with --on COL"
            )
        reading = _DrawnReading(connection, source_columns, opened.name, listed)
        table, keys = reading.by_rank() if source_columns.role == "rank" else reading.by_key()
        weights = None if probability is None else reading.numbers(_column(source_columns, probability, opened.name))
    return reading.in_rank_order(table, keys, weights)


def read_columns(source: Any, names: tuple[str, str]) -> tuple[FloatArray, FloatArray]:
    """Read two columns of numbers of a small table, in any form that a label table has.

    Raises:
        InputError: A source that cannot be read, lacks a column, or has no number there.
    """
    with database_for(source) as connection:
        opened = open_source(connection, source)
        there = {name.lower(): name for name in opened.columns}
        for name in names:
            if name not in there:
                raise InputError(f"{opened.name}: no column '{name}'", f"it needs {names[0]} and {names[1]}")
        cells = ", ".join(f"TRY_CAST({source_column(there[name])} AS DOUBLE) AS {name}" for name in names)
        table = connection.sql(f"SELECT {cells} FROM se_given ORDER BY {ROW}").to_arrow_table()
    if not table.num_rows or any(table.column(name).null_count for name in names):
        raise InputError(f"{opened.name}: {names[0]} and {names[1]} have to be numbers in every row")
    first, second = (np.asarray(table.column(name).to_numpy()) for name in names)
    return first, second


def _column(columns: SourceColumns, name: str, source: str) -> str:
    there = {column.lower(): column for column in reversed(columns.types)}
    if name.lower() not in there:
        hint = f"one number, such as 0.05, or a column: {did_you_mean(name, list(columns.types))}"
        raise InputError(f"{source}: no column '{name}'", hint)
    return there[name.lower()]


@dataclass(frozen=True)
class _DrawnReading:
    connection: Connection
    columns: SourceColumns
    name: str
    listed: ListKeys

    def by_rank(self) -> tuple[pa.Table, None]:
        """Row and rank of every row."""
        unclear = self.columns.ambiguous_rank(self.listed.n_items)
        refuse_ambiguous(self.connection, self.columns.key_kinds, unclear, self.name)
        table = self.connection.sql(
            f"SELECT {ROW}::BIGINT AS row, {self.columns.rank} AS rank FROM se_given ORDER BY 1"
        ).to_arrow_table()
        ranks = table.column("rank").to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(~((ranks >= 1) & (ranks <= self.listed.n_items)))
        if wrong.size:
            value = table.column("rank")[int(wrong[0])].as_py()
            raise InputError(
                f"{self.name}: row {table.column('row')[int(wrong[0])].as_py():,} has rank {value}, outside "
                f"1..{self.listed.n_items:,}",
                "is this label table about another ranking?",
            )
        return table, None

    def by_key(self) -> tuple[pa.Table, pa.Table]:
        """Give the same, and the keys as the list has them: one pass over the list's key columns."""
        names = item_names(self.columns, self.listed.names, self.name, "the ranking",
                           lambda key: did_you_mean(key, list(self.listed.names)))  # fmt: skip
        rows: list[pa.Table] = []
        keys: list[pa.Table] = []
        for first, batch in self.listed.batches(names):
            placed = batch.append_column(_PLACE, pa.array(np.arange(batch.num_rows) + first))
            join = key_join(self.connection, self.columns, names, ("se_batch", placed), "the ranking")
            if not rows:
                refuse_ambiguous(self.connection, self.columns.key_kinds, join.ambiguous, self.name)
                self.connection.execute(
                    f"CREATE TEMP TABLE se_wanted AS SELECT {ROW}::BIGINT AS row, {as_columns(join.rows)} FROM se_given"
                )
            refuse_inexact_items(self.connection, "se_batch", join.columns, "the ranking")
            matches = self.connection.sql(
                f"SELECT row, {_PLACE}::BIGINT AS rank FROM se_batch JOIN se_wanted "
                f"ON {joined_on('se_wanted', join.items)}"
            ).to_arrow_table()
            rows.append(matches)
            ranks = matches.column("rank")  # DuckDB would give UUIDs back as text
            keys.append(batch.select(names).take(pc.subtract(ranks, first)).add_column(0, "rank", ranks))
        table = pa.concat_tables(rows).sort_by([("row", "ascending"), ("rank", "ascending")])
        self._refuse_unmatched(table)
        return table, pa.concat_tables(keys).sort_by("rank")

    def numbers(self, column: str) -> FloatArray:
        """Probability of each row."""
        cell = f"TRY_CAST({source_column(column)} AS DOUBLE)"
        table = self.connection.sql(
            f"SELECT {ROW} AS row, {cell} AS p, {source_column(column)}::VARCHAR AS said FROM se_given ORDER BY 1"
        ).to_arrow_table()
        values = np.asarray(table.column("p").to_numpy(zero_copy_only=False), dtype=np.float64)
        wrong = np.flatnonzero(~((values > 0) & (values <= 1)))
        if wrong.size:
            row = table.slice(int(wrong[0]), 1).to_pylist()[0]
            text = str(row["said"])[:40]
            raise InputError(
                f"{self.name}: row {row['row']:,} has {column} '{text}', not a probability in (0, 1]",
                "write it with a point, as 0.05"
                if row["p"] is None and {",", "%"} & {*text}
                else "an item that could not be drawn is in no sample",
            )
        return values

    def in_rank_order(self, table: pa.Table, keys: pa.Table | None, weights: FloatArray | None) -> DrawnRows:
        """Put the sample in rank order; an item of two rows is refused."""
        ranks = table.column("rank").to_numpy()
        order = np.argsort(ranks, kind="stable")
        ranks = ranks[order]
        twice = np.flatnonzero(np.diff(ranks) == 0)
        if twice.size:
            at = [table.column("row")[int(order[twice[0] + more])].as_py() for more in (0, 1)]
            raise InputError(
                f"{self.name}: rows {at[0]:,} and {at[1]:,} are about the same item, at rank {int(ranks[twice[0]]):,} "
                f"({number_of(twice.size, 'such pair')} in all)",
                "a sample has each item once; give further votes to `evaluate` afterwards",
            )
        on = ",".join(self.columns.on)
        return DrawnRows(ranks.astype(np.int64), None if weights is None else weights[order], keys, on)

    def _refuse_unmatched(self, table: pa.Table) -> None:
        rows = table.column("row").to_numpy()
        key = ", ".join(self.columns.keys)
        several = np.flatnonzero(np.diff(rows) == 0)
        if several.size:
            raise InputError(
                f"{self.name}: {key} of row {int(rows[several[0]]):,} belongs to several items of the ranking",
                "join on columns that are unique together, or on the rank",
            )
        ((total,),) = self.connection.execute("SELECT count(*) FROM se_wanted").fetchall()
        if total > rows.size:
            missing = setdiff1d(np.arange(1, total + 1), rows)
            first = f" (first: row {int(missing[0]):,})" if missing.size else ""
            if not rows.size:
                first = f" ({first_of_each(self.connection, self.columns.key_kinds, 'se_batch', 'in the list')})"
            raise InputError(
                f"{self.name}: {total - rows.size:,} of {total:,} rows match no item of the ranking{first}",
                "a sample of another list bounds that list: adopt it there, or leave out rows only if the draw did",
            )


def labelled_keys(source: Any, columns: LabelColumns, some: pa.Table) -> pa.Table:
    """Keys of rows that have an answer, each once.

    Args:
        source: Of the kinds that label tables have.
        columns: `on` names the key, column by column as `some` does.
        some: Keys of some items. Those of the source are returned in their types, as `order.item_keys` lists them;
            what is none of these is no item's.

    Raises:
        InputError: What cannot be read, or lacks a column; floats that are no exact whole numbers; rows of which none
            has a key that can be an item's.
    """
    with one_line_errors(name_of(source)), database_for(source) as connection:
        source_columns = find(connection, open_source(connection, source), columns, lambda _: ())
        _, state = source_columns.answer(source_columns.label_value, source_columns.work_status)
        refuse_unreadable_items(some.schema, "the list")
        connection.register("se_some", some)
        kinds = [row[1] for row in connection.execute("DESCRIBE se_some").fetchall()]
        refuse_ambiguous(connection, source_columns.key_kinds, source_columns.ambiguous(kinds), name_of(source))
        keys = [
            item_value(source_column(key), source_columns.kind(key), kind)
            for key, kind in zip(source_columns.keys, kinds, strict=True)
        ]
        whole = " AND ".join(f"key{i} IS NOT NULL" for i in range(len(keys)))
        answered = f"FROM se_given WHERE ({state}) = 'answer'"
        table = connection.sql(
            f"SELECT DISTINCT * FROM (SELECT {as_columns(keys)} {answered}) WHERE {whole}"
        ).to_arrow_table()
        if not table.num_rows and connection.execute(f"SELECT EXISTS (SELECT 1 {answered})").fetchall() == [(True,)]:
            raise InputError(
                f"{name_of(source)}: {', '.join(source_columns.keys)} matches no item of the list "
                f"({first_of_each(connection, source_columns.key_kinds, 'se_some', 'in the list')})",
                "name columns that hold the same identifiers in both",
            )
    typed = [_as_typed(column, kind) for column, kind in zip(table.columns, some.schema.types, strict=True)]
    return pa.table(typed, some.schema)


def _as_typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if kind != pa.uuid():
        return column.cast(kind)
    bytes_of = [pa.ExtensionArray.from_storage(kind, chunk) for chunk in column.cast(pa.binary(16)).chunks]
    return pa.chunked_array(bytes_of, kind)
