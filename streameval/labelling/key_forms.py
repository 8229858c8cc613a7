"""How keys of label tables are compared with those of items: by value, in one form for each type of the items' column.

| the items' column | its form | what meets it |
|---|---|---|
| integers, decimals of scale 0, floats | whole number | whole numbers of any type, texts of one in decimal digits |
| other decimals | decimal of this scale | decimals, whole numbers, texts of one without an exponent |
| UUIDs | 16 bytes | UUIDs, their bytes, texts of a UUID in any spelling |
| bytes | bytes | bytes, UUIDs, texts of a UUID; the bytes of other texts, with the space around them |
| moments, days | ns since 1970 in UTC | moments of any unit, days, texts of one, to the last digit |
| booleans | true or false | booleans, texts of one |
| text | text without the space around it | text, and any other value as DuckDB writes it |

A float is a key only where it is whole and its type holds both whole numbers beside it, below 2⁵³ (float32: 2²⁴): of a
larger one nobody can tell which item's it was before it became a float.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.duckdb_session import Connection, quote, tables_of_ours
from streameval.text import number_of

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT",
             "UHUGEINT")  # fmt: skip
_EXACT = {"FLOAT": 2**24, "DOUBLE": 2**53}  # below these, a float has both whole numbers beside it
_NANOSECONDS = ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")
_DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)")
_EXPONENT = r"^[-+]?[0-9]+[.,]?([0-9]*)[eE][+]?([0-9]+)$"
# a number: its fraction without the last zeros, its exponent
_NUMBER = r"^[-+]?(?:[0-9]+\.?|[0-9]*\.)([0-9]*?)0*(?:[eE]([-+]?[0-9]+))?$"
_AS_INTEGERS = "give it as integers or as text: floats come of integers with gaps in pandas, where 'Int64' keeps them"


def is_integer(kind: str) -> bool:
    """Tell whether a type holds whole numbers."""
    return kind in _INTEGERS


def is_whole(kind: str) -> bool:
    """Tell whether a type holds nothing but whole numbers: an integer, or a decimal of scale 0."""
    return is_integer(kind) or (kind.startswith("DECIMAL") and kind.endswith(",0)"))


def is_float(kind: str) -> bool:
    """Tell whether a type holds floats."""
    return kind in _EXACT


def is_number(kind: str) -> bool:
    """Tell whether a type holds numbers."""
    return is_integer(kind) or is_float(kind) or kind.startswith("DECIMAL")


def known_key(column: str, kind: str) -> str:
    """The items' own column in the form that its type is compared in, as SQL."""
    return key_of(column, kind, kind)


def key_of(column: str, kind: str, item_type: str) -> str:
    """A key in the form of the items' column, whose SQL type is `item_type`; null where it can be no item's."""
    if is_whole(item_type) or is_float(item_type):
        return _whole_number_sql(column, kind)
    if (decimal := _DECIMAL.fullmatch(item_type)) is not None:
        return _decimal(column, kind, int(decimal[1]))
    if item_type in ("UUID", "BLOB"):
        return _bytes(column, kind, item_type)
    if item_type.startswith(("TIMESTAMP", "DATE")):
        return _moment(column, kind)
    if is_float(kind):
        return f"{_whole_number_sql(column, kind)}::VARCHAR"
    text = f"nullif(trim({column}::VARCHAR), '')"
    return f"TRY_CAST({text} AS BOOLEAN)::VARCHAR" if item_type == "BOOLEAN" else text


def item_value(column: str, kind: str, item_type: str) -> str:
    """SQL of a key as a value of the items' type `item_type`, a UUID as its bytes; null where it can be no item's."""
    if item_type == "VARCHAR" and not is_float(kind):
        return f"{column}::VARCHAR"
    key = key_of(column, kind, item_type)
    if item_type in ("UUID", "BLOB"):
        return f"unhex({key})" if item_type == "BLOB" else f"CASE WHEN length({key}) = 32 THEN unhex({key}) END"
    fine = item_type in _NANOSECONDS
    ticks = f"TRY_CAST({key if fine else f'({key} // 1000)'} AS BIGINT)"
    moment = f"make_timestamp_ns({ticks})" if fine else f"make_timestamp({ticks})"
    value = f"TRY_CAST({moment if item_type.startswith(('TIMESTAMP', 'DATE')) else key} AS {item_type})"
    return f"CASE WHEN {known_key(value, item_type)} = {key} THEN {value} END"  # what a cast rounds is no item's


