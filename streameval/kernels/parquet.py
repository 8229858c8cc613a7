"""Parquet footers, read without objects.

Each kernel reads bytes into an int64 array and says -1 where the bytes are no such thing; none reads past its end.
Field numbers are those of apache/parquet-format `parquet.thrift`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import borrowing_kernel
from streameval.kernels.thrift import BINARY, LIST, STRUCT, Bytes, field, list_head, skip, varint, zigzag
from streameval.typing import Int64Array

# columns of `chunk_facts`
TYPE, CODEC, VALUES, UNCOMPRESSED, COMPRESSED, DATA_AT, DICTIONARY_AT, INDEX_AT, INDEX_SIZE = range(9)
COLUMN_INDEX_AT, COLUMN_INDEX_SIZE, FOREIGN, NULLS, MIN_AT, MIN_SIZE, MAX_AT, MAX_SIZE, PATH_AT, PATH_END = range(9, 19)
REPETITIONS, DEFINITIONS = 19, 20
N_FACTS = 21
# columns of `statistics`, and of `column_index`
STATED_NULLS, LOW_AT, LOW_SIZE, HIGH_AT, HIGH_SIZE = range(5)
N_STATED = 5
# what `find_fields` finds
SCHEMA_AT, SCHEMA_END, ALL_ROWS_AT, GROUPS_AT, GROUPS, KEYS_AT, KEYS_END = range(7)
N_FOUND = 7
# columns of `row_group`
ROWS, ORDINAL, COLUMNS = range(3)
ABSENT = -(2**62)


@borrowing_kernel
def find_fields(raw: Bytes, at: int, last: int, stop: int, places: Int64Array) -> bool:
    """Find the fields of a FileMetaData, from one of them on.

    Args:
        raw (uint8 array): FileMetaData.
        at, last: Where to begin, and the number of the field before.
        stop: 4 to end at the row groups: where they end is known once they are read, and to pass over them takes as
            long. 0 to go on.
        places (int64 array, shape (N_FOUND,)): Filled with where the schema begins and ends, where the number of rows
            is, where the first row group begins, how many there are, where key-value pairs begin and end; of each field
            the first. Those that are not found are left as they are: -1.

    Returns:
        bool: Whether it ended at the row groups.
    """
    last, kind, at = field(raw, at, last)
    while kind > 0 and at >= 0:
        begin = at
        if last == 4 and places[GROUPS_AT] < 0:
            count, inner, at = list_head(raw, begin)
            after = at if stop == 4 and kind == LIST and inner == STRUCT else skip(raw, begin, kind)
            if after >= 0:
                places[GROUPS_AT], places[GROUPS] = at, count
            if after == at and at >= 0 and stop == 4:
                return True
            at = after
        else:
            at = skip(raw, begin, kind)
        slot = SCHEMA_AT if last == 2 else ALL_ROWS_AT if last == 3 else KEYS_AT if last == 5 else -1
        if slot >= 0 and places[slot] < 0 and at >= 0:
            places[slot] = begin
            if slot != ALL_ROWS_AT:
                places[slot + 1] = at
        last, kind, at = field(raw, at, last)
    return False


@borrowing_kernel
def statistics(raw: Bytes, at: int, out: Int64Array) -> int:
    """Read how many nulls there are, and where minimum and maximum lie; the position after it.

    Those of the old fields, whose order was never said, are passed over. Whether they are exact does not matter: either
    way no value may lie beyond them.
    """
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        begin, after = at, skip(raw, at, kind)
        if last == 3 and kind in (4, 5, 6):
            out[STATED_NULLS], _ = zigzag(raw, begin)
        elif last in (5, 6) and kind == BINARY and after >= 0:
            size, begin = varint(raw, begin)
            slot = HIGH_AT if last == 5 else LOW_AT
            out[slot], out[slot + 1] = begin, int(np.int64(size))
        last, kind, at = field(raw, after, last)
    return at if kind == 0 else -1


@borrowing_kernel
def _level_histograms(raw: Bytes, at: int, out: Int64Array) -> int:
    """Read of how many levels the histograms of SizeStatistics are; the position after it."""
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        if last in (2, 3) and kind == LIST:
            out[REPETITIONS + last - 2], _, _ = list_head(raw, at)
        at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@borrowing_kernel
def _column_metadata(raw: Bytes, at: int, out: Int64Array) -> int:
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        slot, begin = -1, at
        if last == 1:
            slot = TYPE
        elif 4 <= last <= 7:
            slot = last - 3
        elif last == 9:
            slot = DATA_AT
        elif last == 11:
            slot = DICTIONARY_AT
        if slot >= 0 and kind in (4, 5, 6):
            out[slot], at = zigzag(raw, at)
        elif last == 12 and kind == STRUCT:
            at = statistics(raw, at, out[NULLS : NULLS + N_STATED])
        elif last == 16 and kind == STRUCT:
            at = _level_histograms(raw, at, out)
        else:
            at = skip(raw, at, kind)
            if last == 3:
                out[PATH_AT], out[PATH_END] = begin, at
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@borrowing_kernel
def _column_chunk(raw: Bytes, at: int, out: Int64Array) -> int:
    out[:] = ABSENT
    out[FOREIGN] = 0
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        if last == 3 and kind == STRUCT:
            at = _column_metadata(raw, at, out)
        elif 4 <= last <= 7 and kind in (4, 5, 6):
            out[INDEX_AT + last - 4], at = zigzag(raw, at)
        else:
            if last in (1, 8, 9):
                out[FOREIGN] = 1
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 else -1


@borrowing_kernel
def row_group(raw: Bytes, at: int, leaves: Int64Array, out: Int64Array, group_facts: Int64Array) -> int:
    """Read one RowGroup.

    Args:
        at: Where it begins.
        leaves (int64 array, strictly increasing): Indexes of leaf columns.
        out (int64 array, shape (leaves, N_FACTS)): See `chunk_facts`.
        group_facts (int64 array, shape (3,)): Filled with rows, ordinal (`ABSENT` where there is none) and column
            chunks.

    Returns:
        int: Position after it; -1 where there is none, or it lacks a column.
    """
    leaf = 0
    group_facts[:] = ABSENT
    last, kind, at = field(raw, at, 0)
    while kind > 0 and at >= 0:
        if last == 1 and kind == LIST:
            group_facts[COLUMNS], inner, at = list_head(raw, at)
            for i in range(group_facts[COLUMNS]):
                if leaf < leaves.size and leaves[leaf] == i and at >= 0:
                    at = _column_chunk(raw, at, out[leaf])
                    leaf += 1
                else:
                    at = skip(raw, at, inner)
        elif last in (3, 7) and kind in (4, 5, 6):
            group_facts[ROWS if last == 3 else ORDINAL], at = zigzag(raw, at)
        else:
            at = skip(raw, at, kind)
        last, kind, at = field(raw, at, last)
    return at if kind == 0 and leaf == leaves.size else -1


@borrowing_kernel
def chunk_facts(
    raw: Bytes, at: int, groups: Int64Array, leaves: Int64Array, out: Int64Array, group_facts: Int64Array
) -> int:
    """Read from a footer where the column chunks of some row groups and leaf columns lie.

    Args:
        raw (uint8 array): FileMetaData.
        at: Where a row group begins: number 0 here.
        groups, leaves (int64 arrays, strictly increasing): Numbers of row groups, and indexes of leaf columns.
        out (int64 array, shape (groups, leaves, N_FACTS)): Filled with physical type, codec, values, uncompressed and
            compressed size, offsets of the first data page and of the dictionary page, offset and size of the offset
            index and of the column index (`ABSENT` where there is none), 1 where the chunk is encrypted or lies in
            another file; of its statistics nulls, and where in `raw` minimum and maximum lie, with their bytes; where
            in `raw` its path begins and ends; levels in the histograms of repetition and definition levels.
        group_facts (int64 array, shape (groups, 3)): Filled with rows, ordinal (`ABSENT` where there is none) and
            column chunks
            of each row group.

    Returns:
        int: Position after the last of them; -1 - i where `groups[i]` cannot be read, or lacks a column.
    """
    number = 0
    for i in range(groups.size):
        while number < groups[i] and at >= 0:
            at = skip(raw, at, STRUCT)
            number += 1
        if at >= 0:
            at = row_group(raw, at, leaves, out[i], group_facts[i])
            number += 1
        if at < 0:
            return -1 - i
    return at
