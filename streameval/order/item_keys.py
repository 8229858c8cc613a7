"""Columns that tell items or rankings apart: which types they may have, and which of these meet by value.

| a key is | as it is returned | values of one family meet |
|---|---|---|
| a whole number: integers, decimals of scale 0 | int64, uint64, decimal128(38, 0) | whatever the type |
| a float that is a whole number | float64 | with floats; in two lists that are compared, with whole numbers too |
| text | large_string | whatever the encoding |
| bytes, and UUIDs, which are their 16 bytes | large_binary, UUID | whatever the width; UUIDs with texts of one |
| a day | date32 | with days |
| a moment; one without a time zone is taken for UTC | a timestamp, as it is stored | whatever unit and zone |
| a boolean | bool | with booleans |

A float is a key only where it is whole and its type holds both whole numbers beside it: below 2⁵³, of float32 2²⁴, of
float16 2¹¹. Of a larger one nobody can tell which number it was before it became a float.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.rows.uuids import uuids_of

_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
_DIGITS = 38  # of a decimal of 128 bits
_WHOLE = pa.decimal128(_DIGITS, 0)
_UUID = pa.uuid()


def check_key(kind: pa.DataType, name: str, where: str) -> None:
    """Refuse (`InputError`) a key column whose values have no form in which they meet."""
    if _family(stored_type(kind)) is None:
        raise InputError(
            f"{where}: column '{name}' is {kind}",
            "names and keys are whole numbers, text, UUIDs, bytes, dates, timestamps or booleans: give it as text, in "
            f"SQL {name}::text",
        )


def stored_type(kind: pa.DataType) -> pa.DataType:
    """Type of a key as it is written: that of its column, without a dictionary, and text and bytes of any length."""
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if any(test(plain) for test in _TEXT):
        return pa.large_string()
    return pa.large_binary() if any(test(plain) for test in _BYTES) else plain


def key_type(kind: pa.DataType) -> pa.DataType:
    """Type in which the keys of a comparison are returned; see the table above."""
    plain = stored_type(kind)
    if pa.types.is_integer(plain):
        return pa.uint64() if plain == pa.uint64() else pa.int64()
    if pa.types.is_decimal(plain):
        return _WHOLE
    if pa.types.is_date(plain):
        return pa.date32()
    return pa.float64() if pa.types.is_floating(plain) else plain


def family(kind: pa.DataType) -> str:
    """Name what a key is; types of one family have the same hashes for the same values."""
    return _family(stored_type(kind)) or str(kind)


def _family(plain: pa.DataType) -> str | None:
    tests = {
        "whole numbers": pa.types.is_integer(plain) or _is_whole_decimal(plain),
        "floats": pa.types.is_floating(plain),
        "text": plain == pa.large_string(),
        "bytes": plain in (pa.large_binary(), _UUID),
        "days": pa.types.is_date(plain),
        "moments": pa.types.is_timestamp(plain),
        "booleans": pa.types.is_boolean(plain),
    }
    return next((name for name, holds in tests.items() if holds), None)


def _is_whole_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.scale == 0 and kind.precision <= _DIGITS)


def meets(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether `as_keys` gives keys of a type the type of others: of one family, numbers, or text for a UUID."""
    pair = {family(kind), family(wanted)}
    return len(pair) == 1 or pair == {"whole numbers", "floats"} or (pair == {"text", "bytes"} and wanted == _UUID)


def types_of_both(key: Collection[str], first: pa.Schema, second: pa.Schema) -> dict[str, pa.DataType]:
    """Types that hold the keys of two lists to the last digit, by name, where they meet and are of two types."""
    types = {}
    for name in (name for name in key if name in first.names and name in second.names):
        kinds = [stored_type(of.field(name).type) for of in (first, second)]
        if kinds[0] != kinds[1] and (kind := _type_of_both(*kinds)) is not None:
            types[name] = kind
    return types


