"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.case import Case, Context

_HEAD = ("", "cold s", "warm s", "first run, CPU s", "ratio", "peak MB", "from disk MB", "× bytes needed", "× limit")


def table(case: Case, context: Context, rows: Mapping[str, dict[str, Any]], speed: float) -> str:
    """One case as Markdown.

    `ratio` is the time, cold / warm, relative to ours; `× bytes needed` what came from the disk relative to the bytes
    of the pages that hold the items; `× limit` the cold time relative to reading those bytes at the disk's speed. Of
    what cannot be repeated, the CPU seconds of the only run stand in the place of those of a warm one.
    """
    needed = next((row["needed"] for row in rows.values() if row.get("needed")), None)
    ours = next(iter(rows.values()))
    again, head = ("cpu", [*_HEAD[:2], "CPU s", *_HEAD[3:]]) if case.once else ("warm", _HEAD)
    lines = [f"**{case.title.format(n=f'{context.n_items:,}')}**", "", _line(head), _line(["---", *["---:"] * 8])]
    for name, row in rows.items():
        if "failed" in row:
            lines.append(_line([name, row["failed"], *[""] * 7]))
            continue
        ratios = "" if case.once else " / ".join(_relative(row, ours, key) for key in ("cold", "warm"))
        lines.append(
            _line(
                [
                    name, _seconds(row["cold"]), _seconds(row[again]), _seconds(row.get("first")), ratios,
                    f"{row['peak'] / 1e6:,.0f}", f"{row['disk_bytes'] / 1e6:,.1f}",
                    f"{row['disk_bytes'] / needed:.2f}" if needed else "",
                    f"{row['cold'] / (needed / speed):.1f}" if needed else "",
                ]
            )
        )  # fmt: skip
    return "\n".join(lines)


def _relative(row: dict[str, Any], ours: dict[str, Any], key: str) -> str:
    return f"{row[key] / ours[key]:.1f}" if row.get(key) and ours.get(key) else "–"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _line(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"
