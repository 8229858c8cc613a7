"""Results of many rankings as a DuckDB file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.study.database.writer import plain_database
from streameval.study.results import Result


def rankings_database(path: Path, result: Result, comments: Mapping[str, str]) -> Callable[[str], None]:
    """Give the writer of study.duckdb.

    Args:
        path: Of rankings.parquet: read part by part.
        comments: Of its tables, by name.
    """
    rankings, summary = open_rows(str(path), RankingOptions()), result.summary
    kept = ("evaluation_id", "version", "method", "rankings", "without_positives", "n_items", "positives", "misses")
    row = {**{name: summary.get(name) for name in kept}, "per": ", ".join(summary["per"]),
           "parameters": json.dumps(summary["parameters"]), "ranking": json.dumps(summary["ranking"])}  # fmt: skip
    provenance = pa.table({name: [value] for name, value in row.items()})
    names = rankings.schema.names

    def parts() -> Iterator[pa.RecordBatch]:
        for unit in rankings.units(names[0]):
            yield from unit.read(names).select(names).cast(rankings.schema.remove_metadata()).to_batches()

    def tables() -> dict[str, Any]:
        reader = pa.RecordBatchReader.from_batches(rankings.schema.remove_metadata(), parts())
        return {
            "rankings": reader,
            **{name: result.tables[name] for name in comments if name != "rankings"},
            "provenance": provenance,
        }

    return plain_database(tables, {**comments, "provenance": "One row: what was evaluated."})
