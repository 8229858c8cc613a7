"""Roles of the columns of a label table; fields of structs and of JSON objects are columns such as `meta.id`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from streameval.errors import InputError, closest, did_you_mean
from streameval.labelling import expressions as sql
from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.labelling.expressions import LabelWords
from streameval.labelling.key_forms import (
    ambiguous,
    ambiguous_rank,
    is_number,
    key_of,
    known_key,
    refuse_unreadable_items,
)
from streameval.labelling.options import LabelColumns, LabelsAre
from streameval.labelling.readers import ROW, Opened, distinct, source_column
from streameval.labelling.tools import tool_of

_WHOLE = "se_given_whole"
RANK_COLUMNS = ("se_task", "se_rank", "rank")
BY_FILE = "file"
"""What `--annotator` says where a file is named after who filled it in; a column of that name goes before."""


def with_fields(connection: Connection, opened: Opened, names: Iterable[str | None]) -> Opened:
    """Add to `se_given` those of some names that are no columns of it, but fields of one.

    A column comes before a field of the same name; fields are found whatever the capitals of their column.
    """
    kinds = {row[0]: row[1] for row in connection.execute("DESCRIBE se_given").fetchall() if row[0] != ROW}
    there = {name.lower() for name in (*kinds, *opened.columns)}
    fields = {name: _field(connection, kinds, name) for name in names if name and name.lower() not in there}
    present = {name: field for name, field in fields.items() if field is not None}
    if not present:
        return opened
    connection.execute(f"ALTER VIEW se_given RENAME TO {_WHOLE}")
    columns = ", ".join(f"{field} AS {quote(name)}" for name, field in present.items())
    connection.execute(f"CREATE TEMP VIEW se_given AS SELECT * EXCLUDE ({ROW}), {columns}, {ROW} FROM {_WHOLE}")
    return replace(opened, columns=(*opened.columns, *present))


def _field(connection: Connection, kinds: dict[str, str], name: str) -> str | None:
    """SQL of a field; None where no column has it."""
    for column, kind in kinds.items():
        if not name.lower().startswith(f"{column.lower()}."):
            continue
        path = name[len(column) + 1 :].split(".")
        if kind.startswith("STRUCT"):
            field = ".".join([quote(column), *map(quote, path)])
        elif kind in ("VARCHAR", "JSON"):
            pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
            valid = f"CASE WHEN json_valid({quote(column)}) THEN {quote(column)} END"
            field = f"json_extract_string({valid}, {literal(pointer)})"
        else:
            continue
        if _is_there(connection, field):
            return field
    return None


def _is_there(connection: Connection, field: str) -> bool:
    """Tell whether a struct has a field, or any object one."""
    import duckdb

    try:
        rows = connection.execute(f"SELECT 1 FROM se_given WHERE {field} IS NOT NULL LIMIT 1").fetchall()
    except duckdb.BinderException:
        return False
    return bool(rows)


@dataclass(frozen=True)
class SourceColumns:
    """Columns of one source: names as SQL has them, or None, and the SQL type of every column.

    Attributes:
        keys: Names as they stand there.
        listed: Names of the items' columns that these are.
        role: "rank", "task" or "key".
        label: None where every row is a positive.
        person: Who gave all answers, where the file's name says it and no column (`BY_FILE`).
        words: What words of the label mean, beside those that are always understood.
        labels_are: Whether items that it does not name are negative.
    """

    keys: tuple[str, ...]
    listed: tuple[str, ...]
    role: str
    label: str | None
    annotator: str | None
    person: str | None
    time: str | None
    source: str | None
    choice: str | None
    status: str | None
    study: str | None
    ours: bool
    types: dict[str, str]
    words: LabelWords
    labels_are: LabelsAre

    def kind(self, name: str) -> str:
        """SQL type of a column."""
        return self.types[name]

    @property
    def label_kind(self) -> str:
        """SQL type of `label_value`: what is neither number nor boolean is text there."""
        kind = "INTEGER" if self.label is None else self.kind(self.label)
        return kind if self.choice is None and (is_number(kind) or kind == "BOOLEAN") else "VARCHAR"

    @property
    def label_value(self) -> str:
        """SQL of the label of a row of the source; of a list of one, its element."""
        if self.label is None:
            return "1"
        label = sql.single(source_column(self.label), self.kind(self.label))
        return (
            label if self.choice is None else sql.prodigy_choice(source_column(self.label), source_column(self.choice))
        )

    @property
    def on(self) -> tuple[str, ...]:
        """Its keys as they are typed: `list_column=label_column` where the names differ."""
        pairs = zip(self.listed, self.keys, strict=True)
        return tuple(key if name == key else f"{name}={key}" for name, key in pairs)

    @property
    def work_status(self) -> str:
        """SQL of what became of the work of a row (`streameval.labelling.expressions.status_of`)."""
        return "NULL::VARCHAR" if self.status is None else sql.status_of(source_column(self.status))

    def answer(self, label: str, status: str) -> tuple[str, str]:
        """SQL of a label as a number, and of its state; of work that does not count, null and what became of it.

        Args:
            label, status: `label_value` and `work_status`, or columns that hold them.
        """
        value, state = self.words.value_of(label, self.label_kind)
        return f"CASE WHEN ({status}) IS NULL THEN {value} END", f"coalesce({status}, {state})"

    def keys_as(self, kinds: Sequence[str]) -> list[str]:
        """SQL of its keys, in the form of the items' own columns of these SQL types."""
        return [key_of(source_column(key), self.kind(key), kind) for key, kind in zip(self.keys, kinds, strict=True)]

    def ambiguous(self, kinds: Sequence[str]) -> str:
        """SQL that is true of rows whose key may have been another, of items with columns of these SQL types."""
        each = [ambiguous(source_column(key), self.kind(key), kind) for key, kind in zip(self.keys, kinds, strict=True)]
        return " OR ".join(f"({condition})" for condition in each if condition != "false") or "false"

    @property
    def rank(self) -> str:
        """SQL of its rank, or of the number of its task; null where it is none."""
        return sql.rank_of(source_column(self.keys[0]), self.kind(self.keys[0]))

    def ambiguous_rank(self, last: int) -> str:
        """SQL that is true of rows whose rank, or number of a task, may have been another one up to `last`."""
        return ambiguous_rank(source_column(self.keys[0]), self.kind(self.keys[0]), last)

    @property
    def key_kinds(self) -> list[tuple[str, str]]:
        """Names of its key columns, each with its SQL type."""
        return [(key, self.kind(key)) for key in self.keys]


