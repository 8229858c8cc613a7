"""Select: fetch exactly the planned items, and export them as tasks for people."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.judges.classes import awaits_judge
from streameval.kinds import kind_of
from streameval.labelling.exports import format_of
from streameval.labelling.options import TaskOptions
from streameval.notebook import Tabular, facts, head
from streameval.options import split, takes
from streameval.order.scan import key_hashes
from streameval.parquet.account import Forecast
from streameval.progress import Progress, silent
from streameval.rankings import open_planned
from streameval.rankings.ranking import Fetched
from streameval.scans.jobs import Engine
from streameval.serving.items import Access, fetched_before, judged_items, planned_items, wanted_columns
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.asked import question_file, question_of
from streameval.study.shown_columns import zero_or_one
from streameval.study.tasks import make_tasks
from streameval.text.options import flag
from streameval.types import Plan


@dataclass(frozen=True)
class Selection(Tabular):
    """What `select` did.

    Attributes:
        table: `rank`, `stratum`, `draw_weight` (see `streameval.study.weights`), `score` (where the order has one),
            `se_task`, then the items' columns. Of a question, only of items that nobody has answered or skipped.
        fetched: What was read for it, now or by the `select` that fetched it.
        already: Whether the items were there: nothing of the list was read but footers.
        left_out: Columns that an export leaves out, with why (`streameval.study.shown_columns`).
        tasks: Tasks exported.
        files: Files of the export; none where no task remains.
        source: Where the ranking lies, and its fingerprint.
        batches: Of a plan with batches: the row of the export with which each of them ends.
        key_columns: Columns that tell the items apart.
        shared_keys: How many of the planned items have the key of another one of them; nothing else of the list is
            looked at.
        zero_or_one: Columns of the tasks that hold nothing but 0 and 1, and were not asked for: they may be answers.
    """

    table: pa.Table
    fetched: Fetched
    already: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)
    tasks: int = 0
    files: tuple[Path, ...] = ()
    source: Mapping[str, Any] = field(default_factory=dict)
    batches: tuple[int, ...] = ()
    key_columns: tuple[str, ...] = ()
    shared_keys: int = 0
    zero_or_one: tuple[str, ...] = ()

    def __repr__(self) -> str:
        exported = f", {self.tasks:,} tasks in {self.files[0].name!r}" if self.files else ""
        more = f" and {len(self.files) - 1:,} more" if len(self.files) > 1 else ""
        return f"<Selection of {self.table.num_rows:,} items, {self.table.num_columns} columns{exported}{more}>"

    def _repr_html_(self) -> str:
        """Show in a notebook what was fetched and written, and the first items."""
        entries = {"items": f"{self.table.num_rows:,}", "rows read": f"{self.fetched.rows_read:,}"}
        entries |= {"tasks": f"{self.tasks:,}", "files": ", ".join(map(str, self.files))} if self.files else {}
        return facts("Selection", entries) + head(self.table)


@takes(TaskOptions)
def select(
    study: str | os.PathLike[str],
    *,
    ranking: Any = None,
    columns: str | Sequence[str] | None = None,
    export: str | os.PathLike[str] | None = None,
    engine: Engine | str = "local",
    progress: Progress = silent,
    **tasks: Any,
) -> Selection:
    """Fetch the planned items into selection.parquet, and write them as tasks if asked to.

    What is in selection.parquet already is not fetched again: of the list, only footers are read then, to see that it
    is still the one that was planned.

    Args:
        ranking: The ranking that was planned, where it lies in memory: a study cannot open it again by itself.
        columns: The items' columns to carry; by default all. Key columns are carried besides. In an export, columns
            that look like scores or labels, that were the index of a pandas frame, or that follow the order of the
            ranking appear only when they are named here.
        export: Task file for people, without items whose label the plan reuses. Format by its ending: .csv, .jsonl
            (Prodigy), .label-studio.json, .html (an offline page). Its order is a seeded shuffle, and `se_task` numbers
            that shuffle, so neither reveals a rank. Where the plan asks a judge first (`judge_sample`), these are tasks
            for it until it has answered.
        engine: What runs the scans of a list by score: see `scan`.
        tasks: `remaining`, `repeats`, `controls`, `ask`, `positive`, `negative`, `guidelines`, `image`, `image_root` of
            the export: see `streameval.labelling.options.TaskOptions`.

    Raises:
        StudyError: The ranking is not the one that was planned; both fingerprints are named. Its scans are shared out
            in shards (`scan`), and some are not done; names them.
        InputError: A column that is not there, a damaged file, or a file where the export would be that differs from
            it; an export that would show nothing.
    """
    folder = Study(Path(study))
    plan, access = folder.plan(), Access(ranking, columns, engine, progress)
    if awaits_judge(plan):
        if export is None:
            raise InputError(
                f"{folder.folder}: its judge has to answer before anybody labels",
                f"streameval select {folder.folder} --export FILE, then streameval judge {folder.folder} FILE",
            )
        return _for_judge(folder, plan, access, Path(export), tasks)
    form = format_of(os.fspath(export)) if export is not None else None
    (asked,) = split([TaskOptions], tasks, "select")
    if export is None and (given := [name for name, value in tasks.items() if value]):
        raise InputError(
            f"{flag(given[0])} says what an export holds, and no export is asked for", "name a file with --export"
        )
    items = planned_items(folder, access)
    plan, fetched = items.plan, items.fetched
    if items.already and columns is not None and export is None:  # columns that are not asked for are left out
        items.save(folder)
    kind = kind_of(folder.folder)
    handed = kind.tasks.handed_out(folder, plan, form is not None and asked.remaining)
    table = fetched.table if handed is None else fetched.table.filter(pa.array(handed))
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    selection = Selection(table if kind.rounds else fetched.table, fetched, items.already, source=source,
                          key_columns=plan.key_columns, shared_keys=_shared_keys(plan, fetched.table))  # fmt: skip
    if form is None or export is None:
        return selection
    kept = f"; {fetched.table.num_rows:,} items are kept in {folder.folder / 'selection.parquet'}"
    made = make_tasks(folder, plan, table, items.shown(columns, kept), asked)
    doubtful = zero_or_one(made.table) if columns is None else ()
    selection = replace(selection, left_out=made.left_out, zero_or_one=doubtful)
    if not made.table.num_rows:  # nothing remains: a file without a task would only be sent around
        return selection
    question = question_of(folder, asked, made.table.column_names)
    exported = form.files(made.table, Path(export), question)
    atomic.write_all({**question_file(folder, question), **folder.extra_task_files(made.extra)})
    atomic.write_out(exported, hint="people may have filled it in, so it is not replaced: export to another name")
    return replace(selection, tasks=made.table.num_rows, files=tuple(exported), batches=made.batches)


def _shared_keys(plan: Plan, items: pa.Table) -> int:
    """Count items that have the key of another; none where no key is named, as in a plan of many rankings."""
    names = [*dict.fromkeys([*plan.ranking.get("key", ()), *plan.draw_by])]
    if not names or not {*names} <= {*items.column_names}:
        return 0
    keys = items.select(names).drop_null()
    _, count = np.unique(key_hashes(keys), return_counts=True)
    return int(count[count > 1].sum())


def _for_judge(
    folder: Study,
    plan: Plan,
    access: Access,
    export: Path,
    tasks: Mapping[str, Any],
) -> Selection:
    """Fetch what a judge is asked about, and write it as tasks."""
    form = format_of(os.fspath(export))
    (asked,) = split([TaskOptions], tasks, "select")
    if given := [name for name in ("remaining", "repeats", "controls") if tasks.get(name)]:
        raise InputError(f"{flag(given[0])} is for people, and a judge has to answer first", "leave it out")
    fetched, table, left_out = judged_items(folder, plan, access)
    exported = form.files(table, export, question_of(folder, asked, table.column_names))
    atomic.write_out(exported, hint="answers may be in it, so it is not replaced: export to another name")
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    return Selection(fetched.table, fetched, False, left_out, table.num_rows, tuple(exported), source,
                     key_columns=plan.key_columns)  # fmt: skip


def forecast(
    study: str | os.PathLike[str], *, ranking: Any = None, columns: str | Sequence[str] | None = None
) -> tuple[Plan, Forecast]:
    """Forecast what `select` would read, from footers and page indexes; nothing is written; errors as in `select`."""
    folder = Study(Path(study))
    plan = folder.plan()
    opened = open_planned(plan, ranking)
    names = wanted_columns(plan, opened, columns)
    there = fetched_before(folder, plan, names)
    return plan, opened.forecast(plan.ranks, names) if there is None else Forecast()
