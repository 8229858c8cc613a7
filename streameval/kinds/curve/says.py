"""Texts about a curve, and about the difference of two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from streameval.questions.printed import UNKNOWN
from streameval.reporting.label_lines import agreement_lines, given_again, label_lines, trouble
from streameval.reporting.next_step import after_curve, way_out
from streameval.reporting.sentences import (
    estimate_sentence,
    half_width_sentence,
    misses_sentence,
    remarks,
    verdict,
)
from streameval.reporting.standing import Standing
from streameval.reporting.text import NOTHING, Columns, NextStep, Paragraph, Picture, Text
from streameval.slices.files import SliceResult
from streameval.study import Study
from streameval.study.results import Evaluation
from streameval.text import short
from streameval.types import Plan

# what a terminal shows of metrics.parquet
_OVERALL = (("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("r_precision", ""))
_SHOWN = 20  # slices


def text(evaluation: Evaluation, plan: Plan | None = None, study: str = "STUDY") -> Text:
    """Say what is proven, at which cost, and what to know of it."""
    rows = [
        [f"{int(r['argument']):,}", *(_number(r[k]) for k in ("lower", "estimate", "upper"))] for r in _cuts(evaluation)
    ]
    table = Columns(["first k", "lower", "estimate", "upper"], rows)
    missed = counted_misses(evaluation)
    notes = [
        *filter(None, (missed, half_width_sentence(evaluation), estimate_sentence(evaluation.curve.basis))),
        *remarks(evaluation),
    ]
    return Text(verdict(evaluation), "", table, notes, NOTHING if plan is None else _next(plan, evaluation, study))


def lines(study: Path, evaluation: Evaluation) -> list[Paragraph]:
    """Lay out for a terminal the verdict, what became of the labels, and the main figures."""
    shown_text, account = text(evaluation), evaluation.summary["account"]
    notes = trouble(evaluation.issues, account)
    return [
        shown_text.headline,
        *shown_text.remarks,
        *([f"Labels: {', '.join(notes)} (all listed in issues.parquet)."] if notes else []),
        *label_lines(evaluation.issues, evaluation.summary),
        *_disregarded_lines(account),
        *agreement_lines(evaluation.summary),
        *given_again(study, evaluation.summary, evaluation.new),
        "",
        shown_text.table,
        Picture(evaluation.curve),
        "Precision among the first k items.",
        *_overall(evaluation.metrics.to_pylist()),
        *_slices(evaluation.slices, evaluation.summary.get("by")),
        "",
    ]


def facts(study: Path, evaluation: Evaluation) -> dict[str, Any]:
    """Give the summary, precision at cutoffs, and the next command, with what it does where nothing is proven."""
    sources = [{**source, "new": evaluation.new[source["id"]]} for source in evaluation.summary["sources"]]
    result = {**evaluation.summary, "sources": sources, "precision_at": _cuts(evaluation)}
    following = _next(Study(study).plan(), evaluation, str(study))
    if following.command:
        result["next"] = str(following) if evaluation.curve.claim.coverage == "none" else following.command
    return result


def so_far(standing: Standing) -> Standing:
    """Say of a verdict that it is one so far, where labels are missing."""
    labelled, planned = (standing.facts.get(name, 0) for name in ("labelled", "planned"))
    if labelled == planned or not standing.verdict.startswith("With "):
        return standing
    return replace(standing, verdict=f"So far, w{standing.verdict[1:]}")


def counted_misses(evaluation: Evaluation) -> str:
    """Say how many positives are counted that the list never returned; empty where a finding says it, as of a study."""
    return "" if "misses_from" in evaluation.summary else misses_sentence(evaluation.curve.misses)


def with_misses(standing: Standing, evaluation: Evaluation) -> Standing:
    """Say so behind a verdict."""
    return replace(standing, verdict=f"{standing.verdict} {counted_misses(evaluation)}".rstrip())


def _next(plan: Plan, evaluation: Evaluation, study: str) -> NextStep:
    if evaluation.curve.claim.coverage == "none":
        return way_out(plan, evaluation.summary, study)
    return after_curve(plan, evaluation.curve, evaluation.summary, study)


def _cuts(evaluation: Evaluation) -> list[dict[str, Any]]:
    return [row for row in evaluation.metrics.to_pylist() if row["metric"] == "precision_at"]


def _overall(rows: list[dict[str, Any]]) -> list[Paragraph]:
    """Metrics of the whole list, where they are bounded."""
    by_name = {(row["metric"], row["argument"]): row for row in rows}
    shown = [by_name[name] for name in _OVERALL if name in by_name and by_name[name]["lower"] is not None]
    cells = [[row["metric"], *(_number(row[side]) for side in ("lower", "estimate", "upper"))] for row in shown]
    return ["", Columns(["metric", "lower", "estimate", "upper"], cells)] if cells else []


def _slices(slices: tuple[SliceResult, ...], by: str | None) -> list[Paragraph]:
    """Precision of every slice as a whole."""
    if not slices:
        return []
    cells = []
    for result in slices[:_SHOWN]:
        size = result.curve.n_items
        bounds = (_number(value) for value in result.curve.precision_at(size))
        cells.append([short(result.name), f"{size:,}", f"{result.labelled:,}", *bounds])
    more = [f"… and {len(slices) - _SHOWN:,} smaller slices (slice_metrics.parquet)."] if len(slices) > _SHOWN else []
    return ["", Columns([f"slice by {by}", "items", "labels", "lower", "precision", "upper"], cells), *more]


def _number(value: float | None) -> str:
    return UNKNOWN if value is None or value != value else f"{value:.4f}"


def _disregarded_lines(account: dict[str, int]) -> list[str]:
    """Say what became of answers that do not count as they stand, though nothing is wrong with them."""
    lines = [f"{account['superseded']:,} answers were superseded by later ones."] if account["superseded"] else []
    if account["untimed"]:
        lines.append(
            "Times that cannot be read are ignored: write them in ISO 8601, as in 2026-01-31T09:30:00Z "
            "(in UTC, where no zone is named)."
        )
    return lines
