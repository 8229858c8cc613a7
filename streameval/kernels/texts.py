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
    row, n_texts, total = 0, 0, 0
    while n_texts < rows.size:
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
            if n_texts == rows.size:
                break
            is_present = (int(np.int64(raw[levels + i // 8])) >> (i % 8)) & 1 if packed else level
            length = -1
            if is_present:
                length = _length(raw, value_at)
                if length < 0 or length > raw.size - value_at - 4:
                    return -1
                value_at += 4
            if rows[n_texts] == row:
                begin[n_texts], size[n_texts] = value_at, length
                n_texts += 1
                total += max(length, 0)
            value_at += max(length, 0)
            row += 1
        levels += (run // 8 if packed else 1) if nullable else 0
    return total


# positions without a sign: Numba looks for negative ones, which count from the end, at every byte
_1, _8 = np.uint64(1), np.uint64(8)


@kernel
def _word(raw: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a number in whose order they are; unrolled, this becomes one load."""
    high = np.uint64(raw[at]) << np.uint64(56) | np.uint64(raw[at + _1]) << np.uint64(48)
    high |= np.uint64(raw[at + np.uint64(2)]) << np.uint64(40) | np.uint64(raw[at + np.uint64(3)]) << np.uint64(32)
    low = np.uint64(raw[at + np.uint64(4)]) << np.uint64(24) | np.uint64(raw[at + np.uint64(5)]) << np.uint64(16)
    low |= np.uint64(raw[at + np.uint64(6)]) << _8 | np.uint64(raw[at + np.uint64(7)])
    return np.uint64(high | low)


@kernel
def _comes_before(raw: Bytes, a: tuple[np.uint64, np.uint64], b: tuple[np.uint64, np.uint64]) -> bool:
    """Tell whether the bytes at a place, given with their number, come before those at another one."""
    size, at = min(a[1], b[1]), np.uint64(0)
    while at + _8 <= size:
        word, other_word = _word(raw, a[0] + at), _word(raw, b[0] + at)
        if word != other_word:
            return bool(word < other_word)
        at += _8
    while at < size:
        if raw[a[0] + at] != raw[b[0] + at]:
            return bool(raw[a[0] + at] < raw[b[0] + at])
        at += _1
    return bool(a[1] < b[1])


@kernel
def extremes(raw: Bytes, begin: Int64Array, size: Int64Array) -> tuple[int, int]:
    """Tell which texts come first and last in the order of their bytes; (-1, -1) where all are null."""
    first, last = -1, -1
    low, high = (np.uint64(0), np.uint64(0)), (np.uint64(0), np.uint64(0))
    for i in range(begin.size):
        if size[i] >= 0:
            text = np.uint64(begin[i]), np.uint64(size[i])
            if first < 0 or _comes_before(raw, text, low):
                first, low = i, text
            if last < 0 or _comes_before(raw, high, text):
                last, high = i, text
    return first, last


@kernel
def copy_texts(raw: Bytes, begin: Int64Array, size: Int64Array, total: int) -> Bytes:
    """Copy found texts behind one another: uint8 array of `total` bytes."""
    out, at = np.empty(total, np.uint8), 0
    for i in range(begin.size):
        if size[i] > 0:
            for k in range(size[i]):  # numpy's own words for this take a second to compile
                out[at + k] = raw[begin[i] + k]
            at += size[i]
    return out
