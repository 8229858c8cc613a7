"""The report of one curve, or of several over one another: one HTML file that opens without a network or a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from streameval.curve import Curve
from streameval.kinds.curve.calibration import calibration_of
from streameval.kinds.curve.picker_data import Packed, pack_all, zip_json
from streameval.kinds.curve.says import counted_misses
from streameval.labelling.unlabelled import unlabelled_words
from streameval.methods.values import MethodValue, value_of
from streameval.metrics import headlines
from streameval.questions.printed import UNKNOWN, open_ends, without_interval
from streameval.reporting import chart_rows
from streameval.reporting.chart_rows import ChartRows
from streameval.reporting.charts import (
    Axis,
    Spec,
    band_chart,
    bar_chart,
    calibration_chart,
    page_script,
    rank_axis,
    share_chart,
    spec,
    top_of,
    with_pick,
)
from streameval.reporting.layout import (
    ITEMS,
    STACKED,
    Section,
    document,
    fold,
    heading,
    highlight,
    labels,
    paragraph,
    provenance,
    resource,
    soft,
    table,
)
from streameval.reporting.next_step import after_curve
from streameval.reporting.sentences import TIES, estimate_sentence, half_width_sentence, page_verdict, remarks
from streameval.reporting.text import NOTHING, Columns
from streameval.slices.files import SliceResult
from streameval.study.provenance import commands
from streameval.study.results import CALIBRATION, Evaluation
from streameval.text import escape, number_of, short
from streameval.types import Plan

_OVERALL = (
    ("average_precision", "positives"), ("roc_auc", ""), ("pr_area", "interpolated"), ("max_f1", ""), ("breakeven", ""),
    ("r_precision", ""), ("reciprocal_rank", ""), ("rank_at_precision", "0.9"), ("rank_at_recall", "0.9"),
    ("brier", ""), ("log_loss", ""), ("calibration_error", ""),
)  # fmt: skip
_NAMES = {
    "roc_auc": "ROC AUC", "pr_area interpolated": "area under the precision-recall curve", "max_f1": "best F1",
    "average_precision positives": "average precision", "breakeven": "break-even point", "r_precision": "R-precision",
    "brier": "Brier score", "reciprocal_rank": "reciprocal rank of the first positive",
    "rank_at_precision 0.9": "deepest rank with precision 0.9", "rank_at_recall 0.9": "first rank with recall 0.9",
}  # fmt: skip
_SIDES = ("lower", "estimate", "upper")
_OF_SAMPLES = ("standard_error", "low", "high")
_EACH = 20  # items of a kind
_MOST_SMALL = 30  # slices that are drawn; all of them are in the page's table
_LONG = 300  # characters of an item's column
_HOME = "streameval.kinds.curve"  # where the picker lies
_CALIBRATION_CAPTION = (
    "Share of positives by mean score, for each tenth of the scores. On the dashed diagonal, the share is what the "
    "score says. A larger point has more items; a line through it is its interval."
)
_PAIRED = ("recall", "roc", "yield", "local")
_SCRIPT = """<script type="module">{bundle}
{{const CHARTS = "{charts}";
const STUDIES = "{studies}";
{picker}}}</script>
<noscript><style>section:has(.chart:empty), .picker {{display: none}}</style></noscript>"""


@dataclass(frozen=True)
class Figure:
    """A chart, in Vega-Lite, with its words."""

    name: str
    title: str
    caption: str
    chart: Spec
    still: str = ""  # what is seen before scripts draw it, and where none run


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

    def page(self, others: Sequence[ReportedStudy] = (), title: str | None = None) -> str:
        """Draw its report, or that of several studies over one another.

        Args:
            title: Of the page; by default it says what is shown.

        Returns:
            str: HTML with its scripts inside; a policy in it forbids any request.
        """
        return _page([self, *others], title)

    def charts(self, others: Sequence[ReportedStudy] = ()) -> dict[str, Spec]:
        """Draw the charts of the same page by name, without what moves in them."""
        return {name: figure.chart for name, figure in _figures([self, *others], "none").items()}


def _page(shown: Sequence[ReportedStudy], title: str | None) -> str:
    several, drawn = len(shown) > 1, _figures(shown)
    small = [] if several else _slice_figures(shown[0])
    packed = pack_all({study.name: study.evaluation.curve for study in shown})
    plain = f"Precision of {', '.join(study.name for study in shown)}"
    about = {"parameters": {}} if several else shown[0].evaluation.summary
    lead = [highlight(page_verdict(study.evaluation), study.name if several else "") for study in shown]
    lead += [soft(_subject(study, several)) for study in shown]
    pair = "".join(_chart(drawn[name]).html for name in _PAIRED if name in drawn)
    sections = [
        _chart(drawn["precision"], _meaning(shown)),
        _picker(shown, packed),
        Section(figure=f'<div class="pair">{pair}</div>'),
        *([_slices(shown[0], small)] if small else []),
        *_metrics(shown),
        *_calibration(shown, drawn.get("calibration")),
        *([_chart(drawn["labels"])] if "labels" in drawn else []),
        *(section for study in shown for section in _next(study)),
        *(section for study in shown for section in _details(study, several)),
    ]
    charts = zip_json({figure.name: spec(figure.chart) for figure in [*drawn.values(), *small]})
    picker = resource("picker.js", _HOME)
    script = _SCRIPT.format(bundle=page_script(), charts=charts, studies=packed.text, picker=picker)
    names = title or f"streameval: {', '.join(study.name for study in shown)}"
    return document(names, heading(title, plain, about), lead,
                    sections, script, " ".join(study.evaluation.evaluation_id for study in shown))  # fmt: skip


def _subject(study: ReportedStudy, several: bool) -> str:
    """Say what was evaluated: how many items in which order, and how many labels by which method."""
    curve, plan = study.evaluation.curve, study.plan
    items = f"{f'{study.name}: ' if several else ''}{number_of(curve.n_items, 'item')}{_order(plan)}. "
    if plan is None:
        return f"{items}Every item has a label."
    without = unlabelled_words(study.evaluation.summary["account"])
    planned = f"{number_of(plan.table.num_rows, 'label')}, method {value_of(plan)}"
    return f"{items}{planned}; without a label: {without}." if without else f"{items}{planned}."


def _order(plan: Plan | None) -> str:
    if plan is None or "score" not in plan.ranking:
        return ", in the order in which they are stored" if plan is not None else ""
    first = "smallest" if plan.ranking.get("ascending") else "largest"
    return f" by {plan.ranking['score']}, {first} first"


def _meaning(shown: Sequence[ReportedStudy]) -> str:
    claims = {study.evaluation.curve.claim.meaning for study in shown}
    return f" {claims.pop().capitalize()}." if len(claims) == 1 else " What each curve proves is said above."


def _chart(figure: Figure, more: str = "") -> Section:
    caption = figure.caption + more
    about = f"Chart: {figure.title}. {caption} The tables on this page hold its main numbers."
    return Section(figure.title, caption, _place(figure, about))


def _place(figure: Figure, about: str) -> str:
    """Tell where scripts draw a chart; `about` is what a screen reader says of it."""
    name = f"id='chart-{figure.name}' role='img' aria-label='{escape(about)}'"
    return f"<div class='chart' {name}>{figure.still}</div>"


def _slices(study: ReportedStudy, small: Sequence[Figure]) -> Section:
    """Small charts of the slices side by side, and a table of all of them."""
    caption = (
        "Precision by rank within each slice, the largest first, on the same axes. What is claimed about the slices "
        "holds for all of them together."
    )
    more = len(study.evaluation.slices) - len(small)
    charts = "".join(
        f"<figure><figcaption>{escape(each.title)} <span class='soft'>{escape(each.caption)}</span></figcaption>"
        f"{_place(each, f'Chart: precision by rank of slice {each.title}. The table has its main numbers.')}</figure>"
        for each in small
    )
    rest = f"{more:,} smaller slices are only in the table." if more else ""
    return Section(f"Slices by {study.evaluation.summary.get('by', '')}", caption, f"<div class='small'>{charts}</div>",
                   rest, _slice_table(study.evaluation.slices), label="Slices")  # fmt: skip


def _picker(shown: Sequence[ReportedStudy], packed: Packed) -> Section:
    proves = any(study.evaluation.curve.proves for study in shown)
    targets = [f'<option value="{name}">{name} is at least</option>' for name in ("precision", "recall")]
    options = "".join(f'<option value="{i}">{escape(study.name)}</option>' for i, study in enumerate(shown))
    studies = f'<label>Study<select name="study">{options}</select></label>' if len(shown) > 1 else ""
    note = "" if proves else " Nothing is proven: these are a picture, so no precision or recall can be asked for."
    if not packed.whole:
        note += " To keep the page small, bounds between its points are a little wider than study.duckdb has."
    targets_html = "".join(targets) if proves else ""
    return Section(figure=resource("picker.html", _HOME).format(note=note, studies=studies, targets=targets_html))


def _next(study: ReportedStudy) -> list[Section]:
    """The command that uses what is proven, or brings what is missing."""
    result, plan = study.evaluation, study.plan
    command, does = NOTHING if plan is None else after_curve(plan, result.curve, result.summary, study.name)
    return [Section("Next", figure=f"<p><code>{escape(command)}</code> {escape(does)}.</p>")] if command else []


def _details(study: ReportedStudy, several: bool) -> Iterator[Section]:
    """Give what belongs to one study alone: width, findings, label account, items, provenance."""
    evaluation = study.evaluation
    sentences = [half_width_sentence(evaluation), estimate_sentence(evaluation.curve.basis)]
    paragraphs = "".join(map(paragraph, filter(None, [*sentences, *remarks(evaluation)])))
    tested = _assumptions(evaluation)
    if several or paragraphs or tested:
        yield Section(study.name if several else "Width and assumptions", figure=paragraphs,
                      key=_TESTED if tested else "", table=tested, kind=STACKED,
                      label="Assumptions")  # fmt: skip
    yield labels(evaluation.summary)
    if study.items is not None:
        yield Section("Items", figure=_items(study.items, evaluation))
    yield _provenance(study)


def _metrics(shown: Sequence[ReportedStudy]) -> Iterator[Section]:
    """The metrics that people ask for first, then all of them; of samples with their intervals."""
    several = len(shown) > 1
    samples = {str(study.evaluation.summary["sample"]["claim"]) for study in shown
               if "sample" in study.evaluation.summary}  # fmt: skip
    sides = (*_SIDES, *_OF_SAMPLES) if samples else _SIDES
    main, every = [], []
    for study in shown:
        name, rows = [study.name] if several else [], study.evaluation.metrics.to_pylist()
        every += [_cells(row, name, sides) for row in rows]
        main += [[_main_name(row), *_cells(row, name, sides)[1:]] for row in headlines(rows).values() if _is_main(row)]
    order = {name: at for at, name in reversed(list(enumerate(cells[0] for cells in main)))}
    main.sort(key=lambda cells: order[cells[0]])
    head = ["metric", *(["study"] if several else []), *(side.replace("_", " ") for side in sides)]
    notes = [TIES] * any(study.evaluation.summary.get("ties") == "open" for study in shown)
    notes += filter(None, dict.fromkeys(counted_misses(study.evaluation) for study in shown))
    notes += [f"From low to high: {claim}." for claim in sorted(samples)]
    notes += [line for study in shown for line in _without_interval(study, study.name if several else "")]
    yield Section("Metrics", table=Columns(head, main), kind=STACKED if samples else "", label="Main metrics",
                  remarks=notes)  # fmt: skip
    yield fold(f"All {len(every):,} metrics", table(head, every, label="All metrics"))


def _without_interval(study: ReportedStudy, name: str) -> list[str]:
    """Say of a sample which of the main metrics have no interval, and why; of one of several with its name."""
    rows = [(_main_name(row), row) for row in headlines(study.evaluation.metrics.to_pylist()).values() if _is_main(row)]
    lines = [*open_ends(rows), *filter(None, without_interval(rows))]
    return [f"{name}: {line}" if name else line for line in lines]


def _is_main(row: Mapping[str, Any]) -> bool:
    at_any = row["metric"] == "precision_at" or row["metric"].endswith("_at_score")
    return at_any or (row["metric"], row["argument"]) in _OVERALL


def _main_name(row: Mapping[str, Any]) -> str:
    return _NAMES.get(f"{row['metric']} {row['argument']}".strip(), metric_name(row))


def _calibration(shown: Sequence[ReportedStudy], figure: Figure | None) -> Iterator[Section]:
    """Show the share of positives by score, of studies whose scores are probabilities."""
    if figure is None:
        return
    chart = _chart(figure)
    yield replace(chart, figure=f"<div class='half'>{chart.figure}</div>")
    for study in shown:
        if CALIBRATION in study.evaluation.tables:
            calibration = calibration_of(study.evaluation)
            name = f"Calibration of {study.name}" if len(shown) > 1 else ""
            yield Section(
                name, table=calibration.columns, kind=STACKED, label="Calibration", remarks=calibration.remarks
            )


def _calibration_points(study: ReportedStudy) -> ChartRows:
    return calibration_of(study.evaluation).points if CALIBRATION in study.evaluation.tables else []


def _cells(row: dict[str, Any], name: list[str], sides: Sequence[str]) -> list[str]:
    return [metric_name(row), *name, *(_number(row.get(side), row["metric"]) for side in sides)]


def metric_name(row: Mapping[str, Any]) -> str:
    """Name a metric and its cutoff as people read them."""
    argument = row["argument"]
    if argument.isdigit():
        argument = f"{int(argument):,}"
    elif row["metric"].endswith("_at_score"):
        argument = f"{float(argument):.6g}"
    return f"{row['metric'].replace('_', ' ')} {argument}".strip()


def _number(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    if metric.startswith(("rank_at", "yield_at")) or (metric.endswith("_rank") and metric.startswith("max")):
        return "never" if value == float("inf") else f"{value:,.0f}"
    return f"{value:.3g}" if 0 < value < 0.001 else f"{value:.4f}"


def _slice_table(results: Sequence[SliceResult]) -> Columns:
    """Precision of each slice as a whole, where it is proven to reach .9, and average precision."""
    rows = []
    for result in results:
        size = result.curve.n_items
        by_name = {(row["metric"], row["argument"]): row for row in result.metrics.to_pylist()}
        whole = by_name["precision_at", str(size)]
        area = by_name.get(("average_precision", "positives"), dict.fromkeys(_SIDES))
        deepest = by_name.get(("rank_at_precision", "0.9"), {"lower": None})["lower"]
        rows.append([
            short(result.name), f"{size:,}", f"{result.labelled:,} of {result.planned:,}", _range(whole), _range(area),
            UNKNOWN if deepest is None else f"{deepest:,.0f}", result.curve.claim.coverage,
        ])  # fmt: skip
    head = ["slice", "items", "labels", "precision of all", "average precision", "proven 90% precise to rank"]
    return Columns([*head, "coverage"], rows)


def _range(row: dict[str, Any]) -> str:
    low, estimate, high = ("?" if row[side] is None else f"{row[side]:.3f}" for side in _SIDES)
    return "undefined" if row["lower"] is None else f"{estimate} ({low} to {high})"


_TESTED = "A.1 and A.2 of the PAULA paper, tested on these labels; small p-values speak against them."


def _assumptions(evaluation: Evaluation) -> Columns | None:
    """Give what the labels say about A.1 and A.2 of the paper; None where they were not tested."""
    tested = evaluation.summary.get("diagnostics", {}).get("assumptions", {})
    rows = [[name, test["verdict"], f"{test['p_value']:.3g}"] for name, test in tested.items() if "verdict" in test]
    return Columns(("assumption", "verdict", "p-value"), rows) if rows else None


def _provenance(study: ReportedStudy) -> Section:
    """The command that reproduces the study, and all that it was made from."""
    evaluation, plan = study.evaluation, study.plan
    facts: dict[str, Any] = {"method": evaluation.summary.get("method"), **evaluation.summary.get("parameters", {})}
    if plan is not None:
        value = MethodValue.of(plan.method, evaluation.summary["parameters"])
        facts = {"method": str(value.without_shared), **value.shared}
        facts |= {"seed": plan.seed, **plan.ranking, "study": plan.plan_id}
    claim = evaluation.curve.claim
    facts |= {"items": evaluation.curve.n_items, "misses": evaluation.curve.misses_text}
    facts |= {"evaluation": evaluation.evaluation_id, "version": evaluation.summary["version"]}
    facts |= {"coverage": claim.coverage, "confidence": claim.confidence}
    facts |= {"assumes": claim.assumes, "about": claim.about, "because": claim.why or None}
    lines = commands(plan, evaluation.summary) if plan is not None else []
    again = "".join(f"{escape(line)}\n" for line in lines)
    steps = f"{paragraph('Commands that make this again:')}<pre tabindex='0'>{again}</pre>" if again else ""
    return provenance(facts, steps)


def _items(selected: pa.Table, evaluation: Evaluation) -> str:
    """The negatives that stand highest, and the positives that stand lowest."""
    labels = evaluation.label_table.select(["rank", "label"])
    joined = selected.append_column("se_label", pc.take(labels.column("label"), pc.index_in(
        selected.column("rank"), value_set=labels.column("rank").combine_chunks())))  # fmt: skip
    parts = []
    for value, title, end in (
        (0, "The highest negatives", slice(None, _EACH)),
        (1, "The lowest positives", slice(-_EACH, None)),
    ):
        chosen = joined.filter(pc.equal(joined.column("se_label"), value)).drop_columns(["se_label"])
        begin, stop, _ = end.indices(chosen.num_rows)
        names = [name for name in chosen.column_names if name not in ("stratum", "draw_weight", "se_task")]
        columns = [column.to_pylist() for column in chosen.slice(begin, stop - begin).select(names).columns]
        rows = [[*map(_item_cell, row)] for row in zip(*columns, strict=True)]
        parts.append(f"<h3>{title}</h3>{table(names, rows, ITEMS, title)}" if rows else "")
    return "".join(parts)


def _item_cell(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)[:_LONG]


def _figures(shown: Sequence[ReportedStudy], marks: Literal["picked", "none"] = "picked") -> dict[str, Figure]:
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
        ("labels", "Where labels were spent", "Number of labels by rank, four bars to each factor of ten.", _labels,
               lambda rows: bar_chart(rows, last)),
        ("local", "Local precision", "Share of positives among the labels around each rank, where there are 5 or "
               "more. The PAULA paper assumes that it never rises.", _local,
               lambda rows: share_chart(rows, last)),
        ("calibration", "Calibration", _CALIBRATION_CAPTION, _calibration_points, calibration_chart),
    ]  # fmt: skip
    stills = {"precision": curves[0].picture()} if len(curves) == 1 else {}
    return {
        name: Figure(name, title, caption + _sole_study(rows, shown), draw(rows), stills.get(name, ""))
        for name, title, caption, points, draw in candidates
        if (rows := _rows(shown, points))
    }


def _sole_study(rows: ChartRows, shown: Sequence[ReportedStudy]) -> str:
    """Name the only one of several studies that a chart shows."""
    names = list(dict.fromkeys(row["study"] for row in rows))
    return f" Only {names[0]} has it." if len(names) == 1 < len(shown) else ""


def _recall_caption(curves: Sequence[Curve]) -> str:
    if all(curve.proves for curve in curves):
        return "The best precision at or beyond each recall."
    return "Precision at each recall; where nothing is proven, as the labels estimate it."


def _slice_figures(study: ReportedStudy) -> list[Figure]:
    """Draw precision by rank of every slice, small and on the same axes, the largest slices first."""
    slices = study.evaluation.slices[:_MOST_SMALL]
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
