"""Checks of what Parquet files state: of column chunks, against sizes and schema; of values, against these."""

from __future__ import annotations

import numpy as np

from streameval.kernels import parquet as kernels
from streameval.kernels.jit import borrowing_kernel, kernel
from streameval.kernels.thrift import Bytes
from streameval.typing import Int64Array

# what `keep_to` is told
WIDTH, FLIP, SIGNED, LEAST, MOST = range(5)
# what may be wrong, and columns of the leaves that `group_fault` is given
SOUND, LACKING, MISNUMBERED, NEGATIVE, OUTSIDE, CROWDED, UNCOUNTED, UNFIT, OTHER_TYPE = range(9)
WRONG_TOTAL, OTHER_SCHEMA = 9, 10
PHYSICAL, MAX_REP, MAX_DEF = range(3)
# a data page takes at least this many bytes and says how many values it holds in 31 bits
_LEAST_PAGE_BYTES = 12
_MOST_PAGE_VALUES = 2**31 - 1
_MOST_ORDINAL = 2**15  # ordinals are numbers of 16 bits


@borrowing_kernel
def group_fault(
    facts: Int64Array, group_facts: Int64Array, leaves: Int64Array, group: int, size: int
) -> tuple[int, int]:
    """Give what is wrong with a row group that the file cannot hold, or that contradicts the schema.

    Args:
        facts (int64 array, shape (leaves, N_FACTS)): Of all leaf columns: see `chunk_facts`.
        group_facts (int64 array, shape (3,)): See `chunk_facts`.
        leaves (int64 array, shape (leaves, 3)): Physical type, highest repetition and definition level of each.
        group: Its number.
        size: Bytes of the file.

    Returns:
        int: What is wrong; `SOUND` where nothing is.
        int: The leaf column.
    """
    rows, ordinal = group_facts[kernels.ROWS], group_facts[kernels.ORDINAL]
    if group_facts[kernels.COLUMNS] != leaves.shape[0]:
        return LACKING, 0
    if ordinal != kernels.ABSENT and ordinal != group and group < _MOST_ORDINAL:
        return MISNUMBERED, 0
    if rows < 0:
        return NEGATIVE, 0
    for leaf in range(leaves.shape[0] if rows > 0 else 0):
        fault = _fault(facts[leaf], leaves[leaf], rows, size)
        if fault != SOUND:
            return fault, leaf
    return SOUND, 0


@borrowing_kernel
def _fault(chunk: Int64Array, leaf: Int64Array, rows: int, size: int) -> int:
    if chunk[kernels.FOREIGN]:
        return SOUND
    compressed, values, nulls = chunk[kernels.COMPRESSED], chunk[kernels.VALUES], chunk[kernels.NULLS]
    start, dictionary = chunk[kernels.DATA_AT], chunk[kernels.DICTIONARY_AT]
    if dictionary > 0:
        start = min(start, dictionary)
    if compressed < 0 or values < 0 or start < 0 or compressed > size - start:
        return OUTSIDE
    if values < rows or (leaf[MAX_REP] == 0 and values != rows):
        return CROWDED
    if (values - 1) // _MOST_PAGE_VALUES >= compressed // _LEAST_PAGE_BYTES:
        return CROWDED
    if nulls != kernels.ABSENT and (nulls < 0 or nulls > values):
        return UNCOUNTED
    repetitions, definitions = chunk[kernels.REPETITIONS], chunk[kernels.DEFINITIONS]
    if (repetitions > 0 and repetitions != leaf[MAX_REP] + 1) or (definitions > 0 and definitions != leaf[MAX_DEF] + 1):
        return UNFIT
    return SOUND if chunk[kernels.TYPE] == leaf[PHYSICAL] else OTHER_TYPE