def _type_of_both(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    families = {family(first), family(second)}
    if families <= {"whole numbers", "floats"}:
        whole = {key_type(kind) for kind in (first, second) if family(kind) == "whole numbers"}
        return (pa.int64() if whole == {pa.int64()} else _WHOLE) if whole else pa.float64()
    if families == {"moments"}:
        finest = max(first.unit, second.unit, key=["s", "ms", "us", "ns"].index)
        return pa.timestamp(finest, first.tz or second.tz)
    if families == {"bytes", "text"} and _UUID in (first, second):
        return _UUID
    return {"bytes": pa.large_binary(), "days": pa.date32()}.get(*families) if len(families) == 1 else None


def is_number(kind: pa.DataType) -> bool:
    """Tell whether keys of a type are numbers, whose hash depends on their type."""
    return family(kind) in ("whole numbers", "floats")


def is_hashed_by_value(both: pa.DataType, kinds: Collection[pa.DataType]) -> bool:
    """Tell whether `as_whole` gives keys of two lists one type, that of `both`, before they are hashed."""
    numbers = all(map(is_number, kinds)) and both != pa.float64()
    return numbers or (both == _UUID and any(family(kind) == "text" for kind in kinds))


def as_whole(keys: pa.Table, names: Collection[str]) -> pa.Table:
    """Give columns of numbers a type whose hashes are those of their values: 2⁶⁴ − 1 and −1 are one word of 64 bits.

    Floats have passed `refuse_inexact`, and NaN becomes null. Text meets UUIDs of the other list, and becomes one.

    Raises:
        InputError: A text that is no UUID.
    """
    for at, (name, column) in enumerate(zip(keys.column_names, keys.columns, strict=True)):
        if name in names and family(column.type) in ("text", "bytes"):
            keys = keys.set_column(at, name, _as_uuid(column, name))
        elif name in names:
            plain = column.cast(stored_type(column.type))
            if pa.types.is_floating(plain.type):
                plain = plain.cast(pa.float64())  # Arrow casts float16 to nothing else
                plain = pc.if_else(pc.is_nan(plain), None, plain)
            wide = pa.types.is_decimal(plain.type) or plain.type == pa.uint64()
            keys = keys.set_column(at, name, plain.cast(_WHOLE if wide else pa.int64()))
    return keys


def _as_uuid(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return _as_type(column, _UUID)
    except ValueError as error:
        raise InputError(f"key '{name}' {error}, as keys of the other list are",
                         f"give both as text, in SQL {name}::text") from None  # fmt: skip


def as_keys(keys: pa.Table, types: pa.Schema, where: str) -> pa.Table:
    """Give keys the types of others that they meet.

    Args:
        types: Wanted of each column, in their order.

    Raises:
        InputError: A value that the type does not hold, such as a negative number where others have no sign; a float
            that is no exact whole number.
    """
    refuse_inexact(keys, where)
    columns = []
    for column, wanted in zip(keys.columns, types, strict=True):
        try:
            columns.append(_as_type(column, wanted.type))
        except (pa.ArrowException, ValueError) as error:
            text = " ".join(str(error).split())
            raise InputError(
                f"{where}: key column '{wanted.name}' is {column.type}, and holds what {wanted.type} cannot ({text})",
                f"give both one type, in SQL {wanted.name}::text",
            ) from None
    return pa.table(columns, types)


def _as_type(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    if column.type == wanted:
        return column
    if wanted != _UUID:
        half = pa.types.is_float16(column.type)
        return (column.cast(pa.float64()) if half else column).cast(wanted)
    if stored_type(column.type) == pa.large_string():
        return uuids_of(column)
    stored = column.cast(pa.binary(16)).chunks
    return pa.chunked_array([pa.ExtensionArray.from_storage(wanted, chunk) for chunk in stored], wanted)


def missing(column: pa.ChunkedArray) -> int:
    """Count keys that are null or NaN, which is equal to nothing."""
    real = pa.types.is_floating(stored_type(column.type))
    return int(pc.sum(pc.is_null(column, nan_is_null=True)).as_py() or 0) if real else int(column.null_count)


def first_missing(keys: pa.Table) -> tuple[str, int, int] | None:
    """Find the first column that lacks keys: its name, the first row without one (from 0), and how many; else None."""
    for name, column in zip(keys.column_names, keys.columns, strict=True):
        if count := missing(column):
            real = pa.types.is_floating(stored_type(column.type))
            return name, int(column.is_null(nan_is_null=real).index(True).as_py()), count
    return None


def refuse_inexact(keys: pa.Table, where: str) -> None:
    """Refuse (`InputError`) floats that are no exact whole numbers; NaN is a missing key, and passes."""
    for name, column in zip(keys.column_names, keys.columns, strict=True):
        kind = stored_type(column.type)
        if not pa.types.is_floating(kind):
            continue
        values = column.cast(kind).fill_null(0).to_numpy()
        limit = 2.0 ** (np.finfo(values.dtype).nmant + 1)
        odd = ~((np.abs(values) < limit) & (values == np.floor(values))) & ~np.isnan(values)
        if odd.any():
            raise InputError(
                f"{where}: key '{name}' {values[int(np.argmax(odd))]} is a float that is no exact whole number",
                "give it as integers or as text: floats come of integers with gaps in pandas, where 'Int64' keeps them",
            )


def sample(keys: pa.Table) -> str:
    """Show the first key of a table, with the type of each column, for messages; "none" of no row."""
    if not keys.num_rows:
        return "none"
    first = keys.slice(0, 1)
    columns = zip(first.column_names, first.columns, strict=True)
    return ", ".join(f"{name} is {plain_values(column)[0]} ({column.type})" for name, column in columns)


def plain_values(column: pa.ChunkedArray) -> list[Any]:
    """List keys as JSON has them: numbers, text and booleans as they are, all others as text."""
    if pa.types.is_timestamp(column.type):  # Python has no nanoseconds
        column = column.cast(pa.string())
    return [value if isinstance(value, str | int | float | None) else key_text(value) for value in column.to_pylist()]


def in_plain_values(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write the keys of a column as `plain_values` does."""
    if is_plain(column.type):
        return column
    return pa.chunked_array([pa.array(plain_values(column), pa.large_string())])


def is_plain(kind: pa.DataType) -> bool:
    """Tell whether JSON has keys of this type as they are."""
    return family(kind) in ("text", "floats", "booleans") or pa.types.is_integer(stored_type(kind))


def key_text(value: object) -> str:
    """Write the value of a key for a message: bytes as hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else str(value)
