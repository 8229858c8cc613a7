"""The output of `--dry-run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.parquet.account import Forecast
    from streameval.study.label_tables import LabelTable
    from streameval.types import Plan


def rehearsed(
    what: Mapping[str, Any], forecast: Forecast, writes: Sequence[object], labels: Sequence[LabelTable] = ()
) -> dict[str, Any]:
    """Facts of a dry run, JSON-ready, of the same shape for every verb.

    Args:
        what: `items`, `n_items` and `source`: items that are asked for, those of the list, and where it lies.
        writes: Files that would be written.
        labels: Label tables that would be read.
    """
    return {
        "dry_run": True,
        **what,
        "labels": [asdict(one) for one in labels],
        "would_read": asdict(forecast),
        "would_write": [str(path) for path in writes],
    }


def of_plan(plan: Plan) -> dict[str, Any]:
    """The facts of a planned list, for a dry run."""
    return {"items": plan.table.num_rows, "n_items": plan.n_items, "source": plan.location["source"]}


def lines_of(facts: dict[str, Any]) -> list[str]:
    """The same in words."""
    lines = []
    read = facts["would_read"]
    if read["files"]:
        groups, files = number_of(read["row_groups"], "row group"), number_of(read["files"], "file")
        lines.append(f"Would read {groups} of {files}: {_what(read)}.")
    if read["pages"] and read["whole_chunks"]:
        lines.append(f"{read['whole_chunks']:,} of these column chunks have no page index and are read whole.")
    for table in facts["labels"]:
        size = "a query" if table["bytes"] is None else f"{table['bytes'] / 1e6:,.1f} MB"
        rows = "" if table["rows"] is None else f", {number_of(table['rows'], 'row')}"
        lines.append(f"Would read {table['source']} ({size}{rows}).")
    writes = facts["would_write"]
    return [*lines, f"Would write {', '.join(writes)}." if writes else "Would write nothing."]


def _what(read: dict[str, Any]) -> str:
    if read["rows_to_scan"]:
        return f"the scores of {read['rows_to_scan']:,} rows, {read['least_scans']} times or more, then the items"
    pages = number_of(read["pages"], "page") if read["pages"] else number_of(read["whole_chunks"], "column chunk")
    return f"{pages}, {read['bytes'] / 1e6:,.1f} MB"
