"""`streameval labels`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from streameval.cli.output import Output, columns
from streameval.labelling.pace import duration
from streameval.text import number_of, short

if TYPE_CHECKING:
    from streameval.study.progress import LabellingProgress

_Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative_iterable="")]
_MOST = 12  # open strata that a terminal shows


def labels(study: Path, /, *, forget: _Names = None, output: Output = Output()) -> None:
    """Show how far the labelling has come, by stratum, annotator and source.

    Example: streameval labels my-study
    Example: streameval labels my-study --forget ann.csv ben.csv

    Args:
        study: Folder of the study.
        forget: Sources, by the names or ids shown, or what a source column says, whose rows are not to count any more.
            Their rows stay stored; giving a source to evaluate again lets its rows count again.
    """
    from streameval.verbs.labels import forget as drop
    from streameval.verbs.labels import labels as verb

    if forget:
        from streameval.reporting.next_step import results_again
        from streameval.study import Study

        dropped, folder = drop(study, *forget), Study(study)
        for source, rows in dropped.items():
            output.event("forget", source=source, rows=rows)
        output.say(
            {"study": str(study), "forgotten": dropped},
            [
                *(f"No longer counted: {number_of(rows, 'row')} of {source}." if rows
                  else f"{source} is forgotten already." for source, rows in dropped.items()),
                f"Next: {results_again(folder, folder.plan()).command}",
            ],
        )  # fmt: skip
        return
    state = verb(study)
    output.event("labels", **state.account)
    result: dict[str, Any] = {
        "study": str(study),
        "account": dict(state.account),
        "strata": state.strata.to_pylist(),
        "sources": list(state.sources),
        "agreement": dict(state.agreement),
        **state.doubts,
        "half_width": dict(state.half_width),
        **state.judging,
        "pace": dict(state.pace),
    }
    output.say(result, _lines(study, state))


def _lines(study: Path, state: LabellingProgress) -> list[str]:
    from streameval.labelling.unlabelled import unlabelled
    from streameval.reporting.label_lines import doubt_lines
    from streameval.reporting.sentences import width_reached

    account = state.account
    if not account["planned"]:
        return ["There is nothing to label.", *(_sources(state) if state.sources else [])]
    share = account["labelled"] / account["planned"]
    without = ", ".join(f"{number:,} {why}" for why, number in unlabelled(account).items())
    torn = ": their answers tie or contradict each other" if account["undecided"] else ""
    lines = [f"{account['labelled']:,} of {account['planned']:,} planned items labelled ({share:.1%}), "
             f"{without}{torn}."]  # fmt: skip
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


def _strata(state: LabellingProgress) -> list[str]:
    rows = [row for row in state.strata.to_pylist() if row["labelled"] < row["planned"]]
    done = state.strata.num_rows - len(rows)
    column = state.strata.column_names[0]
    head, many = (column, f"{column}s") if column != "stratum" else ("ranks of stratum", "strata")
    if not rows:
        return [f"All {done:,} {many} are complete."]
    cells = [[_name_of(row), f"{row['planned']:,}", f"{row['labelled']:,}"] for row in rows]
    more = [f"… and {len(rows) - _MOST:,} more open {many}; {done:,} are complete"] if len(rows) > _MOST else []
    return ["", *columns([head, "planned", "labelled"], cells[:_MOST]), *more]


def _name_of(row: dict[str, Any]) -> str:
    return f"{row['first_rank']:,}–{row['last_rank']:,}" if "stratum" in row else short(str(next(iter(row.values()))))


def _annotators(state: LabellingProgress) -> list[str]:
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
    lines = [
        "",
        *columns(
            ["annotator", "votes", "skips", "worked", "an hour", "agrees", "repeats equal", "controls right"], cells
        ),
    ]
    if state.agreement["items"]:
        alpha = state.agreement["alpha"]
        shown = f"{alpha:.3f}" if alpha is not None else "undefined"
        agree = _percent(state.agreement["percent"])
        items = number_of(state.agreement["items"], "item")
        lines.append(f"On {items} with several votes {agree} of pairs agree; alpha {shown}.")
    return lines


def _sources(state: LabellingProgress) -> list[str]:
    if not state.sources:
        return ["", "No labels yet."]
    cells = [
        [one["source"], one["id"], *(f"{one[key]:,}" for key in ("rows", "votes", "again", "skips", "unplanned"))]
        for one in state.sources
    ]
    return ["", *columns(["source", "id", "rows", "votes", "again", "skips", "unplanned"], cells)]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _of(counts: dict[str, Any], part: str, whole: str) -> str:
    return f"{counts[part]} of {counts[whole]}" if whole in counts else "–"
