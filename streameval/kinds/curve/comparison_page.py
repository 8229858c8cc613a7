"""Presentation of a comparison of two curves: sentences, a picture and a page."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.sorted_sets import unique
from streameval.kinds.curve.comparison import Comparison, Side, compare_curves
from streameval.kinds.curve.page import metric_name
from streameval.kinds.side_by_side import two
from streameval.questions.printed import measure_of
from streameval.reporting.charts import ZERO, Spec, chart_file, number, rank_axis, spec, still
from streameval.reporting.layout import STACKED, Section, document, fold, highlight, soft, table
from streameval.reporting.sentences import estimate_sentence
from streameval.reporting.simulation import kind_of
from streameval.reporting.text import Columns, Paragraph
from streameval.stores import atomic
from streameval.text import escape, number_of, printable

_POINTS = 700
_NAMED = 3  # metrics that a sentence names
_ABOUT = (
    "This is about these two lists of items; it does not say whether the models that made them would differ in this "
    "way on other items."
)
COLOURS = "#2f6db0", "#a2410f"
_SHOWN = ("precision_at", "precision_at_recall", "rank_at_recall", "average_precision", "roc_auc", "precision_at_score")
_VALUES = ("a", "b", "lower", "upper", "higher")


def compare(paths: Sequence[Path], confidence: float) -> Comparison:
    """Compare two curves."""
    return compare_curves(*two(paths), confidence)


def verdict(comparison: Comparison) -> str:
    """Say at which ranks one list is established to be more precise, and what the statement is about."""
    return f"{_verdict_sentence(comparison)}{_rules(comparison)}"


def _verdict_sentence(comparison: Comparison) -> str:
    if comparison.claim.coverage == "none":
        return "Nothing is established: the bounds of one side promise nothing."
    if comparison.lists == "the same list":
        return _of_one_list(comparison)
    if not comparison.agree:
        return (
            "Nothing is established. Both hold the same items, but their bounds on the number of positives exclude "
            "each other, so their labels disagree or bounds have failed."
        )
    rank = comparison.curves.column("rank").to_numpy()
    higher = np.array([side_name or "" for side_name in comparison.curves.column("higher").to_pylist()])
    sentences = []
    for name, side in (("a", comparison.a), ("b", comparison.b)):
        at = rank[higher == name]
        if at.size:
            where = (
                f"at {at.size:,} of {rank.size:,} cutoffs compared, from the first {at[0]:,} to the first {at[-1]:,}"
            )
            sentences.append(f"{name} ({side.name}) is more precise {where}.")
    if not sentences:
        where = f"at any of {number_of(rank.size, 'rank')} compared"
        return f"No difference in precision is established {where}{_besides(comparison)}."
    return f"Established: {' '.join(sentences)} {_ABOUT}"


def _besides(comparison: Comparison) -> str:
    """Tell which metrics of the table are higher all the same, such as the precision at a recall."""
    rows = main_rows(comparison.differences.to_pylist())
    higher = {side: [measure_of(row["metric"], row["argument"]) for row in rows if row["higher"] == side]
              for side in "ab"}  # fmt: skip
    sentences = "; ".join(
        f"{', '.join(some[:_NAMED])}{f' and {len(some) - _NAMED} more' if len(some) > _NAMED else ''} "
        f"{'is' if len(some) == 1 else 'are'} higher in {side}"
        for side, some in higher.items()
        if some
    )
    return f", but {sentences}" if sentences else ""


def _of_one_list(comparison: Comparison) -> str:
    excluded, opening = comparison.excluded, "Both are of the same list"
    if not excluded and comparison.agree:
        return f"{opening}, so there is no difference to find; their bounds agree at every cutoff."
    says = f"their bounds exclude each other at {excluded:,} of {comparison.curves.num_rows:,} cutoffs"
    if not comparison.alike:
        return f"{opening}, yet {says}."
    return f"{opening}, yet {says}, so their labels disagree or bounds have failed."


def _rules(comparison: Comparison) -> str:
    """Say that two rules make two kinds of positives, where they do."""
    if comparison.alike:
        return ""
    return (
        f" The labels of a and b were judged by different rules (a: {comparison.a.judged}; b: {comparison.b.judged}), "
        "so a difference may come from the rules."
    )


def claim_sentence(comparison: Comparison) -> str:
    """Say what the bounds on the differences promise."""
    claim, lists = comparison.claim, comparison.lists
    return f"{claim.promise} ({lists[0].upper()}{lists[1:]}.) {claim.caution}".rstrip()


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def save(comparison: Comparison, out: Path | None, plot: Path | None, existing: atomic.Existing) -> None:
    """Write the tables into a folder and the picture into a file, where asked for (`atomic.write_out`)."""
    facts = {"claim": comparison.claim.as_dict(), "a": comparison.a.name, "b": comparison.b.name}
    tables = {"curves": comparison.curves, "differences": comparison.differences}
    pictures = partial(page, comparison), partial(figure, comparison)
    write_comparison(tables, facts, pictures, out, plot, existing)


def write_comparison(
    tables: Mapping[str, pa.Table],
    facts: Mapping[str, Any],
    pictures: tuple[Callable[[], str], Callable[[], Spec]],
    out: Path | None,
    plot: Path | None,
    existing: atomic.Existing,
) -> None:
    """Write tables into a folder, by name, and a page or the picture alone into a file, by its ending (`kind_of`)."""
    files = {} if out is None else {out / f"{name}.parquet": atomic.parquet(tables[name], facts) for name in tables}
    if plot is not None:
        (page, figure), kind = pictures, kind_of(plot)
        files[plot] = atomic.text(page()) if kind == "html" else chart_file(figure(), kind)
    atomic.write_out(files, existing)


def page(comparison: Comparison) -> str:
    """Draw the report of a comparison: what is established, both curves, and every difference. It has no scripts."""
    both, drawn = names(comparison.a.name, comparison.b.name), still(spec(figure(comparison)))
    title = f"{both[0]} and {both[1]} compared"
    differences = comparison.differences.to_pylist()
    head = ("metric", "a", "b", "a − b at least", "at most", "higher")
    main, every = ([[metric_name(row), *_cells(comparison, row)] for row in rows]
                   for rows in (main_rows(differences), differences))  # fmt: skip
    about = "Share of positives among the first k items."
    label = escape(f"Chart: precision by rank of {both[0]} and {both[1]}. {about}")
    command = f"streameval report {shlex.join([comparison.a.name, comparison.b.name])} --out curves.html"
    picture = f"<div class='chart wide start' role='img' aria-label='{label}'>{drawn}</div>"
    lead = [
        *map(soft, sides(comparison)),
        highlight(verdict(comparison)),
        f"<p class='soft'>To see all curves of both: <code>{escape(command)}</code></p>",
    ]
    return document(f"streameval: {title}", title, lead, [
        Section("Precision by rank", f"{about} {claim_sentence(comparison)}", picture),
        Section("Differences", table=Columns(head, main), kind=STACKED, label="Differences"),
        fold("All differences", table(head, every, label="All differences")),
    ])  # fmt: skip


def sides(comparison: Comparison) -> list[str]:
    """Say what is compared, a line each."""
    return [
        f"{name}: {side.name} ({side.method}, {side.curve.n_items:,} items, {side.labels:,} labels)"
        for name, side in (("a", comparison.a), ("b", comparison.b))
    ]


def names(*folders: str) -> list[str]:
    """The names of two studies, or their folders where these are named alike."""
    short = [Path(folder).name or folder for folder in folders]
    return [printable(name) for name in (short if short[0] != short[1] else folders)]


def side_labels(*folders: str) -> dict[str, str]:
    """Say what a chart calls each of two studies."""
    return {side: f"{side}: {name}" for side, name in zip("ab", names(*folders), strict=True)}


def main_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows that the terminal shows, and the page before all of them; one of two that no miss sets apart."""
    same = {tuple(row[key] for key in _VALUES): row for row in reversed(rows) if row["metric"] == "average_precision"}
    return [row for row in rows if row["metric"] in _SHOWN
            and (row["metric"] != "average_precision" or same[tuple(row[key] for key in _VALUES)] is row)]  # fmt: skip


