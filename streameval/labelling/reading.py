"""Read one label table: joined to the plan by rank, task or key in DuckDB, out of core, and every row accounted for.

The join comes first, so that only rows about planned items are parsed; of the others, only their number is needed, and
where a rank column has statistics (Parquet) even that costs no scan. Nothing is cast to text that has a type.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, NothingMetError, StudyError
from streameval.labelling import expressions as sql
from streameval.labelling.columns import BY_FILE, SourceColumns, find
from streameval.labelling.duckdb_session import Connection, literal, one_line_errors
from streameval.labelling.hints import cells, naming_word
from streameval.labelling.key_forms import first_of_each, is_integer, refuse_ambiguous
from streameval.labelling.match_items import Items, Join, match_keys, refuse_other_items, shared_keys
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import (
    LISTED,
    ROW,
    Opened,
    Rejected,
    database_for,
    name_of,
    open_source,
    place_of,
    source_column,
)
from streameval.labelling.votes import SCHEMA, Votes
from streameval.process.threads import ThreadPool
from streameval.types import Plan


def read_votes(source: Any, plan: Plan, items: Items | None = None, columns: LabelColumns | None = None) -> Votes:
    """Read one label table.

    Args:
        source: Parquet, CSV, TSV, JSONL or JSON, told apart by content; `duckdb:FILE#QUERY`, `sqlite:///FILE#QUERY`,
            `postgresql://…#QUERY`.
        items: What the study knows of its items: its selection, and tasks beyond one per item.

    Raises:
        InputError: A source that cannot be read, lacks a column, or says nothing about this study.
        StudyError: A source whose `se_study` names another study, or whose rows show other items.
    """
    with one_line_errors(name_of(source)), database_for(source) as connection, ThreadPool(1) as pool:
        opened = open_source(connection, source)
        digest = pool.submit(opened.digest) if opened.digest else None
        study_items = items or Items()
        fields = find(
            connection, opened, columns or LabelColumns(), partial(shared_keys, connection, study_items.selection)
        )
        reading = _VoteReading(connection, opened, plan, fields)
        table, counts = reading.run(study_items)
        content = digest.result() if digest else _content(table)
    read = [*map(str, reading.columns_read().values()), *filter(None, [fields.person])]
    identity = hashlib.sha256("\0".join((content, *read)).encode()).hexdigest()[:16]
    votes = Votes(opened.name, identity, table, content=content, columns=reading.columns_read(), **counts)
    return replace(votes, place=place_of(source))


@dataclass(frozen=True)
class _VoteReading:
    connection: Connection
    opened: Opened
    plan: Plan
    columns: SourceColumns

    def columns_read(self) -> dict[str, str | None]:
        """Names by option, as they stand in the source."""
        f = self.columns
        named = {"positive": "\0".join(f.words.positive), "negative": "\0".join(f.words.negative)}
        annotator = f.annotator if f.person is None else BY_FILE
        if f.labels_are == "positives":
            named["labels_are"] = f.labels_are
        return {
            **{"on": "\0".join(f.on), "label": f.label, "annotator": annotator, "time": f.time, "source": f.source},
            **{option: words for option, words in named.items() if words},
        }

    def run(self, items: Items) -> tuple[pa.Table, dict[str, Any]]:
        """Table of votes, and the counts that `Votes` holds."""
        self._check_study()
        join = match_keys(self.connection, self.plan, items, self.columns, self.opened.name)
        rows, strange = self._count(join)
        if items.selection is not None and (self.columns.ours or self.columns.role == "rank"):
            refuse_other_items(self.connection, items.selection, self.columns, join.on, self.opened.name)
        self.connection.execute(f"CREATE TEMP TABLE se_hits AS {self._hits(join.on)}")
        self._refuse_several()
        refuse_words_of_no_row(self.connection, self.columns, self.opened.name, "se_hits")
        table = self._parse()
        listed = self._unknown(join.unknown) if strange else SCHEMA.empty_table()
        rejected = self.opened.rejected()
        broken = _rows("unreadable", rejected.table.slice(0, LISTED), self.columns.ours)
        unplanned = rows - table.num_rows - strange
        table = _renumber(pa.concat_tables([table, listed]), rejected)
        counts = {
            "rows": rows + rejected.table.num_rows,
            "unplanned": unplanned,
            "read_as_negative": self._rest(),
            "unlisted": {
                "unknown": strange - listed.num_rows,
                "unreadable": rejected.table.num_rows - broken.num_rows,
            },
        }
        self._check_any(table, broken, counts["rows"], strange)
        unnamed = self._unnamed_negatives(counts["rows"])
        return pa.concat_tables([self._with_lines(pa.concat_tables([table, broken])), unnamed]), {
            **counts, "unnamed": unnamed.num_rows,
        }  # fmt: skip

    def _with_lines(self, table: pa.Table) -> pa.Table:
        if self.opened.lines is None:
            return table
        line = self.opened.lines(table.column("row").to_numpy())
        at = table.column_names.index("line")
        return table.set_column(at, SCHEMA.field("line"), pa.array(line, mask=line < 0))

    def _check_study(self) -> None:
        if not self.columns.ours or self.columns.study is None:
            return
        study = source_column(self.columns.study)
        rows = self.connection.execute(
            f"SELECT DISTINCT {study}::VARCHAR FROM se_given WHERE {study} IS NOT NULL LIMIT 1000"
        ).fetchall()
        foreign = sorted(study for (study,) in rows if study not in self.plan.study_ids)
        if foreign:
            raise StudyError(
                f"{self.opened.name}: its labels belong to study {foreign[0][:40]}, this one is {self.plan.plan_id}",
                "evaluate the study that these tasks were exported from",
            )

    def _count(self, join: Join) -> tuple[int, int]:
        """Rows, and rows whose key is none of this study."""
        (key,) = self.columns.keys if len(self.columns.keys) == 1 else (None,)
        if self.columns.role == "rank" and key is not None and is_integer(self.columns.kind(key)):
            # answered from the statistics of a Parquet file
            column = source_column(key)
            count, present, least, most = self.connection.execute(
                f"SELECT count(*), count({column}), min({column}), max({column}) FROM se_given"
            ).fetchall()[0]
            if count == present and (not count or (least >= 1 and most <= self.plan.n_items)):
                return count, 0
        count, strange, empty, unclear = self.connection.execute(
            f"SELECT count(*), count(*) FILTER (WHERE {join.unknown}), "
            f"count(*) FILTER (WHERE ({join.unknown}) AND {self._empty}), count(*) FILTER (WHERE {join.ambiguous}) "
            "FROM se_given"
        ).fetchall()[0]
        if unclear:
            refuse_ambiguous(self.connection, self.columns.key_kinds, join.ambiguous, self.opened.name)
        return count - empty, strange - empty

    @property
    def _empty(self) -> str:
        """SQL that is true of a row without a value in any cell: spreadsheets save them below a table."""
        return " AND ".join(f"coalesce(trim({source_column(name)}::VARCHAR), '') = ''" for name in self.columns.types)

    def _hits(self, join: str) -> str:
        f = self.columns
        annotator = _perhaps(f.annotator) if f.person is None else literal(f.person)
        return (
            f"SELECT se_known.rank AS rank, se_known.task AS task, {f.label_value} AS label, "
            f"{f.work_status} AS status, "
            f"{annotator} AS annotator, {_perhaps(f.time)} AS time, {_perhaps(f.source)} AS source, "
            f"{ROW} AS row "
            f"FROM se_given JOIN se_known ON {join}"
        )

    def _refuse_several(self) -> None:
        """Refuse a label of several choices where it is not said which of them counts."""
        if self.columns.words or self.columns.label_kind != "VARCHAR":
            return
        for row, label in self.connection.execute(
            f"SELECT row, label FROM se_hits WHERE {sql.is_nested('label')} AND status IS NULL ORDER BY row LIMIT 1"
        ).fetchall():
            raise InputError(
                f"{self.opened.name}: row {row:,} has several labels in one: {label[:60]}",
                "--positive WORD says which choice counts: a row with it is positive, one without it negative; or "
                "name the column of the one that is meant with --label COL",
            )

    def _parse(self) -> pa.Table:
        f = self.columns
        value, state = f.answer("label", "status")
        time = "NULL::TIMESTAMPTZ" if f.time is None else sql.time_of("time", f.kind(f.time))
        late = "false"
        if f.time is not None:  # an answer at no known moment is an answer; what is none needs no moment
            late = f"(({state}) IN ('answer', 'skip') AND ({time}) IS NULL AND {sql.text_of('time')} IS NOT NULL)"
        cell = f"CASE WHEN {late} THEN 'time ' || time::VARCHAR WHEN ({state}) = 'unreadable' THEN label::VARCHAR END"
        votes = self.connection.sql(
            f"""SELECT rank::BIGINT AS rank, ({value})::DOUBLE AS value, {state} AS state, left({cell}, 200) AS said,
                {sql.text_of("annotator")} AS annotator, {time} AS time, {sql.text_of("source")} AS source,
                row::BIGINT AS row, NULL::BIGINT AS line, task::BIGINT AS task, {f.ours} AS ours
                FROM se_hits ORDER BY row"""
        ).to_arrow_table()
        return votes.cast(SCHEMA)

    def _rest(self) -> dict[str, int]:
        """Words that are negative because nobody named them, with their rows; the most frequent first."""
        words, kind = self.columns.words, self.columns.label_kind
        if not words.rest_is_negative(kind):
            return {}
        counted = self.connection.execute(
            f"SELECT left(trim(label::VARCHAR), 40), count(*) FROM se_hits WHERE {words.is_unnamed('label', kind)} "
            "AND status IS NULL "
            f"GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {LISTED}"
        ).fetchall()
        return dict(counted)

    def _unnamed_negatives(self, rows: int) -> pa.Table:
        """Negative labels of the planned items that a table of positives does not name, as rows behind its own."""
        if self.columns.labels_are == "answers":
            return SCHEMA.empty_table()
        person = "NULL" if self.columns.person is None else literal(self.columns.person)
        return self.connection.sql(
            f"""SELECT rank::BIGINT AS rank, 0::DOUBLE AS value, 'answer' AS state, NULL::VARCHAR AS said,
                {person}::VARCHAR AS annotator, NULL::TIMESTAMPTZ AS time, NULL::VARCHAR AS source,
                {rows} + row_number() OVER (ORDER BY rank) AS row, NULL::BIGINT AS line, NULL::BIGINT AS task,
                {self.columns.ours} AS ours
                FROM (SELECT DISTINCT rank FROM se_known ANTI JOIN se_hits USING (rank) WHERE rank IS NOT NULL)
                ORDER BY rank"""
        ).to_arrow_table().cast(SCHEMA)  # fmt: skip

    def _unknown(self, unknown: str) -> pa.Table:
        key = " || ', ' || ".join(f"coalesce({source_column(k)}::VARCHAR, '')" for k in self.columns.keys)
        strangers = self.connection.sql(
            f"SELECT left({key}, 200) AS said, {ROW}::BIGINT AS row FROM se_given "
            f"WHERE ({unknown}) AND NOT ({self._empty}) LIMIT {LISTED}"
        ).to_arrow_table()
        return _rows("unknown", strangers, self.columns.ours)

    def _check_any(self, table: pa.Table, broken: pa.Table, rows: int, strange: int) -> None:
        """A table that says nothing about this study was given by mistake."""
        name, key = self.opened.name, ", ".join(self.columns.keys)
        states = table.column("state").to_pylist()
        if {"answer", "skip"} & set(states):
            return
        if not rows:
            raise InputError(f"{name}: the label table has no rows")
        ranks = f"ranks of this list are 1..{self.plan.n_items:,}; is this label table about another ranking?"
        hint = ranks if self.columns.role == "rank" else "give the table that was made from this study's tasks"
        if self.columns.role == "key":
            hint += f": {self._first_of_each()}"
        self._refuse_first(table, "unreadable", self.columns.label or "label", self._readable(table))
        self._refuse_first(table, "unknown", key, hint, strange)
        if broken.num_rows:
            first = broken.slice(0, 1).to_pylist()[0]
            what = cells(first["said"]) or f"cannot be read ({first['said'][:80]})"
            raise InputError(f"{name}: row {first['row']:,} {what}", "every row has a cell for each name in the head")
        if states:
            raise InputError(f"{name}: none of its {len(states):,} rows about planned items has a label yet")
        raise NothingMetError(
            f"{name}: none of its {rows:,} rows is about a planned item ({key} matches nothing: "
            f"{self._first_of_each()})",
            "give the table that was made from this study's tasks, or name the column with --on COL",
        )

    def _readable(self, table: pa.Table) -> str:
        """Say which labels can be read, and what lets the first one be read that cannot."""
        unread = table.column("said").filter(pc.equal(table.column("state"), "unreadable")).drop_null()
        named = f"; {naming_word(unread[0].as_py().strip(), self.columns.words)}" if len(unread) else ""
        return f"labels are 1/0, true/false, yes/no or a grade{named}"

    def _first_of_each(self) -> str:
        """Show a key of the rows, and one of the planned items."""
        by_items = self.columns.role == "key"
        item_keys = "SELECT * EXCLUDE rank FROM se_selection" if by_items else "SELECT key0 AS rank FROM se_known"
        return first_of_each(self.connection, self.columns.key_kinds, f"({item_keys})", "of the first planned item")

    def _refuse_first(self, table: pa.Table, state: str, what: str, hint: str, count: int | None = None) -> None:
        """Refuse rows of a state, of which there are `count` (by default those that `table` lists)."""
        alike = table.filter(pc.equal(table.column("state"), state))
        if alike.num_rows:
            row = alike.slice(0, 1).to_pylist()[0]
            raise InputError(
                f"{self.opened.name}: row {row['row']:,} has {what} '{(row['said'] or '')[:40]}'"
                f"{_and_more(count or alike.num_rows)}, and no row is a label of a planned item",
                hint,
            )


def refuse_words_of_no_row(connection: Connection, columns: SourceColumns, name: str, rows: str) -> None:
    """Refuse words that were named and do not occur, where others do that nobody named: they are misspelt.

    Where other words are negative, each of the words has to occur; where negative ones are named, so that others
    are unreadable, one of each option. Where every word that occurs is named or understood anyway, nothing is
    misread: a file of the first answers may have no positive one.

    Args:
        name: Of the source, for messages.
        rows: Table of the rows that matter: `label` and `status`, as `SourceColumns` has them.
    """
    words, kind = columns.words, columns.label_kind
    strange = f"{words.is_unnamed('label', kind)} AND status IS NULL"
    if not words or not connection.execute(f"SELECT 1 FROM {rows} WHERE {strange} LIMIT 1").fetchall():
        return

    def occurs(word: str) -> bool:
        """Tell whether a word is a label, of a row that matters or of any."""
        places = rows, f"(SELECT {columns.label_value} AS label FROM se_given)"
        same = sql.is_among("label", (word,))
        return any(connection.execute(f"SELECT 1 FROM {place} WHERE {same} LIMIT 1").fetchall() for place in places)

    each = [(word,) for word in words.positive] if words.rest_is_negative(kind) else [words.positive]
    for option, named in (*(("--positive", word) for word in each), ("--negative", words.negative)):
        if named and not any(map(occurs, named)):
            raise InputError(
                f"{name}: {option} {','.join(named)}: no label is {' or '.join(map(repr, named))}; "
                f"there are {_words_of(connection, rows)}",
                "check the spelling; where a word is still to come, say what the words mean that are there",
            )


def _words_of(connection: Connection, rows: str) -> str:
    """List the labels, the most frequent first, with their rows."""
    there = connection.execute(
        f"SELECT left(label::VARCHAR, 40), count(*) FROM {rows} WHERE label IS NOT NULL AND status IS NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 6"
    ).fetchall()
    return ", ".join(f"'{label}' ({count:,})" for label, count in there)


def _perhaps(name: str | None) -> str:
    """A column of the source; NULL where there is none."""
    return "NULL" if name is None else source_column(name)


def _rows(state: str, listed: pa.Table, ours: bool) -> pa.Table:
    """Rows of which only the number and what stood there is known."""
    columns = {name: pa.nulls(listed.num_rows, SCHEMA.field(name).type) for name in SCHEMA.names}
    columns |= {"row": listed.column("row"), "said": listed.column("said")}
    columns |= {"state": pa.array([state] * listed.num_rows, pa.string()), "ours": pa.array([ours] * listed.num_rows)}
    return pa.table(columns).cast(SCHEMA)


def _renumber(table: pa.Table, rejected: Rejected) -> pa.Table:
    if not rejected.uncounted.size:
        return table
    rows = pa.array(rejected.renumber(table.column("row").to_numpy()))
    return table.set_column(table.column_names.index("row"), "row", rows)


def _content(table: pa.Table) -> str:
    """Hash of what a query said about this study, in whatever order it said it."""
    keys = [(name, "ascending") for name in SCHEMA.names if name not in ("row", "line", "ours")]
    ordered = table.take(pc.sort_indices(table, sort_keys=keys)).drop_columns(["row"]).combine_chunks()
    sha = hashlib.sha256()
    for batch in ordered.to_batches():
        sha.update(batch.serialize())
    return sha.hexdigest()


def _and_more(count: int) -> str:
    return f", and {count - 1:,} more rows like it" if count > 1 else ""
