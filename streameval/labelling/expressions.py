"""SQL that understands what stands in a column, by the column's type; nothing is cast to text that has a type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streameval.labelling.duckdb_session import literal
from streameval.labelling.key_forms import is_integer, is_number, whole_text
from streameval.labelling.options import is_finite
from streameval.labelling.votes import BLANK, NEGATIVE, POSITIVE, REJECTED, SKIPPED, UNFINISHED

_SECONDS = 1e11  # Unix times beyond this are milliseconds


def rank_of(column: str, kind: str) -> str:
    """A rank as BIGINT, null where it is none, of a quoted column: '17' and '17.0' are both rank 17."""
    if kind == "BIGINT":
        return column
    if is_integer(kind):
        return f"TRY_CAST({column} AS BIGINT)"
    if not is_number(kind):
        return whole_text(f"trim({column}::VARCHAR)", "BIGINT")
    number = f"{column}::DOUBLE"
    return f"CASE WHEN {number} = floor({number}) THEN TRY_CAST({number} AS BIGINT) END"


@dataclass(frozen=True)
class LabelWords:
    """Words of a label column that are named as positive or negative, in small letters."""

    positive: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.positive or self.negative)

    def value_of(self, column: str, kind: str) -> tuple[str, str]:
        """As `value_of`, where words are named: other words are negative unless some are named as such."""
        value, state = value_of(column, kind)
        if not self:
            return value, state
        yes, no = (is_among(column, words) for words in (self.positive, self.negative))
        rest, other = ("'answer'", "0") if self.rest_is_negative(kind) else ("'unreadable'", "NULL")
        return (
            f"CASE WHEN {yes} AND {no} THEN NULL WHEN {yes} THEN 1 WHEN {no} THEN 0 "
            f"WHEN ({state}) = 'unreadable' THEN {other} ELSE {value} END",
            f"CASE WHEN {yes} AND {no} THEN 'unreadable' WHEN {yes} OR {no} THEN 'answer' "
            f"WHEN ({state}) = 'unreadable' THEN {rest} ELSE {state} END",
        )

    def rest_is_negative(self, kind: str) -> bool:
        """Tell whether words that nobody named are negative, in a column of a type."""
        return bool(self.positive) and not self.negative and not is_number(kind)

    def is_unnamed(self, column: str, kind: str) -> str:
        """Tell whether a label is a word that is neither named nor understood anyway."""
        named = is_among(column, (*self.positive, *self.negative))
        return f"({value_of(column, kind)[1]}) = 'unreadable' AND NOT {named}"


def is_among(column: str, words: Sequence[str]) -> str:
    """Give SQL of whether a label is one of some words; a number is, however it is written, and a list that has one."""
    if not words:
        return "false"
    text, named = f"lower(trim({column}::VARCHAR))", ", ".join(map(literal, words))
    numbers = [str(float(word)) for word in words if is_finite(word)]
    same = f" OR TRY_CAST({text} AS DOUBLE) IN ({', '.join(numbers)})" if numbers else ""
    among = f"CASE WHEN {is_list(column)} THEN list_has_any(from_json({text}, '[\"VARCHAR\"]'), [{named}]) END"
    return f"(coalesce({text} IN ({named}){same}, false) OR coalesce({among}, false))"


def is_list(column: str) -> str:
    """Give SQL of whether a label is a JSON list."""
    return f"({is_nested(f'{column}::VARCHAR')} AND json_type({column}::VARCHAR) = 'ARRAY')"


def is_nested(text: str) -> str:
    """Give SQL of whether a text is a list or an object of JSON."""
    return f"coalesce(left(ltrim({text}), 1) IN ('[', '{{') AND json_valid({text}), false)"


def single(column: str, kind: str) -> str:
    """Give SQL of a label without the list around it: the element of a list of one, null of an empty list or object.

    Lists, structures and texts of JSON become text; a list of several elements is one of JSON.
    """
    if is_number(kind) or kind == "BOOLEAN":
        return column
    nested = kind.endswith("]") or kind.startswith(("STRUCT", "MAP"))
    text = f"to_json({column})::VARCHAR" if nested else f"{column}::VARCHAR"
    return (
        f"CASE WHEN NOT {is_nested(text)} THEN {text} "
        f"WHEN json_type({text}) = 'ARRAY' AND json_array_length({text}) = 1 THEN json_extract_string({text}, '$[0]') "
        f"WHEN json_type({text}) = 'ARRAY' AND json_array_length({text}) = 0 THEN NULL "
        f"WHEN json_type({text}) = 'OBJECT' AND len(json_keys({text})) = 0 THEN NULL ELSE {text} END"
    )


def value_of(column: str, kind: str) -> tuple[str, str]:
    """A label as DOUBLE (null where there is none), and its state: answer, skip, blank or unreadable."""
    if kind == "BOOLEAN":
        return f"{column}::INTEGER::DOUBLE", f"CASE WHEN {column} IS NULL THEN 'blank' ELSE 'answer' END"
    if is_number(kind):
        number = f"{column}::DOUBLE"
        state = (
            f"CASE WHEN {column} IS NULL OR isnan({number}) THEN 'blank' WHEN isfinite({number}) THEN 'answer' "
            "ELSE 'unreadable' END"
        )
        return f"CASE WHEN isfinite({number}) THEN {number} END", state
    text = f"lower(trim({column}::VARCHAR))"
    number = f"TRY_CAST({text} AS DOUBLE)"
    value = (
        f"CASE WHEN {text} IN {POSITIVE} THEN 1 WHEN {text} IN {NEGATIVE} THEN 0 WHEN {text} IN {BLANK} THEN NULL "
        f"WHEN isfinite({number}) THEN {number} END"
    )
    state = (
        f"CASE WHEN {text} IS NULL OR {text} IN {BLANK} THEN 'blank' WHEN {text} IN {SKIPPED} THEN 'skip' "
        f"WHEN ({value}) IS NULL THEN 'unreadable' ELSE 'answer' END"
    )
    return value, state


def time_of(column: str, kind: str) -> str:
    """A moment as TIMESTAMPTZ, null where it is none; without a zone it is UTC, and a number is Unix time."""
    if kind.startswith(("TIMESTAMP", "DATE")):
        moment = f"{column}::TIMESTAMPTZ"
    elif is_number(kind):
        moment = _unix(f"{column}::DOUBLE")
    else:
        text = f"trim({column}::VARCHAR)"
        moment = f"coalesce(TRY_CAST({text} AS TIMESTAMPTZ), {_unix(f'TRY_CAST({text} AS DOUBLE)')})"
    return f"CASE WHEN isfinite({moment}) THEN {moment} END"


def _unix(number: str) -> str:
    seconds = f"CASE WHEN abs({number}) > {_SECONDS} THEN {number} / 1000 ELSE {number} END"
    return f"CASE WHEN abs({number}) < 1e14 THEN to_timestamp({seconds}) END"


def text_of(column: str) -> str:
    """A name as text, null where it is blank."""
    return f"nullif(trim({column}::VARCHAR), '')"


def prodigy_choice(answer: str, choice: str) -> str:
    """Prodigy's choice interface: the choice of a submitted task; a rejected one is no vote on the item."""
    listed = f"coalesce({is_list(choice)}, false)"
    only_choice = single(choice, "VARCHAR")
    return f"CASE WHEN NOT {listed} THEN {answer} WHEN {answer} = 'accept' THEN {only_choice} ELSE 'skip' END"


def status_of(column: str) -> str:
    """Say what a tool says of a piece of work as a state: rejected, skip or blank; null of one that counts."""
    text = f"lower(trim({column}::VARCHAR))"
    return (
        f"CASE WHEN {text} IN {REJECTED} THEN 'rejected' WHEN {text} IN {SKIPPED} THEN 'skip' "
        f"WHEN {text} IN {UNFINISHED} THEN 'blank' END"
    )
