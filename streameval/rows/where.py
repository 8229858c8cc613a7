"""`--where`: a condition on partition keys, which keeps or drops whole files."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, did_you_mean
from streameval.text import first_line

_TEXT = re.compile(r"(?:\b[a-z]+\s*)?'(?:[^']|'')*'", re.IGNORECASE)  # with the type that may stand before it
_DATE = re.compile(r"((?:and|between|like|not|or)\s*)?('[0-9]{4}-[0-9]{2}-[0-9]{2}')", re.IGNORECASE)


def choose(keys: pa.Table, condition: str, where: str) -> list[bool]:
    """Return which files a condition keeps.

    Args:
        keys: Partition keys: a row per file, a column per key.
        condition: SQL, such as `day >= '2026-11-01' and region in ('eu', 'us')`; a key that is null satisfies no
            comparison. Where `day` is a date, `'2026-11-01'` is one.
        where: The source, for messages.

    Raises:
        InputError: It cannot be read, names anything but partition keys, is no condition, or keeps nothing; without
            Polars.
    """
    need_polars("--where")
    import polars as pl

    try:
        expression = pl.sql_expr(condition)
        strangers = sorted(set(expression.meta.root_names()) - set(keys.column_names))
        if strangers:
            raise InputError(
                f"{where}: '{strangers[0]}' in --where is not a partition key",
                f"a condition chooses whole files; {did_you_mean(strangers[0], keys.column_names)}",
            )
        kept = _evaluate(keys, condition)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise InputError(f'{where}: --where "{condition}" cannot be understood ({first_line(error)})') from error
    if kept.dtype != pl.Boolean or len(kept) != keys.num_rows:
        raise InputError(f'{where}: --where "{condition}" is no condition', "compare a partition key with a value")
    if not kept.any():
        raise InputError(f'{where}: --where "{condition}" leaves none of {keys.num_rows:,} files')
    return [bool(is_kept) for is_kept in kept.to_list()]


def need_polars(what: str) -> None:
    """Refuse what Polars evaluates where it was left out of an installation."""
    try:
        importlib.import_module("polars")
    except ImportError as error:
        raise InputError(f"{what} needs Polars, which is not installed", "pip install polars") from error


def _evaluate(keys: pa.Table, condition: str) -> Any:
    """Evaluate a condition; where Polars will not compare a time with a text, texts that are dates are dates."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(keys))
    try:
        return frame.select(kept=pl.sql_expr(condition)).to_series()
    except pl.exceptions.PolarsError:
        dated = _TEXT.sub(_as_date, condition)
        if dated == condition:
            raise
        return frame.select(kept=pl.sql_expr(dated)).to_series()


def _as_date(text: re.Match[str]) -> str:
    match = _DATE.fullmatch(text[0])
    return f"{match[1] or ''}date {match[2]}" if match else text[0]


def keys_table(rows: Sequence[Sequence[tuple[str, Any]]]) -> pa.Table:
    """Make a table of partition keys, given for each file as (name, value) pairs."""
    names = [name for name, _ in rows[0]] if rows else []
    return pa.table({name: pa.array([dict(row).get(name) for row in rows], pa.large_string()) for name in names})
