"""Thrift's compact protocol, read from bytes without objects.

Positions that come out negative say that the bytes are damaged or end too early; none is read past its end. Source:
apache/thrift `thrift-compact-protocol.md`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import borrowing_kernel, owning_kernel
from streameval.typing import UInt8Array

Bytes = UInt8Array

_BOOL_TRUE, _BOOL_FALSE, _BYTE, I32, _DOUBLE, BINARY, LIST, _SET, STRUCT = 1, 2, 3, 5, 7, 8, 9, 10, 12
_DEEPEST = 32
_DEEP = -2


@borrowing_kernel
def varint(raw: Bytes, at: int) -> tuple[np.uint64, int]:
    """Read a varint at `at`; the position after it, negative where it does not end in time, or in 64 bits."""
    if 0 <= at < raw.size and raw[at] < 128:  # as nearly all
        return np.uint64(raw[at]), at + 1
    value, shift = np.uint64(0), np.uint64(0)
    while 0 <= at < raw.size and shift < np.uint64(64):
        byte = np.uint64(raw[at])
        at += 1
        value |= (byte & np.uint64(127)) << shift
        if byte < np.uint64(128):
            return value, at if shift < np.uint64(63) or byte < np.uint64(2) else -1
        shift += np.uint64(7)
    return np.uint64(0), -1


@borrowing_kernel
def zigzag(raw: Bytes, at: int) -> tuple[np.int64, int]:
    """Read a signed number."""
    value, at = varint(raw, at)
    half = np.int64(value >> np.uint64(1))
    return (half if value & np.uint64(1) == np.uint64(0) else -half - 1), at


@borrowing_kernel
def field(raw: Bytes, at: int, last: int) -> tuple[int, int, int]:
    """Read a field's header: its number, its type (0 ends the struct, -1 is damage), the position after it."""
    if not 0 <= at < raw.size:
        return 0, -1, -1
    byte = int(np.int64(raw[at]))
    kind, step = byte & 15, byte >> 4
    if byte == 0:
        return 0, 0, at + 1
    if step:
        return last + step, kind, at + 1
    number, at = zigzag(raw, at + 1)
    return int(number), (kind if at > 0 else -1), at


@borrowing_kernel
def list_head(raw: Bytes, at: int) -> tuple[int, int, int]:
    """Read a list's header: how many, of which type, the position after it. No more than there are bytes left."""
    if not 0 <= at < raw.size:
        return 0, 0, -1
    byte = int(np.int64(raw[at]))
    count, kind = byte >> 4, byte & 15
    at += 1
    if count == 15:
        long, at = varint(raw, at)
        if at < 0 or long > np.uint64(raw.size):
            return 0, 0, -1
        count = int(np.int64(long))
    return (count, kind, at) if count <= raw.size - at else (0, 0, -1)


@borrowing_kernel
def _skip_scalar(raw: Bytes, at: int, kind: int) -> int:
    """Position after a scalar; a boolean of a struct lies in its field's header, so it takes no bytes."""
    if kind in (_BOOL_TRUE, _BOOL_FALSE):
        return at
    if kind in (_BYTE, _DOUBLE):
        at += 1 if kind == _BYTE else 8
    elif kind in (4, 5, 6):
        at = varint(raw, at)[1]
    elif kind == BINARY:
        size, at = varint(raw, at)
        if at < 0 or size > np.uint64(raw.size):
            return -1
        at += int(np.int64(size))
    else:
        return -1
    return at if at <= raw.size else -1


@borrowing_kernel
def skip(raw: Bytes, at: int, kind: int) -> int:
    """Position after a value."""
    if kind not in (LIST, _SET, STRUCT):
        return _skip_scalar(raw, at, kind)
    after = _skip_shallow(raw, at, kind)
    return _skip_deep(raw, at, kind) if after == _DEEP else after


@borrowing_kernel
def _skip_shallow(raw: Bytes, at: int, kind: int) -> int:
    """Give the same of scalars in a list, in a struct or in a list of structs; `_DEEP` where there is more in it.

    It needs no memory: a footer has many of these.
    """
    left, inner = 1, STRUCT
    if kind != STRUCT:
        left, inner, at = list_head(raw, at)
        if inner in (_BOOL_TRUE, _BOOL_FALSE):
            inner = _BYTE
        if inner in (0, LIST, _SET):
            return _DEEP
    while left > 0 and at >= 0:
        left -= 1
        if inner != STRUCT:
            at = _skip_scalar(raw, at, inner)
            continue
        _, kind, at = field(raw, at, 0)
        while kind > 0 and at >= 0:
            if kind in (LIST, _SET, STRUCT):
                return _DEEP
            _, kind, at = field(raw, _skip_scalar(raw, at, kind), 0)
    return at


@owning_kernel
def _skip_deep(raw: Bytes, at: int, kind: int) -> int:
    """Give the same of any. A stack of our own: Numba's cache cannot hold a kernel that calls itself."""
    # how many elements each open container still has (-1: a struct, which ends itself), and their type
    left, inner = np.empty(_DEEPEST, np.int64), np.empty(_DEEPEST, np.int64)
    depth = -1
    while True:
        if kind in (LIST, _SET, STRUCT):
            depth += 1
            if depth == _DEEPEST:
                return -1
            left[depth] = -1
            if kind != STRUCT:
                left[depth], inner[depth], at = list_head(raw, at)
                if inner[depth] in (_BOOL_TRUE, _BOOL_FALSE):
                    inner[depth] = _BYTE
        else:
            at = _skip_scalar(raw, at, kind)
        kind = 0
        while at >= 0 and kind == 0:
            if left[depth] > 0:
                left[depth] -= 1
                kind = inner[depth]
            elif left[depth] < 0:
                _, kind, at = field(raw, at, 0)
            if kind == 0:
                depth -= 1
                if depth < 0:
                    return at
        if at < 0:
            return -1
