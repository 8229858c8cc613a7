"""Votes: the rows of label tables, as they are stored for good."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from streameval.labelling.readers import place_of

SCHEMA = pa.schema(
    {
        "rank": pa.int64(),  # planned rank it is about; null where it is about none
        "value": pa.float64(),  # 1, 0 or a grade; null unless `state` is "answer"
        "state": pa.string(),
        "said": pa.string(),  # what stood there, where it could not be understood
        "annotator": pa.string(),
        "time": pa.timestamp("us", tz="UTC"),
        "source": pa.string(),  # of the row's own column `source`, else null
        "row": pa.int64(),  # 1-based row of the source, its head not counted
        "line": pa.int64(),  # of a text file, from 1; null elsewhere
        "task": pa.int64(),  # number of one of our tasks, where the row answers one
        "ours": pa.bool_(),  # whether the table is made of our tasks
    }
)
POSITIVE = ("1", "true", "t", "yes", "y", "positive", "pos", "accept")
NEGATIVE = ("0", "false", "f", "no", "n", "negative", "neg", "reject")
SKIPPED = ("skip", "skipped", "ignore")
REJECTED = ("rejected", "discarded")
UNFINISHED = ("draft", "pending", "active", "expired")
BLANK = ("", "nan", "null", "none", "na", "n/a")


@dataclass(frozen=True)
class Votes:
    """The votes of one source.

    Attributes:
        source: Its name, for messages.
        identity: Hash of its content and of the columns that were read: the same votes given again are the same.
        table: Columns of `SCHEMA`: every row about a planned rank or one of our tasks, and the first of those that
            nothing is known of. `state`: "answer"; "skip" (a person would not say); "rejected" (who asked does not
            take the work); "blank" (not answered yet);
            "unreadable" (`said` holds it); "unknown" (its rank or key is none of this study).
        rows: Rows of the source.
        unplanned: Rows about items that exist, or may exist, but are not planned.
        unlisted (mapping of str to int): Rows of a state that were counted but are not in `table`, because there are
            too many of them.
        content: Hash of its content alone.
        columns (mapping of str to str or None): Columns that were read: on, label, annotator, time, source; and words
            that were named: positive, negative. Several are separated by NUL.
        read_as_negative (mapping of str to int): Words that count as negative because they are none of those named as
            positive, with their rows.
        unnamed: Planned items that a table of positives does not name, and so says to be negative; rows of `table`.
        place: Where the source lies (`readers.place_of`); empty for a table in memory.
        reused: Whether they were there before the plan, which took them over.
    """

    source: str
    identity: str
    table: pa.Table
    rows: int
    unplanned: int
    unlisted: Mapping[str, int] = field(default_factory=dict)
    content: str = ""
    columns: Mapping[str, str | None] = field(default_factory=dict)
    read_as_negative: Mapping[str, int] = field(default_factory=dict)
    unnamed: int = 0
    place: str = ""
    reused: bool = False

    def from_origin(self, source: Any) -> Votes:
        """Return them as those of the source that they were copied from."""
        return replace(self, source=os.fspath(source), place=place_of(source))

    def facts(self) -> dict[str, Any]:
        """Everything but the table, as JSON-ready values."""
        unknown = self.table.column("state").to_pylist().count("unknown")
        return {
            "source": self.source,
            "rows": self.rows,
            "planned": self.table.num_rows - unknown - self.unnamed,
            "unplanned": self.unplanned,
            "unlisted": dict(self.unlisted),
            "content": self.content,
            "columns": dict(self.columns),
            "read_as_negative": dict(self.read_as_negative),
            "unnamed": self.unnamed,
            "place": self.place,
            **({"reused": True} if self.reused else {}),
        }


def conform(table: pa.Table) -> pa.Table:
    """Return a stored table of votes with the columns of `SCHEMA`, whichever version wrote it."""
    if "value" not in table.column_names and "label" in table.column_names:
        label = table.column("label")
        state = pa.array(["blank" if v is None else "answer" for v in label.to_pylist()], pa.string())
        table = table.append_column("value", label.cast(pa.float64())).append_column("state", state)
    columns = [
        table.column(f.name).cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in SCHEMA
    ]
    return pa.table(columns, schema=SCHEMA)
