"""Positives that rankings never returned: a table beside the list, such as one of relevance judgements.

A table that has rows of grade 0 too is one of judgements, as are the qrels of TREC always: an item that it does not
name was not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from streameval.copies.write import for_a_while
from streameval.errors import InputError, NoRowsError, did_you_mean
from streameval.kernels.parting import NEVER
from streameval.kernels.sorted_sets import isin
from streameval.order.item_keys import as_keys, key_type, meets, sample
from streameval.order.tie_hashes import key_hashes
from streameval.queries.batches import NOTHING, ManyRows, RowBatch, grades, levels_of, refuse_nameless
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.units import Unit
from streameval.text import number_of
from streameval.typing import BoolArray, Int32Array, UInt64Array

PLACE = "the table of positives"
GRADED = "give every row of the table a grade, or leave the row out"
_ODD = np.uint64(0x9E3779B97F4A7C15)


def never_returned(rows: ManyRows) -> tuple[ManyRows, list[RowBatch]]:
    """Read the table of positives: the list, to be read with what the table asks of it, and the items of the table.

    Rows of grade 0 are refused (InputError) where the table does not name its items, as is a table that cannot be used.
    """
    from streameval.copies.trec import holds_judgements

    judged = holds_judgements(rows.options.positives)
    try:
        with for_a_while(rows.options.positives, RankingOptions()) as source:
            found, beside = _read_all(rows, open_ranking(source))
    except NoRowsError:  # every positive was returned
        if judged:
            raise
        return rows, []
    judged = judged or any(np.any(one.labels == NEVER) for one in beside)
    return replace(found, judged=judged and rows.options.key is not None), beside


def with_levels(rows: ManyRows) -> ManyRows:
    """Read every grade of the list, and of the table of positives if it has any, so that high ones get numbers."""
    label, levels = rows.rows.label, {0} | levels_of(rows.rows.units, rows.rows.label, rows.options.words)
    if rows.options.positives is not None:
        with suppress(NoRowsError), for_a_while(rows.options.positives, RankingOptions()) as source:
            beside = open_ranking(source)
            if label in beside.columns():
                levels |= levels_of(beside.rows.units(label), label, rows.options.words)
    return replace(rows, levels=tuple(sorted(levels)))


def _read_all(rows: ManyRows, opened: Ranking) -> tuple[ManyRows, list[RowBatch]]:
    options, columns = rows.options, opened.columns()
    for name in options.per:
        if name not in columns:
            raise InputError(f"{PLACE} has no column '{name}'", did_you_mean(name, columns))
    refuse_unexplained(columns, [*options.per, options.key], rows.rows.label)
    kinds = list(rows.names)
    if options.key in columns and rows.item is not None:
        kinds.append(pa.field(str(options.key), key_type(rows.item)))
    for kind in kinds:
        refuse_other_type(opened, kind, lambda name: rows.rows.units[0].read([name]))
    graded = rows.rows.label in columns
    batches = [_read(rows, unit, kinds, graded) for unit in opened.rows.units(options.per[0])]
    return replace(rows, ungraded=not graded and any(one.rows for one in batches)), batches


def refuse_unexplained(there: Iterable[str], names: Collection[str | None], label: str) -> None:
    """Refuse a column that no option names: it may hold grades, and rows of grade 0 would count as positives."""
    if strange := [name for name in there if name not in names and name != label]:
        raise InputError(
            f"{PLACE} has a column '{strange[0]}' of unknown meaning",
            f"name the column of items with --key, call that of grades '{label}', and leave all others out",
        )


def refuse_other_type(opened: Ranking, wanted: pa.Field, listed: Callable[[str], pa.Table]) -> None:
    """Refuse a column whose values would be compared with those of another type.

    Args:
        listed (callable(name)): Gives this column of some rows of the list.
    """
    for place, kind in opened.rows.types(wanted.name):
        if not meets(kind, wanted.type):
            first = opened.rows.take(np.zeros(1, np.int64), [wanted.name]).table
            raise InputError(f"{place}: {sample(first)} in the first row, {sample(listed(wanted.name))} in the list",
                             "write both with one type")  # fmt: skip


def read_names(unit: Unit, kinds: list[pa.Field]) -> pa.Table:
    """Decode columns of names, as they are typed in the list."""
    names = [one.name for one in kinds]
    return as_keys(unit.read(names).select(names), pa.schema(kinds), unit.place)


def _read(rows: ManyRows, unit: Unit, kinds: list[pa.Field], graded: bool) -> RowBatch:
    table = read_names(unit, kinds)
    low, high = rows.identities(table.select(rows.names.names), unit.place)
    label, items = rows.rows.label, NOTHING
    grade = np.ones(unit.rows, np.uint8)
    if graded:
        grade = grades(unit.read([label]).column(0), label, unit.place, GRADED, rows.options.words, rows.levels)
    named = len(kinds) > len(rows.names)
    if named:
        item = table.select([str(rows.options.key)])
        refuse_nameless(item, unit.place, "every positive names its item, or leave the column out")
        items = key_hashes(item)
    elif rows.options.key is not None:
        items = np.zeros(unit.rows, np.uint64)
    if not named and np.any(grade == 0):
        raise InputError(f"{unit.place}: {number_of(int(np.sum(grade == 0)), 'row')} of grade 0",
                         "leave them out, or name the items with --key: they are passed over then")  # fmt: skip
    carried = {name: table.column(name) if name in rows.names.names else pa.array([""] * unit.rows, pa.large_string())
               for name in rows.carried}  # fmt: skip
    return RowBatch(low, high, np.zeros(unit.rows, rows.key_type), grade | NEVER, items, pa.table(carried))


@dataclass(frozen=True)
class Named:
    """What the table of positives says of some rows, its own among them.

    Attributes:
        again (bool array): Rows of the table whose item the ranking returned, or that name it again.
        twice (bool array): Those of them that name it again.
        judged (bool array): Rows of the table, and those that the ranking returned whose item it names.
    """

    again: BoolArray = field(repr=False)
    twice: BoolArray = field(repr=False)
    judged: BoolArray = field(repr=False)

    @staticmethod
    def of(batch: RowBatch, which: Int32Array) -> Named:
        """Of rows, and the number of each one's ranking; a row that is positive was judged, whoever says so."""
        never = (batch.labels & NEVER) > 0
        again: BoolArray = np.zeros(batch.rows, np.bool_)
        twice: BoolArray = np.zeros(batch.rows, np.bool_)
        judged = batch.labels > 0
        if batch.items.size and never.any() and batch.items[never].any():
            pair: UInt64Array = batch.items + which.astype(np.uint64) * _ODD
            repeated = np.ones(int(never.sum()), np.bool_)
            repeated[np.unique(pair[never], return_index=True)[1]] = False
            twice[never] = repeated
            again[never] = isin(pair[never], pair[~never]) | repeated
            judged[~never] |= isin(pair[~never], pair[never])
        return Named(again, twice, judged)
