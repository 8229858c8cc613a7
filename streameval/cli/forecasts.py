"""How a rehearsal (`--dry-run`) is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streameval.rankings import Forecast
    from streameval.types import Plan


def rehearsed(plan: Plan, forecast: Forecast, writes: Sequence[Path]) -> dict[str, Any]:
    """Facts of a rehearsal, JSON-ready."""
    return {
        "dry_run": True,
        "items": plan.table.num_rows,
        "n_items": plan.n_items,
        "source": plan.location["source"],
        "would_read": asdict(forecast),
        "would_write": [str(path) for path in writes],
    }


def lines_of(facts: dict[str, Any]) -> list[str]:
    """The same in words."""
    read = facts["would_read"]
    lines = [f"Would read {read['row_groups']:,} row groups of {read['files']:,} files"]
    if read["rows_to_scan"]:
        times = f"{read['least_scans']} times or more"
        lines[0] += f": the scores of {read['rows_to_scan']:,} rows, {times}, then the items."
    else:
        lines[0] += f": {read['pages']:,} pages, {read['bytes'] / 1e6:,.1f} MB."
    if read["whole_chunks"]:
        lines.append(f"{read['whole_chunks']:,} column chunks among them have no page index and count whole.")
    return [*lines, f"Would write {', '.join(facts['would_write'])}."]
