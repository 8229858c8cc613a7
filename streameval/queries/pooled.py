"""Positives of drawn rankings beyond the items that were labelled: a table of what is known, as from pools of judges.

Recall, average precision and nDCG at k divide by what depends on all R positives of a ranking. Known positives bound R
from below, and so these metrics from above. From below they are bounded only where the table and the labels have every
positive there is, which nobody but its maker can know.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.copies.write import for_a_while
from streameval.errors import InputError, NoRowsError, did_you_mean
from streameval.kernels.discounts import discounts
from streameval.kernels.sorted_sets import unique
from streameval.order.item_keys import in_plain_values, is_plain, stored_type
from streameval.queries.batches import are_positive, refuse_nameless
from streameval.queries.never_returned import (
    GRADED,
    PLACE,
    read_names,
    refuse_other_type,
    refuse_unexplained,
)
from streameval.queries.options import refuse_ambiguous_item
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array

METRICS = ("recall_at", "average_precision_at", "ndcg_at")
_NUMBER = "se_number"
_LABEL = "se_label"


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
        """What evaluation.json keeps of it."""
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
    (item, label), count, given = how, int(plan.parameters["rankings"]), plan.notes["per"]
    kinds, drawn = _drawn(plan)
    items = pa.table({})
    if item is not None:
        refuse_ambiguous_item(item, given)
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
        labelled = _labelled(plan, selection, labels, kinds[-1])
        matched = {**_matched(table, labelled, item), "again": drawn_rows - table.num_rows}
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
    given = [name for name in drawn.column_names if name != _NUMBER]
    kinds = [_as_stored(opened, kind) if kind.name in given else kind for kind in kinds]
    for kind in kinds:
        refuse_other_type(opened, kind, lambda name: (drawn if name in given else items).select([name]))
    refuse_unexplained(there, [one.name for one in kinds], label)
    rows, tables = 0, []
    for unit in opened.rows.units(kinds[0].name):
        positives = read_names(unit, kinds)
        refuse_nameless(positives, unit.place, "every positive names its ranking, and its item where --key is given")
        if label in there:
            positives = positives.filter(
                pa.array(are_positive(unit.read([label]).column(0), label, unit.place, GRADED))
            )
        rows += positives.num_rows
        positives = pa.table([in_plain_values(one) for one in positives.columns], positives.column_names)
        tables.append(positives.join(drawn, given, join_type="inner"))
    return rows, pa.concat_tables(tables)


def _as_stored(opened: Ranking, kind: pa.Field) -> pa.Field:
    """Type in which to read a name of rankings: its own where a plan, which is JSON, has such names as text."""
    stored = stored_type(opened.rows.types(kind.name)[0][1])
    return kind if is_plain(stored) or kind.type != pa.large_string() else pa.field(kind.name, stored)


def _labelled(plan: Plan, selection: pa.Table, labels: Labels, item: pa.Field) -> pa.Table:
    """Number of its ranking, name and label of each item to label."""
    at = np.searchsorted(plan.ranks, selection.column("rank").to_numpy())
    number = plan.table.column("stratum").take(pa.array(at)).cast(pa.int64())
    names = in_plain_values(selection.column(item.name).cast(item.type))
    return pa.table([number, names, labels.label[at]], names=[_NUMBER, item.name, _LABEL])


def _matched(table: pa.Table, labelled: pa.Table, item: str) -> dict[str, int]:
    """How far the table and the labels are about the same items; see `Pool`."""
    named = labelled.join(table, [_NUMBER, item], join_type="left semi").column(_LABEL)
    counts = {"positive": (labelled.column(_LABEL), 1), "named": (named, 1), "denied": (named, 0)}
    return {name: int(pc.sum(pc.equal(column, value)).as_py() or 0) for name, (column, value) in counts.items()}


def ranking_names(plan: Plan) -> dict[str, pa.Array]:
    """Values of the columns that name the rankings that were drawn, in the order of the draw."""
    first = np.unique(plan.table.column("stratum").to_numpy(), return_index=True)[1]
    names = [json.loads(one) for one in plan.table.column("ranking").take(pa.array(first)).to_pylist()]
    return {name: _typed(values) for name, values in zip(plan.notes["per"], zip(*names, strict=True), strict=True)}


def _typed(values: Sequence[Any]) -> pa.Array:
    """An array of the type of the values; of whole numbers beyond 64 bits with a sign, that without."""
    wide = any(isinstance(one, int) and one >= 1 << 63 for one in values)
    return pa.array(values, pa.uint64() if wide else None)


def _drawn(plan: Plan) -> tuple[list[pa.Field], pa.Table]:
    """Names of the rankings that were drawn, with their numbers, and the types of the names."""
    columns = {name: one.cast(stored_type(one.type)) for name, one in ranking_names(plan).items()}
    number = pa.array(unique(plan.table.column("stratum").to_numpy()).astype(np.int64))
    return [pa.field(name, one.type) for name, one in columns.items()], pa.table({**columns, _NUMBER: number})


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

    def found(self, k: int | None = None) -> FloatArray:
        """How many are among the first k items; without k, among all that are labelled."""
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
    least, greatest = fewest.found() + pool.beyond, most.found() + pool.beyond
    for k in cutoffs:
        inside = fewest.found(k), most.found(k)
        recall = _ratio(inside[1], inside[1] + least - inside[0])
        ideal = np.concatenate([[0.0], np.cumsum(discounts(k))])
        best, worst = (ideal[np.minimum(one, k).astype(np.int64)] for one in (np.maximum(least, 1), greatest))
        high += [recall, np.minimum(_ratio(most.precisions(k), np.maximum(least, 1)), recall),
                 np.minimum(_ratio(most.gains(k), best), 1.0)]  # fmt: skip
        lowest = [_ratio(inside[0], inside[0] + greatest - inside[1]), _ratio(fewest.precisions(k), greatest),
                _ratio(fewest.gains(k), worst)]  # fmt: skip
        low += lowest if pool.complete else [np.zeros(one.size) for one in lowest]
    return low, high


def _ratio(value: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(value, below, out=np.zeros(value.size), where=value > 0)
