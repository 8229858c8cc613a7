"""Evaluate: join labels back, turn them into the curve, and write every result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval import __version__
from streameval.curve import Curve, HalfWidth
from streameval.errors import InputError, StreamevalError
from streameval.labels import Votes, read_votes, tally
from streameval.methods import create
from streameval.metrics.bounded import metrics
from streameval.reporting.page import render
from streameval.stores.transfer import at_hand
from streameval.study import Evaluation, Study, evaluation_id
from streameval.types import Labels, Plan


def evaluate(
    study: str | os.PathLike[str],
    *,
    labels: Sequence[Any] | Any = (),
    on: str | None = None,
    label: str = "label",
    misses: int = 0,
) -> Evaluation:
    """Evaluate a study with all labels it has been given so far.

    Parameters
    ----------
    study : path
    labels : path or table, or sequence of these
        Parquet or CSV files, on object stores too, or tables that speak the Arrow PyCapsule protocol. Each row is a
        vote. A source given before adds nothing; with none, the labels stored before are evaluated.
    on : str, optional
        Column that says which item a row is about (default: `rank`, `se_rank` or `se_task`).
    label : str
        Column with the label: 1/0, true/false, yes/no; blank where there is none.
    misses : int
        Positives that the ranking never returned: they count in recall, F, average precision and AUC.

    Returns
    -------
    Evaluation
        The same that the study's files hold: labels, curve, metrics, summary.

    Raises
    ------
    InputError
        A source or one of its values cannot be read, or `misses` is negative; nothing was written.
    StudyError
        Labels of another study.
    """
    if misses < 0:
        raise InputError(f"misses is {misses:,}, below 0", "it counts positives that the ranking never returned")
    folder = Study(Path(study))
    plan = folder.plan()
    sources = [labels] if _is_one(labels) else list(labels)
    selection = folder.selection(plan)
    read = _read(sources, plan, selection, on, label)
    new = {votes.identity: folder.add_votes(votes.identity, votes.table, _facts(votes)) for votes in read}
    stored = folder.votes()
    if not stored:
        raise InputError(f"{folder.folder}: no labels yet", "give them with --labels FILE")
    tallied = tally(plan, stored)
    curve = create(plan.method, dict(plan.parameters)).curve(plan, tallied)
    curve = curve.with_misses(misses)
    thresholds = folder.thresholds(plan)
    if thresholds is not None:
        curve = curve.with_score(thresholds)
    found = _evaluation(plan, tallied, curve, [{**_facts(v), "new": new[v.identity]} for v in read])
    folder.save_evaluation(found, render(plan, found))
    return found


def _read(sources: list[Any], plan: Plan, selection: pa.Table | None, on: str | None, label: str) -> list[Votes]:
    """Read label tables, those on object stores from a copy under their own name."""
    read = []
    with at_hand(sources) as local:
        for source in sources:
            place = local.get(source, source) if isinstance(source, str) else source
            try:
                votes = read_votes(place, plan, selection, on, label)
            except StreamevalError as error:
                raise type(error)(error.what.replace(str(place), str(source)), error.hint) from error
            read.append(replace(votes, source=source) if place is not source else votes)
    return read


def _is_one(labels: Any) -> bool:
    return isinstance(labels, str | os.PathLike) or hasattr(labels, "__arrow_c_stream__")


def _facts(votes: Votes) -> dict[str, Any]:
    return {"source": votes.source, "rows": votes.rows, "planned": votes.table.num_rows, "unplanned": votes.unplanned}


def _evaluation(plan: Plan, labels: Labels, curve: Curve, sources: list[dict[str, Any]]) -> Evaluation:
    identity = evaluation_id(plan, labels, curve.misses)
    summary = {
        "evaluation_id": identity,
        "study": plan.plan_id,
        "version": __version__,
        "n_items": plan.n_items,
        "misses": curve.misses,
        "method": plan.method,
        "parameters": dict(plan.parameters),
        "claim": curve.claim.as_dict(),
        "findings": list(curve.findings),
        "diagnostics": dict(curve.diagnostics),
        "half_width": _half_width(plan, curve),
        "account": dict(labels.account),
        "sources": sources,
    }
    return Evaluation(identity, labels.table, curve, curve.table, metrics(curve), summary)


def _half_width(plan: Plan, curve: Curve) -> dict[str, Any]:
    """Half-width that the labels reach, where it is widest, and a forecast of what half of it takes.

    Labels for half of the planned half-width, relative to those for the whole of it, are those for half of what was
    reached: which precision the list keeps changes both alike.
    """
    widest = curve.half_width()
    at = plan.parameters.get("at")
    if at is not None:  # one rank was asked for, and nothing before it was meant to be narrow
        low, high = (curve.at([at]).column(f"yield_{side}")[0].as_py() for side in ("lower", "upper"))
        widest = HalfWidth((high - low) / (high + low) if high > low else 0.0, int(at))
    found = {"alpha": widest.alpha, "rank": widest.rank, "labels_for_half": None}
    if widest.alpha == 0 or curve.claim.coverage in ("exact", "none"):
        return found
    method = create(plan.method, dict(plan.parameters))
    try:
        halved = method.with_alpha(method.cost(plan.n_items)["accuracy"] / 2)
        return {**found, "labels_for_half": halved.cost(plan.n_items)["labels"]}
    except InputError:
        return found  # out of the method's reach, or everything was planned already
