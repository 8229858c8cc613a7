"""The report of a question: the answer, the path to it, and what a next round would bring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from streameval.kinds.question.says import forecast_sentence, posed_as
from streameval.reporting.layout import STACKED, Section, highlight, paragraph, study_page
from streameval.reporting.text import Text
from streameval.study.results import Result
from streameval.text import escape

_WIDTH, _HEIGHT, _MOST = 430, 170, 400  # of a picture, in pixels; and points of a path


def page(name: str, result: Result, text: Text, title: str | None = None) -> str:
    """Draw the answer, the path to it, and what a next round would bring."""
    questions, more = " ".join(map(posed_as, result.summary["questions"])), forecast_sentence(result.summary)
    remarks = [remark for remark in text.remarks if remark != more]
    answers = Section("Answers", table=text.table, kind=STACKED, label="Answers", remarks=remarks)
    lead = [highlight(text.headline), paragraph(" ".join(filter(None, (text.promise, more))))]
    sections, facts = [*evidence(result.tables["evidence"]), answers], {**result.summary, "asked": ""}
    return study_page(result, title, (name, f"{name}: {questions}"), lead, sections, facts)


def evidence(table: pa.Table) -> list[Section]:
    """Draw the evidence of each condition that has a path; nothing where none has."""
    rows = table.to_pylist()
    drawn = []
    for question in dict.fromkeys(row["question"] for row in rows):
        sides = {side: [row for row in rows if (row["question"], row["side"]) == (question, side)]
                 for side in ("pass", "fail")}  # fmt: skip
        if max(map(len, sides.values())) > 1:
            caption = f"<figcaption>{escape(question)}</figcaption>"
            drawn.append(f"<figure>{caption}{_picture(question, sides)}</figure>")
    note = "The evidence for each side after each label, as a share of what it takes to decide."
    return [Section("Evidence", note, "\n".join(drawn))] if drawn else []


def _picture(question: str, sides: dict[str, list[dict[str, Any]]]) -> str:
    last = max(row["labels"] for rows in sides.values() for row in rows) or 1
    lines = "".join(
        f'<polyline fill="none" stroke-width="1.5" stroke="{colour}" points="{_points(sides[side], last, sign)}"/>'
        for side, colour, sign in (("pass", "#2f6db0", 1), ("fail", "#a2410f", -1))
    )
    levels = "".join(
        f'<line x1="0" x2="{_WIDTH}" y1="{_y(at):g}" y2="{_y(at):g}" stroke="currentColor" stroke-opacity="{shade}"/>'
        f'<text x="-8" y="{_y(at) + 4:g}" text-anchor="end">{text}</text>'
        for at, text, shade in ((1, "yes", 0.6), (0, "", 0.25), (-1, "no", 0.6))
    )
    ticks = "".join(f'<text x="{_WIDTH * at:g}" y="{_HEIGHT + 26}" text-anchor="middle">{round(last * at):,}</text>'
                    for at in (0, 0.5, 1))  # fmt: skip
    label = escape(f"Chart: evidence for and against {question} after each of {last:,} labels.")
    box = f'viewBox="-44 -14 {_WIDTH + 80} {_HEIGHT + 62}" style="width:100%;max-width:40rem"'
    font = 'font-size="13" font-family="sans-serif" fill="currentColor"'
    return (f'<svg role="img" aria-label="{label}" {box} {font}>{levels}{lines}{ticks}'
            f'<text x="{_WIDTH / 2}" y="{_HEIGHT + 44}" text-anchor="middle">labels</text></svg>')  # fmt: skip


def _points(rows: Sequence[dict[str, Any]], last: int, sign: int) -> str:
    step = max(1, len(rows) // _MOST)
    kept = [*rows[::step], rows[-1]] if rows else []
    return " ".join(f"{_WIDTH * row['labels'] / last:.1f},{_y(sign * _share(row)):.1f}" for row in kept)


def _share(row: dict[str, Any]) -> float:
    """Evidence as a part of what decides; what speaks against a side is evidence of the other."""
    share = row["evidence"] / row["needed"] if row["needed"] else 0.0
    return min(max(share, 0.0), 1.0) if share == share else 0.0


def _y(share: float) -> float:
    return _HEIGHT * (1 - share) / 2
