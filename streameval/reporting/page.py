"""The report: one self-contained HTML file that opens without a network or a server."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

from streameval.reporting.charts import label_chart, local_chart, precision_chart
from streameval.reporting.sentences import band_meaning, half_width_sentence, verdict
from streameval.study import Evaluation
from streameval.types import Plan

_STYLE = """
:root{color-scheme:light;--ink:#1b2733;--soft:#5b6b7a;--line:#d9e0e6;--band:#2f6db0}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0 0 .5rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
.verdict{font-size:1.15rem;border-left:4px solid var(--band);padding:.2rem 0 .2rem 1rem;margin:1rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .9rem .2rem 0;text-align:right;border-bottom:1px solid var(--line)}
td:first-child,th:first-child{text-align:left}
.soft{color:var(--soft);font-size:.9rem}.chart{width:100%}
"""


def _bundle() -> str:
    """Vega, Vega-Lite and its embedder as one script (the library's stub asks for an argument it does not need)."""
    import vl_convert

    script: str = vl_convert.javascript_bundle()  # type: ignore[call-arg, unused-ignore]
    return script.replace("</script", "<\\/script")


def render(plan: Plan | None, found: Evaluation) -> str:
    """Draw a study's report.

    Parameters
    ----------
    plan : Plan or None
        None for a fully labelled list, which had none.
    found : Evaluation

    Returns
    -------
    str
        HTML with its scripts inside: no request leaves the page.
    """
    n_items, account = found.curve.n_items, found.summary["account"]
    method = found.summary["method"]
    charts: dict[str, Any] = {"precision": precision_chart(found.curve)}
    if plan is not None:
        charts["labels"] = label_chart(plan.ranks, n_items)
    if "local_precision" in found.curve_table.column_names:
        charts["local"] = local_chart(found.curve_table, n_items)
    body = [
        f"<h1>{html.escape(method)}: {n_items:,} items, {account['planned']:,} labels</h1>",
        f'<p class="verdict">{html.escape(verdict(found))}</p>',
        "".join(f"<p>{html.escape(s)}</p>" for s in (half_width_sentence(found), *found.curve.findings[1:]) if s),
        _section(
            "Precision by rank", "precision", f"Precision among the first k items; {band_meaning(found.curve.claim)}."
        ),
        _table(("first k", "lower", "estimate", "upper"), _cutoff_rows(found)),
    ]
    if "labels" in charts:
        body.append(_section("Where labels were spent", "labels", "Labels per quarter of a decade of ranks."))
    if "local" in charts:
        what = "Share of positives in the last window at each grid point: the assumption says it never rises."
        body.append(_section("Local precision", "local", what))
    body += [
        "<h2>Labels</h2>",
        _table(("", "rows"), [(key, f"{value:,}") for key, value in account.items()]),
        "<h2>Provenance</h2>",
        _table(("", ""), _provenance(plan, found)),
    ]
    specs = json.dumps({name: json.loads(chart.to_json()) for name, chart in charts.items()}).replace("</", "<\\/")
    return _PAGE.format(
        title=html.escape(f"streameval: {method}"),
        evaluation=found.evaluation_id,
        style=_STYLE,
        bundle=_bundle(),
        body="\n".join(body),
        specs=specs,
    )


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="streameval-evaluation" content="{evaluation}"><link rel="icon" href="data:,">
<title>{title}</title><style>{style}</style><script type="module">{bundle}
const specs = {specs};
for (const [name, spec] of Object.entries(specs))
  vegaEmbed("#chart-" + name, spec, {{actions: false, renderer: "svg"}});
</script></head><body>
{body}
</body></html>
"""


def _section(title: str, chart: str, caption: str) -> str:
    label = html.escape(f"{title}. {caption}")
    return (
        f"<h2>{html.escape(title)}</h2><p class='soft'>{html.escape(caption)}</p>"
        f"<div class='chart' id='chart-{chart}' role='img' aria-label='{label}'></div>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = ["<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _cutoff_rows(found: Evaluation) -> list[tuple[str, ...]]:
    rows = [row for row in found.metrics.to_pylist() if row["metric"] == "precision_at"]
    return [(f"{int(r['argument']):,}", *(f"{r[key]:.4f}" for key in ("lower", "estimate", "upper"))) for r in rows]


def _provenance(plan: Plan | None, found: Evaluation) -> list[tuple[str, str]]:
    own = {"seed": plan.seed, **plan.ranking, "study": plan.plan_id} if plan else found.summary["ranking"]
    facts: dict[str, Any] = {
        "method": found.summary["method"],
        **found.summary["parameters"],
        **own,
        "evaluation": found.evaluation_id,
        "version": found.summary["version"],
        "coverage": found.curve.claim.coverage,
        "assumes": found.curve.claim.assumes,
    }
    return [(key, str(value)) for key, value in facts.items() if value is not None]
