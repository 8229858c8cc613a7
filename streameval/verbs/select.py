"""Select: fetch exactly the planned items, and export them as tasks for people."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.engines import Engine
from streameval.errors import InputError, StudyError, did_you_mean
from streameval.judges.classes import awaits_judge, judge_of
from streameval.kinds import kind_of
from streameval.labelling.exports import format_of
from streameval.labelling.options import TaskOptions
from streameval.notebook import Tabular, facts, head
from streameval.options import listed, split, takes
from streameval.order.checkpoints import Scans, forget
from streameval.parquet.account import Forecast
from streameval.progress import Progress, silent
from streameval.rankings import open_planned
from streameval.rankings.ranking import Fetched, Ranking
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.planned_ranking import method_cutoffs, planned_ranking
from streameval.study.tasks import make_tasks, question_of, task_numbers
from streameval.study.weights import draw_weights
from streameval.text.options import flag
from streameval.types import Plan

# of `Fetched`, kept beside the items
_COUNTS = [
    "rows_read", "rows_scanned", "row_groups_read", "pages_read", "bytes_read", "tied_ranks", "equal_keys",
    "missing_scores",
]  # fmt: skip


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
        export: Task file for people, format by its ending: .csv, .jsonl (Prodigy), .label-studio.json, .html (an
            offline page). Its order is a seeded shuffle, and `se_task` numbers that shuffle, so neither reveals a rank.
            Where the plan asks a judge first (`judge_sample`), these are tasks for it until it has answered.
        engine: What runs the scans of a list by score: see `scan`.
        tasks: `remaining`, `repeats`, `controls`, `question`, `positive`, `negative` of the export: see
            `streameval.labelling.options.TaskOptions`.

    Raises:
        StudyError: The ranking is not the one that was planned; both fingerprints are named. Its scans are shared out
            in shards (`scan`), and some are not done; names them.
        InputError: A column that is not there, a damaged file, or a file where the export would be that differs from
            it; an export that would show nothing.
    """
    folder = Study(Path(study))
    plan, kind = folder.plan(), kind_of(folder.folder)
    if awaits_judge(plan):
        if export is None:
            raise InputError(
                f"{folder.folder}: its judge has to answer before anybody labels",
                f"streameval select {folder.folder} --export FILE, then streameval judge {folder.folder} FILE",
            )
        return _for_judge(folder, plan, (ranking, columns, engine, progress), Path(export), tasks)
    form = format_of(os.fspath(export)) if export is not None else None
    (asked,) = split([TaskOptions], tasks, "select")
    if export is None and (given := [name for name, value in tasks.items() if value]):
        raise InputError(
            f"{flag(given[0])} says what an export holds, and no export is asked for", "name a file with --export"
        )
    if plan.questions:
        with folder.changing():
            plan = kind.next_round(folder, folder.plan())
    opened, scans = planned_ranking(folder, plan, ranking, engine)
    names = wanted_columns(plan, opened, columns)
    before = fetched_before(folder, plan, names)
    if before is not None:
        fetched = before
    else:
        read = _read(folder, plan, opened, (names, progress, scans))
        _refuse_other_judge(plan, read.table)
        fetched = replace(read, table=_with_ours(plan, read.table, folder.first_task(plan)))
    if before is None or (columns is not None and export is None):  # columns that are not asked for are left out
        facts = {name: getattr(fetched, name) for name in _COUNTS}
        folder.save_selection(plan, fetched.table, fetched.thresholds, {**facts, "columns": names})
    if before is None:
        forget(folder.scans)
    handed = kind.handed_out(folder, plan, form is not None and asked.remaining)
    table = fetched.table if handed is None else fetched.table.filter(pa.array(handed))
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    selection = Selection(table if plan.questions else fetched.table, fetched, before is not None, source=source)
    if form is None or export is None:
        return selection
    kept = f"; {fetched.table.num_rows:,} items are kept in {folder.folder / 'selection.parquet'}"
    made = make_tasks(folder, plan, table, _shown(plan, opened, fetched.table, columns, kept), asked)
    selection = replace(selection, left_out=made.left_out, key_columns=plan.key_columns)
    if not made.table.num_rows:  # nothing remains: a file without a task would only be sent around
        return selection
    exported = form.files(made.table, Path(export), question_of(asked))
    atomic.write_all(folder.extra_task_files(made.extra))
    atomic.write_out(exported, hint="people may have filled it in, so it is not replaced: export to another name")
    return replace(selection, tasks=made.table.num_rows, files=tuple(exported), batches=made.batches)


