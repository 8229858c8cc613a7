"""Charts of one curve or several, as Vega-Lite: plain dictionaries, which `vl_convert` and the page's scripts draw.

Every chart draws rows of `chart_rows`, each with the `study` it belongs to. Colours are those of Okabe and Ito, which
colour-blind people tell apart, and each study has its own dashes. A test holds the dictionaries against the schema of
Vega-Lite; to do so whenever a chart is drawn would take longer than to evaluate a study.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from streameval.errors import InputError, need
from streameval.reporting.chart_rows import ChartRows
from streameval.stores import atomic
from streameval.text import escape

Spec = dict[str, Any]
"""A chart, or a part of one, in Vega-Lite."""

BAND, LINE, BARS, POINTS, MARK = "#2f6db0", "#14375e", "#5f7488", "#a2410f", "#333"
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
SEVERAL = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
GREY = "#7a8fa3"
_DASHES = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 3]]
_SIDES = ("lower", "estimate", "upper")
ZERO = {"data": {"values": [{}]}, "mark": {"type": "rule", "color": "#111"}, "encoding": {"y": {"datum": 0}}}
_LEGEND = {"orient": "top", "title": None, "columns": 2, "labelLimit": 300}


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

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

    def x(self) -> Spec:
        """Return it as the horizontal axis."""
        scale = {"type": self.scale, "nice": False, "domain": list(self.domain)}
        axis: Spec = {"format": self.format, "tickCount": 6}
        if self.scale == "log":  # every tenfold, and not each line between
            axis = {"format": self.format, "values": [10**i for i in range(13) if 10**i <= self.domain[1]]}
        return number(self.field, scale=scale, title=self.title, axis=axis)


def number(field: str, **more: Any) -> Spec:
    """Encode a field of numbers."""
    return {"field": field, "type": "quantitative", **more}


def rank_axis(first: int, last: int) -> Axis:
    """Ranks on a log scale."""
    return Axis("rank", "rank (log scale)", "log", (first, max(last, first + 1)), "~s")


def top_of(rows: ChartRows) -> float:
    """Find the upper end of an axis of shares; the first few ranks jump between 0 and 1 and would flatten all."""
    settled = [
        float(row["upper"] if "upper" in row else row["estimate"]) for row in rows if row.get("rank", 20) >= 20
    ] or [1.0]
    return min(1.0, 1.1 * max(settled) + 0.005)


def band_chart(rows: ChartRows, x: Axis, title: str, height: int, top: float | None = None) -> Spec:
    """Draw estimates with their bands; several studies in colours of their own.

    Args:
        rows: `study`, the field of `x`, `estimate`, and `lower`, `upper` where they are bounded.
        title: Of the vertical axis.
        height: In pixels.
        top: Where the vertical axis ends; by default what these rows need.
    """
    names = _studies(rows)
    y = {"title": title, "scale": {"domain": [0, top_of(rows) if top is None else top]}}
    tips = [number(x.field, format=",.5~r"), *(number(side, format=".4f") for side in _SIDES)]
    shared = {"x": x.x(), "tooltip": [*([{"field": "study", "type": "nominal"}] if len(names) > 1 else []), *tips]}
    order = number(x.field) if x.scale == "log" else number("at")
    band = {"y": number("lower", **y), "y2": {"field": "upper"}, **_color(names)}
    estimate = {"y": number("estimate", **y), "order": order, **_color(names), **_dash(names)}
    outline = {} if len(names) > 1 else {"stroke": BAND}  # what shows of a band without width
    return {
        "data": {"values": rows},
        "width": "container",
        "height": height,
        "layer": [
            {"transform": [{"filter": "isValid(datum.lower)"}], "encoding": shared | band,
             "mark": _mark("area", BAND, names, opacity=0.4, clip=True, **outline)},
            {"transform": [{"filter": "isValid(datum.estimate)"}], "encoding": shared | estimate,
             "mark": _mark("line", LINE, names, strokeWidth=1.5, clip=True)},
        ],
    }  # fmt: skip


def difference_chart(rows: ChartRows, colours: Mapping[str, str], title: str) -> Spec:
    """Draw a difference and its interval for each metric.

    Args:
        rows: `metric`, `difference`, `low`, `high`, and what is `higher`.
        colours: By what is higher.
        title: Of the differences.
    """
    y = {"field": "metric", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 300}}
    colour = {"field": "higher", "type": "nominal", "title": "higher", "legend": {"orient": "top", "labelLimit": 300},
              "scale": {"domain": [*colours], "range": [*colours.values()]}}  # fmt: skip
    x = number("low", title=title, axis={"tickCount": 6, "labelFlush": False})
    span = {"y": y, "color": colour, "x": x, "x2": {"field": "high"}}
    point = {"y": y, "color": colour, "x": number("difference")}
    zero = {"data": {"values": [{}]}, "mark": {"type": "rule", "color": "#111"}, "encoding": {"x": {"datum": 0}}}
    return {"data": {"values": rows}, "width": 640,
            "layer": [zero, {"mark": {"type": "rule", "strokeWidth": 2}, "encoding": span},
                      {"mark": {"type": "point", "filled": True, "size": 50}, "encoding": point}]}  # fmt: skip


def _studies(rows: ChartRows) -> list[str]:
    return list(dict.fromkeys(row["study"] for row in rows))


def _mark(kind: str, color: str, names: Sequence[str], **more: Any) -> Spec:
    """A mark of one colour, unless several studies have theirs."""
    return {"type": kind, **more} if len(names) > 1 else {"type": kind, "color": color, **more}


def _color(names: Sequence[str]) -> Spec:
    return _by_study("color", names, SEVERAL)


def _dash(names: Sequence[str]) -> Spec:
    return _by_study("strokeDash", names, _DASHES)


def _by_study(channel: str, names: Sequence[str], values: Sequence[Any]) -> Spec:
    """Encoding of several studies; none where there is one."""
    if len(names) < 2:
        return {}
    scale = {"domain": list(names), "range": [values[i % len(values)] for i in range(len(names))]}
    return {channel: {"field": "study", "type": "nominal", "scale": scale, "legend": _LEGEND}}


def with_pick(chart: Spec) -> Spec:
    """Add a line at the rank that the page's cutoff picker moves (data set `pick`)."""
    rule = {"data": {"name": "pick"}, "encoding": {"x": number("rank")},
            "mark": {"type": "rule", "color": MARK, "strokeDash": [3, 3]}}  # fmt: skip
    return {**chart, "layer": [*chart["layer"], rule], "datasets": {"pick": []}}


