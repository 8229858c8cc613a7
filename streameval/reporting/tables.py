"""The tables of a report, as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.labelling.pace import duration
from streameval.metrics import headlines
from streameval.questions.printed import UNKNOWN
from streameval.reporting.figures import ReportedStudy
from streameval.reporting.given_again import agreement_lines
from streameval.reporting.sentences import TIES
from streameval.slices.files import SliceResult
from streameval.study.provenance import commands
from streameval.study.results import Evaluation
from streameval.text import escaped, short

_OVERALL = (
    ("average_precision", "positives"), ("roc_auc", ""), ("pr_area", "interpolated"), ("max_f1", ""), ("breakeven", ""),
    ("r_precision", ""), ("reciprocal_rank", ""), ("rank_at_precision", "0.9"), ("rank_at_recall", "0.9"),
)  # fmt: skip
_ALWAYS = ("planned", "labelled")  # counts that are shown even where they are 0
_NAMES = {
    "roc_auc": "ROC AUC", "pr_area interpolated": "area under the precision-recall curve", "max_f1": "best F1",
    "average_precision positives": "average precision", "breakeven": "break-even point", "r_precision": "R-precision",
    "reciprocal_rank": "reciprocal rank of the first positive",
    "rank_at_precision 0.9": "deepest rank with precision 0.9", "rank_at_recall 0.9": "first rank with recall 0.9",
}  # fmt: skip
_SIDES = ("lower", "estimate", "upper")
STACKED = "stacked"
_EACH = 20  # items of a kind
_LONG = 300  # characters of an item's column


def table(head: Sequence[str], rows: Sequence[Sequence[object]], kind: str = "", label: str = "Table") -> str:
    """Write rows of text; the first cell of a row names it.

    Args:
        kind: Class of the style; on a narrow screen the cells of a `STACKED` table have their names, one below another.
    """
    cells = "".join(f'<th scope="col">{escaped(name)}</th>' for name in head)
    names = {at: f' data-name="{escaped(name)}"' for at, name in enumerate(head) if kind == STACKED}
    lines = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>'
        f"{''.join(f'<td{names.get(at, str())}>{escaped(cell)}</td>' for at, cell in enumerate(row[1:], 1))}</tr>"
        for row in rows
    )
    top = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
    inside = f'<table class="{kind}">{top}<tbody>{lines}</tbody></table>'
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(label)}">{inside}</div>'


def metrics(shown: Sequence[ReportedStudy]) -> str:
    """The metrics that people ask for first, then all of them."""
    several = len(shown) > 1
    main, every = [], []
    for study in shown:
        name, rows = [study.name] if several else [], study.evaluation.metrics.to_pylist()
        every += [_cells(row, name) for row in rows]
        for row in headlines(rows).values():
            if row["metric"] == "precision_at" or (row["metric"], row["argument"]) in _OVERALL:
                cells = _cells(row, name)
                main.append([_NAMES.get(f"{row['metric']} {row['argument']}".strip(), cells[0]), *cells[1:]])
    order = {name: at for at, name in reversed(list(enumerate(cells[0] for cells in main)))}
    main.sort(key=lambda cells: order[cells[0]])
    head = ["metric", *(["study"] if several else []), *_SIDES]
    ties = any(study.evaluation.summary.get("ties") == "open" for study in shown)
    return (
        f"{table(head, main, label='Main metrics')}{f'<p class=soft>{TIES}</p>' if ties else ''}"
        f"<details><summary>All {len(every):,} metrics</summary>{table(head, every, label='All metrics')}</details>"
    )


def _cells(row: dict[str, Any], name: list[str]) -> list[str]:
    return [metric_name(row), *name, *(_number(row[side], row["metric"]) for side in _SIDES)]


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


def slices(results: Sequence[SliceResult]) -> str:
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


def labels(summary: Mapping[str, Any]) -> str:
    """What people were asked, who labelled how much and how long, and what became of every label that came in."""
    counts, pace = summary["account"], summary.get("pace", {})
    hourly, hours = pace.get("people", {}), pace.get("hours", {})
    asked = f"<p>Asked: {escaped(summary['asked'])}</p>" if summary.get("asked") else ""
    rows = [(key.replace("_", " "), f"{value:,}") for key, value in counts.items() if value or key in _ALWAYS]
    given = summary.get("agreement", {}).get("annotators", {})
    people = [(name or "(nobody named)", f"{one['votes']:,}", f"{one['skips']:,}",
               duration(hours[name]) if name in hours else "–", f"{hourly[name]:,.0f}" if name in hourly else "–",
               "–" if one["percent"] is None else f"{one['percent']:.1%}")
              for name, one in given.items()]  # fmt: skip
    head = ("annotator", "votes", "skips", "worked", "an hour", "agrees")
    who = table(head, people, label="Annotators") if people else ""
    twice = "".join(f"<p>{line}</p>" for line in (agreement_lines(summary) if "agreement" in summary else []))
    return asked + who + twice + table(("labels", "number"), rows, label="Labels")


def assumptions(study: ReportedStudy) -> str:
    """What the labels say about A.1 and A.2 of the paper."""
    tested = study.evaluation.summary.get("diagnostics", {}).get("assumptions", {})
    rows = [(name, told["verdict"], f"{told['p_value']:.3g}") for name, told in tested.items() if "verdict" in told]
    if not rows:
        return ""
    caption = (
        "<p class='soft'>A.1 and A.2 of the PAULA paper, tested on these labels; small p-values speak against them.</p>"
    )
    return caption + table(("assumption", "verdict", "p-value"), rows, label="Assumptions")


def provenance(study: ReportedStudy) -> str:
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


def items(selected: pa.Table, evaluation: Evaluation) -> str:
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