def find(
    connection: Connection, opened: Opened, options: LabelColumns, shared: Callable[[Mapping[str, str]], Sequence[str]]
) -> SourceColumns:
    """Find every column, whatever its capitals.

    Args:
        shared: Of the names and SQL types of the source's columns: those that may say which item a row is about, to
            be proposed where nothing was asked for and none is called as one usually is.

    Fields of structs, and of objects of JSON, become columns where they are named, such as `meta.id`.

    Raises:
        InputError: A column that was asked for, or the label or the key, is not there, or is there twice.
    """
    opened = with_fields(
        connection, opened, [*_names_in(options.on), options.label, options.annotator, options.time, options.source]
    )
    described = connection.execute("DESCRIBE se_given").fetchall()
    types = {row[0]: row[1] for row in described if row[0] != ROW}
    tool = tool_of(opened.columns)
    prefix = str(vars(tool).get("PREFIX", "")) if tool else ""
    search = _ColumnSearch(opened, dict(zip(distinct(list(opened.columns)), opened.columns, strict=True)), prefix)
    candidates = {"label": ("label",), "annotator": ("annotator",), "time": ("time",)}
    names = {**candidates, **(tool.columns(opened.columns) if tool else {})}
    pairs = search.keys(options, lambda: shared({name: kind for name, kind in types.items() if name != options.label}))
    keys, listed = tuple(pairs), tuple(pairs.values())
    first = keys[0].removeprefix(prefix).lower() if keys == listed else ""
    role = {"se_task": "task", "se_rank": "rank", "rank": "rank"}.get(first, "key")
    label = (*names["label"], "label") if options.label == "label" else (options.label,)
    person = search.person() if options.annotator == BY_FILE else None
    return SourceColumns(
        keys=keys,
        listed=listed,
        role=role if len(keys) == 1 else "key",
        label=search.label(options, label),
        annotator=None if person else search.perhaps("annotator", options.annotator, names["annotator"]),
        person=person,
        time=search.perhaps("time", options.time, names["time"]),
        source=search.perhaps("source", options.source, ("source",)),
        choice=search.perhaps("choice", None, names.get("choice", ())),
        status=search.perhaps("status", None, names.get("status", ())),
        study=next((name for name in ("se_study", f"{prefix}se_study") if name in types), None),
        ours=options.study == "this" and any({name, f"{prefix}{name}"} & {*types} for name in ("se_study", "se_task")),
        types=types,
        words=LabelWords(options.positive, options.negative),
        labels_are=options.labels_are,
    )


