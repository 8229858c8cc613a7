"""A history of days as sentences, as a picture, and as a page without scripts."""

from __future__ import annotations

from typing import Any

from streameval.kinds.curve.history import DayHistory
from streameval.questions.printed import UNKNOWN
from streameval.reporting.charts import BAND, LINE, MARK, Spec, number, still
from streameval.reporting.layout import Section, document, paragraph
from streameval.reporting.text import Columns
from streameval.text import number_of
from streameval.types import TRUTH

HISTORY = DayHistory
_SHOWN = 60  # days in the table of the page, the last ones
COLUMNS = ("day", "labels", "rank", "lower", "estimate", "upper", "outcome", "named")


def sentences(history: DayHistory) -> list[str]:
    """Say what is claimed, what was named, what is odd about days, and how the current run stands."""
    settings, about = history.settings, history.settings.question.get("about", TRUTH)
    whose = "the truth" if about == TRUTH else "what the annotators of each day would say"
    right = about == TRUTH and not settings.question.get("label_error")
    return [
        f"With probability {settings.confidence:.6g}, {whose} lies inside all bounds of this history, and every fall "
        "or rise of the mean that it names is true, however many days there are and however often one looks. This "
        "holds if each day was drawn afresh, the drawn items are the ones that were labelled, "
        f"{'every label is right, ' if right else ''}and no day was left out because of its labels.",
        *_changes(history),
        *(_contradiction(row) for row in history.rows if row["contradiction"] is not None),
        *([_run(history)] if history.rows else []),
    ]


def _run(history: DayHistory) -> str:
    """Say how the mean since the last change stands, and against the precision to keep."""
    settings, last = history.settings, history.rows[-1]
    days = sum(row["day"] >= last["run_since"] for row in history.rows)
    since = f"Since {last['run_since']} ({number_of(days, 'day')}), "
    if last["run_lower"] is None:
        return (
            f"{since}the bounds on mean precision {history.place_in_list} contradict themselves, which happens in "
            f"fewer than {1 - settings.confidence:.1%} of histories. Check that every day was drawn afresh, and that "
            "its labels are of its items."
        )
    against = {
        None: "",
        "pass": f": it is proven to be at least {history.precision}",
        "fail": f": it is proven to be below {history.precision}",
        "inconclusive": f", which does not decide whether it is at least {history.precision}",
    }[last["run_outcome"]]
    lies = f"lies between {last['run_lower']:.4f} and {last['run_upper']:.4f}"
    return f"{since}mean precision {history.place_in_list} {lies}{against}."


def _contradiction(row: dict[str, Any]) -> str:
    """Say what a day counts with whose bounds contradict themselves."""
    even = ", even at the confidence of the day" if row["contradiction"] == "day" else ""
    instead = (
        "what its labels say of the cutoff alone" if row["positives"] is not None
        else "precision from 0 to 1" if even else "the bounds at the confidence of the day, which do not"
    )  # fmt: skip
    return (
        f"The bounds of the study of {row['day']} contradict themselves{even}, as happens by chance on some days. The "
        f"day counts all the same, with {instead}, because leaving it out would depend on its labels."
    )


def news(history: DayHistory) -> list[str]:
    """Say what the call that returned a history did to it."""
    if not history.added:
        return ["Nothing was added: the history has these days and these labels."]
    fresh = [row for row in history.rows if row["day"] in history.added]
    lines = [
        f"{row['day']} counts with {_labels(row)} labels: its bounds allow for any missing ones. Give the study again "
        "when more are in."
        for row in fresh
        if row["missing"]
    ]
    below = [str(row["day"]) for row in fresh if row["outcome"] == "fail"]
    if below:
        lines.append(f"Proven to be below {history.precision} on that day alone: {', '.join(below)}.")
    if history.falls:
        lines.append(f"New: a fall, established on {', '.join(map(str, history.falls))}.")
    return lines


