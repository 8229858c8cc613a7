"""The report of one curve, or of several over one another: one HTML file that opens without a network or a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.unlabelled import unlabelled_words
from streameval.metrics import headlines
from streameval.questions.printed import UNKNOWN
from streameval.reporting.charts import page_script, spec
from streameval.reporting.figures import Figure, ReportedStudy, figures, slice_figures
from streameval.reporting.layout import frame, heading, labels, resource, table
from streameval.reporting.next_step import after_curve
from streameval.reporting.picker_data import Packed, pack_all, zipped
from streameval.reporting.sentences import (
    TIES,
    band_meaning,
    estimate_sentence,
    half_width_sentence,
    page_verdict,
)
from streameval.reporting.text import NOTHING
from streameval.slices.files import SliceResult
from streameval.study.provenance import commands
from streameval.study.results import Evaluation
from streameval.text import escaped, number_of, short
from streameval.types import Plan

_OVERALL = (
    ("average_precision", "positives"), ("roc_auc", ""), ("pr_area", "interpolated"), ("max_f1", ""), ("breakeven", ""),
    ("r_precision", ""), ("reciprocal_rank", ""), ("rank_at_precision", "0.9"), ("rank_at_recall", "0.9"),
)  # fmt: skip
_NAMES = {
    "roc_auc": "ROC AUC", "pr_area interpolated": "area under the precision-recall curve", "max_f1": "best F1",
    "average_precision positives": "average precision", "breakeven": "break-even point", "r_precision": "R-precision",
    "reciprocal_rank": "reciprocal rank of the first positive",
    "rank_at_precision 0.9": "deepest rank with precision 0.9", "rank_at_recall 0.9": "first rank with recall 0.9",
}  # fmt: skip
_SIDES = ("lower", "estimate", "upper")
_OF_SAMPLES = ("standard_error", "low", "high", "no_interval")
_EACH = 20  # items of a kind
_LONG = 300  # characters of an item's column
_PAIRED = ("recall", "roc", "yield", "local")
_SCRIPT = """<script type="module">{bundle}
{{const CHARTS = "{charts}";
const STUDIES = "{studies}";
{picker}}}</script>
<noscript><style>section:has(.chart:empty), .picker {{display: none}}</style></noscript>"""


def render(name: str, plan: Plan | None, evaluation: Evaluation, title: str | None = None) -> str:
    """Draw the report of one study; its plan is None where every item had a label."""
    return page([ReportedStudy(name, plan, evaluation)], title)


def page(shown: Sequence[ReportedStudy], title: str | None = None) -> str:
    """Draw the report of one study, or of several over one another.

    Args:
        shown: At least one.
        title: Of the page; by default it says what is shown.

    Returns:
        str: HTML with its scripts inside; a policy in it forbids any request.
    """
    drawn = figures(shown)
    small = slice_figures(shown[0]) if len(shown) == 1 else []
    packed = pack_all({study.name: study.evaluation.curve for study in shown})
    body = ["<main>", _heading(shown, title), *(_verdict(study, shown) for study in shown)]
    body += [_subject(study, len(shown) > 1) for study in shown]
    body += [_section(drawn["precision"], _meaning(shown)), _picker(shown, packed)]
    body.append(f'<div class="pair">{"".join(_section(drawn[n]) for n in _PAIRED if n in drawn)}</div>')
    body += [_slices(shown[0], small)] if small else []
    body += ["<h2>Metrics</h2>", _metrics(shown)]
    body += [_section(drawn["labels"])] if "labels" in drawn else []
    body += [_next(study) for study in shown]
    body += [_details(study, len(shown) > 1) for study in shown]
    charts = {figure.name: spec(figure.chart) for figure in [*drawn.values(), *small]}
    script = _SCRIPT.format(
        bundle=page_script(), charts=zipped(charts), studies=packed.text, picker=resource("picker.js")
    )
    return frame(
        title or f"streameval: {', '.join(study.name for study in shown)}",
        [*body, "</main>"],
        script,
        " ".join(study.evaluation.evaluation_id for study in shown),
    )


def _heading(shown: Sequence[ReportedStudy], title: str | None) -> str:
    several = len(shown) > 1
    plain = f"{len(shown)} studies of rankings" if several else f"Precision of {shown[0].name}"
    return heading(title, plain, {"parameters": {}} if several else shown[0].evaluation.summary)


def _subject(study: ReportedStudy, several: bool) -> str:
    """What was evaluated: how many items in which order, and how many labels by which method."""
    curve, plan = study.evaluation.curve, study.plan
    parts = [f"{study.name}: "] if several else []
    parts += [number_of(curve.n_items, "item"), _order(plan), ". "]
    if plan is None:
        return f"<p class='soft'>{escaped(''.join(parts))}Every item has a label.</p>"
    without = unlabelled_words(study.evaluation.summary["account"])
    parts += [f"{number_of(plan.table.num_rows, 'label')}, method {plan.method}"]
    parts += [f"; without a label: {without}." if without else "."]
    return f"<p class='soft'>{escaped(''.join(parts))}</p>"


def _order(plan: Plan | None) -> str:
    if plan is None or "score" not in plan.ranking:
        return ", in the order in which they are stored" if plan is not None else ""
    first = "smallest" if plan.ranking.get("ascending") else "largest"
    return f" by {plan.ranking['score']}, {first} first"


def _next(study: ReportedStudy) -> str:
    """The command that uses what is proven, or brings what is missing."""
    result, plan = study.evaluation, study.plan
    command, does = NOTHING if plan is None else after_curve(plan, result.curve, result.summary, study.name)
    return f"<h2>Next</h2><p><code>{escaped(command)}</code> {escaped(does)}.</p>" if command else ""


def _verdict(study: ReportedStudy, shown: Sequence[ReportedStudy]) -> str:
    name = f"<strong>{escaped(study.name)}.</strong> " if len(shown) > 1 else ""
    return f'<p class="verdict">{name}{escaped(page_verdict(study.evaluation))}</p>'


def _meaning(shown: Sequence[ReportedStudy]) -> str:
    meanings = {band_meaning(study.evaluation.curve.claim) for study in shown}
    return f" {meanings.pop().capitalize()}." if len(meanings) == 1 else " What each band claims is said above."


def _section(figure: Figure, more: str = "") -> str:
    caption = figure.caption + more
    label = escaped(f"Chart: {figure.title}. {caption} The tables on this page hold its main numbers.")
    return (
        f"<section><h2>{escaped(figure.title)}</h2><p class='soft'>{escaped(caption)}</p>"
        f"<div class='chart' id='chart-{figure.name}' role='img' aria-label='{label}'>{figure.still}</div></section>"
    )


def _slices(study: ReportedStudy, small: Sequence[Figure]) -> str:
    """Small charts of the slices side by side, and a table of all of them."""
    caption = (
        "Precision by rank within each slice, the largest first, on the same axes. What is claimed about the slices "
        "holds for all of them together."
    )
    more = len(study.evaluation.slices) - len(small)
    rest = f"<p class='soft'>{more:,} smaller slices are only in the table.</p>" if more else ""
    charts = "".join(
        f"<figure><figcaption>{escaped(each.title)} <span class='soft'>{escaped(each.caption)}</span></figcaption>"
        f"<div class='chart' id='chart-{each.name}' role='img' "
        f"aria-label='{escaped(f'Chart: precision by rank of slice {each.title}. The table has its main numbers.')}'>"
        "</div></figure>"
        for each in small
    )
    by = escaped(study.evaluation.summary.get("by", ""))
    head = f"<section><h2>Slices by {by}</h2><p class='soft'>{caption}</p><div class='small'>{charts}</div>{rest}"
    return f"{head}{_slice_table(study.evaluation.slices)}</section>"


def _picker(shown: Sequence[ReportedStudy], packed: Packed) -> str:
    proves = any(study.evaluation.curve.proves for study in shown)
    targets = [f'<option value="{name}">{name} is at least</option>' for name in ("precision", "recall")]
    options = "".join(f'<option value="{i}">{escaped(study.name)}</option>' for i, study in enumerate(shown))
    studies = f'<label>Study<select name="study">{options}</select></label>' if len(shown) > 1 else ""
    note = "" if proves else " Nothing is proven: these are a picture, so no precision or recall can be asked for."
    if not packed.whole:
        note += " To keep the page small, bounds between its points are a little wider than study.duckdb has."
    return resource("picker.html").format(note=note, studies=studies, targets="".join(targets) if proves else "")


def _details(study: ReportedStudy, several: bool) -> str:
    """What belongs to one study alone: width, findings, label account, provenance, items."""
    parts = [f"<h2>{escaped(study.name)}</h2>"] if several else ["<h2>Assumptions</h2>"]
    sentences = (
        half_width_sentence(study.evaluation),
        estimate_sentence(study.evaluation.curve.basis),
        *study.evaluation.curve.findings,
    )
    parts += [f"<p>{escaped(sentence)}</p>" for sentence in sentences if sentence]
    parts += [_assumptions(study), "<h2>Labels</h2>", labels(study.evaluation.summary)]
    if study.items is not None:
        parts += ["<h2>Items</h2>", _items(study.items, study.evaluation)]
    return "".join([*parts, "<h2>Provenance</h2>", _provenance(study)])


def _metrics(shown: Sequence[ReportedStudy]) -> str:
    """The metrics that people ask for first, then all of them."""
    several = len(shown) > 1
    samples = {
        str(study.evaluation.summary["sample"]["claim"]) for study in shown if "sample" in study.evaluation.summary
    }
    sides = (*_SIDES, *_OF_SAMPLES) if samples else _SIDES
    main, every = [], []
    for study in shown:
        name, rows = [study.name] if several else [], study.evaluation.metrics.to_pylist()
        every += [_cells(row, name, sides) for row in rows]
        for row in headlines(rows).values():
            at_any = row["metric"] == "precision_at" or row["metric"].endswith("_at_score")
            if at_any or (row["metric"], row["argument"]) in _OVERALL:
                cells = _cells(row, name, sides)
                main.append([_NAMES.get(f"{row['metric']} {row['argument']}".strip(), cells[0]), *cells[1:]])
    order = {name: at for at, name in reversed(list(enumerate(cells[0] for cells in main)))}
    main.sort(key=lambda cells: order[cells[0]])
    head = ["metric", *(["study"] if several else []), *(side.replace("_", " ") for side in sides)]
    notes = [TIES] if any(study.evaluation.summary.get("ties") == "open" for study in shown) else []
    notes += [f"From low to high: {claim}." for claim in sorted(samples)]
    return (
        f"{table(head, main, label='Main metrics')}{''.join(f'<p class=soft>{escaped(note)}</p>' for note in notes)}"
        f"<details><summary>All {len(every):,} metrics</summary>{table(head, every, label='All metrics')}</details>"
    )


def _cells(row: dict[str, Any], name: list[str], sides: Sequence[str]) -> list[str]:
    values = [row.get(side) for side in sides]
    cells = [one if isinstance(one, str) else _number(one, row["metric"]) for one in values]
    return [metric_name(row), *name, *cells]


def metric_name(row: Mapping[str, Any]) -> str:
    """Name a metric and its cutoff as people read them."""
    argument = f"{int(row['argument']):,}" if row["argument"].isdigit() else row["argument"]
    return f"{row['metric'].replace('_', ' ')} {argument}".strip()


def _number(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    if metric.startswith(("rank_at", "yield_at")) or (metric.endswith("_rank") and metric.startswith("max")):
        return "never" if value == float("inf") else f"{value:,.0f}"
    return f"{value:.3g}" if 0 < value < 0.001 else f"{value:.4f}"


def _slice_table(results: Sequence[SliceResult]) -> str:
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
    head = (
        "slice",
        "items",
        "labels",
        "precision of all",
        "average precision",
        "proven 90% precise to rank",
        "coverage",
    )
    return table(head, rows, label="Slices")


def _range(row: dict[str, Any]) -> str:
    low, estimate, high = (row[side] for side in _SIDES)
    return "undefined" if low is None else f"{_share(estimate)} ({_share(low)} to {_share(high)})"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.3f}"


def _assumptions(study: ReportedStudy) -> str:
    """What the labels say about A.1 and A.2 of the paper."""
    tested = study.evaluation.summary.get("diagnostics", {}).get("assumptions", {})
    rows = [(name, told["verdict"], f"{told['p_value']:.3g}") for name, told in tested.items() if "verdict" in told]
    if not rows:
        return ""
    caption = (
        "<p class='soft'>A.1 and A.2 of the PAULA paper, tested on these labels; small p-values speak against them.</p>"
    )
    return caption + table(("assumption", "verdict", "p-value"), rows, label="Assumptions")


def _provenance(study: ReportedStudy) -> str:
    """The command that reproduces the study, and all that it was made from."""
    evaluation, plan = study.evaluation, study.plan
    facts: dict[str, Any] = {"method": evaluation.summary.get("method"), **evaluation.summary.get("parameters", {})}
    if plan is not None:
        facts |= {"seed": plan.seed, **plan.ranking, "study": plan.plan_id}
    claim = evaluation.curve.claim
    facts |= {
        "items": evaluation.curve.n_items,
        "misses": evaluation.curve.misses_text,
        "evaluation": evaluation.evaluation_id,
    }
    facts |= {"version": evaluation.summary["version"], "coverage": claim.coverage, "confidence": claim.confidence}
    facts |= {"assumes": claim.assumes, "about": claim.about, "because": claim.why or None}
    lines = commands(plan, evaluation.summary) if plan is not None else []
    again = "".join(f"{escaped(line)}\n" for line in lines)
    shown = table(("", ""), [(key, value) for key, value in facts.items() if value is not None], "facts", "Provenance")
    return (f"<p>Commands that make this again:</p><pre tabindex='0'>{again}</pre>" if again else "") + shown


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
        rows = [[str(cell)[:_LONG] for cell in row] for row in zip(*columns, strict=True)]
        parts.append(f"<h3>{title}</h3>{table(names, rows, 'items', title)}" if rows else "")
    return "".join(parts)