def _read(folder: Study, plan: Plan, opened: Ranking, how: tuple[Sequence[str], Progress, Scans]) -> Fetched:
    """Read the planned items."""
    names, progress, scans = how
    if plan.questions:
        from streameval.study.ahead import fetch_in_rounds

        return fetch_in_rounds(folder, plan, opened, names, progress, scans)
    return opened.fetch(plan.ranks, names, progress, method_cutoffs(plan), scans)


def _for_judge(
    folder: Study,
    plan: Plan,
    how: tuple[Any, str | Sequence[str] | None, Engine | str, Progress],
    export: Path,
    tasks: Mapping[str, Any],
) -> Selection:
    """Fetch what a judge is asked about, and write it as tasks."""
    from streameval.study import judge_sample

    ranking, columns, engine, progress = how
    form = format_of(os.fspath(export))
    (asked,) = split([TaskOptions], tasks, "select")
    if given := [name for name in ("remaining", "repeats", "controls") if tasks.get(name)]:
        raise InputError(f"{flag(given[0])} is for people, and a judge has to answer first", "leave it out")
    opened, scans = planned_ranking(folder, plan, ranking, engine)
    view = judge_sample.view(plan)
    fetched = opened.fetch(view.ranks, wanted_columns(plan, opened, columns), progress, None, scans)
    names, left_out = _shown(plan, opened, fetched.table, columns)
    table = judge_sample.tasks(folder, plan, fetched.table, names)
    exported = form.files(table, export, question_of(asked))
    atomic.write_out(exported, hint="answers may be in it, so it is not replaced: export to another name")
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    return Selection(fetched.table, fetched, False, left_out, table.num_rows, tuple(exported), source,
                     key_columns=plan.key_columns)  # fmt: skip


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


def fetched_before(folder: Study, plan: Plan, names: Sequence[str]) -> Fetched | None:
    """What `select` fetched for this plan before, our columns with it; None where columns are not among it."""
    file = folder.selected(plan)
    there = file.facts.get("columns") if file is not None else None
    if file is None or not isinstance(there, list) or len(there) >= file.table.num_columns:
        return None
    ours = file.table.num_columns - len(there)  # columns before the items'
    place = {str(name): i for i, name in enumerate(there, ours)}
    if not place.keys() >= set(names):
        return None
    table = file.table.select([*range(ours), *(place[name] for name in names)])
    counts: Any = {name: int(file.facts.get(name, 0)) for name in _COUNTS}
    return Fetched(table, **counts)


def wanted_columns(plan: Plan, opened: Ranking, columns: str | Sequence[str] | None) -> list[str]:
    """Columns to fetch: those that were asked for, by default all, then key columns that were not.

    A score that comes anyway is not among them. Raises `InputError` where a column is not there.
    """
    all_columns = opened.columns()
    names = list(listed(columns)) if columns is not None else all_columns
    if strangers := sorted(set(names) - set(all_columns)):
        raise InputError(f"the ranking has no column '{strangers[0]}'", did_you_mean(strangers[0], all_columns))
    score = "score" if plan.ranking.get("score") == "score" else None
    return [name for name in dict.fromkeys([*names, *plan.key_columns]) if name != score]


def _shown(
    plan: Plan, opened: Ranking, table: pa.Table, columns: str | Sequence[str] | None, kept: str = ""
) -> tuple[list[str], dict[str, str]]:
    """Columns that tasks show, and those that they do not, with why.

    Args:
        kept: Where the items are, to be told.

    Raises:
        InputError: Nothing is left to show.
    """
    from streameval.study.shown_columns import ANSWER, shown_to_people

    named = listed(columns or ())
    carried = [] if columns is None else [name for name in plan.key_columns if name not in named]
    asked = table.select(range(table.num_columns - len(carried)))
    names, left_out = shown_to_people(plan, asked, set(named), opened.rows.index_columns())
    tells = [name for name, why in left_out.items() if why != ANSWER]
    if tells and not names:
        raise InputError(f"nothing is left to show: {', '.join(tells)} would tell people the ranks of the items{kept}",
                         f"--columns={tells[0]} shows it all the same")  # fmt: skip
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