def _changes(history: DayHistory) -> list[str]:
    """Every change that was named, with the days of its two runs."""
    lines, since = [], None
    for row in history.rows:
        since = since or row["run_since"]
        if row["change"] is not None:
            lines.append(
                f"Established on {row['day']}: mean precision {history.place_in_list} "
                f"{_VERBS[row['change']]} from between {row['before_lower']:.4f} and {row['before_upper']:.4f} "
                f"(since {since}) to between {row['after_lower']:.4f} and {row['after_upper']:.4f} "
                f"(since {row['run_since']})."
            )
        since = row["run_since"]
    return lines or ["No change of mean precision is established."]


_VERBS = {"fall": "fell", "rise": "rose"}


def cells(history: DayHistory, most: int) -> list[list[str]]:
    """The last days as text, by `COLUMNS`."""
    return [
        [str(row["day"]), _labels(row), f"{row['rank']:,}",
         *(UNKNOWN if row[side] is None or row[side] != row[side] else f"{row[side]:.4f}"
           for side in ("precision_lower", "precision", "precision_upper")),
         row["outcome"] or "", row["change"] or ""]
        for row in history.rows[-most:]
    ]  # fmt: skip


def _labels(row: dict[str, Any]) -> str:
    planned = row["labels"] + row["missing"]
    return f"{row['labels']:,}" if not row["missing"] else f"{row['labels']:,} of {planned:,}"


def describe(history: DayHistory, most: int) -> tuple[Columns, list[str]]:
    """Say what the last days came to, which changes there were, and how the mean stands."""
    return Columns(COLUMNS, cells(history, most)), [*sentences(history), *news(history)]


def figure(history: DayHistory) -> Spec:
    """Draw the precision of every day with its bounds, and over them those of the run that it belongs to."""
    rows: list[dict[str, Any]] = []
    for row in history.rows:
        columns = ("precision_lower", "precision", "precision_upper", "run_lower", "run_upper")
        rounded = {key: None if row[key] is None or row[key] != row[key] else round(row[key], 5) for key in columns}
        rows.append({"day": f"{row['day']}T00:00:00", "change": row["change"], **rounded})
    x = {"field": "day", "type": "temporal", "title": None, "axis": {"format": "%-d %b %Y", "labelOverlap": True}}
    scale = {"scale": {"zero": False}, "title": "precision", "axis": {"orient": "right"}}
    level = {"x": x, "y": number("precision_lower", **scale), "y2": {"field": "precision_upper"}}
    run = {"x": x, "y": number("run_lower", **scale), "y2": {"field": "run_upper"}}
    layers: list[Spec] = [
        {"mark": {"type": "area", "color": BAND, "opacity": 0.25}, "encoding": level},
        {"mark": {"type": "area", "color": BAND, "opacity": 0.5}, "encoding": run},
        {"mark": {"type": "line", "color": LINE, "strokeWidth": 1}, "encoding": {"x": x, "y": number("precision")}},
        {"transform": [{"filter": "isValid(datum.change)"}], "encoding": {"x": x},
         "mark": {"type": "rule", "color": MARK, "strokeDash": [4, 3]}},
    ]  # fmt: skip
    if history.precision is not None:
        wanted = {"y": {"datum": float(history.precision)}}
        layers.append({"data": {"values": [{}]}, "mark": {"type": "rule", "color": MARK}, "encoding": wanted})
    return {"data": {"values": rows}, "width": 760, "height": 280, "layer": layers}


def page(history: DayHistory) -> str:
    """Draw the page of a history: its sentences, a picture, and the last days."""
    title, last = f"Precision {history.place_in_list}, day by day", f"The last {_SHOWN} days"
    drawn = still(figure(history))
    caption = "Light: bounds on each day. Dark: on the mean of days since the last change. Dashed: a change was named."
    picture = Section(figure=f"<div class='chart wide'>{drawn}</div>", key=caption)
    shown = last if len(history.rows) > _SHOWN else "Days"
    days = Section(shown, table=Columns(COLUMNS, cells(history, _SHOWN)[::-1]), label="Days")
    return document(title, title, [*map(paragraph, sentences(history))], [picture, days])
