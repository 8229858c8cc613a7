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


def rank_axis(first: int, last: int) -> alt.X:
    """Give the axis that all charts by rank share: ranks `first` to `last` on a log scale."""
    scale = alt.Scale(type="log", nice=False, domain=[first, max(last, first + 1)])
    return alt.X("rank:Q", scale=scale, title="rank (log scale)", axis=alt.Axis(format="~s"))


def precision_chart(curve: Curve) -> alt.LayerChart:
    """Draw precision by rank with its band."""
    drawn = curve.at(thinned(curve.n_items, curve.grid))
    columns = ["rank", "precision_lower", "precision", "precision_upper"]
    rows = [{key: round(value, 5) for key, value in row.items()} for row in drawn.select(columns).to_pylist()]
    tips = [alt.Tooltip("rank:Q", format=",")] + [alt.Tooltip(f"{name}:Q", format=".4f") for name in columns[1:]]
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=rank_axis(1, curve.n_items), tooltip=tips)
    # the first few ranks jump between 0 and 1 and would flatten everything after them
    settled = [row["precision_upper"] for row in rows if row["rank"] >= 20] or [1.0]
    top = min(1.0, 1.1 * max(settled) + 0.005)
    band = base.mark_area(opacity=0.45, color="#2f6db0", clip=True).encode(
        y=alt.Y("precision_lower:Q", title="precision", scale=alt.Scale(domain=[0, top])), y2=alt.Y2("precision_upper")
    )
    line = base.mark_line(color="#14375e", strokeWidth=1, clip=True).encode(y="precision:Q")
    layered: alt.LayerChart = (band + line).properties(width="container", height=320)
    return layered


def label_chart(ranks: Int64Array, n_items: int) -> alt.Chart:
    """Count planned labels per quarter of a decade of ranks."""
    edges = np.unique(np.rint(10 ** np.arange(0, np.log10(n_items) + 0.25, 0.25)).astype(np.int64))
    edges = edges[edges <= n_items]
    ends = np.append(edges[1:], n_items + 1)
    counts, _ = np.histogram(ranks, bins=np.append(edges, n_items + 1))
    rows = [{"rank": int(a), "end": int(b), "labels": int(n)} for a, b, n in zip(edges, ends, counts, strict=True) if n]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(color="#7a8fa3")
        .encode(
            x=rank_axis(1, n_items),
            x2="end:Q",
            y=alt.Y("labels:Q", title="labels"),
            y2=alt.datum(0),
            tooltip=["rank:Q", "end:Q", "labels:Q"],
        )
        .properties(width="container", height=140)
    )
    return chart


def local_chart(table: pa.Table, n_items: int) -> alt.Chart:
    """Draw the share of positives in each of PAULA's windows."""
    rows = [row for row in table.select(["rank", "local_precision"]).to_pylist() if row["local_precision"] is not None]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, color="#b4532a", size=22)
        .encode(
            x=rank_axis(1, n_items),
            y=alt.Y("local_precision:Q", title="share of positives", scale=alt.Scale(domain=[0, 1])),
            tooltip=["rank:Q", "local_precision:Q"],
        )
        .properties(width="container", height=180)
    )
    return chart
