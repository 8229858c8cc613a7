"""The charts of a report: what each shows of one study or several, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from streameval.curve import Curve
from streameval.reporting import chart_rows
from streameval.reporting.chart_rows import ChartRows
from streameval.reporting.charts import Axis, Spec, band_chart, bar_chart, rank_axis, share_chart, top_of, with_pick
from streameval.study.results import Evaluation
from streameval.text import short
from streameval.types import Plan


@dataclass(frozen=True)
class ReportedStudy:
    """A study as a report shows it.

    Attributes:
        plan: None where every item had a label and nothing was planned.
        items: The selected items, where their text is to be shown.
    """

    name: str
    plan: Plan | None
    evaluation: Evaluation
    items: pa.Table | None = None


@dataclass(frozen=True)
class Figure:
    """A chart, in Vega-Lite, with its words."""

    name: str
    title: str
    caption: str
    chart: Spec
    still: str = ""  # what is seen before scripts draw it, and where none run


def figures(shown: Sequence[ReportedStudy], marks: Literal["picked", "none"] = "picked") -> dict[str, Figure]:
    """Draw every chart that the studies have something for.

    Args:
        marks ({"picked", "none"}): Whether precision by rank has the line that the page's cutoff picker moves.
    """
    curves = [study.evaluation.curve for study in shown]
    last = max(curve.n_items for curve in curves)
    most = max(float(curve.envelope.upper[-1]) for curve in curves)
    unit = (0.0, 1.0)
    mark = with_pick if marks == "picked" else lambda chart: chart
    candidates: list[tuple[str, str, str, Callable[[ReportedStudy], ChartRows], Callable[[ChartRows], Spec]]] = [
        ("precision", "Precision by rank", "Share of positives among the first k items.",
               lambda study: chart_rows.by_rank(study.evaluation.curve),
               lambda rows: mark(band_chart(rows, rank_axis(1, last), "precision", 320))),
        ("recall", "Precision and recall", _recall_caption(curves),
               lambda study: chart_rows.by_recall(study.evaluation.curve),
               lambda rows: band_chart(rows, Axis("recall", "recall", "linear", unit), "precision", 260)),
        ("roc", "ROC", "Recall by false positive rate: the share of all negatives that are kept.",
               lambda study: chart_rows.by_false_positive_rate(study.evaluation.curve),
               lambda rows: band_chart(rows, Axis("rate", "false positive rate", "linear", unit), "recall", 260)),
        ("yield", "Precision by yield", "Precision where this many positives have been found.",
               lambda study: chart_rows.by_yield(study.evaluation.curve),
               lambda rows: band_chart(rows, Axis("found", "positives found (log scale)", "log",
                                                  (1.0, max(most, 2.0)), "~s"), "precision", 260)),
        ("labels", "Where labels were spent", "Labels per quarter of a decade of ranks.", _labels,
               lambda rows: bar_chart(rows, last)),
        ("local", "Local precision", "Share of positives among the labels around each rank, where there are 5 or "
               "more. That it never rises is what the PAULA paper assumes.", _local,
               lambda rows: share_chart(rows, last)),
    ]  # fmt: skip
    stills = {"precision": curves[0].picture()} if len(curves) == 1 else {}
    return {
        name: Figure(name, title, caption, draw(rows), stills.get(name, ""))
        for name, title, caption, points, draw in candidates
        if (rows := _rows(shown, points))
    }


def _recall_caption(curves: Sequence[Curve]) -> str:
    if all(curve.proves for curve in curves):
        return "The best precision at or beyond each recall."
    return "Precision at each recall; where nothing is proven, as the labels estimate it."


MOST_SMALL = 30
"""Slices that are drawn; all of them are in the page's table."""


def slice_figures(study: ReportedStudy) -> list[Figure]:
    """Draw precision by rank of every slice, small and on the same axes, the largest slices first."""
    slices = study.evaluation.slices[:MOST_SMALL]
    rows = [[{"study": each.name, "at": at, **row} for at, row in enumerate(chart_rows.by_rank_small(each.curve))]
            for each in slices]  # fmt: skip
    last, top = max((each.curve.n_items for each in slices), default=1), max(map(top_of, rows), default=1.0)
    return [
        Figure(f"slice-{at}", short(each.name), f"{each.curve.n_items:,} items, {each.labelled:,} labels.",
               band_chart(points, rank_axis(1, last), "precision", 120, top))
        for at, (each, points) in enumerate(zip(slices, rows, strict=True))
    ]  # fmt: skip


def _labels(study: ReportedStudy) -> ChartRows:
    return [] if study.plan is None else chart_rows.labels_spent(study.plan.ranks, study.plan.n_items)


def _local(study: ReportedStudy) -> ChartRows:
    if study.evaluation.slices:
        return []  # labels of small slices are many more than their share of the list
    return chart_rows.local_shares(study.evaluation.label_table, study.evaluation.curve.n_items)


def _rows(shown: Sequence[ReportedStudy], points: Callable[[ReportedStudy], ChartRows]) -> ChartRows:
    """Rows of all studies; `at` keeps the order in which a line visits its points."""
    return [{"study": study.name, "at": at, **row} for study in shown for at, row in enumerate(points(study))]
