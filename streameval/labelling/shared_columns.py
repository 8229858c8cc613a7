"""Columns that a label table shares with the items: rows that disagree with them are about other items.

Only texts and whole numbers are compared, and only as far as programs keep them: a spreadsheet cuts texts, shortens
numbers, turns `MAR1` into a date and what it takes for a formula into an error; encodings lose letters, label tools
escape them. What such a round trip can make of a value agrees with it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

import pyarrow as pa

from streameval.errors import StudyError
from streameval.labelling.columns import SourceColumns
from streameval.labelling.duckdb_session import Connection, quote
from streameval.labelling.names import ANSWERS
from streameval.labelling.readers import ROW, given
from streameval.text import number_of

_BLANK = {"", "nan", "none", "null", "na", "n/a", "nat", "<na>"}
_TAKEN_FOR_DATE = re.compile(r"[^\W\d]{3,9}[-/. ]?\d{1,4}|\d{1,4}[-/.]\d{1,4}([-/.]\d{1,4})?")
_DATE = re.compile(r"\d{1,4}[-/. ]+\w{1,9}\.?([-/. ]\d{1,4})?([ T].*)?")
_MONTH = re.compile(r"([^\W\d]{3})\.?[- ](\d\d)")
_CUT = 20  # letters and digits that a text has to begin with to be the beginning of a longer one
_ROUNDED = 1e-5  # what six digits, as a spreadsheet shows numbers of twelve, leave open
_NAMED = 3
_LONGEST = 30


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
        shared |= {theirs[one]: name for one in exported if one in theirs}
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


def _disagreeing(connection: Connection, names: tuple[str, str], join: str, known: Mapping[int, str]) -> dict[int, str]:
    theirs, mine = given(names[0]), f"se_items.{quote(names[1])}::VARCHAR"
    rows = connection.execute(
        f"SELECT {ROW}, {mine}, {theirs}::VARCHAR FROM se_given JOIN se_known ON {join} "
        f"JOIN se_items ON se_items.rank = se_known.rank WHERE {mine} <> {theirs}::VARCHAR"
    )
    wrong = {}
    while batch := rows.fetchmany(10_000):
        for row, item, cell in batch:
            if row not in known and not agree(item, cell):
                wrong[row] = f"row {row:,} has {names[0]} '{_short(cell)}', its item '{_short(item)}'"
    return wrong


def agree(item: str, said: str) -> bool:
    """Whether a text may be what programs made of an item's.

    >>> agree("=SUM(1)", "'=SUM(1)"), agree("00123", "123"), agree("MARCH1", "1-Mar"), agree("cat", "dog")
    (True, True, True, False)
    """
    text = html.unescape(said).strip()
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
    whole, part = (re.sub("[^a-z0-9]", "", one) for one in (whole, part))
    return whole == part or (len(part) >= _CUT and whole.startswith(part))


def _as_date(item: str, text: str) -> bool:
    """Whether what a spreadsheet takes for a date came back as one: `MAR1` as `1-Mar`, `March 2001` as `Mar-01`."""
    if not _TAKEN_FOR_DATE.fullmatch(item):
        return False
    month = _MONTH.fullmatch(text)
    short = month is not None and item[:3].casefold() == month[1].casefold() and item.endswith(month[2])
    return short or bool(_DATE.fullmatch(text))


def _letters(text: str) -> str:
    """Letters and digits alone: signs, spaces and line ends are what programs change."""
    return "".join(one for one in unicodedata.normalize("NFKC", html.unescape(text)).casefold() if one.isalnum())


def _same_number(item: str, text: str) -> bool:
    try:
        mine, theirs = (float(one.strip().lstrip("'").replace(",", ".")) for one in (item, text))
    except ValueError:
        return False
    return mine == theirs or (abs(mine) >= 1e11 and abs(mine - theirs) <= _ROUNDED * abs(mine))


def _short(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
