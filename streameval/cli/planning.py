"""Options of `plan` that lead to another way of planning, and those ways: growing a study, drawing by key."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from streameval.cli.methods import MethodFlags
from streameval.cli.options import Flags, Switch, Whole
from streameval.cli.output import Output, progress
from streameval.cli.panels import GROWTH, REUSE
from streameval.cli.ranking import RankingFlags
from streameval.errors import InputError, StudyError
from streameval.judge.classes import awaits_judge
from streameval.options import listed, option

if TYPE_CHECKING:
    from streameval.study import Study
    from streameval.types import Plan


@Parameter(name="*", group=GROWTH)
@dataclass(frozen=True)
class GrowthFlags(Flags):
    """Growing a study that was planned with --looks or --adaptive, without naming its ranking again."""

    labels_more: Whole | None = option(None, "Enlarge the study by at most this many labels, once.")
    half_width: float | None = option(
        None, "Enlarge the study until it is forecast to reach this, relative to precision."
    )
    second_batch: Annotated[Switch | None, Parameter(name="--continue")] = option(
        None,
        "Add the second batch to a study planned with --adaptive, where the labels of the first batch call for it.",
    )


@Parameter(name="*", group=REUSE)
@dataclass(frozen=True)
class ReuseFlags(Flags):
    """Drawing the same items in every version of a ranking."""

    draw_by: str | None = option(
        None,
        "loguniform: columns whose hash draws the items, so that another version draws nearly the same; needs --seed.",
    )
    reuse: str | None = option(None, "Labels that items got for any earlier version; needs --on and --seed.")
    on: str | None = option(None, "Column that joins them; items are drawn by it.")
    label: str | None = option(None, "Column with the label (default label).")
    labels_unseen_by_model: Literal["yes", "no"] | None = option(
        None, "With --reuse: whether the model was made without these labels; with no, bounds promise nothing."
    )

    def key(self) -> tuple[str, ...]:
        """Return the columns to draw by."""
        if self.reuse is not None and self.on is None:
            raise InputError("labels are reused, but no column says which item each is about", "name it with --on COL")
        if self.on is not None and self.draw_by not in (None, self.on):
            raise InputError(f"items cannot be drawn by {self.draw_by} and joined on {self.on}", "leave out one")
        return listed(self.on or self.draw_by or "")


def enlarge_study(ranking: Sequence[str], study: Path, flags: GrowthFlags, output: Output) -> None:
    """Grow a study, and say by how much."""
    from streameval.methods import method_of
    from streameval.study import Study
    from streameval.verbs.enlarge import enlarge
    from streameval.verbs.second_batch import second_batch

    if ranking:
        raise InputError("a study is enlarged on the ranking it was planned for", f"leave out '{ranking[0]}'")
    if len(flags.given()) > 1 and flags.second_batch:
        raise InputError("--continue takes as many labels as the first batch calls for", "leave out the other flags")
    there = Study(study).plan()
    before = there.table.num_rows
    grown = second_batch(study) if flags.second_batch else enlarge(study, **flags.given())
    labels = grown.table.num_rows
    if grown.plan_id == there.plan_id:
        head = f"{grown.method}: enlarged by this request already, {labels:,} items to label in all"
    else:
        head = f"{grown.method}: {labels - before:,} more items to label, {labels:,} in all"
    look, looks = grown.look, method_of(grown).looks
    stage = "both batches" if flags.second_batch else f"look {look} of {looks}"
    labelled = before if flags.second_batch and grown.plan_id != there.plan_id else 0
    output.event("plan", labels=labels, n_items=grown.n_items, look=look)
    result = {
        "study": str(study),
        "plan_id": grown.plan_id,
        "labels": labels,
        "more": labels - before,
        "already_there": grown.plan_id == there.plan_id,
        **grown.header(),
    }
    output.say(result, [f"{head} ({stage})", next_stop(Study(study), grown, labelled)])


def plan_with_key(
    ranking: Sequence[str],
    study: Path,
    flags: tuple[ReuseFlags, RankingFlags],
    chosen: tuple[str, int | None],
    parameters: MethodFlags,
    output: Output,
) -> None:
    """Draw by key, take over labels, and say how many are left to ask for."""
    from streameval.study import Study
    from streameval.verbs.plan_by_key import ByKey, plan_by_key

    reuse, described = flags
    method, seed = chosen
    by = ByKey(reuse.key(), reuse.reuse, reuse.label or "label", reuse.labels_unseen_by_model)
    with progress("reading keys") as bar:
        made = plan_by_key(list(ranking), study, by, method=method, seed=seed, options=described.options(),
                           progress=bar, **parameters.given())  # fmt: skip
    labels = made.plan.table.num_rows
    output.event("plan", labels=labels, n_items=made.plan.n_items, reused=made.labelled)
    counts = {"labels": labels, "reused": made.labelled, "to_label": labels - made.labelled}
    result: dict[str, Any] = {"study": str(study), "plan_id": made.plan.plan_id, **counts, **made.plan.header()}
    lines = [f"{method}: {labels:,} of {made.plan.n_items:,} items to label, drawn by {', '.join(by.key)}"]
    lines.append(
        f"Seed {made.plan.seed}: another version draws nearly the same items with --seed {made.plan.seed} "
        f"--draw-by {shlex.quote(','.join(by.key))}."
    )
    if reuse.reuse is not None:
        lines.append(f"{made.labelled:,} have a label already: {labels - made.labelled:,} are left to ask for.")
    if reuse.labels_unseen_by_model == "no":
        lines.append("The model has seen these labels: bounds will promise nothing.")
    output.say(result, [*lines, *doubts(made.plan), next_stop(Study(study), made.plan, made.labelled)])


def doubts(plan: Plan) -> list[str]:
    """What to look at before any label is spent."""
    return [plan.location["doubt"]] if "doubt" in plan.location else []


def next_stop(study: Study, plan: Plan, labelled: int = 0) -> str:
    """What to run after `plan`: `evaluate` where the items of this very plan are selected, or have labels already."""
    if awaits_judge(plan):
        return f"Next: streameval select {shlex.quote(str(study.folder))} --export-judge judge.csv"
    with suppress(StudyError):
        if study.selection(plan) is not None:
            return f"Next: streameval evaluate {shlex.quote(str(study.folder))} --labels FILE"
    if labelled == plan.table.num_rows:
        return f"Next: streameval evaluate {shlex.quote(str(study.folder))}"
    remaining = " --remaining" if labelled else ""
    return f"Next: streameval select {shlex.quote(str(study.folder))}{remaining} --export tasks.csv"
