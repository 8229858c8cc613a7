"""Tasks: what people are shown of the planned items, in which order, and what is put among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import isin, unique
from streameval.labelling.options import TaskOptions
from streameval.study import Study
from streameval.types import Plan
from streameval.typing import Int64Array

if TYPE_CHECKING:
    from streameval.study.shown_columns import LeftOut

# Numbers of tasks: every study's begin somewhere of their own, so that the tasks of one are none of another. Ten digits
# are what a spreadsheet shows in full, and any program holds exactly.
_FIRST, _RANGE = 10**9, 15 * 10**8
_FIRST_EXTRA = _FIRST + _RANGE  # beyond those of planned items, however far a plan grows
FIRST_JUDGED = 5 * 10**9  # what a judge is asked is nobody's task
_PLACES = np.uint64(0x7365_7461_736B_0001)  # keeps the places of extra tasks apart from every other draw of a seed

EXTRA_TASKS = pa.schema(
    {
        "se_task": pa.int64(),
        "rank": pa.int64(),  # null for a control item: it is none of the list
        "kind": pa.string(),  # "repeat" or "control"
        "expected": pa.float64(),  # answer of a control item
        "content": pa.string(),  # hash of a control item
    }
)


@dataclass(frozen=True)
class Tasks:
    """What an export holds.

    Attributes:
        table: `se_study`, `se_task`, then the items' columns, in the order in which people see them.
        left_out: Columns that are not shown, and why.
        extra: Every task beyond one per item that was ever exported: columns of `EXTRA_TASKS`.
        batches: Of a plan with batches: the row of `table` with which each of them ends.
    """

    table: pa.Table
    left_out: LeftOut
    extra: pa.Table
    batches: tuple[int, ...] = ()


def task_numbers(plan: Plan, first: int | None = None) -> Int64Array:
    """Number planned ranks in a seeded shuffle, or in the order that the plan drew: `se_task`, in the plan's order.

    Args:
        plan: One that has grown numbers its batches one after another, so that tasks keep the numbers they had.
        first: Where the numbers begin: where those of the study's tasks began, if there are any.
    """
    from streameval.kernels.draw import draws

    count = plan.ranks.size
    begin = _own(plan, _FIRST) if first is None else first
    if "turn" in plan.table.column_names:
        return np.asarray(plan.table.column("turn").to_numpy()) + begin
    grown = "batch" in plan.table.column_names
    batch = plan.table.column("batch").to_numpy() if grown else np.ones(count, dtype=np.int32)
    within = np.empty(count, dtype=np.uint64)
    for batch_number in unique(batch):
        within[batch == batch_number] = draws(np.uint64(plan.seed % 2**64), int(np.sum(batch == batch_number)))
    order = np.lexsort((within, batch))
    numbers = np.empty(count, dtype=np.int64)
    numbers[order] = np.arange(count) + begin
    return numbers


def first_judged(plan: Plan) -> int:
    """Least number of what the judge of a plan is asked."""
    return _own(plan, FIRST_JUDGED)


def _own(plan: Plan, first: int) -> int:
    """A place of the study's own in a range of task numbers; a plan that has grown keeps that of the first."""
    return first + int(plan.study_ids[-1], 16) % _RANGE


def make_tasks(
    folder: Study, plan: Plan, table: pa.Table, shown_or_not: tuple[list[str], LeftOut], options: TaskOptions
) -> Tasks:
    """Make the tasks of an export.

    Args:
        table: The items that it shows.
        shown_or_not: See `streameval.study.shown_columns.shown_to_people`.
    """
    if options.repeats > table.num_rows:
        raise InputError(f"--repeats is {options.repeats:,}, above the {table.num_rows:,} tasks that there are")
    names, left_out = shown_or_not
    ours = np.asarray(table.column("se_task").to_numpy())
    shown = table.select(["rank", "se_task", *names]).take(pa.array(np.argsort(ours)))
    registry = folder.extra_tasks()
    extra = _Extra(plan, EXTRA_TASKS.empty_table() if registry is None else registry.cast(EXTRA_TASKS))
    more = [extra.repeats(shown, options.repeats)]
    if options.controls is not None:
        from streameval.labelling.controls import read_controls
        from streameval.stores.transfer import copied

        with copied(options.controls) as place:
            more.append(extra.controls(read_controls(place, names, table.schema, plan.key_columns)))
    tasks = _mixed(shown.drop_columns(["rank"]), [one for one in more if one.num_rows], plan.seed)
    study = pa.array([plan.plan_id] * tasks.num_rows, pa.string())
    return Tasks(tasks.add_column(0, "se_study", study), left_out, extra.table, _ends(plan, shown, tasks))