def _names_in(on: str | Sequence[str] | None) -> list[str]:
    """Names of columns in what was asked for as `on`, if it is not one name with commas."""
    return [] if on is None else [part.rpartition("=")[2].strip() for part in str(on).split(",")]


def listed_name(key: str, names: Sequence[str]) -> str | None:
    """Find the items' own column of a name, whatever its capitals; None where there is none.

    Raises:
        InputError: Several have this name in other capitals, and none in these: one of them would be a guess.
    """
    if key in names:
        return key
    alike = [name for name in names if name.lower() == key.lower()]
    if len(alike) > 1:
        raise InputError(
            f"labels come with '{key}', and the items have {' and '.join(map(repr, alike))}",
            "call the column of the labels as that of the items that is meant",
        )
    return alike[0] if alike else None


def item_names(
    columns: SourceColumns, names: Sequence[str], source: str, items: str, hint: Callable[[str], str]
) -> list[str]:
    """Name the items' columns that the keys of a source are; an `InputError` for one that they lack, with a hint."""
    key_names = []
    for key in columns.listed:
        if (name := listed_name(key, names)) is None:
            raise InputError(f"{source}: labels come with '{key}', which {items} does not have", hint(key))
        key_names.append(name)
    return key_names


@dataclass(frozen=True)
class KeyJoin:
    """Join of the rows of a source to items by key: SQL of the keys of both, as those of the items are compared.

    Attributes:
        columns: The items' key columns, each with its SQL type.
        ambiguous: True of rows whose key may have been another.
    """

    columns: list[tuple[str, str]]
    items: list[str]
    rows: list[str]
    ambiguous: str


def key_join(
    connection: Connection, columns: SourceColumns, names: Sequence[str], items: tuple[str, pa.Table], where: str
) -> KeyJoin:
    """Make a view of items, of a name, and join a source to it by some columns of theirs.

    Args:
        where: What the items are called where nothing can be joined by a column of theirs (InputError).
    """
    view, table = items
    fields = {field.name: field for field in table.schema}  # a column that is named twice is there twice
    refuse_unreadable_items(pa.schema([fields[name] for name in names]), where)
    connection.register(view, table)
    types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {view}").fetchall()}
    kinds = [types[name] for name in names]
    keys = [known_key(quote(name), kind) for name, kind in zip(names, kinds, strict=True)]
    return KeyJoin(list(zip(names, kinds, strict=True)), keys, columns.keys_as(kinds), columns.ambiguous(kinds))


def as_columns(keys: Sequence[str]) -> str:
    """Give SQL of keys as columns key0, key1 and so on."""
    return ", ".join(f"{key} AS key{i}" for i, key in enumerate(keys))


def joined_on(table: str, keys: Sequence[str]) -> str:
    """Give SQL that joins a table of such columns to keys."""
    return " AND ".join(f"{table}.key{i} = {key}" for i, key in enumerate(keys))


def call_it_so(key: str, names: Sequence[str]) -> str:
    """Hint at a key column of labels that no column of the items is called by.

    >>> call_it_so("uid", ["id", "text"])
    "did you mean 'id'? then call the column of the labels so"
    """
    if (close := closest(key, names)) is not None:
        return f"{close} then call the column of the labels so"
    return f"{did_you_mean(key, names)}; call the column of the labels as that of the items"


def shared_names(theirs: Iterable[str], ours: Iterable[str]) -> list[tuple[str, str]]:
    """Give the names of a source that the items have as well, whatever their capitals, each with the items' own."""
    by_lower = {name.lower(): name for name in reversed(list(ours))}
    return [(name, by_lower[name.lower()]) for name in theirs if name.lower() in by_lower]


