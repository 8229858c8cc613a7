"""`streameval select`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.options import EngineFlags, Flags, flags_of
from streameval.cli.output import Output, progress
from streameval.cli.panels import TASKS
from streameval.labelling.options import TaskOptions
from streameval.text import number_of, those_with

if TYPE_CHECKING:
    from streameval.verbs.select import Selection


@flags_of(TaskOptions, panel=TASKS)
class TaskFlags(Flags):
    """What an export holds."""


_TASKS = TaskFlags()

# why columns are left out of tasks, of several of them and of one
_REASONS = (
    ("answer", "they look like scores or answers", "it looks like a score or an answer"),
    ("index", "the index of a pandas frame", "the index of a pandas frame"),
    ("order", "they follow the order of the ranking", "it follows the order of the ranking"),
)


@job
def select(
    study: Path,
    /,
    *,
    columns: str | None = None,
    export: Path | None = None,
    tasks: TaskFlags = _TASKS,
    engine: EngineFlags = EngineFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Fetch exactly the planned items, and write them as tasks for people.

    Example: streameval select my-study --export tasks.csv

    Args:
        study: Folder of the study.
        columns: The items' columns to carry, separated by commas; key columns are carried besides (default: all; an
            export leaves out scores, labels, the index of a pandas frame, and what follows the order of the ranking).
        export: Task file; its ending says the format: .csv, .jsonl (Prodigy), .label-studio.json, .html (an offline
            page). Tasks of a plan with --stages come batch by batch. Those of a plan with --judge-sample are for the
            judge, until it has answered.
    """
    from streameval.judges.classes import awaits_judge
    from streameval.study import Study
    from streameval.verbs.select import forecast
    from streameval.verbs.select import select as verb

    if batch.dry_run:
        plan, what = forecast(study, columns=columns)
        foreseen = rehearsed(of_plan(plan), what, [study / "selection.parquet", *([export] if export else [])])
        output.say(foreseen, [f"{number_of(plan.table.num_rows, 'item')} would be fetched.", *lines_of(foreseen)])
        return
    for_judge = awaits_judge(Study(study).plan())
    with stage("select", output) as told:
        with progress("reading pages", output) as bar:
            asked = tasks.given()
            made = verb(study, columns=columns, export=export, engine=engine.create(), progress=bar, **asked)
        facts = _facts(made)
        rows, size = max(facts["rows_read"], facts["rows_scanned"]), facts["bytes_read"]
        told |= facts | ({"rows": 0, "bytes": 0} if made.already else {"rows": rows, "bytes": size})
        for fallback in made.fetched.fallbacks:
            output.event("fallback", **asdict(fallback))
    read = {name: facts[name] for name in ("rows_read", "rows_scanned", "row_groups_read", "pages_read", "bytes_read")}
    kept = study / ("judge_items.parquet" if for_judge else "selection.parquet")
    written = [kept, *made.files]
    record(study, "select", {**made.source, **read, **engine.facts()}, written, output)
    fate = "fetched before are used again from" if made.already else "fetched into"
    lines = [f"{number_of(made.table.num_rows, 'item')} {fate} {kept}"] * bool(made.table.num_rows)
    if tied := made.fetched.tied_ranks:
        lines.append(
            f"{tied:,} of them {'shares its' if tied == 1 else 'share their'} score with another item: "
            "tied items stand in a fixed, arbitrary order."
        )
        if 2 * tied > made.table.num_rows:
            lines.append("They are more than half: another tie rule may give another curve.")
    if made.fetched.equal_keys:
        key = ", ".join(Study(study).plan().ranking["key"])
        lines.append(
            f"`{key}` repeats for {made.fetched.equal_keys:,} tied items: the stored order decides between them."
        )
    if made.shared_keys:
        lines.append(
            f"`{', '.join(made.key_columns)}` does not tell items apart: {made.shared_keys:,} of these share "
            "theirs with another of them. Nothing else of the list was looked at; labels come back by se_task."
        )
    if made.fetched.missing_scores:
        lines.append(f"{those_with(made.fetched.missing_scores, 'item')} no score: ranked last.")
    lines += _to_people(study, made, export, for_judge)
    output.say({"study": str(study), "export": str(export) if made.files else None, **facts}, lines)