def ambiguous(column: str, kind: str, item_type: str) -> str:
    """Tell whether a key may have been another one: of a number some digits are gone; as SQL.

    Args:
        item_type: SQL type of the items' column.
    """
    if is_float(kind):
        return f"coalesce(NOT isnan({column}) AND {_inexact(column, kind)}, false)"
    text = f"trim({column}::VARCHAR)"
    if is_number(kind):
        return "false"
    if (decimal := _DECIMAL.fullmatch(item_type)) is not None and not is_whole(item_type):
        return _lost_of_decimal(text, int(decimal[1]))
    if not (is_whole(item_type) or is_float(item_type)):
        return "false"
    decimals, exponent = (f"regexp_extract({text}, '{_EXPONENT}', {group})" for group in (1, 2))
    scientific = f"contains({text}, 'e') OR contains({text}, 'E')"
    cut = f"({scientific}) AND length({decimals}) < TRY_CAST({exponent} AS INTEGER)"
    large = f"({scientific} OR contains({text}, '.')) AND abs(TRY_CAST({text} AS DOUBLE)) >= {_EXACT['DOUBLE']}"
    return f"coalesce(({cut}) OR ({large}), false)"


def ambiguous_rank(column: str, kind: str, last: int) -> str:
    """SQL that tells whether a rank or task number may have been another: whole numbers up to `last` are certain."""
    if is_float(kind):
        return f"coalesce({column} BETWEEN {_EXACT[kind]} AND {last}, false)"
    return ambiguous(column, kind, "BIGINT")


def refuse_ambiguous(connection: Connection, keys: Sequence[tuple[str, str]], rows: str, name: str) -> None:
    """Refuse a source with rows of which `rows` is true: they would join other items.

    Args:
        keys: Names of its key columns, each with its SQL type.
    """
    cells = {key: f"se_given.{quote(key)}" for key, _ in keys}
    text = " || ', ' || ".join(f"coalesce({cell}::VARCHAR, '')" for cell in cells.values())
    ((first, count),) = connection.execute(f"SELECT any_value({text}), count(*) FROM se_given WHERE {rows}").fetchall()
    if not count:
        return
    what = f"{name}: {', '.join(cells)} '{first[:40]}'"
    if any(is_float(kind) for _, kind in keys):
        raise InputError(f"{what} is a float that is no exact whole number, in {number_of(count, 'row')}", _AS_INTEGERS)
    raise InputError(
        f"{what} lost its last digits, in {number_of(count, 'row')}",
        "a program shortened these numbers: give the column as it was, formatted as text there",
    )


