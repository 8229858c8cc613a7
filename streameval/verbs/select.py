"""Select: fetch exactly the planned items, and export them as tasks for people."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.engines import engine_facts
from streameval.errors import InputError
from streameval.judges.classes import awaits_judge
from streameval.kinds import kind_of, standing_of
from streameval.labelling.exports import format_of
from streameval.labelling.options import TaskOptions
from streameval.notebook import Tabular, facts, head
from streameval.options import split, takes
from streameval.order.scan import key_hashes
from streameval.parquet.account import Forecast
from streameval.printed import Event, Printed, Record
from streameval.progress import Progress, silent
from streameval.rankings import open_planned
from streameval.rankings.ranking import Fetched
from streameval.rehearsal import Rehearsal
from streameval.reporting.next_step import export_tasks, take_in
from streameval.scans.jobs import Engine
from streameval.serving.items import Access, fetched_before, judged_items, planned_items, wanted_columns
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.tasks import make_tasks, question_file, question_of, zero_or_one
from streameval.text import number_of, those_with
from streameval.text.options import flag
from streameval.types import Plan

# why columns are left out of tasks, of several of them and of one
_REASONS = (
    ("answer", "they look like scores or answers", "it looks like a score or an answer"),
    ("index", "the index of a pandas frame", "the index of a pandas frame"),
    ("order", "they follow the order of the ranking", "it follows the order of the ranking"),
)


@dataclass(frozen=True)
class Selection(Tabular):
    """Result of `select`.

    Attributes:
        table: `rank`, `stratum`, `draw_weight` (see `streameval.study.weights`), `score` (where the order has one),
            `se_task`, then the items' columns. Of a question, only of items that nobody has answered or skipped.
        fetched: What was read for it, now or by the `select` that fetched it.
        already: Whether the items were there: nothing of the list was read but footers.
        left_out: Columns that an export leaves out, with why (`streameval.study.tasks`).
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
    """Fetch the planned items as tasks for people.

    Nothing else of the list is read.

    Example: streameval select my-study --export tasks.csv

    Args:
        study: Folder of the study.
        ranking: In Python alone: the ranking that was planned, where it lies in memory: a study cannot open it again
            by itself.
        columns: The items' columns to carry, separated by commas; key columns are carried besides (default: all; an
            export leaves out scores, labels, the index of a pandas frame, and what follows the order of the ranking).
        export: Task file; its ending says the format: .csv, .jsonl (Prodigy), .label-studio.json, .html (an offline
            page). Tasks of a plan with --stages come batch by batch. Where a judge is asked about a sample, they are
            for it until it has answered. In Python too, it has no items whose label the plan reuses. Its order is a
            seeded shuffle, and se_task numbers that shuffle, so neither reveals a rank.
        engine: In Python: what runs the scans of a list by score: see `scan`.
        tasks: In Python: `remaining`, `repeats`, `controls`, `ask`, `positive`, `negative`, `guidelines`, `image`,
            `image_root` of the export: see `streameval.labelling.options.TaskOptions`.

    Returns:
        Selection: What is in selection.parquet already is not fetched again: of the list, only footers are read then,
            to see that it is still the one that was planned.

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
    (task_options,) = split([TaskOptions], tasks, "select")
    if export is None and (export_only := [name for name, value in tasks.items() if value]):
        raise InputError(
            f"{flag(export_only[0])} says what an export holds, and no export is asked for", "name a file with --export"
        )
    kind = kind_of(folder.folder)
    items = planned_items(folder, access)
    plan, fetched = items.plan, items.fetched
    if items.already and columns is not None and export is None:  # columns that are not asked for are left out
        items.save(folder)
    handed = kind.tasks.handed_out(folder, plan, form is not None and task_options.remaining)
    table = fetched.table if handed is None else fetched.table.filter(pa.array(handed))
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    selection = Selection(table if kind.rounds else fetched.table, fetched, items.already, source=source,
                          key_columns=plan.key_columns, shared_keys=_shared_keys(plan, fetched.table))  # fmt: skip
    if form is None or export is None:
        return selection
    kept = f"; {fetched.table.num_rows:,} items are kept in {folder.folder / 'selection.parquet'}"
    selected = make_tasks(folder, plan, table, items.shown_columns(columns, kept), task_options)
    doubtful = zero_or_one(selected.table) if columns is None else ()
    selection = replace(selection, left_out=selected.left_out, zero_or_one=doubtful)
    if not selected.table.num_rows:  # nothing remains: a file without a task would only be sent around
        return selection
    question = question_of(folder, task_options, selected.table.column_names)
    exported = form.files(selected.table, Path(export), question)
    atomic.write_all({**question_file(folder, question), **folder.extra_task_files(selected.extra)})
    atomic.write_out(exported, hint="people may have filled it in, so it is not replaced: export to another name")
    return replace(selection, tasks=selected.table.num_rows, files=tuple(exported), batches=selected.batches)


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
    (task_options,) = split([TaskOptions], tasks, "select")
    if for_people := [name for name in ("remaining", "repeats", "controls") if tasks.get(name)]:
        raise InputError(f"{flag(for_people[0])} is for people, and a judge has to answer first", "leave it out")
    fetched, table, left_out = judged_items(folder, plan, access)
    exported = form.files(table, export, question_of(folder, task_options, table.column_names))
    atomic.write_out(exported, hint="answers may be in it, so it is not replaced: export to another name")
    source = {"source": plan.location["source"], "fingerprint": plan.ranking["fingerprint"]}
    return Selection(fetched.table, fetched, False, left_out, table.num_rows, tuple(exported), source,
                     key_columns=plan.key_columns)  # fmt: skip


def rehearsal(
    study: str | os.PathLike[str],
    *,
    ranking: Any = None,
    columns: str | Sequence[str] | None = None,
    export: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
    **tasks: Any,
) -> Rehearsal:
    """Forecast what would be read, from footers and page indexes; errors as in `select`."""
    folder = Study(Path(study))
    plan = folder.plan()
    kind_of(folder.folder)  # refuses what only earlier versions planned
    opened = open_planned(plan, ranking)
    names = wanted_columns(plan, opened, columns)
    there = fetched_before(folder, plan, names)
    read = opened.forecast(plan.ranks, names) if there is None else Forecast()
    writes = [folder.folder / "selection.parquet", *([export] if export else [])]
    return Rehearsal.of_plan([f"{number_of(plan.table.num_rows, 'item')} would be fetched."], plan, read, writes)


def printed(selection: Selection, study: Path, export: Path | None = None, engine: str = "local", **_: Any) -> Printed:
    """Print what was fetched and exported, what tasks do not show, and what to run next."""
    plan = Study(study).plan()
    for_judge = awaits_judge(plan)
    facts = _facts(selection)
    rows, size = max(facts["rows_read"], facts["rows_scanned"]), facts["bytes_read"]
    stage = facts | ({"rows": 0, "bytes": 0} if selection.already else {"rows": rows, "bytes": size})
    read = {name: facts[name] for name in ("rows_read", "rows_scanned", "row_groups_read", "pages_read", "bytes_read")}
    kept = study / ("judge_items.parquet" if for_judge else "selection.parquet")
    fate = "fetched before are used again from" if selection.already else "fetched into"
    lines = [f"{number_of(selection.table.num_rows, 'item')} {fate} {kept}"] * bool(selection.table.num_rows)
    lines += [*_ties(selection, plan), *_to_people(study, selection, export, for_judge)]
    return Printed(
        {"study": str(study), "export": str(export) if selection.files else None, **facts},
        lines,
        stage,
        [Event("fallback", asdict(fallback)) for fallback in selection.fetched.fallbacks],
        Record(study, {**selection.source, **read, **engine_facts(engine)}, [kept, *selection.files]),
    )


def _ties(selected: Selection, plan: Plan) -> list[str]:
    """Say what of the order of these items, and of their keys, is arbitrary."""
    lines = []
    if tied := selected.fetched.tied_ranks:
        lines.append(
            f"{tied:,} of them {'shares its' if tied == 1 else 'share their'} score with another item: "
            "tied items stand in a fixed, arbitrary order."
        )
        if 2 * tied > selected.table.num_rows:
            lines.append("More than half of these items are tied: the curve may depend on how ties are broken.")
    if selected.fetched.equal_keys:
        key = ", ".join(plan.ranking["key"])
        lines.append(
            f"`{key}` repeats for {selected.fetched.equal_keys:,} tied items: the stored order decides between them."
        )
    if selected.shared_keys:
        lines.append(
            f"`{', '.join(selected.key_columns)}` does not tell items apart: {selected.shared_keys:,} of the fetched "
            "items share theirs with another one. Labels come back by se_task."
        )
    if selected.fetched.missing_scores:
        lines.append(f"{those_with(selected.fetched.missing_scores, 'item')} no score: ranked last.")
    return lines


def _facts(selected: Selection) -> dict[str, Any]:
    return {
        "items": selected.table.num_rows,
        "columns": selected.table.column_names,
        "already_fetched": selected.already,
        "rows_read": selected.fetched.rows_read,
        "row_groups_read": selected.fetched.row_groups_read,
        "pages_read": selected.fetched.pages_read,
        "bytes_read": selected.fetched.bytes_read,
        "tied_ranks": selected.fetched.tied_ranks,
        "equal_keys": selected.fetched.equal_keys,
        "shared_keys": selected.shared_keys,
        "missing_scores": selected.fetched.missing_scores,
        "rows_scanned": selected.fetched.rows_scanned,
        "left_out": dict(selected.left_out),
        "tasks": selected.tasks,
        "files": [str(path) for path in selected.files],
        "batches": list(selected.batches),
    }


def _to_people(study: Path, selected: Selection, export: Path | None, for_judge: bool) -> list[str]:
    """Say what was exported, and what to run once it is answered."""
    if not selected.table.num_rows or (export is not None and not selected.files):
        standing = standing_of(study)
        unwritten = "" if export is None else f", so {export} was not written"
        planned = Study(study).plan().table.num_rows
        none = "Every task has its label" if planned else "There is nothing to label"
        return [
            f"{none}{unwritten}.",
            *[standing.verdict] * kind_of(study).rounds,
            *[f"Next: {standing.next}"] * bool(standing.next),
        ]
    lines, back = [], shlex.quote(str(export))
    if export is not None:
        form = format_of(str(export))
        back = form.back or back
        whom = " for the judge, who answers before anybody labels" if for_judge else ""
        lines.append(f"{_export_sentence(selected.tasks, selected.files)}{whom}, shuffled: {form.how}.")
        if reused := len(set(Study(study).labels.reused_ranks())):
            lines.append(f"{those_with(reused, 'item')} a label already, which the plan reuses: no task asks for it.")
        if selected.batches:
            rows = ", ".join(f"{row:,}" for row in selected.batches)
            lines.append(f"Batches end with tasks {rows}: evaluate whenever one is answered.")
        lines += _left_out(selected.left_out, selected.key_columns)
        if seen := selected.zero_or_one:
            column = "a column" if len(seen) == 1 else "columns"
            told = f"Annotators see {column} of only 0 and 1: {', '.join(seen)}."
            lines.append(f"{told} If that is the answer, choose columns with --columns.")
    folder, taker = str(study), "judge" if for_judge else "evaluate"
    following = export_tasks(folder) if export is None else take_in(folder, back, taker)
    return [*lines, f"Next: {following.command}"]


def _left_out(why: Mapping[str, str], key: Collection[str]) -> list[str]:
    """Tell which columns tasks do not show, and what becomes of those by which answers might be joined."""
    if not why:
        return []
    sentences = []
    for reason, many, singular in _REASONS:
        if names := [name for name, cause in why.items() if cause == reason]:
            sentences.append(f"{', '.join(names)} ({singular if len(names) == 1 else many})")
    lines = [f"Left out of the tasks: {'; '.join(sentences)}. Choose columns with --columns."]
    if keys := ",".join(name for name in key if name in why):
        lines.append(
            f"Answers come back by se_task. Labels made elsewhere join by the key, with `evaluate --on {keys}`."
        )
    return lines


def _export_sentence(tasks: int, files: Sequence[Path]) -> str:
    return (
        f"{number_of(tasks, 'task')} in "
        + ", ".join(str(path) for path in files[:3])
        + (" …" if len(files) > 3 else "")
    )
