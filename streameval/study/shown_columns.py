"""Which columns of the items people are shown, and why not the others: what gives the answer or the rank away.

Whether a column follows the order of the ranking is asked of the items to label, and of Spearman's rank correlation of
the column with the rank: it is .95 or more of the largest that the ties of the column allow, and 4/√(n − 1) or more.
(With midranks a of the values and places b in the order, |cov(a, b)| ≥ .95 var(a) and |corr(a, b)| ≥ 4/√(n − 1).) So a
copy of the rank in steps is found too, such as a percentile, of which most items that are drawn near the top have the
first. Of fewer than 17 items that is never so; there a column follows the order if it has no ties and is exactly in it,
or exactly against it, which has probability 2/n!. A column that has nothing to do with the order is taken for one that
follows it with probability below 10⁻⁵, however many items have it, and however many of them one value; where fewer than
9 have it, none is.
"""

from __future__ import annotations

from collections.abc import Collection
from math import lgamma, log

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.match_items import OURS
from streameval.labelling.names import ANSWERS, says
from streameval.struct_fields import with_fields
from streameval.types import Plan
from streameval.typing import AnyArray, FloatArray, Int64Array

_SLOPE = 0.95
_DEVIATIONS = 4.0
_BY_CHANCE = 1e-5

ANSWER, INDEX, ORDER = "answer", "index", "order"
LeftOut = dict[str, str]
"""Columns that are not shown, each with why: `ANSWER` (a score, a judge or an answer, by its name or the plan, or a
struct with one), `INDEX` (no key, and pandas wrote it because it was the index of a frame), `ORDER` (it follows the
order of the ranking)."""


def shown_to_people(plan: Plan, table: pa.Table, named: set[str], index: Collection[str]) -> tuple[list[str], LeftOut]:
    """Columns of the items that are shown, and those that are not.

    Args:
        table: The selection: our columns and those of the items.
        named: Columns that are shown whatever they tell.
        index: Columns that were the index of a frame.
    """
    ours = {*OURS} | ({"score"} if plan.ranking.get("score") else set())
    items = [name for name in table.column_names if name not in ours]
    # who sees what a judge says would be swayed by it
    judges = [plan.notes.get(note, {}).get("column") for note in ("judge", "predictions")]
    telling = (plan.ranking.get("score"), plan.notes.get("score"), *plan.notes.get("scores", ()), *judges)
    order = _places(plan, table)
    left_out: LeftOut = {}
    for name in items:
        if name in named:
            continue
        names = with_fields(pa.schema([table.schema.field(name)])).names  # of a struct, those of its fields
        if any(one in telling or says(one, ANSWERS) for one in names):
            left_out[name] = ANSWER
        elif name in index and name not in plan.key_columns:
            left_out[name] = INDEX
        elif order is not None and follows(table.column(name), *order):
            left_out[name] = ORDER
    if "score" in named and "score" in ours:
        items.insert(0, "score")
    return [name for name in items if name not in left_out], left_out


def zero_or_one(table: pa.Table) -> tuple[str, ...]:
    """Columns that hold both 0 and 1 (numbers, booleans, or texts of these) and nothing else, as answers do."""
    return tuple(name for name in table.column_names if _is_zero_or_one(table.column(name)))


def _is_zero_or_one(column: pa.ChunkedArray) -> bool:
    values = _sortable(column)
    if values is None or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return False
    several = pc.unique(values.drop_null())
    return len(several) == 2 and {*several.to_pylist()} == {0, 1}


def follows(values: pa.ChunkedArray, place: Int64Array, group: Int64Array) -> bool:
    """Whether a column follows the order of the items; see above.

    Args:
        values: Numbers, booleans, times or texts, of which numbers are read as such; nothing is said of other types.
        place (int64 array): Place of each item in the order.
        group (int64 array): Which ranking it is in: within each, the column has to follow its order.
    """
    column = _sortable(values)
    if column is None:
        return False
    valid = pc.is_valid(column)
    mask = pc.and_(valid, pc.invert(pc.is_nan(column))) if pa.types.is_floating(column.type) else valid
    column, at = column.filter(mask), np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    if not len(column):
        return False
    places, which = place[at], group[at]
    _, which = np.unique(which, return_inverse=True)
    a, b = _midranks(column, which), _midranks(pa.array(places), which)
    size = np.bincount(which)
    if _in_sequence(a, b, which):
        return True
    together, spread = float(a @ b), float(a @ a)
    chance = float(np.sum(_sums(a * a, which) * _sums(b * b, which) / np.maximum(size - 1, 1)))
    return spread > 0 and abs(together) >= _SLOPE * spread and together**2 >= _DEVIATIONS**2 * chance


def _in_sequence(a: FloatArray, b: FloatArray, group: Int64Array) -> bool:
    """Whether ranks are exactly those of the order, or exactly against it, with 2/n! below what chance is allowed.

    Args:
        a, b (float64 arrays): Midranks of the column and of the places, less their means: the latter have no ties.
    """
    by_chance = log(2) - sum(lgamma(n + 1) for n in np.bincount(group).tolist())
    return by_chance < log(_BY_CHANCE) and (np.array_equal(a, b) or np.array_equal(a, -b))


def _places(plan: Plan, table: pa.Table) -> tuple[Int64Array, Int64Array] | None:
    """Place of each item of a selection in its ranking, and which ranking that is.

    None where two orders by score are compared: the ranks of such a plan are stored rows, which tell nobody a rank.
    """
    if all(plan.notes.get("scores", [None])):
        return None
    rank = table.column("rank").to_numpy()
    if "place" not in plan.table.column_names:
        return rank, np.zeros_like(rank)
    at = np.searchsorted(plan.ranks, rank)
    place, number = (plan.table.column(name).to_numpy()[at].astype(np.int64) for name in ("place", "stratum"))
    return place, number


def _sortable(values: pa.ChunkedArray) -> pa.Array | None:
    """Values as numbers, where they are that or texts that say numbers; None where they have no order."""
    kind, whole = values.type, values.combine_chunks()
    if pa.types.is_dictionary(kind):
        whole = whole.dictionary_decode()
        kind = whole.type
    if pa.types.is_boolean(kind):
        return whole.cast(pa.int8())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            return whole.cast(pa.float64())
        except pa.ArrowInvalid:
            return whole
    sortable = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return whole if sortable or pa.types.is_decimal(kind) else None


def _midranks(values: pa.Array, group: Int64Array) -> FloatArray:
    """Ranks within each group, those of equal values their mean, less the mean of the group."""
    order = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    by = np.lexsort((order, group))
    new = np.concatenate([[True], (np.diff(order[by]) != 0) | (np.diff(group[by]) != 0)])
    run = np.cumsum(new) - 1
    mean = np.bincount(run, weights=np.arange(by.size)) / np.bincount(run)
    ranks = np.empty(by.size)
    ranks[by] = mean[run]
    return ranks - (_sums(ranks, group) / np.bincount(group))[group]


def _sums(values: AnyArray, group: Int64Array) -> FloatArray:
    return np.asarray(np.bincount(group, weights=values), dtype=np.float64)
