"""Thrift's compact protocol, as far as a Parquet schema needs it: structs to dictionaries and back.

What its bytes mean is read by `streameval.kernels.thrift`, as it is in footers, indexes and page headers; here that
becomes dictionaries of the few elements of a schema, so that they can be written again into a footer of our own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from streameval.kernels import thrift as kernels
from streameval.kernels.jit import small

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Fields = dict[int, tuple[int, Any]]
_DEEPEST = 32


def read_struct(raw: bytes, at: int = 0) -> tuple[Fields, int]:
    """Read a struct.

    Returns:
        dict of field number to (type, value): Values: bool, int, bytes (binary and double), list of (type, values),
            dict (struct).
        int: Position after it.

    Raises:
        ValueError: The bytes are no struct.
    """
    with small(len(raw) - at):
        return _struct(np.frombuffer(raw, np.uint8), at, 0)


def read_list(raw: bytes) -> tuple[tuple[int, list[Any]], int]:
    """Read a list: the type of its elements and their values, and the position after it; errors as `read_struct`."""
    with small(len(raw)):
        return _list(np.frombuffer(raw, np.uint8), 0, 0)


def read_zigzag(raw: bytes, at: int) -> tuple[int, int]:
    """Read a signed number, and the position after it; errors as `read_struct`."""
    return _number(np.frombuffer(raw, np.uint8), at)  # one of many in a footer, whose reader says what compiles


def _struct(raw: kernels.Bytes, at: int, depth: int) -> tuple[Fields, int]:
    if depth > _DEEPEST:
        raise ValueError("structs nest too deeply")
    fields: Fields = {}
    number, kind, at = kernels.field(raw, at, 0)
    while kind > 0:
        if kind in (TRUE, FALSE):
            fields[number] = (TRUE, kind == TRUE)
        else:
            value, at = _read_value(raw, at, kind, depth)
            fields[number] = (kind, value)
        number, kind, at = kernels.field(raw, at, number)
    return fields, _check_position(at)


def _list(raw: kernels.Bytes, at: int, depth: int) -> tuple[tuple[int, list[Any]], int]:
    count, kind, at = kernels.list_head(raw, at)
    values, _ = [], _check_position(at)
    for _ in range(count):
        value, at = _read_value(raw, at, BYTE if kind in (TRUE, FALSE) else kind, depth)
        values.append(value)
    return (kind, values), at


def _read_value(raw: kernels.Bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        return _number(raw, at)
    if kind == STRUCT:
        return _struct(raw, at, depth + 1)
    if kind in (LIST, SET):
        return _list(raw, at, depth + 1)
    end = _check_position(kernels.skip(raw, at, kind))
    if kind == BYTE:
        return int(raw[at]), end
    return raw[(at if kind == DOUBLE else kernels.varint(raw, at)[1]) : end].tobytes(), end


def _number(raw: kernels.Bytes, at: int) -> tuple[int, int]:
    value, at = kernels.zigzag(raw, at)
    return int(value), _check_position(at)


def _check_position(at: int) -> int:
    if at < 0:
        raise ValueError("the bytes are damaged, or end too early")
    return at


def varint(value: int) -> bytes:
    """Write an unsigned number.

    >>> list(varint(300))
    [172, 2]
    """
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(maxsize=1 << 12)
def zigzag(value: int) -> bytes:
    """Write a signed number.

    >>> read_zigzag(zigzag(-77), 0)
    (-77, 2)
    """
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def write_struct(fields: Fields) -> bytes:
    """Write a struct that `read_struct` reads back."""
    out, last = bytearray(), 0
    for number, (kind, value) in sorted(fields.items()):
        shown = (TRUE if value else FALSE) if kind == TRUE else kind
        step = number - last
        out += bytes([step << 4 | shown]) if 0 < step < 16 else bytes([shown]) + zigzag(number)
        out += b"" if kind == TRUE else _value(kind, value)
        last = number
    return bytes(out) + b"\0"


def write_list(kind: int, values: list[Any]) -> bytes:
    """Write a list."""
    return list_head(kind, len(values)) + b"".join(_value(kind, value) for value in values)


def list_head(kind: int, count: int) -> bytes:
    """Write the header of a list whose elements follow."""
    return bytes([count << 4 | kind]) if count < 15 else bytes([0xF0 | kind]) + varint(count)


def _value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE, BYTE):
        return bytes([value])
    if kind in (I16, I32, I64):
        return zigzag(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return write_struct(value)
    kind, values = value
    return write_list(kind, values)
