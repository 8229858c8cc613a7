"""What an evaluation finds of slices, as files: slice_envelope, slice_curve and slice_metrics.parquet.

Each has the columns of the whole list's file, after `slice`; a `rank` in them is one within the slice. What is known of
a slice besides stands in evaluation.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.curve import Curve
from streameval.curve.stored import stored_curve
from streameval.errors import InputError, did_you_mean
from streameval.stores.own_files import Own

NAMES = ("slice_envelope.parquet", "slice_curve.parquet", "slice_metrics.parquet")


@dataclass(frozen=True)
class SliceFound:
    """What an evaluation finds of one slice.

    Attributes
    ----------
    name : str
    planned, labelled, positive : int
        Ranks of the slice.
    curve : Curve
        Its ranks are those within the slice; its claim holds together with those of all other slices.
    curve_table, metrics : pyarrow.Table
        As in curve.parquet and metrics.parquet.
    """

    name: str
    planned: int
    labelled: int
    positive: int
    curve: Curve
    curve_table: pa.Table
    metrics: pa.Table

    def facts(self) -> dict[str, Any]:
        """What evaluation.json says of it."""
        return {
            "name": self.name,
            "n_items": self.curve.n_items,
            "planned": self.planned,
            "labelled": self.labelled,
            "positive": self.positive,
            "claim": self.curve.claim.as_dict(),
            "findings": list(self.curve.findings),
            "diagnostics": dict(self.curve.diagnostics),
            "estimates": self.curve.basis,
        }


def slice_of(slices: Sequence[SliceFound], name: str) -> SliceFound:
    """Find a slice by its name.

    Raises
    ------
    InputError
        There is no such slice.
    """
    known = {one.name: one for one in slices}
    if name not in known:
        hint = did_you_mean(name, list(known)) if known else "slices are planned with --by COL"
        raise InputError(f"there is no slice '{name}'", hint)
    return known[name]


def slice_tables(slices: Sequence[SliceFound]) -> dict[str, pa.Table]:
    """Contents of the three files, by name; none without slices."""
    if not slices:
        return {}
    parts = ([_named(one.name, table) for one, table in zip(slices, tables, strict=True)] for tables in (
        [one.curve.envelope_table for one in slices],
        [one.curve_table for one in slices],
        [one.metrics for one in slices],
    ))  # fmt: skip
    return {
        name: pa.concat_tables(own, promote_options="default").combine_chunks()
        for name, own in zip(NAMES, parts, strict=True)
    }


def _named(name: str, table: pa.Table) -> pa.Table:
    plain = table.replace_schema_metadata(None)
    return plain.add_column(0, "slice", pa.array([name] * plain.num_rows, pa.string()))


def read_slices(files: Sequence[Own], facts: Sequence[Mapping[str, Any]]) -> tuple[SliceFound, ...]:
    """Slices from what was read of the three files; `facts` is what evaluation.json says of them.

    Raises
    ------
    KeyError, TypeError, ValueError, pyarrow.ArrowException
        What does not fit together.
    """
    if not facts:
        return ()
    tables = [file.table for file in files]
    found = []
    for one in facts:
        envelope, shown, metrics = (
            table.filter(pc.equal(table.column("slice"), one["name"])).drop_columns(["slice"]) for table in tables
        )
        curve = stored_curve(one, envelope, shown)
        counts = (one["planned"], one["labelled"], one["positive"])
        found.append(SliceFound(one["name"], *counts, curve, shown, metrics))
    return tuple(found)
