"""Which planned item a row is about: by rank, by the number of one of our tasks, or by columns of the items.

Rows that disagree with their item in a column that both have are about another one. Only texts and whole numbers are
compared, and only as far as programs keep them: a spreadsheet cuts texts, shortens numbers, turns `MAR1` into a date
and what it takes for a formula into an error; encodings lose letters, label tools escape them. What such a round trip
can make of a value agrees with it.
"""

from __future__ import annotations

import html
import re
import shlex
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, StudyError, closest
from streameval.labelling.columns import (
    SourceColumns,
    as_columns,
    call_it_so,
    item_names,
    joined_on,
    key_join,
    listed_name,
    shared_names,
)
from streameval.labelling.duckdb_session import Connection, quote
from streameval.labelling.key_forms import is_readable, key_of, known_key, refuse_inexact_items
from streameval.labelling.names import ANSWERS
from streameval.labelling.readers import ROW, source_column
from streameval.struct_fields import own_columns, pick, with_fields
from streameval.text import number_of
from streameval.types import Plan

_BLANK = {"", "nan", "none", "null", "na", "n/a", "nat", "<na>"}
_TAKEN_FOR_DATE = re.compile(r"[^\W\d]{3,9}[-/. ]?\d{1,4}|\d{1,4}[-/.]\d{1,4}([-/.]\d{1,4})?")
_DATE = re.compile(r"\d{1,4}[-/. ]+\w{1,9}\.?([-/. ]\d{1,4})?([ T].*)?")
_MONTH = re.compile(r"([^\W\d]{3})\.?[- ](\d\d)")
_CUT = 20  # letters and digits that a text has to begin with to be the beginning of a longer one
_ROUNDED = 1e-5  # what six digits, as a spreadsheet shows numbers of twelve, leave open
_NAMED = 3
_LONGEST = 30
OURS = ("rank", "stratum", "draw_weight", "se_task")


def shared_columns(selection: pa.Table, columns: SourceColumns) -> dict[str, str]:
    """Find the columns of a source that hold what a column of the items holds.

    Returns:
        dict: Name in the source to name in the selection. Columns that are read as part of an answer are none, nor are
            those that whoever labels writes (`ANSWERS`); an export calls an item's column that would be read so
            NAME_item.
    """
    used = {*columns.keys, columns.label, columns.annotator, columns.time, columns.source, columns.choice}
    theirs = {name.lower(): name for name in columns.types if name not in used}
    shared: dict[str, str] = {}
    twice = Counter(name.lower() for name in selection.column_names)
    for name, kind in zip(selection.column_names, selection.schema.types, strict=True):
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_integer)
        if name in ("rank", "stratum", "se_task") or twice[name.lower()] > 1 or not any(test(plain) for test in tests):
            continue
        if name == "text" and pa.types.is_integer(plain):
            continue  # Prodigy is given a text in its place
        exported = [f"{name.lower()}_item", *([] if name.lower() in ANSWERS else [name.lower()])]
        shared |= {theirs[exported_name]: name for exported_name in exported if exported_name in theirs}
    return shared


def refuse_other_items(
    connection: Connection, selection: pa.Table, columns: SourceColumns, join: str, name: str
) -> None:
    """Refuse a source (`StudyError`) some of whose rows show another item than the one they are joined to.

    Args:
        join: Joins `se_given` to `se_known`, as SQL.
    """
    shared = shared_columns(selection, columns)
    if not shared:
        return
    connection.register("se_items", selection.select(["rank", *dict.fromkeys(shared.values())]))
    wrong: dict[int, str] = {}
    for theirs, mine in shared.items():
        wrong |= _disagreeing(connection, (theirs, mine), join, wrong)
    connection.unregister("se_items")
    if wrong:
        first = "; ".join(wrong[row] for row in sorted(wrong)[:_NAMED])
        raise StudyError(
            f"{name}: other items than this study's in {number_of(len(wrong), 'row')}: {first}",
            "give the labels of this study's own tasks; rename a column of yours that is named like an item's",
        )


