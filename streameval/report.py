"""The report: one self-contained HTML file that opens without a network or a server."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.study import Evaluation
from streameval.types import Claim, Int64Array, Plan

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


def render(plan: Plan, found: Evaluation) -> str:
    """Draw a study's report.

    Parameters
    ----------
    plan : Plan
    found : Evaluation

    Returns
    -------
    str
        HTML with its scripts inside: no request leaves the page.
    """
    charts = {"precision": _precision_chart(found.curve), "labels": _label_chart(plan.ranks)}
    if "local_precision" in found.curve_table.column_names:
        charts["local"] = _local_chart(found.curve_table)
    body = [
        f"<h1>{html.escape(plan.method)}: {plan.n_items:,} items, {plan.table.num_rows:,} labels</h1>",
        f'<p class="verdict">{html.escape(verdict(found))}</p>',
        "".join(f"<p>{html.escape(s)}</p>" for s in (half_width_sentence(found), *found.curve.findings[1:]) if s),
        _section(
            "Precision by rank", "precision", f"Precision among the first k items; {band_meaning(found.curve.claim)}."
        ),
        _table(("first k", "lower", "estimate", "upper"), _cutoff_rows(found)),
        _section("Where labels were spent", "labels", "Labels per quarter of a decade of ranks."),
    ]
    if "local" in charts:
        what = "Share of positives in the last window at each grid point: the assumption says it never rises."
        body.append(_section("Local precision", "local", what))
    body += [
        "<h2>Labels</h2>",
        _table(("", "rows"), [(key, f"{value:,}") for key, value in found.summary["account"].items()]),
        "<h2>Provenance</h2>",
        _table(("", ""), _provenance(plan, found)),
    ]
    specs = json.dumps({name: json.loads(chart.to_json()) for name, chart in charts.items()}).replace("</", "<\\/")
    return _PAGE.format(
        title=html.escape(f"streameval: {plan.method}"),
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


def verdict(found: Evaluation) -> str:
    """One or two sentences: what holds, at what cost, under which assumption."""
    claim, account = found.curve.claim, found.summary["account"]
    labels = f"{account['labelled']:,} of {account['planned']:,} labels"
    if found.curve.findings:
        return f"{found.curve.findings[0]} ({labels}.)"
    if claim.coverage == "exact":
        return f"Every item is labelled: the curve is exact ({labels})."
    return f"{band_meaning(claim).capitalize()}; assumed: {claim.assumes} ({labels})."


def half_width_sentence(found: Evaluation) -> str:
    """How wide the bounds are, where they are widest, and what half of that would cost; empty where nothing bounds."""
    half, account, claim = found.summary["half_width"], found.summary["account"], found.curve.claim
    if claim.coverage in ("exact", "none"):
        return ""
    text = f"Half-width reached: {half['alpha']:.2%} of precision, at rank {half['rank']:,}, where it is widest."
    missing = account["planned"] - account["labelled"]
    if missing:
        text += f" {missing:,} planned labels are missing, which widens it."
    if half["labels_for_half"]:
        text += f" Half of it would take about {half['labels_for_half']:,} labels (a forecast)."
    return text


def band_meaning(claim: Claim) -> str:
    """What the band between lower and upper is, in a clause."""
    return {
        "exact": "every value is exact",
        "none": "the band is a picture and not a bound",
        "conditional": "the band holds wherever the assumption does",
        "pointwise": f"the band holds at each rank on its own with probability {claim.confidence}",
        "simultaneous": f"the band holds at all ranks at once with probability {claim.confidence}",
    }[claim.coverage]


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


def _provenance(plan: Plan, found: Evaluation) -> list[tuple[str, str]]:
    facts: dict[str, Any] = {
        "method": plan.method,
        **plan.parameters,
        "seed": plan.seed,
        **plan.ranking,
        "study": plan.plan_id,
        "evaluation": found.evaluation_id,
        "version": found.summary["version"],
        "coverage": found.curve.claim.coverage,
        "assumes": found.curve.claim.assumes,
    }
    return [(key, str(value)) for key, value in facts.items() if value is not None]


def _thinned(n_items: int, grid: Int64Array) -> Int64Array:
    """Ranks to draw: 700 along a log axis, and the grid beyond the head."""
    even = np.unique(np.rint(np.geomspace(1, n_items, 700)).astype(np.int64))
    jumps = grid[1:][np.diff(grid) > 1] if grid.size > 1 else grid
    return np.unique(np.concatenate([even, jumps[:2000]]))


def _rank_axis(title: str = "rank (log scale)") -> alt.X:
    return alt.X("rank:Q", scale=alt.Scale(type="log", nice=False), title=title, axis=alt.Axis(format="~s"))


def _precision_chart(curve: Curve) -> alt.LayerChart:
    drawn = curve.at(_thinned(curve.n_items, curve.grid))
    columns = ["rank", "precision_lower", "precision", "precision_upper"]
    rows = [{key: round(value, 5) for key, value in row.items()} for row in drawn.select(columns).to_pylist()]
    tips = [alt.Tooltip("rank:Q", format=",")] + [alt.Tooltip(f"{name}:Q", format=".4f") for name in columns[1:]]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=_rank_axis(), tooltip=tips)
    band = base.mark_area(opacity=0.45, color="#2f6db0").encode(
        y=alt.Y("precision_lower:Q", title="precision", scale=alt.Scale(domain=[0, 1])), y2=alt.Y2("precision_upper")
    )
    line = base.mark_line(color="#14375e", strokeWidth=1).encode(y="precision:Q")
    layered: alt.LayerChart = (band + line).properties(width="container", height=320)
    return layered


def _label_chart(ranks: Int64Array) -> alt.Chart:
    edges = np.unique(np.rint(10 ** np.arange(0, np.log10(ranks[-1]) + 0.5, 0.25)).astype(np.int64))
    counts, _ = np.histogram(ranks, bins=np.append(edges, edges[-1] * 2))
    ends = np.append(edges[1:], edges[-1] * 2)
    rows = [{"rank": int(a), "end": int(b), "labels": int(n)} for a, b, n in zip(edges, ends, counts, strict=True) if n]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color="#7a8fa3")
        .encode(
            x=_rank_axis(),
            x2="end:Q",
            y=alt.Y("labels:Q", title="labels"),
            y2=alt.datum(0),
            tooltip=["rank:Q", "end:Q", "labels:Q"],
        )
        .properties(width="container", height=140)
    )
    return chart


def _local_chart(table: pa.Table) -> alt.Chart:
    rows = [row for row in table.select(["rank", "local_precision"]).to_pylist() if row["local_precision"] is not None]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, color="#b4532a", size=22)
        .encode(
            x=_rank_axis(),
            y=alt.Y("local_precision:Q", title="share of positives", scale=alt.Scale(domain=[0, 1])),
            tooltip=["rank:Q", "local_precision:Q"],
        )
        .properties(width="container", height=180)
    )
    return chart
