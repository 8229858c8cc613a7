"""Wanted values of Parquet pages that hold the differences of whole numbers, packed."""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import load
from streameval.kernels.jit import kernel
from streameval.kernels.thrift import Bytes, varint, zigzag
from streameval.typing import Int64Array

_EIGHT, _WORD, _ONE, _THREE, _SEVEN = np.uint64(8), np.uint64(64), np.uint64(1), np.uint64(3), np.uint64(7)


@kernel
def take_deltas(raw: Bytes, at: int, n_rows: int, rows: Int64Array, out: Int64Array, ends: Int64Array) -> int:
    """Take the values of some rows of a page, and the smallest and the largest of all.

    Args:
        raw (uint8 array): The page, decompressed; its values begin at `at`.
        n_rows: Values in the page, none of them null.
        rows (int64 array, strictly increasing): Wanted rows of the page.
        out (int64 array, shape (rows,)): Receives their values.
        ends (int64 array): Receives the smallest and the largest value of the page.

    Returns:
        int: 0; -1 where the page is damaged.

    Source: apache/parquet-format `Encodings.md`, "Delta Encoding".
    """
    block, at = varint(raw, at)
    minis, at = varint(raw, at)
    held, at = varint(raw, at)
    value, at = zigzag(raw, at)
    if at < 0 or minis == np.uint64(0) or minis > _WORD or block > np.uint64(1 << 16) or held != np.uint64(n_rows):
        return -1
    each, n_minis = int(np.int64(block // minis)), int(np.int64(minis))
    if each <= 0 or each % 32:
        return -1
    values, spare = np.empty(each, np.int64), np.zeros(8 * each + 8, np.uint8)
    low, high, row, n_taken = value, value, 1, 0
    if rows.size and rows[0] == 0:
        out[0], n_taken = value, 1
    while row < n_rows:
        least, at = zigzag(raw, at)
        widths = at
        at += n_minis
        if widths < 0 or at > raw.size:
            return -1
        for mini in range(n_minis):
            if row >= n_rows:
                break
            width = np.uint64(raw[widths + mini])
            size, n = each // 8 * int(np.int64(width)), min(each, n_rows - row)
            if width > _WORD or size > raw.size - at:
                return -1
            body, bit = raw, np.uint64(at) * _EIGHT
            if at + size + 8 > raw.size:  # what is read goes a little beyond the last values
                for i in range(size):  # numpy's own words for this take two seconds to compile
                    spare[i] = raw[at + i]
                body, bit = spare, np.uint64(0)
            mask = ~np.uint64(0) >> (_WORD - width) if width else np.uint64(0)
            for i in range(n):
                word = load(body, bit >> _THREE) >> (bit & _SEVEN)
                if width > np.uint64(57):
                    word |= np.uint64(body[(bit >> _THREE) + _EIGHT]) << _ONE << (np.uint64(63) - (bit & _SEVEN))
                bit += width
                value += np.int64(word & mask) + least
                low, high = min(low, value), max(high, value)
                values[i] = value
            while n_taken < rows.size and rows[n_taken] < row + n:
                out[n_taken] = values[rows[n_taken] - row]
                n_taken += 1
            row += n
            at += size
    ends[0], ends[1] = low, high
    return 0