def _disagreeing(
    connection: Connection, names: tuple[str, str], join: str, disagreeing: Mapping[int, str]
) -> dict[int, str]:
    theirs, mine = source_column(names[0]), f"se_items.{quote(names[1])}::VARCHAR"
    rows = connection.execute(
        f"SELECT {ROW}, {mine}, {theirs}::VARCHAR FROM se_given JOIN se_known ON {join} "
        f"JOIN se_items ON se_items.rank = se_known.rank WHERE {mine} <> {theirs}::VARCHAR"
    )
    wrong = {}
    while batch := rows.fetchmany(10_000):
        for row, item, cell in batch:
            if row not in disagreeing and not agree(item, cell):
                wrong[row] = f"row {row:,} has {names[0]} '{_short(cell)}', its item '{_short(item)}'"
    return wrong


def agree(item: str, cell: str) -> bool:
    """Tell whether a text may be what programs made of an item's.

    >>> agree("=SUM(1)", "'=SUM(1)"), agree("00123", "123"), agree("MARCH1", "1-Mar"), agree("cat", "dog")
    (True, True, True, False)
    """
    text = html.unescape(cell).strip()
    if text.casefold() in _BLANK or item.strip().casefold() in _BLANK or text.startswith(("#", "data:image/")):
        return True
    if _as_date(item.strip(), text) or _same_number(item, text):
        return True
    whole, part = _letters(item), _letters(text)
    if whole == part or (len(part) >= _CUT and whole.startswith(part)):
        return True
    if text.isascii() and "?" not in text:
        return False
    # letters that an encoding lost or broke: what is left of both has to be the same
    whole, part = (re.sub("[^a-z0-9]", "", letters) for letters in (whole, part))
    return whole == part or (len(part) >= _CUT and whole.startswith(part))


def _as_date(item: str, text: str) -> bool:
    """Tell whether a text came back as a spreadsheet's date: `MAR1` as `1-Mar`, `March 2001` as `Mar-01`."""
    if not _TAKEN_FOR_DATE.fullmatch(item):
        return False
    month = _MONTH.fullmatch(text)
    short = month is not None and item[:3].casefold() == month[1].casefold() and item.endswith(month[2])
    return short or bool(_DATE.fullmatch(text))


def _letters(text: str) -> str:
    """Letters and digits alone: signs, spaces and line ends are what programs change."""
    return "".join(
        character for character in unicodedata.normalize("NFKC", html.unescape(text)).casefold() if character.isalnum()
    )


def _same_number(item: str, text: str) -> bool:
    try:
        mine, theirs = (float(numeral.strip().lstrip("'").replace(",", ".")) for numeral in (item, text))
    except ValueError:
        return False
    return mine == theirs or (abs(mine) >= 1e11 and abs(mine - theirs) <= _ROUNDED * abs(mine))


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


@dataclass(frozen=True)
class Items:
    """The items of a study, as rows of label tables may refer to them.

    Attributes:
        selection: `rank`, `se_task` and the items' columns.
        extra: Tasks beyond one per item: `se_task`, `rank` (null for a control item, which is not of the list).
        study: The study's folder, as it is typed.
    """

    selection: pa.Table | None = None
    extra: pa.Table | None = None
    study: str = "STUDY"

    @property
    def select(self) -> str:
        """Give the command that fetches them."""
        return shlex.join(["streameval", "select", self.study])


