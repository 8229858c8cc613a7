"""Thrift's compact protocol, read into lists that can be changed and written again.

A struct is a `Struct`: a list of `Field`. Values are bool, int, bytes (a binary; a double too, as its 8 bytes), `Items`
or `Struct`. Source: apache/thrift `thrift-compact-protocol.md`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
INTEGERS = (I16, I32, I64)


@dataclass
class Field:
    number: int
    kind: int
    value: Any


@dataclass
class Items:
    kind: int
    values: list[Any]


@dataclass
class Struct:
    fields: list[Field] = field(default_factory=list)

    def find(self, number: int) -> Field | None:
        return next((one for one in self.fields if one.number == number), None)

    def get(self, number: int, default: Any = None) -> Any:
        found = self.find(number)
        return default if found is None else found.value

    def put(self, number: int, kind: int, value: Any) -> None:
        found = self.find(number)
        if found is None:
            self.fields = sorted([*self.fields, Field(number, kind, value)], key=lambda one: one.number)
        else:
            found.kind, found.value = kind, value

    def remove(self, *numbers: int) -> None:
        self.fields = [one for one in self.fields if one.number not in numbers]

    def copy(self) -> Struct:
        return copy.deepcopy(self)


class Reader:
    """A position in bytes; what ends too early raises IndexError, what is no Thrift ValueError."""

    def __init__(self, raw: bytes, at: int = 0) -> None:
        self.raw, self.at = raw, at

    def byte(self) -> int:
        self.at += 1
        return self.raw[self.at - 1]

    def varint(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a varint of more than ten bytes")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def take(self, size: int) -> bytes:
        if size < 0 or self.at + size > len(self.raw):
            raise IndexError("it ends too early")
        self.at += size
        return self.raw[self.at - size : self.at]

    def value(self, kind: int, depth: int = 0) -> Any:
        if depth > 40:
            raise ValueError("nested too deep")
        if kind in (TRUE, FALSE):
            return kind == TRUE
        if kind == BYTE:
            return self.byte()
        if kind in INTEGERS:
            return self.zigzag()
        if kind == DOUBLE:
            return self.take(8)
        if kind == BINARY:
            return self.take(self.varint())
        if kind in (LIST, SET):
            head = self.byte()
            count = self.varint() if head >> 4 == 15 else head >> 4
            if count > len(self.raw):
                raise ValueError("a list longer than its bytes")
            inner = head & 15
            single = BYTE if inner in (TRUE, FALSE) else inner
            return Items(inner, [self.value(single, depth + 1) for _ in range(count)])
        if kind == STRUCT:
            return self.struct(depth + 1)
        raise ValueError(f"no type {kind}")

    def struct(self, depth: int = 0) -> Struct:
        found, last = Struct(), 0
        while True:
            head = self.byte()
            if head == 0:
                return found
            kind = head & 15
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            found.fields.append(Field(last, kind, self.value(kind, depth)))


def decode(raw: bytes, at: int = 0) -> tuple[Struct, int]:
    """Read a struct; the position after it."""
    reader = Reader(raw, at)
    return reader.struct(), reader.at


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _zigzag(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _value(kind: int, value: Any) -> bytes:
    if kind in (TRUE, FALSE):
        return b""
    if kind == BYTE:
        return bytes([value & 255])
    if kind in INTEGERS:
        return _zigzag(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind in (LIST, SET):
        n = len(value.values)
        head = bytes([n << 4 | value.kind]) if n < 15 else bytes([15 << 4 | value.kind]) + _varint(n)
        single = BYTE if value.kind in (TRUE, FALSE) else value.kind
        return head + b"".join(_value(single, one) for one in value.values)
    return encode(value)


def encode(struct: Struct) -> bytes:
    """Write a struct; fields of booleans are of the type that says their value."""
    out, last = bytearray(), 0
    for one in struct.fields:
        kind = one.kind
        if kind in (TRUE, FALSE):
            kind = TRUE if one.value else FALSE
        step = one.number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _zigzag(one.number)
        out += _value(kind, one.value)
        last = one.number
    return bytes(out) + b"\0"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every field and list item below a struct, with the way to it: field numbers, and ("item", i)."""
    if isinstance(value, Struct):
        for one in value.fields:
            yield (*path, one.number), one
            yield from leaves(one.value, (*path, one.number))
    elif isinstance(value, Items):
        for i, one in enumerate(value.values):
            yield from leaves(one, (*path, ("item", i)))
