"""Grow: more labels for a study that was planned to grow; all earlier ones count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from streameval.errors import InputError, StudyError
from streameval.kinds import answering
from streameval.methods import Look, Method, Sequential, method_of
from streameval.methods.growth import Growth
from streameval.methods.stages import LooksAtFirst
from streameval.options import split, takes
from streameval.parquet.account import Forecast
from streameval.printed import Event, Printed
from streameval.rehearsal import Rehearsal
from streameval.reporting.next_step import first_step, grow_by, labels_of_next_stage, second_batch
from streameval.study import Study
from streameval.study.judging import recount
from streameval.types import Plan


@takes(Growth)
def grow(study: str | os.PathLike[str], **by: Any) -> Plan:
    """Plan more labels.

    Of a study that was planned to grow: what was labelled before stays good. With neither option it adds the second
    batch of a plan made with --stages adaptive: all that the labels of the first batch call for.

    Example: streameval grow my-study --budget 2000
    Example: streameval grow my-study --alpha 0.05
    Example: streameval grow my-study

    Args:
        study: Folder of a study that was planned with --stages 3:later or --stages adaptive, or adopted with 3:later.
        by: In Python: `budget`, `alpha` or neither (`streameval.methods.growth.Growth`). `budget`: of a plan that is
            `growing`, the furthest stage that asks for at most so many further labels. Each number is met once: for
            another stage with as many labels, give another number. `alpha`: the nearest stage that is forecast to reach
            it. Where the study has been evaluated, the forecast starts from the half-width reached. It is met where it
            has been reached, and where the plan grew for it and has not been evaluated with all labels since. Neither:
            of a plan that is `adaptive`, the second batch. Every item of the first must have been answered or skipped:
            which of them have an answer must not depend on labels further down the list. An item that was skipped is
            unknown, and widens the bounds.

    Returns:
        Plan: The same as before where the request has been met; `batch` says with which stage a rank came in. The plan
            records each request that made it grow, so that one that is repeated, by a job that was interrupted say,
            never leads to a further stage.

    Raises:
        InputError: Both options, out of reach of the stages that are left, or a first batch that is not complete.
        StudyError: No study, or one that was not planned to grow.
    """
    (how,) = split([Growth], by, "grow")
    answering(study, "grow")
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        grown = grown_plan(folder, plan, how)
        if grown is not plan:
            folder.grow_plan(grown)
        return grown


def rehearsal(study: str | os.PathLike[str], **by: Any) -> Rehearsal:
    """Say by how many items the plan would grow."""
    (how,) = split([Growth], by, "grow")
    answering(study, "grow")
    folder = Study(Path(study))
    plan = folder.plan()
    grown = grown_plan(folder, plan, how)
    labels, more = grown.table.num_rows, grown.table.num_rows - plan.table.num_rows
    head = f"{grown.method}: {more:,} more items would be planned, {labels:,} in all ({_stage(how, grown)})."
    writes = [] if grown is plan else [folder.folder / "plan.parquet", folder.folder / "plan.json"]
    return Rehearsal.of_plan([head, *_fewer(how, grown, more)], grown, Forecast(), writes, more={"more": more})


def before(study: Path, **by: Any) -> Plan:
    """Read the plan that is to grow."""
    answering(study, "grow")
    return Study(study).plan()


def printed(grown: Plan, study: Path, before: Plan, **by: Any) -> Printed:
    """Print by how many labels a study grew, and what to run next."""
    how, met = Growth(**by), grown.plan_id == before.plan_id
    labels, more = grown.table.num_rows, grown.table.num_rows - before.table.num_rows
    done = f"enlarged by this request already, {labels:,} items to label in all"
    head = (
        f"{grown.method}: {done if met else f'{more:,} more items to label, {labels:,} in all'} ({_stage(how, grown)})"
    )
    facts = {"study": str(study), "plan_id": grown.plan_id, "labels": labels, "more": more, "already_there": met}
    following = f"Next: {first_step(Study(study), grown).command}"
    event = Event("plan", {"labels": labels, "n_items": grown.n_items, "look": grown.look})
    return Printed({**facts, **grown.header()}, [head, *_fewer(how, grown, more), following], events=[event])


def _stage(how: Growth, grown: Plan) -> str:
    return "both batches" if method_of(grown).adaptive else f"stage {grown.look} of {method_of(grown).looks}"


def _fewer(how: Growth, grown: Plan, more: int) -> list[str]:
    """Why a study grew by fewer labels than it was allowed."""
    if how.budget is None or not 0 < more < how.budget:
        return []
    last = ", and this is the last" if grown.look == method_of(grown).looks else ""
    return [f"Up to {how.budget:,} more were allowed; stages are added whole{last}."]


def grown_plan(study: Study, plan: Plan, how: Growth) -> Plan:
    """Give the plan of a study as `grow` would make it, and write nothing; the same one where the request is met."""
    if plan.marks is not None:
        raise StudyError(f"{study.folder}: a plan by slices cannot grow", "plan anew with more labels")
    grown = _later(study, plan, how) if how.request else _second_batch(study, plan)
    return grown if grown is plan else grown.with_notes(
        grown_from=list(plan.study_ids), grown_by=[*plan.grown_by, how.request]
    )  # fmt: skip


def _second_batch(study: Study, plan: Plan) -> Plan:
    """Put the rest of an adaptive plan where the labels of its first batch say that it is needed."""
    method = method_of(plan)
    if method.adaptive and plan.grown_by:
        return plan
    if not method.adaptive or not isinstance(method, LooksAtFirst):
        raise _how_far(study, plan) if plan.look < method.looks else _cannot_grow(study, method)
    tallied = recount(study, plan)
    if left := int(np.sum(~tallied.answered)):
        raise InputError(f"{study.folder}: {left:,} of the {tallied.answered.size:,} tasks of its first batch are open",
                         "finish it first; skipping an item is an answer")  # fmt: skip
    return method.continued(plan, tallied.labels)


def _later(study: Study, plan: Plan, how: Growth) -> Plan:
    """Grow to a later stage; the same plan where the request has been met."""
    reached = _reached_width(study, plan)
    if _is_met(plan, how, reached):
        return plan
    method = method_of(plan)
    stages = method.forecasts(plan) if isinstance(method, Sequential) else []
    later = stages[plan.look :]
    if not isinstance(method, Sequential) or not later:
        raise _cannot_grow(study, method)
    if how.budget is not None:
        return _affordable(method, plan, later, how.budget)
    stage = _narrow_enough(later, how.alpha or 0.0, _calibration(reached, stages[plan.look - 1]))
    return method.enlarged(plan, stage.look)


def _how_far(study: Study, plan: Plan) -> InputError:
    """Say what a study that grows by stages wants to be told."""
    following = grow_by(str(study.folder), labels_of_next_stage(plan))
    return InputError(f"{study.folder}: its plan grows by stages, as far as --budget or --alpha says",
                      f"the next stage is planned by {following.command}")  # fmt: skip


def _cannot_grow(study: Study, method: Method) -> StudyError:
    if method.looks > 1:
        return StudyError(f"{study.folder}: all {method.looks} stages of its plan are planned already",
                          "plan anew with more labels")  # fmt: skip
    if method.adaptive:
        return StudyError(
            f"{study.folder}: its plan grows by a second batch",
            f"it takes no number: {second_batch(str(study.folder)).command}",
        )
    return StudyError(f"{study.folder}: its plan was made without stages to grow by",
                      "plan or adopt with --stages=3:later, to grow twice")  # fmt: skip


def _is_met(plan: Plan, how: Growth, reached: float | None) -> bool:
    """Tell whether the plan grew for this request already, or there is no need to."""
    width = how.alpha
    if width is None:
        return how.request in plan.grown_by
    return any(growth.get("alpha", 1) <= width for growth in plan.grown_by) if reached is None else reached <= width


def _affordable(method: Sequential, plan: Plan, looks: list[Look], more: int) -> Plan:
    """Grow to the furthest stage that asks for no more labels: what is forecast is their number on average."""
    planned = plan.table.num_rows
    near = [look for look in looks[1:] if look.labels - planned <= 1.1 * more + 10]
    for look in reversed([looks[0], *near]):
        grown = method.enlarged(plan, look.look)
        if grown.table.num_rows - planned <= more:
            return grown
    least = method.enlarged(plan, looks[0].look).table.num_rows - planned
    raise InputError(f"{more:,} more labels do not reach the next stage", f"it takes {least:,} more")


def _narrow_enough(looks: list[Look], half_width: float, calibration: float) -> Look:
    within = [look for look in looks if look.half_width * calibration <= half_width]
    if not within:
        best = looks[-1]
        raise InputError(
            f"a half-width of {half_width:.2%} cannot be reached with the stages that are left",
            f"the last one takes {best.labels:,} labels in all for about {best.half_width * calibration:.2%}",
        )
    return within[0]


def _reached_width(folder: Study, plan: Plan) -> float | None:
    """Half-width that the whole of the plan's labels reached; None before it was evaluated with all of them."""
    try:
        summary = folder.evaluation().summary
    except StudyError:
        return None
    current = summary["study"] == plan.plan_id and summary["account"]["missing"] == 0
    return float(summary["half_width"]["alpha"]) if current else None


def _calibration(reached: float | None, now: Look) -> float:
    """Half-width reached over the one forecast for this stage; 1 where nothing is known."""
    return reached / now.half_width if reached is not None and now.half_width > 0 else 1.0