def bar_chart(rows: ChartRows, last: int) -> Spec:
    """Draw labels per stretch of ranks; several studies behind one another."""
    names = _studies(rows)
    return {
        "data": {"values": rows},
        "width": "container",
        "height": 140,
        "mark": _mark("bar", BARS, names, opacity=0.55 if len(names) > 1 else 1),
        "encoding": {
            "x": rank_axis(1, last).x(),
            "x2": {"field": "end"},
            "y": number("labels", title="labels", stack=None),
            "y2": {"datum": 0},
            "tooltip": [number("rank", format=","), number("end", format=","), number("labels")],
            **_color(names),
        },
    }


def share_chart(rows: ChartRows, last: int) -> Spec:
    """Draw the share of positives among the labels of each stretch of ranks."""
    names = _studies(rows)
    return {
        "data": {"values": rows},
        "width": "container",
        "height": 160,
        "mark": _mark("point", POINTS, names, filled=True, size=30, opacity=1),
        "encoding": {
            "x": rank_axis(1, last).x(),
            "y": number("share", title="share of positives", scale={"domain": [0, 1]}),
            "tooltip": [number("rank", format=","), number("share", format=".3f"), number("labels")],
            **_color(names),
        },
    }


def calibration_chart(rows: ChartRows) -> Spec:
    """Draw a reliability diagram: shares of positives by mean score, with the diagonal; several studies in colours.

    Args:
        rows: `study`, `mean_score`, `share`, `items`, and `share_low`, `share_high` where there is an interval.
    """
    names, unit = _studies(rows), {"scale": {"domain": [0, 1]}}
    x = number("mean_score", title="mean score", axis={"tickCount": 6}, **unit)
    sides = [number(name, format=".4f") for name in ("mean_score", "share", "share_low", "share_high")]
    shared = {"x": x, "tooltip": [number("items", format=","), *sides], **_color(names)}
    size = number("items", scale={"type": "sqrt", "range": [20, 300]}, legend=None)
    ends = {"y": number("share_low"), "y2": {"field": "share_high"}}
    diagonal = {"x": {"datum": 0}, "y": {"datum": 0}, "x2": {"datum": 1}, "y2": {"datum": 1}}
    return {
        "data": {"values": rows},
        "width": "container",
        "height": 360,
        "layer": [
            {"data": {"values": [{}]}, "encoding": diagonal,
             "mark": {"type": "rule", "color": GREY, "strokeDash": [4, 4]}},
            {"transform": [{"filter": "isValid(datum.share_low)"}], "encoding": shared | ends,
             "mark": _mark("rule", POINTS, names, strokeWidth=1.5)},
            {"encoding": shared | {"y": number("share", title="share of positives", **unit), "size": size},
             "mark": _mark("point", POINTS, names, filled=True, opacity=1)},
        ],
    }  # fmt: skip


