"""Label tables, as people and programs bring them: read by DuckDB, joined back to the plan by rank.

A row is one vote. What a row says is read leniently (1/0, true/false, yes/no; blank is no label) and refused with its
place where it cannot be read. The plan is semi-joined before anything is grouped, so a table may hold labels for the
whole ranking.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from streameval.errors import InputError, StudyError, did_you_mean, outside_trouble
from streameval.types import Plan

_LINE = 64 << 20  # bytes of a CSV row: items may carry whole documents
RANK_COLUMNS = ("rank", "se_rank", "se_task")
_POSITIVE = ("1", "true", "t", "yes", "y", "positive", "pos")
_NEGATIVE = ("0", "false", "f", "no", "n", "negative", "neg")
_BLANK = ("", "nan", "null", "none", "na", "n/a", "skip")


@dataclass(frozen=True)
class Votes:
    """What one source says about the plan.

    Attributes
    ----------
    source : str
        Its name, for messages.
    identity : str
        Hash of its content and of the columns that were read: the same votes given again are the same.
    table : pyarrow.Table
        `rank` int64, `label` int8 (null: no label), `row` int64 (1-based row of the source); planned ranks only.
    rows : int
        Rows of the source.
    unplanned : int
        Rows for ranks (or keys) that the plan does not ask for.
    """

    source: str
    identity: str
    table: pa.Table
    rows: int
    unplanned: int


def read_votes(
    source: Any, plan: Plan, keys: pa.Table | None = None, on: str | None = None, label: str = "label"
) -> Votes:
    """Read one label table.

    Parameters
    ----------
    source : path, or any table that speaks the Arrow PyCapsule protocol
        Parquet or CSV, told apart by content.
    plan : Plan
    keys : pyarrow.Table, optional
        `rank` and the item columns that `on` may name: the study's selection.
    on : str, optional
        Column that says which item a row is about: a rank column (default: `rank`, `se_rank` or `se_task`, whichever is
        there), or a column of the items.
    label : str
        Column with the label.

    Raises
    ------
    InputError
        A source that cannot be read, lacks a column, or holds a rank or label that cannot be understood (row named).
    StudyError
        A source whose `se_study` names another study.
    """
    name, identity = _identify(source)
    with duckdb.connect() as connection:
        try:
            _open(connection, source, name)
            column = _find(connection, name, "key", on, RANK_COLUMNS if on in (None, "rank") else (str(on),))
            target = _find(connection, name, "label", None, (label,))
            _check_study(connection, plan, name)
            _view(connection, column, target)
            _check_labels(connection, name, target)
            _match_keys(connection, plan, keys, column, name)
            votes = _join(connection)
            (rows,) = _row(connection, "SELECT count(*) FROM parsed")
            _check_any(votes, rows, name, column)
        except duckdb.Error as error:
            raise outside_trouble(error) or InputError(f"{name}: {_first_line(error)}") from error
    digest = hashlib.sha256(f"{identity}\0{column}\0{target}".encode()).hexdigest()[:16]
    return Votes(name, digest, votes, rows, rows - votes.num_rows)


def _identify(source: Any) -> tuple[str, str]:
    """Name and content hash of a source."""
    digest = hashlib.sha256()
    if not isinstance(source, str | os.PathLike):
        table = pa.table(source)
        for batch in table.combine_chunks().to_batches():
            digest.update(batch.serialize())
        return "labels in memory", digest.hexdigest()
    path = os.fspath(source)
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path}: not a file", "give a Parquet or CSV file")
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 22):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{path}: label table cannot be read ({error.strerror})") from error
    return path, digest.hexdigest()


def _open(connection: duckdb.DuckDBPyConnection, source: Any, name: str) -> None:
    """Make the view `source`, every row numbered from 1."""
    if not isinstance(source, str | os.PathLike):
        connection.register("given", pa.table(source))
        connection.execute("CREATE TEMP VIEW source AS SELECT *, row_number() OVER () AS se_row FROM given")
        return
    with open(source, "rb") as stream:
        magic = stream.read(4)
    path = re.sub(r"[\[*?]", r"[\g<0>]", name).replace("'", "''")  # a path is one file, never a pattern
    if not magic:
        raise InputError(f"{name}: the label table is empty (0 bytes)")
    if magic == b"PAR1":
        reader = f"read_parquet('{path}')"
    elif magic[:2] in (b"PK", b"\x1f\x8b") or b"\0" in magic:
        raise InputError(f"{name}: neither Parquet nor CSV", "export the labels as CSV or Parquet")
    else:
        reader = f"read_csv('{path}', header = true, all_varchar = true, null_padding = false, max_line_size = {_LINE})"
    connection.execute(f"CREATE TEMP VIEW source AS SELECT *, row_number() OVER () AS se_row FROM {reader}")


def _columns(connection: duckdb.DuckDBPyConnection) -> list[str]:
    return [row[0] for row in connection.execute("DESCRIBE source").fetchall() if row[0] != "se_row"]


def _find(
    connection: duckdb.DuckDBPyConnection, name: str, role: str, asked: str | None, candidates: Sequence[str]
) -> str:
    """Return the first candidate that the source has, whatever its capitals."""
    columns = _columns(connection)
    twice = [c for c in columns if c.lower() in {f"{one.lower()}_1" for one in candidates}]
    if twice and twice[0][:-2].lower() in {c.lower() for c in columns}:
        raise InputError(
            f"{name}: the label table has two columns '{twice[0][:-2]}'", "rename the one that is not meant"
        )
    by_lower = {column.lower(): column for column in reversed(columns)}
    for candidate in candidates:
        if candidate.lower() in by_lower:
            return by_lower[candidate.lower()]
    option = "--label COL" if role == "label" else "--on COL"
    raise InputError(
        f"{name}: the label table has no column '{asked or candidates[0]}'",
        f"{did_you_mean(asked or candidates[0], columns)}; name it with {option}",
    )


def _check_study(connection: duckdb.DuckDBPyConnection, plan: Plan, name: str) -> None:
    if "se_study" not in _columns(connection):
        return
    studies = connection.execute("SELECT DISTINCT se_study::VARCHAR FROM source WHERE se_study IS NOT NULL").fetchall()
    foreign = [study for (study,) in studies if study not in plan.study_ids]
    if foreign:
        raise StudyError(
            f"{name}: its labels belong to study {foreign[0]}, this one is {plan.plan_id}",
            "evaluate the study that these tasks were exported from",
        )


def _view(connection: duckdb.DuckDBPyConnection, column: str, target: str) -> None:
    """Make the view `parsed`: key text, label 1/0/null, whether the label was readable, row."""
    text = f"lower(trim({_quote(target)}::VARCHAR))"
    connection.execute(
        f"""
        CREATE TEMP VIEW parsed AS SELECT
            {_quote(column)} AS key,
            {text} AS said,
            CASE WHEN {text} IS NULL OR {text} IN {_BLANK} THEN NULL
                 WHEN {text} IN {_POSITIVE} OR TRY_CAST({text} AS DOUBLE) = 1 THEN 1::TINYINT
                 WHEN {text} IN {_NEGATIVE} OR TRY_CAST({text} AS DOUBLE) = 0 THEN 0::TINYINT
                 ELSE -1::TINYINT END AS label,
            se_row
        FROM source"""
    )


def _check_labels(connection: duckdb.DuckDBPyConnection, name: str, target: str) -> None:
    count, row, said = _row(
        connection, "SELECT count(*), min(se_row), arg_min(said, se_row) FROM parsed WHERE label = -1"
    )
    if count:
        raise InputError(
            f"{name}: row {row:,} has {target} '{said[:40]}'" + _and_more(count),
            "labels are 1/0, true/false or yes/no; blank where there is none",
        )


def _match_keys(
    connection: duckdb.DuckDBPyConnection, plan: Plan, keys: pa.Table | None, column: str, name: str
) -> None:
    """Make `known` (planned rank, key) and `keyed` (the source by the same key), after checking the keys."""
    if column.lower() in ("rank", "se_rank"):
        connection.register("known", pa.table({"rank": plan.ranks, "key": plan.ranks}))
        _check_ranks(connection, plan, name, column)
        # '17' and '17.0' are both rank 17
        connection.execute(
            "CREATE TEMP VIEW keyed AS "
            "SELECT TRY_CAST(TRY_CAST(key AS DOUBLE) AS BIGINT) AS key, label, se_row FROM parsed"
        )
        return
    if keys is None or column not in keys.column_names:
        have = [] if keys is None else [n for n in keys.column_names if n not in ("rank", "stratum")]
        raise InputError(
            f"{name}: labels come with '{column}', which the study's selection does not have",
            f"run `streameval select` first; {did_you_mean(column, have)}",
        )
    connection.register("selection", keys.select(["rank", column]))
    connection.execute(
        f"CREATE TEMP TABLE known AS SELECT rank, {_quote(column)}::VARCHAR AS key FROM selection "
        f"WHERE {_quote(column)} IS NOT NULL"
    )
    (twice,) = _row(connection, "SELECT count(*) FROM (SELECT key FROM known GROUP BY key HAVING count(*) > 1)")
    if twice:
        raise InputError(
            f"column '{column}' does not tell items apart: {twice:,} of its values stand at several planned ranks",
            "join on a column that is unique, or on the rank",
        )
    # programs that hold integers with gaps write '17' as '17.0'
    text = "trim(key::VARCHAR)"
    if pa.types.is_integer(keys.schema.field(column).type):
        text = f"coalesce(TRY_CAST(TRY_CAST({text} AS DECIMAL(38, 9)) AS HUGEINT)::VARCHAR, {text})"
    connection.execute(f"CREATE TEMP VIEW keyed AS SELECT {text} AS key, label, se_row FROM parsed")


def _check_ranks(connection: duckdb.DuckDBPyConnection, plan: Plan, name: str, column: str) -> None:
    count, row, key = _row(
        connection,
        f"""SELECT count(*), min(se_row), arg_min(coalesce(key::VARCHAR, ''), se_row) FROM parsed
            WHERE coalesce(TRY_CAST(key AS DOUBLE) NOT BETWEEN 1 AND {plan.n_items}
                           OR TRY_CAST(key AS DOUBLE) != floor(TRY_CAST(key AS DOUBLE)), true)""",
    )
    if count:
        raise InputError(
            f"{name}: row {row:,} has {column} '{key[:40]}', no rank of 1..{plan.n_items:,}" + _and_more(count),
            "ranks are counted from 1; is this label table of another ranking?",
        )


def _check_any(votes: pa.Table, rows: int, name: str, column: str) -> None:
    """A table that says nothing about this study was given by mistake."""
    if not rows:
        raise InputError(f"{name}: the label table has no rows")
    if not votes.num_rows:
        raise InputError(
            f"{name}: none of its {rows:,} rows is about a planned item ({column} matches nothing)",
            "give the table that was made from this study's tasks, or name the column with --on COL",
        )
    if votes.column("label").null_count == votes.num_rows:
        raise InputError(f"{name}: none of its {votes.num_rows:,} rows about planned items has a label yet")


def _join(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    return connection.sql(
        """SELECT known.rank::BIGINT AS rank, keyed.label::TINYINT AS label, keyed.se_row::BIGINT AS row
           FROM keyed JOIN known ON keyed.key = known.key ORDER BY row"""
    ).to_arrow_table()


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _row(connection: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """Return the first row; all are fetched, because an open result blocks its connection."""
    row: tuple[Any, ...] = connection.execute(query).fetchall()[0]
    return row


def _and_more(count: int) -> str:
    return f", and {count - 1:,} more rows like it" if count > 1 else ""


def _first_line(error: BaseException) -> str:
    """What DuckDB says, without the query it was asked and the advice for its own interface."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kept = list(itertools.takewhile(lambda line: not line.startswith(("LINE ", "Possible", "*", "CREATE ")), lines))
    return "; ".join(kept[:3])[:300] if kept else type(error).__name__
