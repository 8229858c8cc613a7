"""Positives of rankings that were never returned, and those beyond the labels of drawn rankings.

A table that has rows of grade 0 too is one of judgements, as are the qrels of TREC always: an item that it does not
name was not judged.

Recall, average precision and nDCG at k divide by what depends on all R positives of a ranking. Known positives bound R
from below, and so these metrics from above. From below they are bounded only where the table and the labels have every
positive there is, which nobody but its maker can know.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.copies.write import for_a_while
from streameval.errors import InputError, NoRowsError, did_you_mean
from streameval.kernels.parting import NEVER
from streameval.kernels.sorted_sets import isin, unique
from streameval.kernels.tied_items import discounts
from streameval.order.item_keys import as_keys, in_plain_values, is_plain, key_type, meets, sample, stored_type
from streameval.order.scan import key_hashes
from streameval.per_query.batches import NOTHING, ManyRows, RowBatch, are_positive, grades, levels_of, refuse_nameless
from streameval.per_query.options import refuse_ambiguous_item
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.units import Unit
from streameval.text import number_of
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int32Array, Int64Array, UInt64Array

PLACE = "the table of positives"
GRADED = "give every row of the table a grade, or leave the row out"
_ODD = np.uint64(0x9E3779B97F4A7C15)
METRICS = ("recall_at", "average_precision_at", "ndcg_at")
_NUMBER = "se_number"
_LABEL = "se_label"


def never_returned(rows: ManyRows) -> tuple[ManyRows, list[RowBatch]]:
    """Read the table of positives: the list, to be read with what the table asks of it, and the items of the table.

    Rows of grade 0 are refused (InputError) where the table does not name its items, as is a table that cannot be used.
    """
    from streameval.copies.trec import holds_judgements

    judged = holds_judgements(rows.options.positives)
    try:
        with for_a_while(rows.options.positives, RankingOptions()) as source:
            list_rows, batches = _read_all(rows, open_ranking(source))
    except NoRowsError:  # every positive was returned
        if judged:
            raise
        return rows, []
    judged = judged or any(np.any(batch.labels == NEVER) for batch in batches)
    return replace(list_rows, judged=judged and rows.options.key is not None), batches


def with_levels(rows: ManyRows) -> ManyRows:
    """Read every grade of the list, and of the table of positives if it has any, so that high ones get numbers."""
    label, levels = rows.rows.label, {0} | levels_of(rows.rows.units, rows.rows.label, rows.options.words)
    if rows.options.positives is not None:
        with suppress(NoRowsError), for_a_while(rows.options.positives, RankingOptions()) as source:
            positives = open_ranking(source)
            if label in positives.columns():
                levels |= levels_of(positives.rows.units(label), label, rows.options.words)
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
    return replace(rows, ungraded=not graded and any(batch.rows for batch in batches)), batches


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
    names = [kind.name for kind in kinds]
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
    """Rows of the table of positives that concern some rankings, with their numbers.

    Attributes:
        again (bool array): Rows of the table whose item the ranking returned, or that name it again.
        twice (bool array): Those of them that name it again.
        judged (bool array): Rows of the table, and those that the ranking returned whose item it names.
    """

    again: BoolArray = field(repr=False)
    twice: BoolArray = field(repr=False)
    judged: BoolArray = field(repr=False)

    @staticmethod
    def from_batch(batch: RowBatch, which: Int32Array) -> Named:
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


@dataclass(frozen=True)
class Pool:
    """Positives of drawn rankings that are not among the items to label.

    Attributes:
        beyond (int64 array, shape (drawn,)): How many are known.
        complete: Whether these and those among the items to label are all, as was stated.
        rows: Positives in the table, of whatever ranking.
        drawn: How many of these rows are of rankings that were drawn.
        matched: Where the table names its items: how many items are labelled positive (`positive`), how many of these
            the table names (`named`), how many it names that are labelled negative (`denied`), and rows of rankings
            that were drawn that are there again (`again`).
    """

    beyond: Int64Array = field(repr=False)
    complete: bool
    rows: int
    drawn: int = 0
    matched: Mapping[str, int] | None = None

    def facts(self) -> dict[str, Any]:
        """Say what evaluation.json keeps of it."""
        digest = hashlib.sha256(np.ascontiguousarray(self.beyond).tobytes()).hexdigest()[:16]
        return {"rows": self.rows, "drawn": self.drawn, "beyond": int(self.beyond.sum()), "complete": self.complete,
                "digest": digest, **(self.matched or {})}  # fmt: skip


def read_pool(
    source: Any, plan: Plan, selection: pa.Table | None, labels: Labels, how: tuple[str | None, str], complete: bool
) -> Pool:
    """Read a table of positives: the columns that name the ranking, and the item, if its column is named.

    Args:
        selection: The items to label, for their names.
        how: Column that names the item: rows about items to label are left to their labels, and a row that is there
            twice counts once. Without it every row is a positive that is not among them. And the column of grades:
            where the table has it, rows of grade 0 are passed over.

    Raises:
        InputError: A column that is not there, of another type than in the list, or with nulls; a column of the table
            that names neither ranking nor item, and is not that of grades.
    """
    (item, label), count, per = how, int(plan.parameters["rankings"]), plan.notes["per"]
    kinds, drawn = _drawn_names(plan)
    items = pa.table({})
    if item is not None:
        refuse_ambiguous_item(item, per)
        columns = () if selection is None else selection.column_names
        if selection is None or item not in columns:
            raise InputError(f"the selected items have no column '{item}'",
                             did_you_mean(item, columns) if columns else "run `streameval select` first")  # fmt: skip
        items = selection.select([item])
        kinds.append(pa.field(item, stored_type(items.schema.field(item).type)))
    try:
        with for_a_while(source, RankingOptions()) as place:
            rows, table = _positives_of(open_ranking(place), kinds, (drawn, items), label)
    except NoRowsError:
        return Pool(np.zeros(count, np.int64), complete, 0)
    drawn_rows, matched = table.num_rows, None
    if item is not None and selection is not None:
        table = table.select([_NUMBER, item]).group_by([_NUMBER, item]).aggregate([])
        labelled = _labelled_items(plan, selection, labels, kinds[-1])
        matched = {**_match_counts(table, labelled, item), "again": drawn_rows - table.num_rows}
        table = table.join(labelled, [_NUMBER, item], join_type="left anti")
    beyond = np.bincount(table.column(_NUMBER).to_numpy(), minlength=count)
    return Pool(beyond, complete, rows, drawn_rows, matched)


def _positives_of(
    opened: Ranking, kinds: list[pa.Field], listed: tuple[pa.Table, pa.Table], label: str
) -> tuple[int, pa.Table]:
    """Read the positives of a table: how many there are, and those of the rankings that were drawn.

    Args:
        listed: The rankings that were drawn, and the column of their selected items, where they are named.
    """
    drawn, items = listed
    there = opened.columns()
    for kind in kinds:
        if kind.name not in there:
            raise InputError(f"{PLACE} has no column '{kind.name}'", did_you_mean(kind.name, there))
    named_by = [name for name in drawn.column_names if name != _NUMBER]
    kinds = [_as_stored(opened, kind) if kind.name in named_by else kind for kind in kinds]
    for kind in kinds:
        refuse_other_type(opened, kind, lambda name: (drawn if name in named_by else items).select([name]))
    refuse_unexplained(there, [kind.name for kind in kinds], label)
    rows, tables = 0, []
    for unit in opened.rows.units(kinds[0].name):
        positives = read_names(unit, kinds)
        refuse_nameless(positives, unit.place, "every positive names its ranking, and its item where --key is given")
        if label in there:
            positives = positives.filter(
                pa.array(are_positive(unit.read([label]).column(0), label, unit.place, GRADED))
            )
        rows += positives.num_rows
        positives = pa.table([in_plain_values(column) for column in positives.columns], positives.column_names)
        tables.append(positives.join(drawn, named_by, join_type="inner"))
    return rows, pa.concat_tables(tables)


def _as_stored(opened: Ranking, kind: pa.Field) -> pa.Field:
    """Type in which to read a name of rankings: its own where a plan, which is JSON, has such names as text."""
    stored = stored_type(opened.rows.types(kind.name)[0][1])
    return kind if is_plain(stored) or kind.type != pa.large_string() else pa.field(kind.name, stored)


def _labelled_items(plan: Plan, selection: pa.Table, labels: Labels, item: pa.Field) -> pa.Table:
    """Number of its ranking, name and label of each item to label."""
    at = np.searchsorted(plan.ranks, selection.column("rank").to_numpy())
    number = plan.table.column("stratum").take(pa.array(at)).cast(pa.int64())
    names = in_plain_values(selection.column(item.name).cast(item.type))
    return pa.table([number, names, labels.label[at]], names=[_NUMBER, item.name, _LABEL])


def _match_counts(table: pa.Table, labelled: pa.Table, item: str) -> dict[str, int]:
    """Say how far the table and the labels are about the same items; see `Pool`."""
    named = labelled.join(table, [_NUMBER, item], join_type="left semi").column(_LABEL)
    counts = {"positive": (labelled.column(_LABEL), 1), "named": (named, 1), "denied": (named, 0)}
    return {name: int(pc.sum(pc.equal(column, value)).as_py() or 0) for name, (column, value) in counts.items()}


def ranking_names(plan: Plan) -> dict[str, pa.Array]:
    """Values of the columns that name the rankings that were drawn, in the order of the draw."""
    first = np.unique(plan.table.column("stratum").to_numpy(), return_index=True)[1]
    names = [json.loads(name) for name in plan.table.column("ranking").take(pa.array(first)).to_pylist()]
    return {name: _as_typed(values) for name, values in zip(plan.notes["per"], zip(*names, strict=True), strict=True)}


def _as_typed(values: Sequence[Any]) -> pa.Array:
    """An array of the type of the values; of whole numbers beyond 64 bits with a sign, that without."""
    wide = any(isinstance(value, int) and value >= 1 << 63 for value in values)
    return pa.array(values, pa.uint64() if wide else None)


def _drawn_names(plan: Plan) -> tuple[list[pa.Field], pa.Table]:
    """Names of the rankings that were drawn, with their numbers, and the types of the names."""
    columns = {name: column.cast(stored_type(column.type)) for name, column in ranking_names(plan).items()}
    number = pa.array(unique(plan.table.column("stratum").to_numpy()).astype(np.int64))
    return [pa.field(name, column.type) for name, column in columns.items()], pa.table({**columns, _NUMBER: number})


@dataclass(frozen=True)
class Positives:
    """Positives among the first items of each ranking that was drawn, if every missing label were yes, or no.

    Args:
        number, place (int64 arrays): Of each positive: its ranking and its place there.
        count: Rankings.
    """

    number: Int64Array = field(repr=False)
    place: Int64Array = field(repr=False)
    count: int

    def count_at(self, k: int | None = None) -> FloatArray:
        """Tell how many are among the first k items; without k, among all that are labelled."""
        inside = slice(None) if k is None else self._inside(k)
        counts: FloatArray = np.bincount(self.number[inside], minlength=self.count).astype(np.float64)
        return counts

    def gains(self, k: int) -> FloatArray:
        """Discounted cumulative gain of the first k items."""
        inside = self._inside(k)
        return self._sums(self.number[inside], discounts(k)[self.place[inside] - 1])

    def precisions(self, k: int) -> FloatArray:
        """Sum of the precision at every positive among the first k items."""
        order = np.lexsort((self.place, self.number))
        number, place = self.number[order], self.place[order]
        starts = np.searchsorted(number, np.arange(self.count))
        nth = np.arange(number.size) - starts[number] + 1
        inside = place <= k
        return self._sums(number[inside], (nth / place)[inside])

    def _sums(self, number: Int64Array, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(number, values, self.count), np.float64)

    def _inside(self, k: int) -> BoolArray:
        return np.asarray(self.place <= k)


def pooled_values(
    of: tuple[Positives, Positives], pool: Pool, cutoffs: Sequence[int]
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Lower and upper ends of every metric of `METRICS` of each ranking, cutoff by cutoff; 0 without a positive.

    The numerator and the number of positives are taken at their ends each, but for recall, whose ends are sharp.

    Args:
        of: Positives if every missing label were no, and if every one were yes.
    """
    low: list[FloatArray] = []
    high: list[FloatArray] = []
    fewest, most = of
    least, greatest = fewest.count_at() + pool.beyond, most.count_at() + pool.beyond
    for k in cutoffs:
        inside = fewest.count_at(k), most.count_at(k)
        recall = _ratio(inside[1], inside[1] + least - inside[0])
        ideal = np.concatenate([[0.0], np.cumsum(discounts(k))])
        best, worst = (
            ideal[np.minimum(positives, k).astype(np.int64)] for positives in (np.maximum(least, 1), greatest)
        )
        high += [recall, np.minimum(_ratio(most.precisions(k), np.maximum(least, 1)), recall),
                 np.minimum(_ratio(most.gains(k), best), 1.0)]  # fmt: skip
        lowest = [_ratio(inside[0], inside[0] + greatest - inside[1]), _ratio(fewest.precisions(k), greatest),
                _ratio(fewest.gains(k), worst)]  # fmt: skip
        low += lowest if pool.complete else [np.zeros(values.size) for values in lowest]
    return low, high


def _ratio(value: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(value, below, out=np.zeros(value.size), where=value > 0)
