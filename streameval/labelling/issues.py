"""The account in full: one row per thing that is not as it should be, with its place.

kind           what, and of which row or rank
missing        a planned rank without a label
undecided      a planned rank whose answers leave it open: they tie, or contradict each other (it is missing too)
skipped        a person would not say
doubled        the same said twice in one source, or by rows that name nobody
contradictory  both said by one annotator without a time that tells which is later, or by rows that name nobody
untimed        an answer whose moment cannot be understood: it counts, with no time
unreadable     a value or a whole row that cannot be understood
unknown        a rank or key that is none of this study

`issues.parquet`: kind, rank (null where unknown), source, row (1-based, the table's head not counted), line (of the
text file, from 1; null elsewhere), annotator, value (as it was read, else as it stands there).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.kernels.sorted_sets import isin
from streameval.labelling.duckdb_session import tables_of_ours
from streameval.types import Labels
from streameval.typing import BoolArray

KINDS = ("missing", "undecided", "skipped", "doubled", "contradictory", "untimed", "unreadable", "unknown")
SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "rank": pa.int64(),
        "source": pa.string(),
        "row": pa.int64(),
        "line": pa.int64(),
        "annotator": pa.string(),
        "value": pa.string(),
    }
)


def issues_of(labels: Labels, rows: pa.Table, strangers: pa.Table) -> pa.Table:
    """List every issue: of ranks first, then of rows, which have a `fate`, in the order in which they came."""
    missing = labels.rank[~labels.known]
    undecided = labels.rank[undecided_at(labels, rows)]
    listed = rows.filter(pc.is_in(rows.column("fate"), value_set=pa.array(KINDS)))
    return pa.concat_tables(
        [
            _of_ranks("missing", missing),
            _of_ranks("undecided", undecided),
            _of_rows(listed, listed.column("fate")),
            strangers,
            untimed_rows(rows),
        ]
    )


def undecided_at(labels: Labels, rows: pa.Table) -> BoolArray:
    """Tell which planned ranks have answers and no label of them."""
    torn = rows.filter(pc.equal(rows.column("fate"), "contradictory")).column("rank").to_numpy()
    return ~labels.known & ((labels.votes > 0) | isin(labels.rank, torn))


def untimed_rows(rows: pa.Table) -> pa.Table:
    """Answers of which something could not be understood, though they are answers: the moment."""
    spoken = pc.is_in(rows.column("state"), value_set=pa.array(["answer", "skip"]))
    late = rows.filter(pc.and_(spoken, pc.is_valid(rows.column("said"))))
    return _of_rows(late, pa.chunked_array([pa.array(["untimed"] * late.num_rows, pa.string())]))


def trouble_between_strangers(rows: pa.Table) -> pa.Table:
    """Rows about one rank without an annotator: doubled from the second on where they agree, else contradictory."""
    votes = rows.filter(pc.and_(pc.equal(rows.column("fate"), "vote"), pc.is_null(rows.column("voter"))))
    if pc.count_distinct(votes.column("rank"), mode="all").as_py() == votes.num_rows:
        return SCHEMA.empty_table()
    with tables_of_ours() as connection:
        connection.register("votes", votes)
        troubled = connection.sql(
            """SELECT * EXCLUDE (many, apart, nth), CASE WHEN apart THEN 'contradictory' ELSE 'doubled' END AS kind
               FROM (SELECT *, count(*) OVER item AS many, min(value) OVER item <> max(value) OVER item AS apart,
                            row_number() OVER (PARTITION BY rank ORDER BY id) AS nth
                     FROM votes WINDOW item AS (PARTITION BY rank))
               WHERE many > 1 AND (apart OR nth > 1) ORDER BY id"""
        ).to_arrow_table()
    return _of_rows(troubled, troubled.column("kind"))


def _of_ranks(kind: str, ranks: np.ndarray) -> pa.Table:
    columns = {name: pa.nulls(ranks.size, SCHEMA.field(name).type) for name in SCHEMA.names}
    columns |= {"kind": pa.array([kind] * ranks.size, pa.string()), "rank": pa.array(ranks, pa.int64())}
    return pa.table(columns, schema=SCHEMA)


def _of_rows(rows: pa.Table, kind: pa.ChunkedArray) -> pa.Table:
    value = pc.coalesce(rows.column("said"), rows.column("value").cast(pa.string()))
    return pa.table(
        {
            "kind": kind,
            "rank": rows.column("rank"),
            "source": rows.column("origin"),
            "row": rows.column("row"),
            "line": rows.column("line"),
            "annotator": rows.column("annotator"),
            "value": value,
        }
    ).cast(SCHEMA)


def place_of(issue: Mapping[str, Any]) -> str:
    """Say in words which issue it is, and where."""
    where = [f"rank {issue['rank']:,}"] if issue["rank"] is not None else []
    if issue["source"] is not None:
        where.append(f"{issue['source']} row {issue['row']:,}")
    if issue["line"] is not None:
        where.append(f"line {issue['line']:,}")
    value = f" '{issue['value'][:40]}'" if issue["value"] is not None else ""
    return f"{issue['kind']}{value} at {', '.join(where)}"