@dataclass(frozen=True)
class Join:
    """SQL that joins the rows of a source to `se_known`.

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
            f"ON {key} = {key_of(source_column(theirs), types[theirs], kind)})"
        ).fetchall()
        names += [theirs] if matches and distinct == table.num_rows else []
    return names


def match_keys(connection: Connection, plan: Plan, items: Items, columns: SourceColumns, name: str) -> Join:
    """Make the table `se_known` (rank, task, key0 …); an `InputError` where key columns are missing or not unique."""
    if columns.role == "rank":
        connection.register("se_known", _known_rows(plan.ranks, np.full(plan.ranks.size, -1), plan.ranks))
        key = columns.rank
        unknown = f"coalesce({key} NOT BETWEEN 1 AND {plan.n_items}, true)"
        return Join(f"se_known.key0 = {key}", unknown, columns.ambiguous_rank(plan.n_items))
    if columns.role == "task":
        if items.selection is None:
            raise InputError(f"{name}: its rows are tasks, but this study has no selection", f"run `{items.select}`")
        connection.register("se_known", _tasks(items.selection, items.extra))
        key = columns.rank
        unknown = f"coalesce({key} NOT IN (SELECT key0 FROM se_known), true)"
        return Join(f"se_known.key0 = {key}", unknown, columns.ambiguous_rank(plan.n_items))
    return _by_items(connection, plan, items, columns, name)


def _where_it_is(plan: Plan, key: str, have: Sequence[str], item_columns: Sequence[str], select: str) -> str:
    """Hint for a column that the selection lacks: `select --columns` left it out, or it is called otherwise.

    Args:
        have, item_columns: Columns of the items with fields of structs, and without.
        select: The command that fetches them.
    """
    if (name := listed_name(key, plan.key_columns)) is not None:
        return f"`select --columns` left out '{name}': `{select}` again, with or without --columns, has it"
    shown = [name for name in item_columns if name not in (*OURS, "score")]
    again = f"`{select} --columns {shlex.quote(','.join([*shown, key]))}`"
    if closest(key, have) is None:
        return (
            f"labels come with columns of the items: {', '.join(shown)}; one of the tasks' numbers is called se_task; "
            f"where the list has '{key}', {again} fetches it"
        )
    return f"{call_it_so(key, have)}; or, where the list has '{key}', {again} fetches it"


def _known_rows(rank: object, task: object, key: object) -> pa.Table:
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


def _by_items(connection: Connection, plan: Plan, items: Items, columns: SourceColumns, name: str) -> Join:
    if (selection := items.selection) is None:
        raise InputError(
            f"{name}: labels are joined by '{columns.keys[0]}', and no items of this study were selected yet",
            f"run `{items.select}` first",
        )
    schema = with_fields(selection.schema)
    have = [n for n in schema.names if n not in OURS]
    names = item_names(columns, have, name, "the study's selection",
                       lambda key: _where_it_is(plan, key, have, own_columns(schema), items.select))  # fmt: skip
    item_keys = pick(selection, schema, ["rank", *names])
    keys = key_join(connection, columns, names, ("se_selection", item_keys), "the study's items")
    refuse_inexact_items(connection, "se_selection", keys.columns, "the study's items")
    connection.execute(
        f"CREATE TEMP TABLE se_known AS SELECT rank, NULL::BIGINT AS task, {as_columns(keys.items)} FROM se_selection "
        f"WHERE {' AND '.join(f'{key} IS NOT NULL' for key in keys.items)}"
    )
    grouped = ", ".join(f"key{i}" for i in range(len(names)))
    ((twice,),) = connection.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM se_known GROUP BY {grouped} HAVING count(*) > 1)"
    ).fetchall()
    if twice:
        raise InputError(
            f"column '{', '.join(names)}' does not tell items apart: {twice:,} of its values belong to several planned "
            "ranks",
            "join on columns that are unique together, or on the rank",
        )
    join = joined_on("se_known", keys.rows)
    unknown = " OR ".join(f"{key} IS NULL" for key in keys.rows)
    if columns.ours:  # a task of ours that matches nothing was damaged
        unknown = f"({unknown}) OR NOT EXISTS (SELECT 1 FROM se_known WHERE {join})"
    return Join(join, unknown, keys.ambiguous)