def _ends(plan: Plan, shown: pa.Table, tasks: pa.Table) -> tuple[int, ...]:
    """Row of an export with which each batch ends; none where there are no batches."""
    # looks add their labels later, and an adopted sample has none of its own before the first
    columns = plan.table.column_names
    if plan.parameters.get("stages", 1) == 1 or "look" in columns or "batch" not in columns:
        return ()
    at = np.searchsorted(plan.ranks, shown.column("rank").to_numpy())
    last = np.cumsum(np.bincount(plan.table.column("batch").to_numpy()[at])[1:])
    row = np.flatnonzero(isin(tasks.column("se_task").to_numpy(), shown.column("se_task").to_numpy())) + 1
    return tuple(int(row[n - 1]) if n else 0 for n in last.tolist())


class _Extra:
    """Tasks beyond one per item; the same asked for again gets the same numbers."""

    def __init__(self, plan: Plan, table: pa.Table) -> None:
        self.table = table
        self._plan = plan

    def repeats(self, shown: pa.Table, count: int) -> pa.Table:
        """The first `count` of a seeded shuffle of what is shown, under other numbers."""
        from streameval.kernels.draw import draws

        order = np.argsort(draws(np.uint64(self._plan.seed % 2**64) ^ _PLACES, shown.num_rows), kind="stable")
        chosen = shown.take(pa.array(order[:count]))
        task_of = self._known("repeat", "rank")
        ranks = chosen.column("rank").to_pylist()
        new = [{"rank": rank, "kind": "repeat"} for rank in ranks if rank not in task_of]
        task_of |= self._add(new, "rank")
        numbers = pa.array([task_of[rank] for rank in ranks], pa.int64())
        return chosen.drop_columns(["rank"]).set_column(0, "se_task", numbers)

    def controls(self, items: pa.Table) -> pa.Table:
        """Every control item once."""
        task_of = self._known("control", "content")
        rows = zip(items.column("content").to_pylist(), items.column("expected").to_pylist(), strict=True)
        first = dict(reversed(list(rows)))
        new = [{"kind": "control", "content": c, "expected": e} for c, e in first.items() if c not in task_of]
        task_of |= self._add(new, "content")
        numbers = pa.array([task_of[content] for content in items.column("content").to_pylist()], pa.int64())
        once = np.unique(numbers.to_numpy(), return_index=True)[1]
        shown = items.drop_columns(["expected", "content"])
        return shown.add_column(0, "se_task", numbers).take(pa.array(once))

    def _known(self, kind: str, by: str) -> dict[Any, int]:
        rows = self.table.select([by, "se_task", "kind"]).to_pylist()
        return {row[by]: row["se_task"] for row in rows if row["kind"] == kind}

    def _add(self, new: list[dict[str, Any]], by: str) -> dict[Any, int]:
        start = max([_own(self._plan, _FIRST_EXTRA), *self.table.column("se_task").to_pylist()]) + 1
        rows: list[Mapping[str, Any]] = [{**row, "se_task": start + i} for i, row in enumerate(new)]
        self.table = pa.concat_tables([self.table, pa.Table.from_pylist(rows, schema=EXTRA_TASKS)])
        return {row[by]: row["se_task"] for row in rows}


def _mixed(shown: pa.Table, more: list[pa.Table], seed: int) -> pa.Table:
    """Put extra tasks at random places; the others keep their order."""
    from streameval.kernels.draw import draws

    if not more:
        return shown
    extra = pa.concat_tables(one.cast(shown.schema) for one in more)
    place = np.arange(shown.num_rows, dtype=np.float64)
    random = draws(np.uint64(seed % 2**64) ^ (_PLACES + np.uint64(1)), extra.num_rows).astype(np.float64) / 2.0**64
    order = np.argsort(np.concatenate([place, random * shown.num_rows]), kind="stable")
    return pa.concat_tables([shown, extra]).take(pa.array(order))
