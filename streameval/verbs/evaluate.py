"""Evaluate: join labels back, turn them into the curve, and write every result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval import __version__
from streameval.curve import Curve
from streameval.curve.label_error import check_label_error
from streameval.errors import InputError, StudyError, check_misses
from streameval.judges.classes import awaits_judge
from streameval.labelling.options import Judging, LabelColumns
from streameval.labelling.rules import vote_rule
from streameval.labelling.tally import Tallied
from streameval.metrics.bounded import metrics
from streameval.options import split, takes
from streameval.reporting.page import render
from streameval.slices.plan import refuse_misses, slice_results
from streameval.study import Study
from streameval.study.judging import as_read, half_width_of, slice_curves, whole_curve
from streameval.study.missed import Rest, refuse_overlap, rest_of, sharing, with_rest
from streameval.study.missing import basis_of
from streameval.study.result_files import Evaluation, evaluation_id
from streameval.study.take_in import sources_of, take_in
from streameval.study.weights import with_weights
from streameval.types import Plan
from streameval.verbs.sql import writer as database_of


@takes(LabelColumns, Judging)
def evaluate(
    study: str | os.PathLike[str],
    *,
    labels: Sequence[Any] | Any = (),
    misses: int = 0,
    misses_from: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate a study with all labels it has been given so far.

    Args:
        labels: Parquet, CSV, TSV, JSON or JSONL files, label tools' exports (these on object stores too),
            `duckdb:FILE#QUERY`, `sqlite:///FILE#QUERY`, `postgresql://…#QUERY`, or tables that speak the Arrow
            PyCapsule protocol. Each row is a vote. A source given before adds nothing; with none, the labels stored
            before are evaluated.
        misses: Positives that the ranking never returned: they count in recall, F, average precision and AUC.
        misses_from: An evaluated study of the items that were never returned: misses are then bounded by its labels,
            and both studies share δ.
        options: `on`, `label`, `annotator`, `time`, `source`: columns, and `positive`, `negative`: words of a label
            (`streameval.labelling.options.LabelColumns`).
            `vote`, `prefer`, `label_error`, `assume`, `strict`: see `Judging` there.

    Returns:
        Evaluation: The same that the study's files hold: labels, curve, metrics, issues, summary.

    Raises:
        InputError: A source or one of its columns cannot be read, or an option is out of range, or `strict` finds
            something; or labels are grades (more than a typing error) and the rule has no threshold, or `prefer`
            names no source; no label was stored.
        StudyError: Labels of another study.
    """
    misses = check_misses(misses)
    columns, judging = split((LabelColumns, Judging), options, "evaluate")
    check_label_error(judging.label_error)
    vote_rule(judging.vote)
    if misses and misses_from is not None:
        raise InputError("misses were given as a number and as a study", "give one of them")
    folder = Study(Path(study))
    with folder.changing():
        plan = folder.plan()
        if "per" in plan.notes:
            raise StudyError(f"{folder.folder} is a study of many rankings", "evaluate it with evaluate_rankings")
        rest = None if misses_from is None else rest_of(Path(misses_from), plan)
        if rest is not None:
            refuse_overlap(folder, plan, rest)
        refuse_misses(plan, misses or int(rest is not None))
        return _evaluated(folder, plan, sources_of(labels), rest or misses, (columns, judging))


def _evaluated(
    folder: Study, plan: Plan, sources: list[Any], missed: Rest | int, how: tuple[LabelColumns, Judging]
) -> Evaluation:
    """Store the labels, compute, and write every result."""
    if awaits_judge(plan):
        raise InputError(f"{folder.folder}: its judge has to answer before anybody labels",
                         f"streameval judge {folder.folder} FILE")  # fmt: skip
    columns, judging = how
    rest, known = (None, missed) if isinstance(missed, int) else (missed, 0)
    read_as = sharing(as_read(plan, judging), rest)
    taken = take_in(folder, plan, sources, columns, judging)
    tallied, thresholds = taken.tallied, folder.thresholds(plan)
    curve, parts = _curves(plan, read_as, tallied, judging.label_error)
    curve = curve.with_misses(known) if rest is None else with_rest(curve, plan, rest)
    slices = slice_results(plan, tallied.labels, parts, thresholds)
    if thresholds is not None:
        curve = curve.with_score(thresholds)
    curve = curve.settled
    summary = {**_summary(as_read(plan, judging), tallied, curve, judging), "study": plan.plan_id}
    summary |= {} if rest is None else rest.facts(curve)
    said = {"by": plan.by, "slices": [one.facts() for one in slices]} if slices else {}
    said["votes"] = folder.labels.state()
    summary |= {"agreement": tallied.agreement.as_dict(), "sources": taken.given, **taken.doubts, **said}
    summary["label_tables"] = taken.history
    table = with_weights(tallied.labels.table, plan, curve)
    identity = summary["evaluation_id"]
    found = (metrics(curve), summary, tallied.issues, slices, taken.new)
    evaluation = Evaluation(identity, table, curve, curve.table, *found)
    folder.save_evaluation(
        evaluation, render(folder.folder.resolve().name, plan, evaluation), database_of(folder, plan, evaluation)
    )
    return evaluation


def _curves(plan: Plan, read_as: Plan, tallied: Tallied, error: float) -> tuple[Curve, dict[str, Curve]]:
    """Curve of the whole list, and those of its slices, estimated as far as the labels at hand allow."""
    basis = basis_of(plan, tallied)
    parts = slice_curves(read_as, tallied.labels, error)
    curve = whole_curve(read_as, tallied.labels, error, parts).on(basis)
    return curve, {name: one.on(basis).settled for name, one in parts.items()}


def _summary(plan: Plan, tallied: Tallied, curve: Curve, judging: Judging) -> dict[str, Any]:
    missed = curve.misses if curve.misses_upper is None else curve.misses_text
    return {
        "evaluation_id": evaluation_id(plan, tallied.labels, missed, judging.label_error),
        "version": __version__,
        "n_items": plan.n_items,
        "misses": curve.misses,
        "method": plan.method,
        "parameters": dict(plan.parameters),
        "vote": str(vote_rule(judging.vote)),
        "prefer": list(judging.prefer),
        "label_error": judging.label_error,
        "assume": judging.assume,
        "claim": curve.claim.as_dict(),
        "estimates": curve.basis,
        "findings": list(curve.findings),
        "diagnostics": dict(curve.diagnostics),
        "half_width": half_width_of(plan, curve, int(tallied.labels.account["missing"]), judging.label_error),
        "account": dict(tallied.labels.account),
    }
