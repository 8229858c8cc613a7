"""Slices: a plan that bounds each slice of a list, and their curves from its labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.label_error import CONFIDENCE
from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.methods import Method, change_parameters, grid_of, own_parameters
from streameval.methods.stages import refuse_stages
from streameval.metrics.bounded import metrics
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.rankings.stored_order import describe_place
from streameval.slices.files import SliceResult
from streameval.slices.pool import (
    budgets,
    join_plans,
    list_cutoffs,
    marks_table,
    seed_of,
    slice_confidence,
    slice_plans,
    slice_scores,
)
from streameval.types import Labels, Plan

if TYPE_CHECKING:
    from streameval.slices.column import Slices


def draw_by_slices(ranking: Ranking, by: str, method: Method, seed: int, progress: Progress = silent) -> Plan:
    """Choose ranks to label in every slice of a ranking, and write nothing.

    Each slice is planned as a list of its own, for `confidence` divided up so that the bounds of all slices, and those
    of the whole list that follow from them, hold together. `budget` is that of all slices.

    Args:
        by: Column that names the slice of an item: strings, integers, booleans or dates, of at most 200 values.
        method: As for the whole list.
        progress (callable(done, total)): Rows read.

    Raises:
        InputError: A column that names no slices, or parameters that go with none; see also `plan`.
    """
    from streameval.slices.column import read_slices
    from streameval.slices.locate_slices import locate_slices
    from streameval.stores.temporary import temporary_folder

    refuse_stages(method, "slices", ("batches", "later", "adaptive", "sample"))
    if method.confidence is None:  # its default would be that of every slice, and not of all together
        method = change_parameters(method, confidence=CONFIDENCE)
    description = ranking.description()
    scored = description.get("score") is not None
    with temporary_folder("streameval-work") as folder:
        slices = read_slices(ranking, by, folder, progress)
        plans = _plans(method, slices, seed)
        wanted = [unique(plan.ranks, grid_of(plan)) if scored else plan.ranks for plan in plans]
        cutoffs = list_cutoffs(ranking.n_items)
        placed = locate_slices(ranking, slices, wanted, cutoffs, progress)
    ranks = [at[np.searchsorted(all_, plan.ranks)] for at, all_, plan in zip(placed.rank, wanted, plans, strict=True)]
    whole = {"confidence": method.confidence, "budget": method.budget}
    parameters = {**plans[0].parameters, **own_parameters(type(method), whole)}
    table, notes = join_plans(plans, slices.names, ranks, parameters)
    items = (slices.names, wanted, placed.rank) if scored else ((), [], [])
    marks = marks_table(
        [*slices.names, *items[0]],
        [*placed.inside.T, *items[1]],
        [*[cutoffs] * len(slices.names), *items[2]],
        ["cutoff"] * len(slices.names) + ["item"] * len(items[0]),
    )
    remembered = {"by": by, "slices": notes}
    return Plan(
        method.name, parameters, ranking.n_items, seed, table, description, remembered, describe_place(ranking), marks
    )


def _plans(method: Method, slices: Slices, seed: int) -> list[Plan]:
    """Plan every slice as a list of its own."""
    sizes = slices.n_items.tolist()
    by_slice: list[dict[str, Any]] = [{} for _ in sizes]
    if method.budget is not None:
        if method.budget < len(sizes):
            raise InputError(f"{method.budget:,} labels for {len(sizes)} slices", "every slice takes at least one")
        by_slice = [{"budget": share} for share in budgets(method.budget, sizes)]
    if method.confidence is not None:
        by_slice = [
            {**parameters, "confidence": slice_confidence(method.confidence, len(sizes))} for parameters in by_slice
        ]
    methods = [change_parameters(method, **parameters) for parameters in by_slice]
    return [_plan(*each, seed) for each in zip(methods, sizes, slices.names, strict=True)]


def _plan(method: Method, size: int, name: str, seed: int) -> Plan:
    """Plan one slice; what is refused says which it is."""
    try:
        return method.plan(size, seed_of(seed, name))
    except InputError as error:
        raise InputError(f"slice '{name}' of {size:,} items: {error.what}", error.hint) from error


def slice_results(
    plan: Plan, labels: Labels, curve_of: Mapping[str, Curve], scores: pa.Table | None
) -> tuple[SliceResult, ...]:
    """Curve and metrics of every slice, the largest first; none where the plan has no slices.

    Args:
        curve_of (mapping of name to Curve): Of all slices (`streameval.study.judging.slice_curves`).
        scores: `rank`, `score` of the list, where it has them.
    """
    if plan.marks is None:
        return ()
    parts, curves = slice_plans(plan), list(curve_of.values())
    if scores is not None:
        scored = slice_scores(plan.marks, [part.name for part in parts], scores)
        curves = [curve.with_score(table) for curve, table in zip(curves, scored, strict=True)]
    results = []
    for part, curve in zip(parts, curves, strict=True):
        part_labels = part.labels(labels)
        counts = (part_labels.rank.size, int(part_labels.known.sum()), int(np.sum(part_labels.label == 1)))
        results.append(SliceResult(part.name, *counts, curve, curve.table, metrics(curve)))
    return tuple(results)


def refuse_misses(plan: Plan, misses: int) -> None:
    """Refuse misses where there are slices: nobody can say of which slice they are."""
    if misses and plan.marks is not None:
        raise InputError(f"{misses:,} misses belong to no slice", "leave out --misses, or plan without slices")