def _cells(comparison: Comparison, row: dict[str, Any]) -> list[str]:
    labels = side_labels(comparison.a.name, comparison.b.name)
    return [*(difference_number(row[key], "–") for key in ("a", "b", "lower", "upper")), labels.get(row["higher"], "–")]


def difference_number(value: float | None, nothing: str) -> str:
    """A value as people read it."""
    if value is None:
        return nothing
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4f}"


def figure(comparison: Comparison) -> Spec:
    """Draw both curves with their bands, and the band of their difference below."""
    ranks = comparison.curves.column("rank").to_numpy()
    wanted = unique(np.rint(np.geomspace(1, ranks[-1], _POINTS)).astype(np.int64))
    labels = side_labels(comparison.a.name, comparison.b.name)
    rows = comparison.curves.take(unique(np.searchsorted(ranks, wanted))).to_pylist()
    curves = [
        {"rank": row["rank"], "list": named, "low": round(row[f"precision_{name}_lower"], 5),
         "precision": _short(row[f"precision_{name}"]), "high": round(row[f"precision_{name}_upper"], 5)}
        for row in rows for name, named in labels.items()
    ]  # fmt: skip
    x = rank_axis(1, int(ranks[-1])).x()
    colour = {"field": "list", "type": "nominal", "title": None, "legend": {"orient": "top", "labelLimit": 300},
              "scale": {"domain": list(labels.values()), "range": list(COLOURS)}}  # fmt: skip
    band = {"x": x, "color": colour, "y": number("low", title="precision"), "y2": {"field": "high"}}
    line = {"x": x, "color": colour, "y": number("precision")}
    top = {"data": {"values": curves}, "width": 640, "height": 260,
           "layer": [{"mark": {"type": "area", "opacity": 0.35}, "encoding": band},
                     {"mark": {"type": "line", "strokeWidth": 1}, "encoding": line}]}  # fmt: skip
    gaps = [
        {"rank": row["rank"], "low": round(row["difference_lower"], 5), "high": round(row["difference_upper"], 5)}
        for row in rows
    ]
    gap = {"data": {"values": gaps},
           "encoding": {"x": x, "y": number("low", title="a − b"), "y2": {"field": "high"}},
           "mark": {"type": "area", "opacity": 0.5, "color": "#7a8fa3", "stroke": "#7a8fa3"}}  # fmt: skip
    return {"vconcat": [top, {"width": 640, "height": 140, "layer": [gap, ZERO]}]}