@borrowing_kernel
def misplaced(raw: Bytes, facts: Int64Array, names: Bytes, cuts: Int64Array, size: int) -> bool:
    """Tell whether a column chunk cannot lie in a file, is encrypted or in another file, or is of another column.

    Args:
        raw (uint8 array): FileMetaData.
        facts (int64 array, shape (row groups, leaves, N_FACTS)): See `chunk_facts`.
        names (uint8 array): Paths of the leaves, as chunks name them, one after another.
        cuts (int64 array, shape (leaves + 1,)): Where each begins.
        size: Bytes of the file.
    """
    for group in range(facts.shape[0]):
        for leaf in range(facts.shape[1]):
            chunk, name, end = facts[group, leaf], cuts[leaf], cuts[leaf + 1]
            start, compressed, at = chunk[kernels.DATA_AT], chunk[kernels.COMPRESSED], chunk[kernels.PATH_AT]
            if chunk[kernels.DICTIONARY_AT] > 0:
                start = min(start, chunk[kernels.DICTIONARY_AT])
            if chunk[kernels.FOREIGN] != 0 or start < 0 or compressed < 0 or compressed > size - start:
                return True
            if at <= 0 or chunk[kernels.PATH_END] - at != end - name:
                return True
            for byte in range(end - name):
                if raw[at + byte] != names[name + byte]:
                    return True
    return False


@kernel
def _number_at(raw: Bytes, at: int, width: int) -> int:
    """A signed number of some bytes, lowest first."""
    number = np.uint64(0)
    for i in range(width):
        number |= np.uint64(raw[at + i]) << np.uint64(8 * i)
    unused = 64 - 8 * width
    return int(np.int64(number << np.uint64(unused))) >> unused


@kernel
def keep_to(
    raw: Bytes, fields: Int64Array, first: Int64Array, rows: Int64Array, begin: Int64Array, low: Int64Array,
    high: Int64Array, key_rule: Int64Array
) -> bool:  # fmt: skip
    """Tell whether numbers, none of them null, are shown to keep to what is stated of some rows.

    Numbers are given by keys: signed numbers of the same order, made of their bits by turning over `FLIP` and, where
    they are negative, `SIGNED`.

    Args:
        raw (uint8 array): Where bounds lie.
        fields (int64 array, shape (stretches, N_STATED)): See `streameval.kernels.parquet.statistics`.
        first, rows (int64 arrays, shape (stretches,)): First row of each, ascending, and its rows.
        begin (int64 array, strictly increasing): First rows of stretches of numbers, of which those above are made up.
        low, high (int64 arrays): Smallest and largest key of each of these; that of a NaN where one is.
        key_rule (int64 array): `WIDTH`, bytes of a number, and what makes keys; `LEAST` and `MOST`, keys of no NaN.

    Returns:
        bool: Also false where nulls are stated, a stretch has no row, or a bound is NaN or of another length.
    """
    at, width, least, most = 0, key_rule[WIDTH], key_rule[LEAST], key_rule[MOST]
    for i in range(fields.shape[0]):
        if rows[i] <= 0 or fields[i, kernels.STATED_NULLS] > 0:
            return False
        while at + 1 < begin.size and begin[at + 1] <= first[i]:
            at += 1
        for end in range(2):
            place, size = fields[i, kernels.LOW_AT + 2 * end], fields[i, kernels.LOW_AT + 2 * end + 1]
            if place < 0:
                continue
            if size != width or place + width > raw.size:
                return False
            bound = _number_at(raw, place, width)
            bound ^= key_rule[FLIP] ^ (bound >> 63 & key_rule[SIGNED])
            if key_rule[SIGNED] and bound == -end:  # the one zero of the other sign, which is as large
                bound = end - 1
            if bound < least or bound > most:
                return False
            stretch = at
            while stretch < begin.size and (stretch == at or begin[stretch] < first[i] + rows[i]):
                if low[stretch] < (least if end else bound) or high[stretch] > (bound if end else most):
                    return False
                stretch += 1
    return True
