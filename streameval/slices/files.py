"""The results of slices as files: slice_envelope, slice_curve and slice_metrics.parquet.

Each has the columns of the whole list's file, after `slice`; a `rank` in them is one within the slice. All other facts
of a slice are in evaluation.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from streameval.curve import Basis, Curve
from streameval.curve.stored import stored_curve
from streameval.errors import InputError, did_you_mean
from streameval.parquet.own_tables import Own
from streameval.types import Claim

SLICES = ("slice_envelope", "slice_curve", "slice_metrics")


@dataclass(frozen=True)
class SliceResult:
    """The evaluation of one slice.

    Attributes:
        planned, labelled, positive: Numbers of ranks.
        curve: Its ranks are those within the slice; its claim holds together with those of all other slices.
        curve_table, metrics: As in curve.parquet and metrics.parquet.
    """

    name: str
    planned: int
    labelled: int
    positive: int
    curve: Curve
    curve_table: pa.Table
    metrics: pa.Table

    @property
    def claim(self) -> Claim:
        """Give what the bounds promise."""
        return self.curve.claim

    @property
    def estimates(self) -> Basis:
        """Give what estimates are made of."""
        return self.curve.basis

    def facts(self) -> dict[str, Any]:
        """The slice's entry in evaluation.json."""
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


def slice_of(slices: Sequence[SliceResult], name: str) -> SliceResult:
    """Find a slice by its name; an `InputError` where there is none."""
    by_name = {result.name: result for result in slices}
    if name not in by_name:
        hint = did_you_mean(name, list(by_name)) if by_name else "slices are planned with --by COL"
        raise InputError(f"there is no slice '{name}'", hint)
    return by_name[name]


def slice_tables(slices: Sequence[SliceResult]) -> dict[str, pa.Table]:
    """Tables of the three files, by name; none without slices."""
    if not slices:
        return {}
    parts = ([_name_table(result.name, table) for result, table in zip(slices, tables, strict=True)] for tables in (
        [result.curve.envelope_table for result in slices],
        [result.curve_table for result in slices],
        [result.metrics for result in slices],
    ))  # fmt: skip
    return {
        name: pa.concat_tables(pieces, promote_options="default").combine_chunks()
        for name, pieces in zip(SLICES, parts, strict=True)
    }


def _name_table(name: str, table: pa.Table) -> pa.Table:
    plain = table.replace_schema_metadata(None)
    return plain.add_column(0, "slice", pa.array([name] * plain.num_rows, pa.string()))


def slices_from_tables(files: Sequence[Own], facts: Sequence[Mapping[str, Any]]) -> tuple[SliceResult, ...]:
    """Read slices from the three files and their entries in evaluation.json; raises where these do not fit."""
    import pyarrow.compute as pc

    if not facts:
        return ()
    tables = [file.table for file in files]
    results = []
    for entry in facts:
        envelope, shown, metrics = (
            table.filter(pc.equal(table.column("slice"), entry["name"])).drop_columns(["slice"]) for table in tables
        )
        curve = stored_curve(entry, envelope, shown)
        counts = (entry["planned"], entry["labelled"], entry["positive"])
        results.append(SliceResult(entry["name"], *counts, curve, shown, metrics))
    return tuple(results)
