"""Charts of one curve, as Vega-Lite."""

from __future__ import annotations

import altair as alt
import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.types import Int64Array


def thinned(n_items: int, grid: Int64Array) -> Int64Array:
    """Ranks to draw: 700 along a log axis, and the grid beyond the head."""
    even = np.unique(np.rint(np.geomspace(1, n_items, 700)).astype(np.int64))
    jumps = grid[1:][np.diff(grid) > 1] if grid.size > 1 else grid
    return np.unique(np.concatenate([even, jumps[:2000]]))


def rank_axis(title: str = "rank (log scale)") -> alt.X:
    """Give the axis that all charts by rank share."""
    return alt.X("rank:Q", scale=alt.Scale(type="log", nice=False), title=title, axis=alt.Axis(format="~s"))


def precision_chart(curve: Curve) -> alt.LayerChart:
    """Draw precision by rank with its band."""
    drawn = curve.at(thinned(curve.n_items, curve.grid))
    columns = ["rank", "precision_lower", "precision", "precision_upper"]
    rows = [{key: round(value, 5) for key, value in row.items()} for row in drawn.select(columns).to_pylist()]
    tips = [alt.Tooltip("rank:Q", format=",")] + [alt.Tooltip(f"{name}:Q", format=".4f") for name in columns[1:]]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=rank_axis(), tooltip=tips)
    band = base.mark_area(opacity=0.45, color="#2f6db0").encode(
        y=alt.Y("precision_lower:Q", title="precision", scale=alt.Scale(domain=[0, 1])), y2=alt.Y2("precision_upper")
    )
    line = base.mark_line(color="#14375e", strokeWidth=1).encode(y="precision:Q")
    layered: alt.LayerChart = (band + line).properties(width="container", height=320)
    return layered


def label_chart(ranks: Int64Array) -> alt.Chart:
    """Count planned labels per quarter of a decade of ranks."""
    edges = np.unique(np.rint(10 ** np.arange(0, np.log10(ranks[-1]) + 0.5, 0.25)).astype(np.int64))
    counts, _ = np.histogram(ranks, bins=np.append(edges, edges[-1] * 2))
    ends = np.append(edges[1:], edges[-1] * 2)
    rows = [{"rank": int(a), "end": int(b), "labels": int(n)} for a, b, n in zip(edges, ends, counts, strict=True) if n]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color="#7a8fa3")
        .encode(
            x=rank_axis(),
            x2="end:Q",
            y=alt.Y("labels:Q", title="labels"),
            y2=alt.datum(0),
            tooltip=["rank:Q", "end:Q", "labels:Q"],
        )
        .properties(width="container", height=140)
    )
    return chart


def local_chart(table: pa.Table) -> alt.Chart:
    """Draw the share of positives in each of PAULA's windows."""
    rows = [row for row in table.select(["rank", "local_precision"]).to_pylist() if row["local_precision"] is not None]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, color="#b4532a", size=22)
        .encode(
            x=rank_axis(),
            y=alt.Y("local_precision:Q", title="share of positives", scale=alt.Scale(domain=[0, 1])),
            tooltip=["rank:Q", "local_precision:Q"],
        )
        .properties(width="container", height=180)
    )
    return chart