@dataclass(frozen=True)
class _ColumnSearch:
    opened: Opened
    by_alias: dict[str, str]
    prefix: str

    def keys(self, columns: LabelColumns, shared: Callable[[], Sequence[str]]) -> dict[str, str]:
        """Columns that say which item a row is about, each with the name of the items' column."""
        there = {name.removeprefix(self.prefix).lower() for name in self.opened.columns}
        on = columns.on
        if on is None and not there.intersection(RANK_COLUMNS) and {*_names_in(columns.key)} <= {*self.opened.columns}:
            on = columns.key
        if on is None and not there.intersection(RANK_COLUMNS) and (names := shared()):
            raise InputError(
                f"{self.opened.name}: the label table has no column 'rank'",
                f"the items have '{names[0]}' too: --on={names[0]} says which item a row is about",
            )
        if on is None and not there.intersection(RANK_COLUMNS):
            raise InputError(
                f"{self.opened.name}: the label table has no column 'rank'",
                f"{did_you_mean('rank', self.opened.columns)}; a column that the items have too is named with "
                "--on COL, one of ranks is called rank, one of the tasks' numbers se_task",
            )
        if on in (None, "rank"):
            ranks = RANK_COLUMNS if on is None else RANK_COLUMNS[::-1]
            name = self.find_column("on", "rank", (*ranks, *(f"{self.prefix}{name}" for name in ranks)))
            return {name: name}
        whole = {name.lower() for name in self.opened.columns}
        pairs = {}
        for part in [str(on)] if str(on).lower() in whole else str(on).split(","):
            name, _, column = ("", "", part) if part.strip().lower() in whole else part.rpartition("=")
            self._refuse_misordered(name.strip(), column.strip())
            key = self.find_column("on", column.strip(), (column.strip(), f"{self.prefix}{column.strip()}"))
            pairs[key] = name.strip() or key
        return pairs

    def _refuse_misordered(self, name: str, column: str) -> None:
        """Refuse a pair of `on` with two signs, or with the column of the labels first."""
        there = {*map(str.lower, self.opened.columns)}
        if name.endswith("="):
            raise InputError(f"--on {name}={column} has two signs", f"--on {name.rstrip(' =')}={column}")
        if name.lower() in there and not {column.lower(), f"{self.prefix}{column}".lower()} & there:
            raise InputError(
                f"{self.opened.name}: the label table has no column '{column}'",
                f"the column of the list comes first: --on {column}={name} where the list has '{column}'",
            )

    def label(self, options: LabelColumns, candidates: Sequence[str]) -> str | None:
        """Column of the label; None where a table of positives has none, and none was named."""
        if options.labels_are == "positives" and options.label == "label":
            return self.perhaps("label", None, candidates)
        return self.find_column("label", options.label, candidates)

    def person(self) -> str | None:
        """Name of the file; None where a column is called so, an `InputError` without a file."""
        if BY_FILE in map(str.lower, self.opened.columns):
            return None
        if self.opened.file is None:
            raise InputError(
                f"{self.opened.name}: --annotator {BY_FILE} takes the name of a file, and this is none",
                "add a column `annotator`",
            )
        return self.opened.file

    def perhaps(self, option: str, wanted: str | None, candidates: Sequence[str]) -> str | None:
        if wanted is not None:
            return self.find_column(option, wanted, (wanted,))
        there = {name.lower() for name in self.opened.columns}
        present = [name for name in candidates if name.lower() in there]
        return self.find_column(option, present[0], present) if present else None

    def find_column(self, option: str, wanted: str, candidates: Sequence[str]) -> str:
        count = Counter(name.lower() for name in self.opened.columns)
        for candidate in candidates:
            if count[candidate.lower()] > 1 and not self._exact(candidate):
                raise InputError(
                    f"{self.opened.name}: the label table has two columns '{candidate}'",
                    "rename the one that is not meant",
                )
            for alias, name in self.by_alias.items():
                if name == candidate or (name.lower() == candidate.lower() and not self._exact(candidate)):
                    return alias
        raise InputError(
            f"{self.opened.name}: the label table has no column '{wanted}'",
            f"{did_you_mean(wanted, self.opened.columns)}; name it with --{option} COL",
        )

    def _exact(self, name: str) -> bool:
        return self.opened.columns.count(name) == 1
