"""The report of one curve, or of several over one another: one HTML file that opens without a network or a server."""

from __future__ import annotations

from collections.abc import Sequence

from streameval.labelling.unlabelled import unlabelled_words
from streameval.reporting import tables
from streameval.reporting.charts import page_script, spec
from streameval.reporting.figures import Figure, ReportedStudy, figures, slice_figures
from streameval.reporting.layout import frame, heading, resource
from streameval.reporting.next_step import NOTHING, after_curve
from streameval.reporting.picker_data import Packed, pack_all, zipped
from streameval.reporting.sentences import (
    band_meaning,
    estimate_sentence,
    half_width_sentence,
    page_verdict,
)
from streameval.study.result_files import Evaluation
from streameval.text import escaped, number_of
from streameval.types import Plan


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
    body += ["<h2>Metrics</h2>", tables.metrics(shown)]
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


_PAIRED = ("recall", "roc", "yield", "local")
_SCRIPT = """<script type="module">{bundle}
{{const CHARTS = "{charts}";
const STUDIES = "{studies}";
{picker}}}</script>
<noscript><style>section:has(.chart:empty), .picker {{display: none}}</style></noscript>"""


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
    return f"{head}{tables.slices(study.evaluation.slices)}</section>"


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
    parts += [tables.assumptions(study), "<h2>Labels</h2>", tables.labels(study.evaluation.summary)]
    if study.items is not None:
        parts += ["<h2>Items</h2>", tables.items(study.items, study.evaluation)]
    return "".join([*parts, "<h2>Provenance</h2>", tables.provenance(study)])
