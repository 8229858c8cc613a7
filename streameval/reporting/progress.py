"""Texts about the progress of labelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from streameval.labelling.pace import duration
from streameval.labelling.unlabelled import count_unlabelled
from streameval.reporting.label_lines import doubt_lines
from streameval.reporting.sentences import width_reached
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Columns, Paragraph
from streameval.study.progress import LabellingProgress
from streameval.text import number_of, short

_MOST = 12  # open strata that are shown


@dataclass(frozen=True, repr=False)
class ProgressResult(ShowsItself, LabellingProgress):
    """Progress of the labelling, with its text.

    Attributes:
        study: Its folder, as given.
    """

    study: Path

    @classmethod
    def from_study(cls, progress: LabellingProgress, study: Path) -> Self:
        """Make it of a study."""
        return cls(**{field.name: getattr(progress, field.name) for field in fields(progress)}, study=study)

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say how much is labelled, how wide the bounds are by now, what is left, and who labelled how much."""
        return _lines(self.study, self)


def _lines(study: Path, state: LabellingProgress) -> list[Paragraph]:
    account = state.account
    if not account["planned"]:
        return ["There is nothing to label.", *(_sources(state) if state.sources else [])]
    share = account["labelled"] / account["planned"]
    without = ", ".join(f"{number:,} {why}" for why, number in count_unlabelled(account).items())
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
    """Say how long the open tasks take, where times tell how fast people answer."""
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
        [name or "(no name)", f"{counts['votes']:,}", f"{counts['skips']:,}",
         duration(hours[name]) if name in hours else "–", f"{pace[name]:,.0f}" if name in pace else "–",
         _percent(counts["percent"]),
         _share_text(counts, "repeats_equal", "repeats"), _share_text(counts, "controls_right", "controls")]
        for name, counts in people.items()
    ]  # fmt: skip
    head = ["annotator", "votes", "skips", "worked", "an hour", "agrees", "repeats equal", "controls right"]
    lines: list[Paragraph] = ["", Columns(head, cells)]
    if state.agreement["items"]:
        alpha = state.agreement["alpha"]
        shown = f"{alpha:.3f}" if alpha is not None else "undefined"
        agree = _percent(state.agreement["percent"])
        items = number_of(state.agreement["items"], "item")
        lines.append(f"On {items} with several votes, {agree} of pairs of votes agree (Krippendorff's alpha {shown}).")
    return lines


def _sources(state: LabellingProgress) -> list[Paragraph]:
    if not state.sources:
        return ["", "No labels yet."]
    cells = [
        [
            source["source"],
            source["id"],
            *(f"{source[key]:,}" for key in ("rows", "votes", "again", "skips", "unplanned")),
        ]
        for source in state.sources
    ]
    return ["", Columns(["source", "id", "rows", "votes", "again", "skips", "unplanned"], cells)]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _share_text(counts: dict[str, Any], part: str, whole: str) -> str:
    return f"{counts[part]} of {counts[whole]}" if whole in counts else "–"
