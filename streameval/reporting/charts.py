"""Charts of one curve or several, as Vega-Lite.

Every chart draws rows of `drawn`, each with the `study` it belongs to. Colours are those of Okabe and Ito, which
colour-blind people tell apart, and each study has its own dashes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import altair as alt

from streameval.reporting.drawn import Rows
from streameval.stores import atomic

BAND, LINE, BARS, POINTS, MARK = "#2f6db0", "#14375e", "#5f7488", "#a2410f", "#333"
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
_SEVERAL = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 3]]


@dataclass(frozen=True)
class Axis:
    """What a chart has along one side.

    Attributes:
        scale: "linear" or "log".
        domain
        format: Of numbers, as d3 writes them.
    """

    field: str
    title: str
    scale: str
    domain: tuple[float, float]
    format: str = ""

    def x(self) -> alt.X:
        """Return it as the horizontal axis."""
        scale = alt.Scale(type=self.scale, nice=False, domain=list(self.domain))  # type: ignore[arg-type]
        return alt.X(f"{self.field}:Q", scale=scale, title=self.title, axis=alt.Axis(format=self.format, tickCount=6))


def rank_axis(first: int, last: int) -> alt.X:
    """Give the axis that all charts by rank share: ranks `first` to `last` on a log scale."""
    return by_rank_axis(first, last).x()


def by_rank_axis(first: int, last: int) -> Axis:
    """Ranks on a log scale."""
    return Axis("rank", "rank (log scale)", "log", (first, max(last, first + 1)), "~s")


def top_of(rows: Rows) -> float:
    """Where the vertical axis of a share ends: the first few ranks jump between 0 and 1 and would flatten the rest."""
    settled = [
        float(row["upper"] if "upper" in row else row["estimate"]) for row in rows if row.get("rank", 20) >= 20
    ] or [1.0]
    return min(1.0, 1.1 * max(settled) + 0.005)


def band_chart(rows: Rows, x: Axis, title: str, height: int, top: float | None = None) -> alt.LayerChart:
    """Draw estimates with their bands; several studies in colours of their own.

    Args:
        rows: `study`, the field of `x`, `estimate`, and `lower`, `upper` where they are bounded.
        title: Of the vertical axis.
        height: In pixels.
        top: Where the vertical axis ends; by default what these rows need.
    """
    names = list(dict.fromkeys(row["study"] for row in rows))
    scale = alt.Scale(domain=[0, top_of(rows) if top is None else top])
    tips = [alt.Tooltip(f"{x.field}:Q", format=",.5~r"), *(alt.Tooltip(f"{n}:Q", format=".4f") for n in _SIDES)]
    if len(names) > 1:
        tips.insert(0, alt.Tooltip("study:N"))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x.x(), tooltip=tips)
    order = alt.Order(f"{x.field}:Q") if x.scale == "log" else alt.Order("at:Q")
    area = base.mark_area(opacity=0.4, clip=True, color=alt.Undefined if len(names) > 1 else BAND)
    line = base.mark_line(strokeWidth=1.5, clip=True, color=alt.Undefined if len(names) > 1 else LINE)
    band = area.transform_filter("isValid(datum.lower)").encode(
        y=alt.Y("lower:Q", title=title, scale=scale), y2=alt.Y2("upper:Q")
    )
    estimate = line.transform_filter("isValid(datum.estimate)").encode(
        y=alt.Y("estimate:Q", title=title, scale=scale), order=order
    )
    if len(names) > 1:
        band, estimate = band.encode(color=_color(names)), estimate.encode(color=_color(names), strokeDash=_dash(names))
    layered: alt.LayerChart = (band + estimate).properties(width="container", height=height)
    return layered


_SIDES = ("lower", "estimate", "upper")
_LEGEND = alt.Legend(orient="top", title=None, columns=2, labelLimit=300)


def _color(names: Sequence[str]) -> alt.Color:
    colors = [_SEVERAL[i % len(_SEVERAL)] for i in range(len(names))]
    return alt.Color("study:N", scale=alt.Scale(domain=list(names), range=colors), legend=_LEGEND)


def _dash(names: Sequence[str]) -> alt.StrokeDash:
    dashes = [_DASHES[i % len(_DASHES)] for i in range(len(names))]
    return alt.StrokeDash("study:N", scale=alt.Scale(domain=list(names), range=dashes), legend=_LEGEND)


def with_pick(chart: alt.LayerChart) -> alt.LayerChart:
    """Add a line at the rank that the page's cutoff picker moves (data set `pick`)."""
    rule = alt.Chart(alt.NamedData("pick")).mark_rule(color=MARK, strokeDash=[3, 3]).encode(x="rank:Q")
    layered: alt.LayerChart = (chart + rule).properties(width="container", height=chart.height)
    return layered


