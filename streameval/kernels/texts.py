"""Find and copy single texts of a plain Parquet page."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes, varint
from streameval.typing import Int64Array


@kernel
def _length(raw: Bytes, at: int) -> int:
    """Four bytes, small end first; -1 past the end."""
    if at < 0 or at + 4 > raw.size:
        return -1
    low = int(np.int64(raw[at])) | int(np.int64(raw[at + 1])) << 8
    return low | int(np.int64(raw[at + 2])) << 16 | int(np.int64(raw[at + 3])) << 24


@kernel
def find_texts(raw: Bytes, nullable: int, rows: Int64Array, begin: Int64Array, size: Int64Array) -> int:
    """Find the texts of some rows of a plain data page of version 1, decompressed.

    Args:
        raw (uint8 array): If the column is nullable, definition levels (four bytes of length, then one-bit levels in
            the hybrid of run lengths and bit packing); then each text after its length in four bytes.
        nullable: 1 where there are definition levels, else 0.
        rows (int64 array, strictly increasing): Wanted rows of the page.
        begin, size (int64 arrays, shape (rows,)): Filled with the text's place in `raw` and its bytes, -1 for null.

    Returns:
        int: Bytes of all found texts; -1 where the page is damaged.
    """
    levels, value_at, levels_end = 0, 0, 0
    if nullable:
        levels = 4
        levels_end = levels + _length(raw, 0)
        value_at = levels_end
        if levels_end < 4 or levels_end > raw.size:
            return -1
    row, found, total = 0, 0, 0
    while found < rows.size:
        # one run of levels; without levels, one run of everything
        run, packed, level = int(rows[-1]) + 1, False, 1
        if nullable:
            head, levels = varint(raw, levels)
            packed = head & np.uint64(1) == np.uint64(1)
            run = int(np.int64(head >> np.uint64(1))) * (8 if packed else 1)
            if levels < 0 or run <= 0 or levels + (run // 8 if packed else 1) > levels_end:
                return -1
            level = int(np.int64(raw[levels]))
        for i in range(run):
            if found == rows.size:
                break
            known = (int(np.int64(raw[levels + i // 8])) >> (i % 8)) & 1 if packed else level
            length = -1
            if known:
                length = _length(raw, value_at)
                if length < 0 or length > raw.size - value_at - 4:
                    return -1
                value_at += 4
            if rows[found] == row:
                begin[found], size[found] = value_at, length
                found += 1
                total += max(length, 0)
            value_at += max(length, 0)
            row += 1
        levels += (run // 8 if packed else 1) if nullable else 0
    return total


@kernel
def _before(raw: Bytes, a: int, size_a: int, b: int, size_b: int) -> bool:
    for i in range(min(size_a, size_b)):
        if raw[a + i] != raw[b + i]:
            return bool(raw[a + i] < raw[b + i])
    return bool(size_a < size_b)


@kernel
def extremes(raw: Bytes, begin: Int64Array, size: Int64Array) -> tuple[int, int]:
    """Which texts come first and last in the order of their bytes; (-1, -1) where all are null."""
    low, high = -1, -1
    for i in range(begin.size):
        if size[i] >= 0:
            low = i if low < 0 or _before(raw, begin[i], size[i], begin[low], size[low]) else low
            high = i if high < 0 or _before(raw, begin[high], size[high], begin[i], size[i]) else high
    return low, high


@kernel
def copy_texts(raw: Bytes, begin: Int64Array, size: Int64Array, total: int) -> Bytes:
    """Copy found texts behind one another: uint8 array of `total` bytes."""
    out, at = np.empty(total, np.uint8), 0
    for i in range(begin.size):
        if size[i] > 0:
            out[at : at + size[i]] = raw[begin[i] : begin[i] + size[i]]
            at += size[i]
    return out