def describe(comparison: Comparison) -> tuple[dict[str, Any], list[Paragraph]]:
    """Say which side is higher, and the difference of the main metrics."""
    rows = comparison.differences.to_pylist()
    result = {
        "a": _side_facts(comparison.a),
        "b": _side_facts(comparison.b),
        "lists": comparison.lists,
        "claim": comparison.claim.as_dict(),
        "verdict": verdict(comparison),
        "differences": rows,
    }
    cells = [
        [measure_of(row["metric"], row["argument"]),
         *(difference_number(row[key], "-") for key in ("a", "b", "lower", "upper")), row["higher"] or "-"]
        for row in main_rows(rows)
    ]  # fmt: skip
    table = Columns(["", "a", "b", "a - b at least", "at most", "higher"], cells)
    basis = dict.fromkeys(estimate_sentence(side.curve.basis) for side in (comparison.a, comparison.b))
    return result, [*sides(comparison), "", verdict(comparison), "", table, "", claim_sentence(comparison),
                    *filter(None, [*basis, _by_what_changed(comparison)])]  # fmt: skip


def _by_what_changed(comparison: Comparison) -> str:
    """Forecast the labels of a paired comparison instead, at the last cutoff short of a whole list."""
    from streameval.kinds.paired.cost import as_close_sentence

    shortest = min(
        comparison.a.curve.n_items, comparison.b.curve.n_items
    )  # the whole of a list does not change with its order
    rows = [
        row for row in comparison.differences.to_pylist()
        if row["metric"] == "precision_at" and row["lower"] is not None and int(row["argument"]) < shortest
    ]  # fmt: skip
    if comparison.lists == "the same list" or comparison.claim.coverage == "exact" or not rows:
        return ""
    deepest = max(rows, key=lambda row: int(row["argument"]))
    half_width = (deepest["upper"] - deepest["lower"]) / 2
    if not 0 < half_width < 1:
        return ""
    return as_close_sentence(int(deepest["argument"]), half_width, comparison.a.labels + comparison.b.labels)


def _side_facts(side: Side) -> dict[str, Any]:
    return {"study": side.name, "method": side.method, "n_items": side.curve.n_items, "labels": side.labels,
            "judged": side.judged, "estimates": side.curve.basis, "claim": side.curve.claim.as_dict()}  # fmt: skip
