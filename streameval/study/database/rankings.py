"""Results of many rankings as a DuckDB file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from streameval.labelling.duckdb_session import literal
from streameval.rows import Rows
from streameval.study.database.writer import new_database

TABLES = {
    "rankings": "One row per ranking: its name, items, positives, misses (positives that it never returned), and each "
    "metric: worst, expected and best over all orders of tied items; null where it is undefined.",
    "metrics": "Means over rankings. Lower and upper: all tied items in the worst, in the best order. no_positives: "
    "whether rankings without a positive count as 0 or are left out; rankings: how many the mean is over.",
    "by_size": "Rankings by their number of items; means are over those with a positive.",
    "histograms": "How many rankings with a positive have a metric of at_least and below at_least + 0.05; the last "
    "has 1 too.",
    "provenance": "One row: what was evaluated.",
}
SAMPLE_TABLES = {
    "metrics": "Bounds on means over all rankings; the normal interval beside them promises nothing.",
    "rankings": "One row per ranking that was drawn; lower and upper are apart where labels are missing.",
    "labels": "One row per planned item; rank is its stored row, from 1; label is null where there is none.",
    "issues": "Every row of a label table, and every item, that is not as it should be.",
}


def rankings_database(
    rankings: Rows, tables: Mapping[str, pa.Table], summary: Mapping[str, Any]
) -> Callable[[str], None]:
    """Give the writer of study.duckdb.

    Args:
        rankings: Rows of rankings.parquet: read part by part.
        tables: metrics, by_size, histograms.
    """
    kept = ("evaluation_id", "version", "method", "rankings", "without_positives", "n_items", "positives", "misses")
    row = {**{name: summary.get(name) for name in kept}, "per": ", ".join(summary["per"]),
           "parameters": json.dumps(summary["parameters"]), "ranking": json.dumps(summary["ranking"])}  # fmt: skip
    provenance = pa.table({name: [value] for name, value in row.items()})
    names = rankings.schema.names

    def parts() -> Any:
        for unit in rankings.units(names[0]):
            yield from unit.read(names).select(names).cast(rankings.schema.remove_metadata()).to_batches()

    def given() -> dict[str, Any]:
        reader = pa.RecordBatchReader.from_batches(rankings.schema.remove_metadata(), parts())
        return {"rankings": reader, **tables, "provenance": provenance}

    return plain_database(given, TABLES)


def plain_database(given: Callable[[], Mapping[str, Any]], comments: Mapping[str, str]) -> Callable[[str], None]:
    """Give the writer of a DuckDB file of some tables, or readers of them, each with a comment."""

    def write(path: str) -> None:
        with new_database(path) as connection:
            for name, rows in given().items():
                connection.register("se_given", rows)
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM se_given")
                connection.unregister("se_given")
                connection.execute(f"COMMENT ON TABLE {name} IS {literal(comments[name])}")

    return write