def spec(chart: Spec) -> Spec:
    """Return what the page's scripts draw."""
    config = {"view": {"stroke": None}, "axis": {"labelFontSize": 12, "titleFontSize": 12},
              "legend": {"labelFontSize": 12}, "aria": False}  # fmt: skip
    return {"$schema": _SCHEMA, **chart, "background": "transparent", "config": config}


def picture(chart: Spec, kind: Literal["svg", "png"]) -> bytes:
    """Draw a chart as a picture of 640 pixels' width, a PNG at twice the resolution; the same chart, the same bytes.

    Raises:
        InputError: The library that draws is not installed.
    """
    library = need("vl_convert", "pictures", "pictures")
    sized = {"$schema": _SCHEMA, **chart, **({"width": 640} if "width" in chart else {})}
    if kind == "svg":
        return _numbered_anew(str(library.vegalite_to_svg(sized))).encode()
    return bytes(library.vegalite_to_png(sized, scale=2))


def still(chart: Spec) -> str:
    """Draw a picture within a page; where nothing is installed that draws, say so instead."""
    try:
        return picture(chart, "svg").decode()
    except InputError as error:
        return f"<p>No picture: {escape(str(error))}.</p>"


def chart_file(chart: Spec, kind: Literal["svg", "png", "html"]) -> atomic.Writer:
    """Writer of a chart in its own size. A page may load nothing."""
    if kind != "html":
        return atomic.content(picture(chart, kind))
    drawn = json.dumps({"$schema": _SCHEMA, **chart}).replace("<", "\\u003c")
    return atomic.text(_PAGE.format(policy=POLICY, script=page_script(), chart=drawn))


@cache
def page_script() -> str:
    """Vega, Vega-Lite and its embedder as one script, for use within a page; `scripts/vega` makes it."""
    return (resources.files("streameval.reporting") / "vega.js").read_text(encoding="utf-8")


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">
<title>streameval</title></head><body><div id="chart"></div><script type="module">{script}
vegaEmbed("#chart", {chart}, {{mode: "vega-lite"}});</script></body></html>
"""


def _numbered_anew(svg: str) -> str:
    """Number clip paths from 1 in every picture: Vega goes on counting as long as the process lives."""
    clips = dict.fromkeys(re.findall(r'id="clip(\d+)"', svg))
    new = {old: str(i) for i, old in enumerate(clips, 1)}
    return re.sub(r'((?:id="|url\(#)clip)(\d+)', lambda match: match[1] + new.get(match[2], match[2]), svg)
