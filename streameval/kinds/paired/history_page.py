"""The page of a history of challengers: its sentences, the bounds of every study, and the last of them as a table."""

from __future__ import annotations

from typing import Any

from streameval.kinds.paired.history import ComparisonHistory
from streameval.kinds.paired.history_says import COLUMNS, cells, news, sentences
from streameval.questions import Condition
from streameval.reporting.charts import BAND, MARK, POINTS, Spec, number, still
from streameval.reporting.layout import Section, document, paragraph
from streameval.reporting.text import Columns

HISTORY = ComparisonHistory
_SHOWN = 60  # studies in the picture and in the table, the last ones
_COLOURS = {None: BAND, "pass": BAND, "fail": POINTS, "inconclusive": "#8a8a8a"}


def page(history: ComparisonHistory) -> str:
    """Draw one page, without scripts."""
    measure = str(history.settings.watched.measure)
    title, last = f"{measure}, one challenger after another", f"The last {_SHOWN} comparisons"
    caption = "Bounds on each comparison, and its estimate, in the order in which they came."
    if history.settings.watched.demand is not None:
        caption += " Blue: proven to meet the condition. Orange: proven not to. Grey: undecided."
    shown = Section(
        last if len(history.rows) > _SHOWN else "Comparisons",
        figure=f"<div class='chart wide'>{still(figure(history))}</div>",
        key=caption,
        table=Columns(COLUMNS, cells(history, _SHOWN)[::-1]),
        label="Comparisons",
    )
    return document(title, title, [*map(paragraph, sentences(history))], [shown])


def describe(history: ComparisonHistory, most: int) -> tuple[Columns, list[str]]:
    """Say what each of the last studies came to."""
    return Columns(COLUMNS, cells(history, most)), [*sentences(history), *news(history)]


def figure(history: ComparisonHistory) -> Spec:
    """Draw the bounds of the last studies, and what they are held against."""
    rows: list[dict[str, Any]] = [
        {**{name: row[name] for name in ("number", "lower", "estimate", "upper")}, "colour": _COLOURS[row["outcome"]]}
        for row in history.rows[-_SHOWN:]
    ]
    watched = history.settings.watched
    held = float(watched.demand.value) if isinstance(watched.demand, Condition) else 0.0
    x = {"field": "number", "type": "ordinal", "title": "comparison", "axis": {"labelAngle": 0, "labelOverlap": True}}
    axis = {"title": str(watched.measure), "axis": {"orient": "right"}}
    colour = {"color": {"field": "colour", "type": "nominal", "scale": None, "legend": None}}
    layers: list[Spec] = [
        {"data": {"values": [{}]}, "mark": {"type": "rule", "color": MARK, "strokeDash": [4, 3]},
         "encoding": {"y": {"datum": held}}},
        {"mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.6},
         "encoding": {"x": x, "y": number("lower", **axis), "y2": {"field": "upper"}, **colour}},
        {"transform": [{"filter": "isValid(datum.estimate)"}],
         "mark": {"type": "point", "filled": True, "size": 45, "opacity": 1},
         "encoding": {"x": x, "y": number("estimate"), **colour}},
    ]  # fmt: skip
    return {"data": {"values": rows}, "width": 760, "height": 280, "layer": layers}
