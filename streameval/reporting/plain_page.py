"""The report of a kind of study that draws no charts: what is claimed, the metrics, the labels, and provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streameval.reporting.heading import heading
from streameval.reporting.page import frame
from streameval.reporting.tables import labels, table
from streameval.reporting.text import Text
from streameval.study.results import Result
from streameval.text import escaped, printable


def plain_page(name: str, found: Result, text: Text, title: str | None = None) -> str:
    """Draw one page, without scripts."""
    return frame(title or f"streameval: {name}", [
        "<main>", heading(title, f"Rankings of {name}", found.summary),
        f'<p class="verdict">{escaped(text.opening)}</p>',
        "<h2>Means</h2>", table(text.table.head, text.table.cells(number)),
        *(f"<p class='soft'>{escaped(one)}</p>" for one in text.remarks),
        "<h2>Labels</h2>", labels(found.summary),
        "<h2>Provenance</h2>", provenance(found.summary), "</main>",
    ], evaluation=found.evaluation_id)  # fmt: skip


def provenance(summary: Mapping[str, Any]) -> str:
    """What results were made from."""
    facts = {"evaluation": summary["evaluation_id"], "version": summary["version"]}
    facts |= {name: value for name, value in summary["parameters"].items() if value is not None}
    facts |= {"judge": summary["judge"]} if summary.get("judge") else {}
    facts |= {f"positives {key}": value for key, value in (summary.get("pool") or {}).items()}
    facts |= {f"ranking {key}": value for key, value in summary["ranking"].items()}
    return table(["", ""], [[name, printable(str(value))] for name, value in facts.items()])


def number(value: float | int | None) -> str:
    """A count, or a share with six digits; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"
