"""Enlarge: more labels for a study that was planned for several looks; all earlier ones count."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from streameval.errors import InputError, StudyError
from streameval.methods import Look, Sequential, method_of
from streameval.study import Study
from streameval.types import Plan


def enlarge(study: str | os.PathLike[str], *, labels_more: int | None = None, half_width: float | None = None) -> Plan:
    """Grow the plan of a study to a later look; a request that has been met changes nothing.

    The plan records each request that made it grow, so that one that is repeated, by a job that was interrupted say,
    never leads to a further look.

    Args:
        labels_more: Take the furthest look that asks for at most so many further labels. Each number is met once: for
            another look with as many labels, give another number.
        half_width: Take the nearest look that is forecast to reach this half-width, relative to precision. Where the
            study has been evaluated, the forecast starts from the half-width reached. It is met where it has been
            reached, and where the plan grew for it and has not been evaluated with all labels since.

    Returns:
        Plan: The same as before where the request has been met.

    Raises:
        InputError: Not exactly one of the two, or out of reach of the looks that are left.
        StudyError: No study, or one that was planned or adopted for a single look.
    """
    if (labels_more is None) == (half_width is None):
        raise InputError("a study is enlarged by labels-more or to a half-width", "give one of them")
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        if plan.marks is not None:
            raise StudyError(f"{study}: a plan by slices cannot be enlarged", "plan anew with more labels")
        reached = _reached(folder, plan)
        request = {"labels_more": labels_more} if half_width is None else {"half_width": half_width}
        if _is_met(plan, request, reached):
            return plan
        method = method_of(plan)
        looks = method.forecasts(plan) if isinstance(method, Sequential) else []
        later = looks[plan.look :]
        if not isinstance(method, Sequential) or not later:
            raise StudyError(
                f"{study}: its plan has no looks left, so it cannot grow",
                "plan --method loguniform --looks 3 makes one that can grow twice, as adopt --looks 3 does",
            )
        if labels_more is not None:
            grown = _affordable(method, plan, later, labels_more)
        else:
            look = _narrow_enough(later, half_width or 0.0, _calibration(reached, looks[plan.look - 1]))
            grown = method.enlarged(plan, look.look)
        grown = grown.with_notes(grown_from=list(plan.study_ids), grown_by=[*plan.grown_by, request])
        folder.grow_plan(grown)
        return grown


def _is_met(plan: Plan, request: Mapping[str, float | None], reached: float | None) -> bool:
    """Whether the plan grew for this request already, or there is no need to."""
    width = request.get("half_width")
    if width is None:
        return request in plan.grown_by
    return any(one.get("half_width", 1) <= width for one in plan.grown_by) if reached is None else reached <= width


def _affordable(method: Sequential, plan: Plan, looks: list[Look], more: int) -> Plan:
    """Grow to the furthest look that asks for no more labels: what is forecast is their number on average."""
    planned = plan.table.num_rows
    for look in reversed([one for one in looks if one.labels - planned <= 1.1 * more + 10]):
        grown = method.enlarged(plan, look.look)
        if grown.table.num_rows - planned <= more:
            return grown
    least = method.enlarged(plan, looks[0].look).table.num_rows - planned
    raise InputError(f"{more:,} more labels do not reach the next look", f"it takes {least:,} more")


def _narrow_enough(looks: list[Look], half_width: float, calibration: float) -> Look:
    if not 0 < half_width < 1:
        raise InputError(f"half-width is {half_width}, outside (0, 1)", "0.05 is 5 % of precision")
    within = [look for look in looks if look.half_width * calibration <= half_width]
    if not within:
        best = looks[-1]
        raise InputError(
            f"a half-width of {half_width:.2%} cannot be reached with the looks that are left",
            f"the last one takes {best.labels:,} labels in all for about {best.half_width * calibration:.2%}",
        )
    return within[0]


def _reached(folder: Study, plan: Plan) -> float | None:
    """Half-width that the whole of the plan's labels reached; None before it was evaluated with all of them."""
    try:
        summary = folder.evaluation().summary
    except StudyError:
        return None
    current = summary["study"] == plan.plan_id and summary["account"]["missing"] == 0
    return float(summary["half_width"]["alpha"]) if current else None


def _calibration(reached: float | None, now: Look) -> float:
    """Half-width reached over the one forecast for this look; 1 where nothing is known."""
    return reached / now.half_width if reached is not None and now.half_width > 0 else 1.0
