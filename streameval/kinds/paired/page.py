"""The report of a comparison: the sentence first, then one figure with gains and losses at every cutoff."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from streameval.kinds.paired.says import place, sentence
from streameval.reporting.layout import STACKED, Section, highlight, paragraph, study_page
from streameval.reporting.text import Text
from streameval.study.results import Result
from streameval.text import escape

_WIDTH, _ROW, _LEFT, _ARROW = 244, 30, 76, 8  # in pixels: the scale, a cutoff, its name, an arrow at the scale's end
_ROUND = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)  # ends of scales
_KEY = (
    "Thick bars are the bounds on the difference, as a share of the larger top. Thin bars show how far the items that "
    "changed sides could move it: those only in B to the right, those only in A to the left. An arrow points beyond "
    "the scale."
)
_B, _A = "#2f6db0", "#a2410f"


def page(name: str, result: Result, text: Text, title: str | None = None) -> str:
    """Draw the sentence, and one figure with gains and losses at every cutoff."""
    rows, names = result.tables["differences"].to_pylist(), result.summary["names"]
    lead = [highlight(text.headline), paragraph(f"B is {names['b']}, A is {names['a']}. {text.promise}")]
    differences = Section("Positives that B has more than A", figure=f"<figure>{figure(rows)}</figure>", key=_KEY,
                          table=text.table, kind=STACKED, label="Differences", remarks=text.remarks)  # fmt: skip
    facts = {**result.summary, "ranking": _rankings(result)}
    return study_page(result, title, (name, f"{name}: is B better than A?"), lead, [differences], facts)


def _rankings(result: Result) -> dict[str, Any]:
    """Say what was compared; the plan itself counts stored rows, which is the order of neither."""
    stored, names = result.summary["ranking"], result.summary["names"]
    return {"B": names["b"], "A": names["a"], **{name: stored[name] for name in stored if name != "order"}}


def figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """Gains, losses and the bounds on their difference at every cutoff, as shares of the tops."""
    scale = scale_of(rows)
    height = _ROW * len(rows)
    lines = "".join(part for at, row in enumerate(rows) for part in _line(row, at, scale))
    ticks = "".join(
        f'<text x="{_x(share, scale):g}" y="{height + 20}" text-anchor="middle">{_percent(share)}</text>'
        for share in (-scale, 0.0, scale)
    )
    middle = f'x1="{_x(0, scale):g}" x2="{_x(0, scale):g}"'
    zero = f'<line {middle} y1="0" y2="{height}" stroke="currentColor" stroke-opacity="0.4"/>'
    label = escape("Chart: " + "; ".join(map(sentence, rows)) + ".")
    box = f'viewBox="0 -6 {_LEFT + _WIDTH + 30} {height + 40}" style="width:100%;max-width:30rem"'
    font = 'font-size="13" font-family="sans-serif" fill="currentColor"'
    return f'<svg role="img" aria-label="{label}" {box} {font}>{zero}{lines}{ticks}</svg>'


def scale_of(rows: Sequence[Mapping[str, Any]]) -> float:
    """The share at which the scale ends on either side: a round one that all bounds are within.

    >>> scale_of([{"lower": -3, "upper": 32, "items_a": 1000, "items_b": 1000}])
    0.04
    """
    widest = max(max(-row["lower"], row["upper"]) / _size(row) for row in rows)
    if not widest:
        return 1.0
    power = 10.0 ** math.floor(math.log10(widest))
    return float(f"{next(step for step in _ROUND if step * power >= widest * (1 - 1e-9)) * power:.6g}")


def _line(row: Mapping[str, Any], at: int, scale: float) -> Iterator[str]:
    y, size = _ROW * at + _ROW / 2, _size(row)
    yield f'<text x="0" y="{y + 4:g}">{escape(place(row["cutoff"]))}</text>'
    for share, colour in ((row["gains"] / size, _B), (-row["losses"] / size, _A)):
        end = _x(max(-scale, min(share, scale)), scale)
        yield (f'<line x1="{_x(0, scale):g}" x2="{end:g}" y1="{y:g}" y2="{y:g}" stroke="{colour}" '
               'stroke-width="2" stroke-opacity="0.45"/>')  # fmt: skip
        if abs(share) > scale:
            tip = math.copysign(_ARROW, share)
            yield (f'<path d="M{end + tip:g} {y:g}L{end:g} {y - 5:g}V{y + 5:g}Z" fill="{colour}" '
                   'fill-opacity="0.45"/>')  # fmt: skip
    colour = {"b": _B, "a": _A}.get(row["better"], "currentColor")
    low, high = (_x(row[side] / size, scale) for side in ("lower", "upper"))
    yield (f'<line x1="{low:g}" x2="{max(high, low + 2):g}" y1="{y:g}" y2="{y:g}" stroke="{colour}" '
           'stroke-width="9"/>')  # fmt: skip


def _size(row: Mapping[str, Any]) -> int:
    return max(int(row["items_a"]), int(row["items_b"]), 1)


def _x(share: float, scale: float) -> float:
    return _LEFT + _WIDTH * (share / scale + 1) / 2


def _percent(share: float) -> str:
    return f"{100 * share:+.3g}%" if share else "0"
