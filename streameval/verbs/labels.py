"""Labels: how far the labelling has come, and what becomes of a source that should not count."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

from streameval.kinds import kind_of
from streameval.labelling.pace import duration
from streameval.labelling.unlabelled import unlabelled
from streameval.options import takes
from streameval.printed import Event, Printed
from streameval.reporting.label_lines import doubt_lines
from streameval.reporting.next_step import results_again
from streameval.reporting.sentences import width_reached
from streameval.reporting.text import Columns, Paragraph
from streameval.study import Study
from streameval.study.progress import LabellingProgress
from streameval.text import number_of, short

_MOST = 12  # open strata that a terminal shows


@overload
def labels(study: str | os.PathLike[str]) -> LabellingProgress: ...
@overload
def labels(study: str | os.PathLike[str], *, forget: Sequence[str] | str) -> dict[str, int]: ...
@takes()
def labels(
    study: str | os.PathLike[str], *, forget: Sequence[Any] | Any | None = None
) -> LabellingProgress | dict[str, int]:
    """Show how far the labelling has come, by stratum, annotator and source.

    Example: streameval labels my-study
    Example: streameval labels my-study --forget ann.csv ben.csv

    Args:
        study: Folder of the study.
        forget: Sources, by the names or ids shown, or what a source column says, whose rows are not to count any more.
            Their rows stay stored; giving a source to evaluate again lets its rows count again.

    Returns:
        LabellingProgress: Labels are judged as in the last evaluation.
        dict of str to int: With `forget`, of each of these sources the rows that do not count any more; 0 where they
            did not before.

    Raises:
        StudyError: No study there, or its votes are damaged.
        InputError: There is no such source to forget; then none is forgotten.
    """
    folder = Study(Path(study))
    names = forget if isinstance(forget, list | tuple) or forget is None else [str(forget)]
    if not names:
        return kind_of(folder.folder).progress(folder)
    with folder.changing():
        folder.plan()
        return folder.labels.forget(*names)


def printed(found: LabellingProgress | Mapping[str, int], study: Path, **_: Any) -> Printed:
    """Print how far the labelling has come, or which rows do not count any more and what to run next."""
    if not isinstance(found, LabellingProgress):
        return _forgotten(study, found)
    facts = {
        "study": str(study),
        "account": dict(found.account),
        "strata": found.strata.to_pylist(),
        "sources": list(found.sources),
        "agreement": dict(found.agreement),
        **found.doubts,
        "half_width": dict(found.half_width),
        **found.judging,
        "pace": dict(found.pace),
    }
    return Printed(facts, _lines(study, found), events=[Event("labels", found.account)])


def _forgotten(study: Path, dropped: Mapping[str, int]) -> Printed:
    folder = Study(study)
    lines = [f"No longer counted: {number_of(rows, 'row')} of {source}." if rows else f"{source} is forgotten already."
             for source, rows in dropped.items()]  # fmt: skip
    return Printed(
        {"study": str(study), "forgotten": dict(dropped)},
        [*lines, f"Next: {results_again(folder, folder.plan()).command}"],
        events=[Event("forget", {"source": source, "rows": rows}) for source, rows in dropped.items()],
    )


def _lines(study: Path, state: LabellingProgress) -> list[Paragraph]:
    account = state.account
    if not account["planned"]:
        return ["There is nothing to label.", *(_sources(state) if state.sources else [])]
    share = account["labelled"] / account["planned"]
    without = ", ".join(f"{number:,} {why}" for why, number in unlabelled(account).items())
    torn = ": their answers tie or contradict each other" if account["undecided"] else ""
    planned = f"{account['planned']:,} planned items labelled ({share:.1%})"
    lines: list[Paragraph] = [f"{account['labelled']:,} of {planned}, {without}{torn}."]
    half = state.half_width
    if half and not account["labelled"]:
        lines.append("No half-width: no planned item has a label yet.")
    elif half and half["coverage"] == "none":
        lines.append("No half-width: the labels so far give a picture, not bounds.")
    elif half:
        lines.append(width_reached(half))
    lines += _time_left(state)
    return [*lines, *_strata(state), *_annotators(state), *doubt_lines(study, state.doubts), *_sources(state)]


def _time_left(state: LabellingProgress) -> list[str]:
    """How long the open tasks take, where times tell how fast people answer."""
    pace, left, tasks = state.pace["per_hour"], state.pace["left_hours"], state.account["open"]
    if not pace or not tasks:
        return []
    open_tasks = number_of(tasks, "open task")
    return [f"At {pace:,.0f} answers in an hour of work, {open_tasks} would take one person {duration(left)}."]


def _strata(state: LabellingProgress) -> list[Paragraph]:
    rows = [row for row in state.strata.to_pylist() if row["labelled"] < row["planned"]]
    done = state.strata.num_rows - len(rows)
    column = state.strata.column_names[0]
    head, many = (column, f"{column}s") if column != "stratum" else ("ranks of stratum", "strata")
    if not rows:
        return [f"All {done:,} {many} are complete."]
    cells = [[_name_of(row), f"{row['planned']:,}", f"{row['labelled']:,}"] for row in rows]
    more = [f"… and {len(rows) - _MOST:,} more open {many}; {done:,} are complete"] if len(rows) > _MOST else []
    return ["", Columns([head, "planned", "labelled"], cells[:_MOST]), *more]


def _name_of(row: dict[str, Any]) -> str:
    return f"{row['first_rank']:,}–{row['last_rank']:,}" if "stratum" in row else short(str(next(iter(row.values()))))


def _annotators(state: LabellingProgress) -> list[Paragraph]:
    people = state.agreement["annotators"]
    if not people:
        return []
    pace, hours = state.pace["people"], state.pace["hours"]
    cells = [
        [name or "(nobody named)", f"{counts['votes']:,}", f"{counts['skips']:,}",
         duration(hours[name]) if name in hours else "–", f"{pace[name]:,.0f}" if name in pace else "–",
         _percent(counts["percent"]),
         _of(counts, "repeats_equal", "repeats"), _of(counts, "controls_right", "controls")]
        for name, counts in people.items()
    ]  # fmt: skip
    head = ["annotator", "votes", "skips", "worked", "an hour", "agrees", "repeats equal", "controls right"]
    lines: list[Paragraph] = ["", Columns(head, cells)]
    if state.agreement["items"]:
        alpha = state.agreement["alpha"]
        shown = f"{alpha:.3f}" if alpha is not None else "undefined"
        agree = _percent(state.agreement["percent"])
        items = number_of(state.agreement["items"], "item")
        lines.append(f"On {items} with several votes {agree} of pairs agree; alpha {shown}.")
    return lines


def _sources(state: LabellingProgress) -> list[Paragraph]:
    if not state.sources:
        return ["", "No labels yet."]
    cells = [
        [one["source"], one["id"], *(f"{one[key]:,}" for key in ("rows", "votes", "again", "skips", "unplanned"))]
        for one in state.sources
    ]
    return ["", Columns(["source", "id", "rows", "votes", "again", "skips", "unplanned"], cells)]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _of(counts: dict[str, Any], part: str, whole: str) -> str:
    return f"{counts[part]} of {counts[whole]}" if whole in counts else "–"