def is_readable(kind: pa.DataType) -> bool:
    """Tell whether DuckDB reads columns of a type: neither float16 nor decimals of 256 bits."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return not (pa.types.is_float16(plain) or pa.types.is_decimal256(plain))


def refuse_unreadable_items(items: pa.Schema, where: str) -> None:
    """Refuse (`InputError`) columns of items that DuckDB cannot read, before it blames the labels."""
    for field in items:
        if not is_readable(field.type):
            raise InputError(
                f"{where}: column '{field.name}' is {field.type}, by which no labels can be joined",
                f"give it as integers or as text, in SQL {field.name}::text",
            )


def refuse_inexact_items(connection: Connection, table: str, columns: Sequence[tuple[str, str]], where: str) -> None:
    """Refuse items whose own keys are floats that are no exact whole numbers.

    Args:
        table: Of the items, in DuckDB.
        columns: Names of the key columns, each with its SQL type.
    """
    for column, kind in columns:
        if is_float(kind):
            odd = f"SELECT {quote(column)} FROM {table} WHERE {ambiguous(quote(column), kind, kind)} LIMIT 1"
            for (first,) in connection.execute(odd).fetchall():
                raise InputError(
                    f"{where}: key '{column}' {first} is a float that is no exact whole number", _AS_INTEGERS
                )


def first_of_each(connection: Connection, keys: Sequence[tuple[str, str]], items: str, where: str) -> str:
    """Show the first key of a source and one of the items, each with its type: said where none are the same.

    Args:
        keys: Names of the source's key columns, each with its SQL type.
        items: A table of the items' key columns, in their order, in DuckDB, or a query in brackets.
        where: What the items are called, such as "in the list".
    """
    item_keys = [row[:2] for row in connection.execute(f"DESCRIBE SELECT * FROM {items}").fetchall()]
    shown = []
    for table, columns in (("se_given", keys), (items, item_keys[: len(keys)])):
        cells = ", ".join(f"{quote(name)}::VARCHAR" for name, _ in columns)
        (row,) = connection.execute(f"SELECT {cells} FROM {table} LIMIT 1").fetchall() or [["none"] * len(columns)]
        shown.append(", ".join(f"{name} is {value} ({kind})" for (name, kind), value in zip(columns, row, strict=True)))
    return f"{shown[0]} in the first row, {shown[1]} {where}"


def meeting(mine: pa.Table, theirs: pa.Table) -> int:
    """Count items of one table that are in another, by the keys that are their columns, in one order in both."""
    with tables_of_ours() as connection:
        kinds = []
        for view, table in (("se_mine", mine), ("se_theirs", theirs)):
            connection.register(view, table.rename_columns([f"k{i}" for i in range(table.num_columns)]))
            kinds.append([row[:2] for row in connection.execute(f"DESCRIBE {view}").fetchall()])
        our_key = ", ".join(known_key(name, kind) for name, kind in kinds[0])
        pairs = zip(*kinds, strict=True)
        other = ", ".join(key_of(name, kind, item_type) for (_, item_type), (name, kind) in pairs)
        ((count,),) = connection.execute(
            f"SELECT count(*) FROM se_mine WHERE ({our_key}) IN (SELECT ({other}) FROM se_theirs)"
        ).fetchall()
    return int(count)


def whole_text(text: str, kind: str) -> str:
    """Read a whole number in decimal digits, however a program wrote it: '17', '17.0' or '1.7e1'; null of all else.

    The cast of a text to an integer rounds, and reads 0x1f, 0b1 and 1_000, so that only texts of digits may take that
    way, which is several times as fast.
    """
    fraction, exponent = (f"regexp_extract({text}, '{_NUMBER}', {group})" for group in (1, 2))
    fits = f"length({fraction}) <= coalesce(TRY_CAST({exponent} AS INTEGER), 0)"
    number = f"TRY_CAST(TRY_CAST({text} AS DECIMAL(38, 9)) AS {kind})"
    exact = f"CASE WHEN regexp_matches({text}, '{_NUMBER}') AND {fits} THEN {number} END"
    return f"CASE WHEN regexp_matches({text}, '[^-+0-9]') THEN {exact} ELSE TRY_CAST({text} AS {kind}) END"


def _inexact(column: str, kind: str) -> str:
    return f"({column} <> floor({column}) OR abs({column}) >= {_EXACT[kind]})"


def _whole_number_sql(column: str, kind: str) -> str:
    if is_integer(kind):
        return f"{column}::HUGEINT"
    if is_float(kind):
        return f"CASE WHEN isfinite({column}) AND NOT {_inexact(column, kind)} THEN {column}::HUGEINT END"
    if kind.startswith("DECIMAL"):
        return f"CASE WHEN {column} = floor({column}) THEN TRY_CAST({column} AS HUGEINT) END"
    return whole_text(f"trim({column}::VARCHAR)", "HUGEINT")


def _decimal(column: str, kind: str, scale: int) -> str:
    """Read a decimal of a scale; null of what has more digits behind the point, which a cast rounds."""
    text = f"({_whole_number_sql(column, kind)})::VARCHAR" if is_float(kind) else f"trim({column}::VARCHAR)"
    exact = f"regexp_full_match({text}, '[-+]?[0-9]*(\\.[0-9]{{0,{scale}}}0*)?')"
    return f"CASE WHEN {exact} THEN TRY_CAST({text} AS DECIMAL(38, {scale})) END"


def _lost_of_decimal(text: str, scale: int) -> str:
    """Tell whether a text may have been another decimal of a scale: one that went through a float, as SQL.

    A decimal is written with all digits of its scale, a float beyond 2⁵³ of its units with fewer, or with noughts. One
    digit is what floats are written with, so that it tells nothing of a scale of 1.
    """
    whole = f"length(split_part({text}, '.', 2)) = {scale}" if scale > 1 else "false"
    large = f"abs(TRY_CAST({text} AS DOUBLE)) * 1e{scale} >= {_EXACT['DOUBLE']}"
    return f"coalesce(contains({text}, '.') AND NOT ({whole}) AND {large}, false)"


def _bytes(column: str, kind: str, item_type: str) -> str:
    """Hexadecimal digits of a UUID, of bytes, or of a text that is a UUID or, for BLOB items, names bytes."""
    if kind == "BLOB":
        return f"lower(hex({column}))"
    digits = f"regexp_replace(lower(trim({column}::VARCHAR)), '^urn:uuid:|[-{{}}]', '', 'g')"
    uuid = f"replace(TRY_CAST({digits} AS UUID)::VARCHAR, '-', '')"
    return uuid if item_type == "UUID" else f"coalesce({uuid}, lower(hex({column}::VARCHAR)))"


def _moment(column: str, kind: str) -> str:
    """Nanoseconds since 1970, exact; null of a text that names part of one.

    A text with parts of a µs is null outside the years 1677 to 2262 too, where nothing counts nanoseconds.
    """
    if kind in _NANOSECONDS:
        return f"epoch_ns({column})::HUGEINT"
    if kind.startswith(("TIMESTAMP", "DATE")):
        return f"epoch_us({column}::TIMESTAMPTZ)::HUGEINT * 1000"
    text = f"trim({column}::VARCHAR)"
    part, fine = (f"regexp_matches({text}, '\\.[0-9]{{{digits}}}[0-9]*[1-9]')" for digits in (9, 6))
    return (
        f"CASE WHEN {part} THEN NULL WHEN {fine} THEN epoch_ns(TRY_CAST({text} AS TIMESTAMPTZ_NS))::HUGEINT "
        f"ELSE epoch_us(TRY_CAST({text} AS TIMESTAMPTZ))::HUGEINT * 1000 END"
    )
