"""The planned items: fetched into the study once, the next round of them drawn where one is due."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError
from streameval.judges.classes import judge_of
from streameval.kinds import kind_of
from streameval.options import listed
from streameval.progress import Progress, silent
from streameval.rankings.copied import read_from_copies
from streameval.rankings.ranking import Fetched, Ranking
from streameval.scans.checkpoints import forget
from streameval.scans.jobs import Engine
from streameval.study import Study, judge_sample
from streameval.study.planned_ranking import planned_ranking
from streameval.study.tasks import task_numbers
from streameval.study.weights import draw_weights
from streameval.types import Plan

# of `Fetched`, kept beside the items
COUNTS = [
    "rows_read", "rows_scanned", "row_groups_read", "pages_read", "bytes_read", "tied_ranks", "equal_keys",
    "missing_scores",
]  # fmt: skip


@dataclass(frozen=True)
class Access:
    """Options of reading the items of a ranking, as of `select`."""

    ranking: Any = None
    columns: str | Sequence[str] | None = None
    engine: Engine | str = "local"
    progress: Progress = silent


@dataclass(frozen=True)
class PlannedItems:
    """The items of a plan.

    Attributes:
        plan: As it is after the round that was due.
        fetched: Their rows, and what was read for them, now or by the `select` that fetched them.
        already: Whether they were there: nothing of the list was read but footers.
        names: The items' columns.
    """

    plan: Plan
    opened: Ranking
    fetched: Fetched
    already: bool
    names: list[str]

    def save(self, folder: Study) -> None:
        """Put them into selection.parquet."""
        facts = {name: getattr(self.fetched, name) for name in COUNTS}
        folder.save_selection(self.plan, self.fetched.table, self.fetched.thresholds, {**facts, "columns": self.names})

    def shown_columns(self, columns: str | Sequence[str] | None, kept: str = "") -> tuple[list[str], dict[str, str]]:
        """Columns that tasks show, and those that they do not, with why: see `shown_columns`."""
        return shown_columns(self.plan, self.opened, self.fetched.table, columns, kept)


def planned_items(folder: Study, access: Access) -> PlannedItems:
    """Fetch the planned items into selection.parquet, unless they are there; errors as of `select`."""
    plan = folder.plan()
    if kind_of(folder.folder).rounds:
        with folder.changing():
            plan = kind_of(folder.folder).tasks.next_round(folder, folder.plan())
    opened, scans = planned_ranking(folder, plan, access.ranking, access.engine)
    names = wanted_columns(plan, opened, access.columns)
    before = fetched_before(folder, plan, names)
    if before is not None:
        return PlannedItems(plan, opened, before, True, names)
    with read_from_copies(plan):
        read = kind_of(folder.folder).tasks.fetch(folder, plan, opened, (names, access.progress, scans))
    _refuse_other_judge(plan, read.table)
    fetched = replace(read, table=_with_ours(plan, read.table, folder.first_task(plan)))
    planned = PlannedItems(plan, opened, fetched, False, names)
    planned.save(folder)
    forget(folder.scans)
    return planned


def judged_items(folder: Study, plan: Plan, access: Access) -> tuple[Fetched, pa.Table, dict[str, str]]:
    """Fetch what a judge is asked about into judge_items.parquet; errors as of `select`.

    Returns:
        tuple: What was read; the judge's tasks (`se_study`, `se_task` and the columns that are shown, in the order of
            a seeded shuffle); and columns that are not shown, with why.
    """
    opened, scans = planned_ranking(folder, plan, access.ranking, access.engine)
    names = wanted_columns(plan, opened, access.columns)
    with read_from_copies(plan):
        fetched = opened.fetch(judge_sample.view(plan).ranks, names, access.progress, None, scans)
    shown, left_out = shown_columns(plan, opened, fetched.table, access.columns)
    return fetched, judge_sample.tasks(folder, plan, fetched.table, shown), left_out


def _refuse_other_judge(plan: Plan, items: pa.Table) -> None:
    """Refuse a judge that says other things by now than it did when the list was planned."""
    judge = judge_of(plan)
    if judge is None or plan.judge_sample is not None or judge.column not in items.column_names:
        return
    now = judge.codes(items.column(judge.column), "the planned items")
    differ = np.flatnonzero(now != plan.table.column("judge_class").to_numpy())
    if differ.size:
        raise StudyError(
            f"judge column '{judge.column}' has changed since the plan: {differ.size:,} planned items are in other "
            f"classes (first: rank {plan.ranks[differ[0]]:,})",
            "plan the list into a new study",
        )


def fetched_before(folder: Study, plan: Plan, names: Sequence[str]) -> Fetched | None:
    """Give what `select` fetched for this plan before, our columns with it; None where columns are not among it."""
    file = folder.selected(plan)
    there = file.facts.get("columns") if file is not None else None
    if file is None or not isinstance(there, list) or len(there) >= file.table.num_columns:
        return None
    ours = file.table.num_columns - len(there)  # columns before the items'
    place = {str(name): i for i, name in enumerate(there, ours)}
    if not place.keys() >= set(names):
        return None
    table = file.table.select([*range(ours), *(place[name] for name in names)])
    counts: Any = {name: int(file.facts.get(name, 0)) for name in COUNTS}
    return Fetched(table, **counts)


def wanted_columns(plan: Plan, opened: Ranking, columns: str | Sequence[str] | None) -> list[str]:
    """Columns to fetch: those that were asked for, by default all, then key columns that were not.

    A score that comes anyway is not among them. Raises `InputError` where a column is not there.
    """
    names = list(listed(columns)) if columns is not None else opened.columns()
    if strangers := sorted(set(names) - set(opened.rows.all_names())):
        raise InputError(f"the ranking has no column '{strangers[0]}'", opened.rows.hint_for(strangers[0]))
    score = "score" if plan.ranking.get("score") == "score" else None
    return [name for name in dict.fromkeys([*names, *plan.key_columns]) if name != score]


def shown_columns(
    plan: Plan, opened: Ranking, table: pa.Table, columns: str | Sequence[str] | None, kept: str = ""
) -> tuple[list[str], dict[str, str]]:
    """Columns that tasks show, and those that they do not, with why.

    Args:
        kept: Where the items are, to be told.

    Raises:
        InputError: Nothing is left to show.
    """
    from streameval.study.tasks import ANSWER, shown_to_people

    named = listed(columns or ())
    carried = [] if columns is None else [name for name in plan.key_columns if name not in named]
    item_table = table.select(range(table.num_columns - len(carried)))
    names, left_out = shown_to_people(plan, item_table, set(named), opened.rows.index_columns())
    tells = [name for name, why in left_out.items() if why != ANSWER]
    if tells and not names:
        raise InputError(f"nothing is left to show: {', '.join(tells)} would tell people the ranks of the items{kept}",
                         f"--columns={shlex.quote(tells[0])} shows it all the same")  # fmt: skip
    return names, left_out


def _with_ours(plan: Plan, items: pa.Table, first: int | None) -> pa.Table:
    """Put `stratum` and `draw_weight` after `rank`, and `se_task` before the items' columns.

    An item's own `weight` has another name too, as labels have a column of that name.
    """
    names = [f"{name}_item" if name in ("weight", "draw_weight") else name for name in items.column_names]
    table = items.rename_columns(names).add_column(1, "stratum", plan.table.column("stratum"))
    table = table.add_column(2, "draw_weight", pa.array(draw_weights(plan), from_pandas=True))
    at = 4 if plan.ranking.get("score") is not None else 3
    return table.add_column(at, "se_task", pa.array(task_numbers(plan, first)))
