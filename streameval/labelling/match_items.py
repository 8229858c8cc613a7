"""Which planned item a row is about: by rank, by the number of one of our tasks, or by columns of the items."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, closest
from streameval.labelling import expressions as sql
from streameval.labelling.columns import SourceColumns, call_it_so, listed_name, shared_names
from streameval.labelling.duckdb_session import Connection, quote
from streameval.labelling.key_forms import is_readable, key_of, known_key, refuse_inexact_items, refuse_unreadable_items
from streameval.labelling.readers import given
from streameval.struct_fields import own_columns, picked, with_fields
from streameval.types import Plan

OURS = ("rank", "stratum", "draw_weight", "se_task")


@dataclass(frozen=True)
class Items:
    """The items of a study, as rows of label tables may refer to them.

    Attributes:
        selection: `rank`, `se_task` and the items' columns.
        extra: Tasks beyond one per item: `se_task`, `rank` (null for a control item, which is not of the list).
    """

    selection: pa.Table | None = None
    extra: pa.Table | None = None


@dataclass(frozen=True)
class Join:
    """How the rows of a source join `se_known`, as SQL.

    Attributes:
        on: Joins `se_given` to `se_known`.
        unknown: True of rows whose key cannot be any item's.
        ambiguous: True of rows whose key may have been another.
    """

    on: str
    unknown: str
    ambiguous: str


def shared_keys(connection: Connection, selection: pa.Table | None, types: Mapping[str, str]) -> list[str]:
    """Name columns of a source by which its rows may be joined: they tell items apart, and some of their values match.

    Args:
        types: SQL types of the source's columns by name.
    """
    table = selection.drop_columns([n for n in OURS if n in selection.column_names]) if selection else pa.table({})
    names = []
    for theirs, name in shared_names(types, [field.name for field in table.schema if is_readable(field.type)]):
        connection.register("se_column", table.select([name]).rename_columns(["se_own"]))
        kind = connection.execute("DESCRIBE se_column").fetchall()[0][1]
        key = known_key("se_own", kind)
        ((distinct, matches),) = connection.execute(
            f"SELECT (SELECT count(DISTINCT {key}) FROM se_column), EXISTS (SELECT 1 FROM se_given JOIN se_column "
            f"ON {key} = {key_of(given(theirs), types[theirs], kind)})"
        ).fetchall()
        names += [theirs] if matches and distinct == table.num_rows else []
    return names


def match_keys(connection: Connection, plan: Plan, items: Items, columns: SourceColumns, name: str) -> Join:
    """Make the table `se_known` (rank, task, key0 …); an `InputError` where key columns are missing or not unique."""
    if columns.role == "rank":
        connection.register("se_known", _known(plan.ranks, np.full(plan.ranks.size, -1), plan.ranks))
        key = sql.rank_of(given(columns.keys[0]), columns.kind(columns.keys[0]))
        unknown = f"coalesce({key} NOT BETWEEN 1 AND {plan.n_items}, true)"
        return Join(f"se_known.key0 = {key}", unknown, columns.ambiguous_rank(plan.n_items))
    if columns.role == "task":
        if items.selection is None:
            raise InputError(f"{name}: its rows are tasks, but this study has no selection", "run `streameval select`")
        connection.register("se_known", _tasks(items.selection, items.extra))
        key = sql.rank_of(given(columns.keys[0]), columns.kind(columns.keys[0]))
        unknown = f"coalesce({key} NOT IN (SELECT key0 FROM se_known), true)"
        return Join(f"se_known.key0 = {key}", unknown, columns.ambiguous_rank(plan.n_items))
    return _by_items(connection, plan, items.selection, columns, name)


def _where_it_is(plan: Plan, key: str, have: Sequence[str], own: Sequence[str]) -> str:
    """Hint for a column that the selection lacks: `select --columns` left it out, or it is called otherwise.

    Args:
        have, own: Columns of the items with fields of structs, and without.
    """
    if (name := listed_name(key, plan.key_columns)) is not None:
        return (
            f"`select --columns` left out '{name}': `streameval select STUDY` again, with or without --columns, has it"
        )
    shown = [name for name in own if name not in (*OURS, "score")]
    again = f"`streameval select STUDY --columns {shlex.quote(','.join([*shown, key]))}`"
    if closest(key, have) is None:
        return (
            f"labels come with columns of the items: {', '.join(shown)}; one of the tasks' numbers is called se_task; "
            f"where the list has '{key}', {again} fetches it"
        )
    return f"{call_it_so(key, have)}; or, where the list has '{key}', {again} fetches it"


def _known(rank: object, task: object, key: object) -> pa.Table:
    task_numbers = pa.array(task, pa.int64())
    missing = pc.if_else(pc.less(task_numbers, 0), None, task_numbers)
    return pa.table({"rank": rank, "task": missing, "key0": key})


def _tasks(selection: pa.Table, extra: pa.Table | None) -> pa.Table:
    """Every task's number, and its rank where it is about a planned item."""
    table = selection.select(["rank", "se_task"])
    if extra is not None:
        table = pa.concat_tables([table, extra.select(["rank", "se_task"]).cast(table.schema)])
    numbers = table.column("se_task")
    return pa.table({"rank": table.column("rank"), "task": numbers, "key0": numbers})


def _by_items(
    connection: Connection, plan: Plan, selection: pa.Table | None, columns: SourceColumns, name: str
) -> Join:
    if selection is None:
        raise InputError(
            f"{name}: labels come with '{columns.keys[0]}', which the study's selection does not have",
            "run `streameval select` first",
        )
    schema = with_fields(selection.schema)
    have = [n for n in schema.names if n not in OURS]
    names: list[str] = []
    for key in columns.keys:
        column = listed_name(key, have)
        if column is None:
            raise InputError(
                f"{name}: labels come with '{key}', which the study's selection does not have",
                _where_it_is(plan, key, have, own_columns(schema)),
            )
        names.append(column)
    known = picked(selection, schema, ["rank", *names])
    refuse_unreadable_items(known.drop_columns("rank").schema, "the study's items")
    connection.register("se_selection", known)
    kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE se_selection").fetchall()}
    refuse_inexact_items(connection, "se_selection", [(n, kinds[n]) for n in names], "the study's items")
    keys = [known_key(quote(n), kinds[n]) for n in names]
    listed = ", ".join(f"{key} AS key{i}" for i, key in enumerate(keys))
    whole = " AND ".join(f"{key} IS NOT NULL" for key in keys)
    connection.execute(
        f"CREATE TEMP TABLE se_known AS SELECT rank, NULL::BIGINT AS task, {listed} FROM se_selection WHERE {whole}"
    )
    grouped = ", ".join(f"key{i}" for i in range(len(keys)))
    ((twice,),) = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM se_known GROUP BY {grouped} HAVING count(*) > 1)"
    ).fetchall()
    if twice:
        raise InputError(
            f"column '{', '.join(names)}' does not tell items apart: {twice:,} of its values belong to several planned "
            "ranks",
            "join on columns that are unique together, or on the rank",
        )
    theirs = columns.keys_as([kinds[n] for n in names])
    join = " AND ".join(f"se_known.key{i} = {key}" for i, key in enumerate(theirs))
    unknown = " OR ".join(f"{key} IS NULL" for key in theirs)
    if columns.ours:  # a task of ours that matches nothing was damaged
        unknown = f"({unknown}) OR NOT EXISTS (SELECT 1 FROM se_known WHERE {join})"
    return Join(join, unknown, columns.ambiguous([kinds[n] for n in names]))
