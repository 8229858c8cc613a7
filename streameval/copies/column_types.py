"""Types of columns of text: another one than text only where every value, read as that, is written the same again.

So `007` stays a text, and 1.50 does; 7, -0.25, 2026-11-01 and true become what they look like. Nothing is guessed from
the first rows: all are looked at. Scores alone have to be numbers or times, however these are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streameval.errors import InputError, did_you_mean
from streameval.labelling.duckdb_session import Connection, literal, quote
from streameval.labelling.readers import ROW, Opened, distinct
from streameval.rows.options import NEEDS_SCORE
from streameval.text import those_with

TEXT = "VARCHAR"
_KINDS = ("BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP")  # the first that fits is taken
_SCORES = ("BIGINT", "UBIGINT", "DOUBLE", "TIMESTAMP")
_BLANK = ("", "nan", "na", "n/a", "null", "none", "<na>")  # what programs write for a score that is not there
_SAMPLE = 2048


@dataclass(frozen=True)
class ColumnTypes:
    """Types that the columns of a file, or of several, may be of.

    Attributes:
        fits: By name the types that fit every value, the one to take first; None where there is no value.
        rows: Rows that were looked at.
    """

    fits: dict[str, tuple[str, ...] | None]
    rows: int

    def chosen(self) -> dict[str, str]:
        """By name the type to take."""
        return {name: next(iter(fits or ()), TEXT) for name, fits in self.fits.items()}

    def meet(self, other: ColumnTypes) -> ColumnTypes:
        """Give what fits both; of the same columns."""
        return ColumnTypes(
            {name: _both(fits, other.fits[name]) for name, fits in self.fits.items()}, self.rows + other.rows
        )


def _both(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    return tuple(kind for kind in first if kind in second)


def column_names(opened: Opened) -> list[str]:
    """Names of the columns of a source, as its copy has them; a number for one that has none."""
    return [name or f"column_{place}" for place, name in enumerate(opened.columns, 1)]


def types_of(connection: Connection, opened: Opened, score: str | None, nan: str) -> ColumnTypes:
    """Look at every value of `se_given`.

    Raises:
        InputError: Scores that are missing, unless they come last, or neither numbers nor times; names the first.
    """
    names = column_names(opened)
    aliases = dict(zip(names, distinct(list(opened.columns)), strict=True))
    if score is not None and score not in names:
        raise InputError(f"{opened.name}: there is no column '{score}'", did_you_mean(score, names))
    some = f"(SELECT * FROM se_given LIMIT {_SAMPLE})"
    candidates: dict[str, tuple[str, ...]] = {name: _SCORES if name == score else _KINDS for name in names}
    sampled, _ = _fitting(connection, some, aliases, candidates, score)
    # a type that does not fit the sampled rows is not tried again
    left = {name: candidates[name] if kinds is None else kinds for name, kinds in sampled.fits.items()}
    fitting, missing = _fitting(connection, "se_given", aliases, left, score)
    if score is not None and (fitting.fits[score] == () or missing[score]):
        _refuse_scores(connection, opened, (score, aliases[score]), fitting.fits[score] == (), nan)
    return fitting


def _fitting(
    connection: Connection,
    rows: str,
    aliases: dict[str, str],
    candidates: dict[str, tuple[str, ...]],
    score: str | None,
) -> tuple[ColumnTypes, dict[str, int]]:
    """Tell which types fit the values of some rows, and how many values are missing in each column."""
    tried = [(name, kind) for name, kinds in candidates.items() for kind in kinds]
    mismatches = [_mismatches(quote(aliases[name]), kind, name == score) for name, kind in tried]
    there = [f"count({_present(quote(alias), name == score)})" for name, alias in aliases.items()]
    query = f"SELECT count(*), {', '.join([*there, *mismatches])} FROM {rows}"
    (count, *counts) = connection.execute(query).fetchall()[0]
    fits: dict[str, tuple[str, ...] | None] = {
        name: () if present else None for name, present in zip(aliases, counts, strict=False)
    }
    for (name, kind), wrong in zip(tried, counts[len(aliases) :], strict=True):
        if fits[name] is not None and not wrong:
            fits[name] = (*(fits[name] or ()), kind)
    return ColumnTypes(fits, count), {name: count - there for name, there in zip(aliases, counts, strict=False)}


def _mismatches(column: str, kind: str, is_score: bool) -> str:
    """Say how many values a type would not keep, as SQL."""
    value = _present(column, is_score)
    if is_score and kind in ("DOUBLE", "TIMESTAMP"):
        number = f"try_cast({value} AS {kind})"
        rounded = f"try_cast({value} AS HUGEINT) <> try_cast({number} AS HUGEINT)"
        lossy = f" WHEN NOT contains({value}, '.') THEN {rounded}" * (kind == "DOUBLE")
        return f"count({value}) FILTER (WHERE CASE WHEN {number} IS NULL THEN true{lossy} ELSE false END)"
    written = f"lower({value})" if kind == "BOOLEAN" else value
    return f"count({value}) FILTER (WHERE try_cast({value} AS {kind})::VARCHAR IS DISTINCT FROM {written})"


def _present(column: str, is_score: bool) -> str:
    """A value, as SQL; NULL for a score that is not there."""
    if not is_score:
        return column
    blank = ", ".join(map(literal, _BLANK))
    # not as IN (...): DuckDB makes a join of that, which loses the order of the rows; what begins with a digit, a sign
    # or a point is none of them, which is soon seen
    return (
        f"CASE WHEN {column} >= '+' AND {column} < ':' OR NOT list_contains([{blank}], lower(trim({column}))) "
        f"THEN trim({column}) END"
    )


def as_types(opened: Opened, types: dict[str, str], score: str | None) -> str:
    """Columns of `se_given` as the types that were found, as SQL."""
    pairs = zip(column_names(opened), distinct(list(opened.columns)), strict=True)
    columns = [(_present(quote(alias), name == score), types[name]) for name, alias in pairs]
    return ", ".join(column if kind == TEXT else f"try_cast({column} AS {kind})" for column, kind in columns)


def _refuse_scores(connection: Connection, opened: Opened, score: tuple[str, str], mismatch: bool, nan: str) -> None:
    """Refuse scores that are not there, or are no scores, with the first of them."""
    name, column = score[0], quote(score[1])
    value = _present(column, True)
    wrong = f"{value} IS NOT NULL AND try_cast({value} AS DOUBLE) IS NULL" if mismatch else f"{value} IS NULL"
    if not mismatch and nan == "last":
        return
    count, row = connection.execute(f"SELECT count(*), min({ROW}) FROM se_given WHERE {wrong}").fetchall()[0]
    if not count and mismatch:
        raise InputError(f"{opened.name}: {name} holds whole numbers that are rounded beside fractions or beyond 2^64",
                         "write smaller ones, in the same order")  # fmt: skip
    if not count:
        return
    ((text,),) = connection.execute(f"SELECT left({column}, 40) FROM se_given WHERE {ROW} = {row}").fetchall()
    where = f"{opened.name}: {those_with(count, 'row')}"
    first = f"(first: row {row:,}{_line(opened, row)})"
    if not mismatch:
        raise InputError(f"{where} no {name} {first}", NEEDS_SCORE)
    hint = "write numbers with a point, as 0.95" if "," in (text or "") else "scores are numbers, dates or times"
    raise InputError(f"{where} a {name} that is no number, such as '{text}' {first}", hint)


def _line(opened: Opened, row: int) -> str:
    import numpy as np

    line = -1 if opened.lines is None else int(opened.lines(np.array([row]))[0])
    return "" if line < 0 else f", line {line:,}"


def refuse_odd_head(opened: Opened, names: Sequence[str]) -> None:
    """Refuse a first line that holds numbers: an item would be taken for the names of columns."""
    for name in names:
        try:
            float(name)
        except ValueError:
            continue
        raise InputError(f"{opened.name}: its first line holds '{name}', so it is no row of column names",
                         "put a line with a name for each column before it")  # fmt: skip
