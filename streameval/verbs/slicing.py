"""Slices: a plan that bounds each slice of a list, and their curves from its labels."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.methods import Method, create, parameter_names
from streameval.metrics.bounded import metrics
from streameval.rankings import Progress, Ranking, RankingOptions, open_ranking, silent
from streameval.rankings.slicing.column import Slices, read_slices
from streameval.rankings.slicing.place import place
from streameval.slicefiles import SliceFound
from streameval.slices import budgets, joined, list_cutoffs, marks_table, parts, seed_of, shared, slice_scores
from streameval.types import Int64Array, Labels, Plan
from streameval.verbs.judging import slice_curves

_FOR_ALL = {"at": "it is a rank of the whole list", "looks": "a plan by slices is made for one look"}


def draw_by_slices(
    ranking: Any,
    by: str,
    method: str,
    seed: int,
    options: RankingOptions | None,
    parameters: Mapping[str, Any],
    progress: Progress = silent,
) -> tuple[Plan, Ranking]:
    """Choose ranks to label in every slice of a ranking, and write nothing.

    Each slice is planned as a list of its own, for `confidence` divided up so that the bounds of all slices, and those
    of the whole list that follow from them, hold together. `budget` is that of all slices.

    Parameters
    ----------
    ranking, method, seed, options, parameters
        As for `plan`.
    by : str
        Column that names the slice of an item: strings, integers, booleans or dates, of at most 200 values.
    progress : callable(done, total), optional
        Rows read.

    Returns
    -------
    plan : Plan
        Its table has `slice` and `slice_rank` beside `rank`.
    ranking : Ranking
        That was opened for it.

    Raises
    ------
    InputError
        See `plan`; a column that names no slices, or parameters that go with none.
    """
    given = {key: value for key, value in parameters.items() if value is not None}
    for key, why in _FOR_ALL.items():
        if given.get(key) not in (None, 1):
            raise InputError(f"{key} does not go with slices: {why}", f"leave out {key}, or slices")
    chosen = create(method, given)
    opened = open_ranking(ranking, options)
    with tempfile.TemporaryDirectory(prefix="streameval-") as folder:
        slices = read_slices(opened, by, Path(folder), progress)
        plans = _plans(chosen, given, slices, seed)
        scored = opened.description().get("score") is not None
        wanted = [np.union1d(one.ranks, _grid(one)) if scored else one.ranks for one in plans]
        cutoffs = list_cutoffs(opened.n_items)
        placed = place(opened, slices, wanted, cutoffs, progress)
    ranks = [at[np.searchsorted(all_, one.ranks)] for at, all_, one in zip(placed.rank, wanted, plans, strict=True)]
    own = [key for key in ("confidence", "budget") if key in parameter_names(type(chosen))]
    asked: dict[str, Any] = {**plans[0].parameters, **{key: given.get(key, getattr(chosen, key)) for key in own}}
    table, notes = joined(plans, slices.names, ranks, asked)
    items = (slices.names, wanted, placed.rank) if scored else ((), [], [])
    marks = marks_table(
        [*slices.names, *items[0]],
        [*placed.inside.T, *items[1]],
        [*[cutoffs] * len(slices.names), *items[2]],
        ["cutoff"] * len(slices.names) + ["item"] * len(items[0]),
    )
    made = Plan(method, asked, opened.n_items, seed, table, opened.description(), {"by": by, "slices": notes},
                opened.location(), marks)  # fmt: skip
    return made, opened


def _plans(chosen: Method, given: Mapping[str, Any], slices: Slices, seed: int) -> list[Plan]:
    """Plan every slice as a list of its own."""
    sizes = slices.n_items.tolist()
    own: list[dict[str, Any]] = [dict(given) for _ in sizes]
    if given.get("budget") is not None:
        if given["budget"] < len(sizes):
            raise InputError(f"{given['budget']:,} labels for {len(sizes)} slices", "every slice takes at least one")
        for parameters, budget in zip(own, budgets(given["budget"], sizes), strict=True):
            parameters["budget"] = budget
    confidence = getattr(chosen, "confidence", None)
    for parameters in own:
        if confidence is not None:
            parameters["confidence"] = shared(confidence, len(sizes))
    return [
        create(chosen.name, parameters).plan(size, seed_of(seed, name))
        for parameters, size, name in zip(own, sizes, slices.names, strict=True)
    ]


def _grid(plan: Plan) -> Int64Array:
    """Ranks that the curve's table will show: the plan decides them, not the labels."""
    unknown = Labels.of(plan, np.full(plan.ranks.size, -1))
    return create(plan.method, dict(plan.parameters)).curve(plan, unknown).grid


def slices_found(plan: Plan, labels: Labels, label_error: float, scores: pa.Table | None) -> tuple[SliceFound, ...]:
    """Curve and metrics of every slice, the largest first; none where the plan has no slices."""
    if plan.marks is None:
        return ()
    found = []
    for part, curve in zip(parts(plan), slice_curves(plan, labels, label_error).values(), strict=True):
        if scores is not None:
            curve = curve.with_score(slice_scores(plan.marks, part.name, scores))
        own = part.labels(labels)
        counts = (own.rank.size, int(own.known.sum()), int(np.sum(own.label == 1)))
        found.append(SliceFound(part.name, *counts, curve, curve.table, metrics(curve)))
    return tuple(found)


def refuse_misses(plan: Plan, misses: int) -> None:
    """Refuse misses where there are slices: nobody said of which slice they are.

    Raises
    ------
    InputError
    """
    if misses and plan.marks is not None:
        raise InputError(f"{misses:,} misses belong to no slice", "leave out misses, or plan without slices")
