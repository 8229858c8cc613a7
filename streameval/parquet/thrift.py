"""Thrift's compact protocol, as far as a Parquet schema needs it: structs to dictionaries and back.

Big or frequent structures (footers, offset indexes, page headers) are read by `streameval.kernels.parquet`; this reads
the few elements of a schema, so that they can be written again into a footer of our own. Source: apache/thrift
`thrift-compact-protocol.md`.
"""

from __future__ import annotations

from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
Fields = dict[int, tuple[int, Any]]
_DEEPEST = 32


def read_struct(raw: bytes, at: int = 0, depth: int = 0) -> tuple[Fields, int]:
    """Read a struct.

    Returns:
        dict of field number to (type, value): Values: bool, int, bytes (binary and double), list of (type, values),
            dict (struct).
        int: Position after it.

    Raises:
        ValueError: The bytes are no struct.
    """
    if depth > _DEEPEST:
        raise ValueError("structs nest too deeply")
    fields: Fields = {}
    number = 0
    while True:
        head = _byte(raw, at)
        at += 1
        if head == 0:
            return fields, at
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = read_zigzag(raw, at)
        if kind in (TRUE, FALSE):
            fields[number] = (TRUE, kind == TRUE)
        else:
            value, at = _read_value(raw, at, kind, depth)
            fields[number] = (kind, value)


def read_list(raw: bytes, at: int, depth: int = 0) -> tuple[tuple[int, list[Any]], int]:
    """Read a list: the type of its elements and their values, and the position after it."""
    head = _byte(raw, at)
    count, kind = head >> 4, head & 15
    at += 1
    if count == 15:
        count, at = read_varint(raw, at)
    if count > len(raw) - at:
        raise ValueError("a list is longer than its bytes")
    values = []
    for _ in range(count):
        value, at = _read_value(raw, at, BYTE if kind in (TRUE, FALSE) else kind, depth)
        values.append(value)
    return (kind, values), at


def _read_value(raw: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind == BYTE:
        return _byte(raw, at), at + 1
    if kind in (I16, I32, I64):
        return read_zigzag(raw, at)
    if kind in (BINARY, DOUBLE):
        size, at = (8, at) if kind == DOUBLE else read_varint(raw, at)
        if size > len(raw) - at:
            raise ValueError("a text is longer than its bytes")
        return raw[at : at + size], at + size
    if kind == STRUCT:
        return read_struct(raw, at, depth + 1)
    if kind in (LIST, SET):
        return read_list(raw, at, depth + 1)
    raise ValueError(f"type {kind} has no place in a Parquet footer")


def _byte(raw: bytes, at: int) -> int:
    if not 0 <= at < len(raw):
        raise ValueError("the bytes end too early")
    return raw[at]


def read_varint(raw: bytes, at: int) -> tuple[int, int]:
    """Read an unsigned number."""
    value = shift = 0
    while shift < 64:
        byte = _byte(raw, at)
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise ValueError("a number does not end")


def read_zigzag(raw: bytes, at: int) -> tuple[int, int]:
    """Read a signed number."""
    value, at = read_varint(raw, at)
    return (value >> 1) ^ -(value & 1), at


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
