"""Rows of many rankings as they are stored: which ranking, its score as an order key, its label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.counting.labelled_rows import PLAIN, LabelledRows, label_numbers
from streameval.errors import InputError
from streameval.kernels.jit import read_only, small
from streameval.kernels.order import SEED, float32_words
from streameval.kernels.ranking_metrics import GRADES
from streameval.kernels.words import Words
from streameval.labelling.hints import naming_grades, naming_word, plain
from streameval.labelling.label_values import refuse_words_of_no_row
from streameval.labelling.options import LabelMeaning
from streameval.order.item_keys import check_key, first_missing, refuse_inexact, stored_type
from streameval.order.scan import key_hashes
from streameval.order.scores import Keys, ScoreOrder
from streameval.per_query.options import PerRanking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions
from streameval.scans.threads import own_room
from streameval.scans.units import Unit
from streameval.text import number_of, row_of
from streameval.typing import AnyArray, BoolArray, Int32Array, Int64Array, UInt8Array, UInt64Array

_SECOND_SEED = SEED ^ np.uint64(0x5851F42D4C957F2D)
NOTHING = np.empty(0, np.uint64)
_HIGHEST = 1000  # 2^1000 is a gain


@dataclass(frozen=True)
class RowBatch:
    """Some rows.

    Attributes:
        low, high (uint64 arrays): What tells rankings apart: the value of the one column of integers that names them,
            and `high` is empty; else 128 bits of hash of all columns that do. Two rankings of 2^40 share these with a
            probability below 1e-14. Rows that were parted may have `low` in 32 bits.
        keys (uint64 or uint32 array): Order keys of the scores, the best has the smallest; see `ManyRows.key_type`.
        labels (uint8 array): Grades; those marked `NEVER` are of items that a ranking never returned.
        items (uint64 array): Hashes of what names the items; empty where nothing does.
        table: Columns that are carried along: those of the ranking's name, unless it is an integer, and of the item's,
            where it breaks ties.
    """

    low: Words = field(repr=False)
    high: UInt64Array = field(repr=False)
    keys: Words = field(repr=False)
    labels: UInt8Array = field(repr=False)
    items: UInt64Array = field(repr=False)
    table: pa.Table = field(repr=False)

    @property
    def rows(self) -> int:
        """Tell how many."""
        return int(self.labels.size)

    def cut(self, first: int, last: int) -> RowBatch:
        """Consecutive rows; nothing is copied."""
        arrays = {name: getattr(self, name)[first:last] for name in ARRAYS}
        return RowBatch(**arrays, table=self.table.slice(first, last - first))

    def starts(self) -> Int64Array:
        """Rows whose ranking is not that of the row before; the first row always."""
        return first_of_each(self.low, self.high)

    def rows_at(self, rows: Int64Array) -> RowBatch:
        """Some rows, ascending."""
        arrays = {name: array[rows] if (array := getattr(self, name)).size else array for name in ARRAYS}
        return RowBatch(**arrays, table=self.table.take(pa.array(rows)) if self.table.num_columns else self.table)

    def copy(self) -> RowBatch:
        """Give the same rows, in memory of their own."""
        return RowBatch(**{name: getattr(self, name).copy() for name in ARRAYS}, table=self.table)

    @staticmethod
    def concatenate(parts: Sequence[RowBatch]) -> RowBatch:
        """Rows of several batches, one after another."""
        if len(parts) == 1:
            return parts[0]
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        return RowBatch(**arrays, table=pa.concat_tables([part.table for part in parts]))


ARRAYS = ("low", "high", "keys", "labels", "items")


def first_of_each(low: Words, high: UInt64Array) -> Int64Array:
    """Places whose ranking is not that of the place before, by what tells rankings apart; the first always."""
    new = np.ones(low.size, np.bool_)
    np.not_equal(low[1:], low[:-1], out=new[1:])
    if high.size:
        new[1:] |= high[1:] != high[:-1]
    return np.flatnonzero(new)


@dataclass(frozen=True)
class ManyRows:
    """Rows of many rankings, as they are stored.

    Args:
        rows: Their labels and scores.
        n_items: How many there are.
        names: Type of each column that names a ranking.
        item: Type of the column that names the item.
        ungraded: Whether labels above 1 are refused, because positives that were never returned have no grade.
        levels: Grades that there are, ascending, where some are `GRADES` or more: labels are then numbers in it.
        judged: Whether the table of positives is one of judgements: nobody judged what it does not name.
    """

    rows: LabelledRows
    n_items: int
    options: PerRanking
    names: pa.Schema
    fingerprint: str
    item: pa.DataType | None = None
    ungraded: bool = False
    judged: bool = False
    levels: tuple[int, ...] | None = None

    @staticmethod
    def open(ranking: Ranking, label: str, options: PerRanking) -> ManyRows:
        """Open them; an `InputError` names a column that is missing, or cannot name a ranking or item."""
        _refuse_unused(ranking.options)
        there = ranking.rows.all_names()
        wanted = (*options.per, label, *([options.key] if options.key else []))
        for name in wanted:
            if name not in there:
                raise InputError(f"the ranking has no column '{name}'", ranking.rows.hint_for(name))
        for name in (*options.per, *([options.key] if options.key else [])):
            for place, kind in ranking.rows.types(name):
                check_key(kind, name, place)
        names = pa.schema([(name, stored_type(ranking.rows.types(name)[0][1])) for name in options.per])
        item = stored_type(ranking.rows.types(options.key)[0][1]) if options.key else None
        order = ranking.order
        units = ranking.rows.units(label) if order is None else order.units
        refuse_words_of_no_row((unit.read([label]).column(0) for unit in units), options.words, f"column '{label}'")
        if order is None:
            labelled = LabelledRows(units, label)
            return ManyRows(labelled, ranking.n_items, options, names, ranking.fingerprint, item)
        scores = order.order
        if options.ties == "trec_eval" and scores.kind != "decimal":
            scores = ScoreOrder("float32", scores.ascending)
        labelled = LabelledRows(units, label, order.score, scores)
        return ManyRows(labelled, ranking.n_items, options, names, ranking.fingerprint, item)

    @staticmethod
    def open_unlabelled(ranking: Ranking, options: PerRanking) -> ManyRows:
        """Open rows of which no label is read."""
        return ManyRows.open(ranking, options.per[0], options)

    @property
    def whole(self) -> bool:
        """Tell whether one column of integers names the rankings."""
        return len(self.names) == 1 and pa.types.is_integer(self.names.types[0])

    @property
    def carried(self) -> tuple[str, ...]:
        """Columns that go with the rows."""
        item = (self.options.key,) if self.options.ties == "trec_eval" and self.options.key else ()
        return (*(() if self.whole else self.options.per), *item)

    def read(self, unit: Unit) -> RowBatch:
        """Decode one unit; an `InputError` names the place of a name, score or label that cannot be used.

        The rows lie in room of the thread, and are lost when it reads again: what is to stay has to be copied.
        """
        item, high = self.options.key, NOTHING
        low = self._plain_names(unit)
        missing = [] if low is not None else list(self.options.per)
        table = unit.read(list(dict.fromkeys([*missing, *([item] if item else [])])))
        if low is None:
            low, high = self.identities(table.select(missing), unit.place)
        items = NOTHING
        if item is not None:
            refuse_nameless(table.select([item]), unit.place, "every row names its item, or leave --key out")
            items = key_hashes(table.select([item]))
        labels = self._labels(unit)
        highest = labels.max() if labels.size else 0
        if self.ungraded and (highest > 1 or self.levels):
            above = self.levels[highest] if self.levels else highest
            raise InputError(f"{unit.place}: labels go up to {above}, and the table of positives has no grades",
                             f"give it a column '{self.rows.label}', as the list has")  # fmt: skip
        return RowBatch(low, high, self._keys(unit), labels, items, self._carry(table))

    @property
    def key_type(self) -> np.dtype[Any]:
        """Type of the order keys: 32 bits where these hold every key."""
        order = self.rows.order
        narrow = self.n_items < 1 << 32 if order is None else order.kind == "float32"
        return np.dtype(np.uint32 if narrow else np.uint64)

    def without_units(self) -> ManyRows:
        """Give the same without its row groups and its table of positives: for workers, whose shares have their own."""
        return replace(self, rows=replace(self.rows, units=()), options=replace(self.options, positives=None))

    def _plain_names(self, unit: Unit) -> UInt64Array | None:
        """Give what tells the rankings of rows apart, where it lies there as it is stored; None: read the columns."""
        if not self.whole:
            return None
        values = unit.numbers(self.options.per[0], own_room(unit.rows, "names"), "any")
        if values is None or pa.from_numpy_dtype(values.dtype) != self.names.types[0]:
            return None
        return values.astype(np.int64, copy=False).view(np.uint64)

    def _labels(self, unit: Unit) -> UInt8Array:
        words = self.options.words
        if words == PLAIN and (bits := unit.bits(self.rows.label)) is not None:
            return np.unpackbits(bits.view(np.uint8), count=unit.rows, bitorder="little")
        label = self.rows.label
        return grades(unit.read([label]).column(0), label, unit.place, words=words, levels=self.levels)

    def _keys(self, unit: Unit) -> Words:
        """Order keys of the scores; trec_eval reads scores as 32-bit floats, and these are its ties."""
        order, score, first = self.rows.order, self.rows.score, unit.first_position
        if order is None or score is None:
            return np.arange(first, first + unit.rows, dtype=self.key_type)
        if order.kind != "float32":
            return self.rows.keys(unit)
        out = own_room(unit.rows, "keys").view(np.uint32)[: unit.rows]
        missing, flip = 0, np.uint32(order.flip >> np.uint64(32))
        values = unit.numbers(score, own_room(unit.rows), "any")
        if values is None or values.dtype != np.float32:
            scores = unit.read([score]).column(0).cast(pa.float32(), safe=False).combine_chunks()
            missing = scores.null_count
            values = np.empty(0, np.float32) if missing else scores.to_numpy()
        bits = read_only(values.view(np.uint32))
        with small(bits.size):
            missing += float32_words(bits, flip, out)
        self.rows.check(unit, Keys(NOTHING, NOTHING, missing))
        return out

    def _carry(self, table: pa.Table) -> pa.Table:
        if not self.carried:
            return pa.table({})
        columns = []
        for name in self.carried:
            column = table.column(name)
            column = column.cast(self.names.field(name).type) if name in self.names.names else _as_text(column)
            columns.append(column)
        return pa.table(columns, names=list(self.carried)).combine_chunks()

    def identities(self, names: pa.Table, place: str) -> tuple[UInt64Array, UInt64Array]:
        """Give what tells the rankings of rows apart; see `RowBatch`."""
        refuse_nameless(names, place, "every row belongs to a ranking")
        if self.whole:
            return names.column(0).cast(self.names.types[0]).to_numpy().astype(np.int64).view(np.uint64), NOTHING
        return key_hashes(names), key_hashes(names, _SECOND_SEED)

    def names_of(self, low: Words, table: pa.Table, rows: Int64Array | Int32Array) -> list[pa.Array]:
        """Values of the columns that name rankings: `low` of each, and the table and a row in it; see `RowBatch`."""
        if self.whole:
            values = low.astype(np.uint64, copy=False).view(np.int64)
            return [pa.array(values).cast(self.names.types[0], safe=False)]
        picked = table.select(list(self.options.per)).take(pa.array(rows))
        return [column.combine_chunks() for column in picked.columns]


def _refuse_unused(options: RankingOptions) -> None:
    """Refuse what describes the order of one ranking and would be passed over."""
    if options.key:
        raise InputError(f"--key ({', '.join(options.key)}) breaks ties of one ranking, and not of many",
                         "leave it out; tied items are ordered by a hash of where they are stored")  # fmt: skip
    if options.nan != "refuse":
        raise InputError(f"--nan is '{options.nan}', which is for one ranking: with many, every item needs a score",
                         "leave it out, and give such items the lowest score")  # fmt: skip


def refuse_nameless(names: pa.Table, place: str, hint: str) -> None:
    """Refuse (`InputError`) rows without a name, null or NaN, and names that are floats but no exact whole numbers."""
    if gone := first_missing(names):
        name, row, count = gone
        what = "null or NaN" if pa.types.is_floating(stored_type(names.schema.field(name).type)) else "null"
        raise InputError(f"{row_of(place, row)}: {number_of(count, 'row')} without {name} ({what})", hint)
    refuse_inexact(names, place)


class HighGradeError(InputError):
    """A grade is `GRADES` or more: labels have to be read as numbers of levels."""


def grades(
    column: pa.ChunkedArray, name: str, place: str, hint: str | None = None, words: LabelMeaning = PLAIN,
    levels: Sequence[int] | None = None,
) -> UInt8Array:  # fmt: skip
    """Labels as whole numbers below `GRADES`, or as numbers of levels.

    Args:
        hint: What to do where labels are missing.
        words: What they mean.
        levels: All grades that there are, ascending; None: they are their own numbers.

    Raises:
        InputError: It names the place of the first that is no grade.
        HighGradeError: All are, and some are `GRADES` or more.
    """
    values = label_numbers(column, name, place, "not a number or a boolean", words, hint)
    if levels is not None:
        return np.searchsorted(np.array(levels), values).astype(np.uint8)
    with np.errstate(invalid="ignore"):
        narrow = values.astype(np.uint8)
        odd = (narrow >= GRADES) | (narrow != values)
    if np.any(odd):
        _refuse_no_grade(values, place, words)
        raise HighGradeError(f"{place}: label {values[odd].max()} is above {GRADES - 1}", "give lower grades here")
    return narrow


def are_positive(column: pa.ChunkedArray, name: str, place: str, hint: str) -> BoolArray:
    """Tell whether labels, grades of any height, are above 0; errors as of `grades`."""
    values = label_numbers(column, name, place, "not a number or a boolean", PLAIN, hint)
    _refuse_no_grade(values, place)
    return np.asarray(values > 0)


def _refuse_no_grade(values: AnyArray, place: str, words: LabelMeaning = PLAIN) -> None:
    with np.errstate(invalid="ignore"):
        odd = ~((values >= 0) & (values <= _HIGHEST) & (np.floor(values) == values))
    if np.any(odd):
        row = int(np.argmax(odd))
        raise InputError(
            f"{row_of(place, row)}: label {plain(values[row])} is not a whole number from 0 to {_HIGHEST:,}",
            _made_grades(values, values[row], words),
        )


def _made_grades(values: AnyArray, odd: float, words: LabelMeaning) -> str:
    """Say how labels of which some are no grades become grades."""
    if words != PLAIN:
        return naming_word(plain(odd), words)
    gains, named = "labels are gains of nDCG: store them as whole numbers", naming_grades(values)
    return gains if named is None else f"{gains}, or say which are positive, such as {named}"


def levels_of(units: Iterable[Unit], label: str, words: LabelMeaning) -> set[int]:
    """Grades that there are, of any height; an `InputError` where there are more than `GRADES`."""
    levels: set[int] = set()
    for unit in units:
        values = label_numbers(unit.read([label]).column(0), label, unit.place, "not a number or a boolean", words)
        _refuse_no_grade(values, unit.place, words)
        levels.update(int(level) for level in np.unique(values))
        if len(levels) > GRADES - 1:
            raise InputError(f"{unit.place}: there are {len(levels):,} different grades", f"give {GRADES - 1} at most")
    return levels


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.large_string())