def _facts(made: Selection) -> dict[str, Any]:
    return {
        "items": made.table.num_rows,
        "columns": made.table.column_names,
        "already_fetched": made.already,
        "rows_read": made.fetched.rows_read,
        "row_groups_read": made.fetched.row_groups_read,
        "pages_read": made.fetched.pages_read,
        "bytes_read": made.fetched.bytes_read,
        "tied_ranks": made.fetched.tied_ranks,
        "equal_keys": made.fetched.equal_keys,
        "shared_keys": made.shared_keys,
        "missing_scores": made.fetched.missing_scores,
        "rows_scanned": made.fetched.rows_scanned,
        "left_out": dict(made.left_out),
        "tasks": made.tasks,
        "files": [str(path) for path in made.files],
        "batches": list(made.batches),
    }


def _to_people(study: Path, made: Selection, export: Path | None, for_judge: bool) -> list[str]:
    """What was exported, and what to run once it is answered."""
    from streameval.kinds import kind_of
    from streameval.labelling.exports import format_of
    from streameval.reporting.next_step import export_tasks, take_in
    from streameval.study import Study
    from streameval.verbs.show import show

    if not made.table.num_rows or (export is not None and not made.files):
        standing = show(study)
        unwritten = "" if export is None else f", and {export} was not written"
        following, verdict = (getattr(standing, name, "") for name in ("next", "verdict"))
        planned = Study(study).plan().table.num_rows
        none = "Every task has its label: none remains" if planned else "There is nothing to label"
        return [
            f"{none}{unwritten}.",
            *[verdict] * kind_of(study).rounds,
            *[f"Next: {following}"] * bool(following),
        ]
    lines, back = [], shlex.quote(str(export))
    if export is not None:
        form = format_of(str(export))
        back = form.back or back
        whom = " for the judge, who answers before anybody labels" if for_judge else ""
        lines.append(f"{_exported(made.tasks, made.files)}{whom}, shuffled: {form.how}.")
        if reused := len(set(Study(study).labels.reused())):
            lines.append(f"{those_with(reused, 'item')} a label already, which the plan reuses: no task asks for it.")
        if made.batches:
            rows = ", ".join(f"{row:,}" for row in made.batches)
            lines.append(f"Batches end with tasks {rows}: evaluate whenever one is answered.")
        lines += _left_out(made.left_out, made.key_columns)
        if seen := made.zero_or_one:
            it = "it" if len(seen) == 1 else "each"
            what = f"Shown, though only 0 and 1 are in {it}: {', '.join(seen)}."
            lines.append(f"{what} If that is the answer, --columns names what to show.")
    folder, taker = str(study), "judge" if for_judge else "evaluate"
    following = export_tasks(folder) if export is None else take_in(folder, back, taker)
    return [*lines, f"Next: {following.command}"]


def _left_out(why: Mapping[str, str], key: Collection[str]) -> list[str]:
    """Which columns tasks do not show, and what becomes of those by which answers might be joined."""
    if not why:
        return []
    told = []
    for reason, many, one in _REASONS:
        if names := [name for name, cause in why.items() if cause == reason]:
            told.append(f"{', '.join(names)} ({one if len(names) == 1 else many})")
    lines = [f"Left out of the tasks: {'; '.join(told)}. --columns names what to show."]
    if keys := ",".join(name for name in key if name in why):
        lines.append(
            "Answers come back by se_task. The key is in selection.parquet: labels made elsewhere join by it, with "
            f"`evaluate --on {keys}`."
        )
    return lines


def _exported(tasks: int, files: Sequence[Path]) -> str:
    return (
        f"{number_of(tasks, 'task')} in "
        + ", ".join(str(path) for path in files[:3])
        + (" …" if len(files) > 3 else "")
    )
