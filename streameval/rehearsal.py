"""What a verb would read and write, where it is called with `dry_run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from streameval.printed import Printed
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Paragraph
from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.parquet.account import Forecast
    from streameval.study.label_tables import LabelTable
    from streameval.types import Plan


@dataclass(frozen=True, repr=False)
class Rehearsal(ShowsItself):
    """A call that read no more than footers, and wrote nothing.

    Attributes:
        head: What would be done, in a sentence or two.
        items: How many items are asked for.
        n_items: Items of the list.
        source: Where the list lies.
        would_read: What would be read of it.
        would_write: Files that would be written.
        labels: Label tables that would be read.
        more: Further facts of the verb, by name.
    """

    head: Sequence[str]
    items: int
    n_items: int
    source: Any
    would_read: Forecast
    would_write: Sequence[object] = ()
    labels: Sequence[LabelTable] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_plan(cls, head: Sequence[str], plan: Plan, would_read: Forecast, would_write: Sequence[object],
                labels: Sequence[LabelTable] = (), more: Mapping[str, Any] = {}) -> Rehearsal:  # fmt: skip
        """Make it of the items of a plan."""
        return cls(head, plan.table.num_rows, plan.n_items, plan.location["source"], would_read, would_write,
                   labels, more)  # fmt: skip

    @property
    def printed(self) -> Printed:
        """Return what a command prints; the facts have the same names for every verb."""
        facts = {
            "dry_run": True,
            "items": self.items,
            "n_items": self.n_items,
            "source": self.source,
            "labels": [asdict(forecast) for forecast in self.labels],
            "would_read": asdict(self.would_read),
            "would_write": [str(path) for path in self.would_write],
            **self.more,
        }
        return Printed(facts, [*self.head, *self._lines(facts["would_write"])])

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say what would be done, read and written."""
        return self.printed.lines

    def _lines(self, writes: Sequence[str]) -> list[str]:
        lines, read = [], self.would_read
        if read.files:
            groups, files = number_of(read.row_groups, "row group"), number_of(read.files, "file")
            lines.append(f"Would read {groups} of {files}: {_size(read)}.")
        if read.pages and read.whole_chunks:
            lines.append(f"{read.whole_chunks:,} of these column chunks have no page index and are read whole.")
        for table in self.labels:
            size = "a query" if table.bytes is None else f"{table.bytes / 1e6:,.1f} MB"
            rows = "" if table.rows is None else f", {number_of(table.rows, 'row')}"
            lines.append(f"Would read {table.source} ({size}{rows}).")
        return [*lines, f"Would write {', '.join(writes)}." if writes else "Would write nothing."]


def _size(read: Forecast) -> str:
    if read.rows_to_scan:
        return f"the scores of {read.rows_to_scan:,} rows, {read.least_scans} times or more, then the items"
    pages = number_of(read.pages, "page") if read.pages else number_of(read.whole_chunks, "column chunk")
    return f"{pages}, {read.bytes / 1e6:,.1f} MB"