def bar_chart(rows: Rows, last: int) -> alt.Chart:
    """Draw labels per stretch of ranks; several studies behind one another."""
    several = len({row["study"] for row in rows}) > 1
    bars: alt.Chart = alt.Chart(alt.InlineData(values=rows)).mark_bar(
        opacity=0.55 if several else 1, color=alt.Undefined if several else BARS
    )
    bars = bars.encode(
        x=rank_axis(1, last),
        x2="end:Q",
        y=alt.Y("labels:Q", title="labels", stack=None),
        y2=alt.datum(0),
        tooltip=[alt.Tooltip("rank:Q", format=","), alt.Tooltip("end:Q", format=","), "labels:Q"],
    )
    if several:
        bars = bars.encode(color=_color(list(dict.fromkeys(row["study"] for row in rows))))
    chart: alt.Chart = bars.properties(width="container", height=140)
    return chart


def share_chart(rows: Rows, last: int) -> alt.Chart:
    """Draw the share of positives among the labels of each stretch of ranks."""
    several = len({row["study"] for row in rows}) > 1
    points: alt.Chart = alt.Chart(alt.InlineData(values=rows)).mark_point(
        filled=True, size=30, opacity=1, color=alt.Undefined if several else POINTS
    )
    points = points.encode(
        x=rank_axis(1, last),
        y=alt.Y("share:Q", title="share of positives", scale=alt.Scale(domain=[0, 1])),
        tooltip=[alt.Tooltip("rank:Q", format=","), alt.Tooltip("share:Q", format=".3f"), "labels:Q"],
    )
    if several:
        points = points.encode(color=_color(list(dict.fromkeys(row["study"] for row in rows))))
    chart: alt.Chart = points.properties(width="container", height=160)
    return chart


def spec(chart: alt.Chart | alt.LayerChart) -> dict[str, Any]:
    """Return what the page's scripts draw."""
    found: dict[str, Any] = chart.to_dict()
    found["background"] = None
    found["config"] = {"view": {"stroke": None}, "axis": {"labelFontSize": 12, "titleFontSize": 12}, "aria": False}
    return found


def picture(chart: alt.Chart | alt.LayerChart, kind: str) -> bytes:
    """Draw a chart as a picture of 640 pixels' width.

    Args:
        kind ({"svg", "png"}): PNG at twice the resolution.
    """
    import vl_convert

    found = {**chart.to_dict(), "width": 640}
    if kind == "svg":
        return _numbered_anew(str(vl_convert.vegalite_to_svg(found))).encode()
    return bytes(vl_convert.vegalite_to_png(found, scale=2))


def chart_file(chart: alt.VConcatChart, kind: Literal["svg", "png", "html"]) -> atomic.Writer:
    """Writer of a chart in its own size: the same chart makes the same file. A page may load nothing."""
    if kind == "html":
        policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        return atomic.text(chart.to_html(inline=True).replace("<head>", f"<head>\n{policy}", 1))

    def write(path: str) -> None:
        options: dict[str, Any] = {"scale_factor": 2} if kind == "png" else {}
        chart.save(path, format=kind, **options)
        if kind == "svg":
            picture = Path(path)
            picture.write_text(_numbered_anew(picture.read_text(encoding="utf-8")), encoding="utf-8")

    return write


def _numbered_anew(svg: str) -> str:
    """Number clip paths from 1 in every picture: Vega goes on counting as long as the process lives."""
    found = dict.fromkeys(re.findall(r'id="clip(\d+)"', svg))
    new = {old: str(i) for i, old in enumerate(found, 1)}
    return re.sub(r'((?:id="|url\(#)clip)(\d+)', lambda one: one[1] + new.get(one[2], one[2]), svg)
