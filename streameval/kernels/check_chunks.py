"""What a Parquet footer says of column chunks, held against the file's size and the schema."""

from __future__ import annotations

from streameval.kernels import parquet as kernels
from streameval.kernels.jit import borrowing_kernel
from streameval.kernels.thrift import Bytes
from streameval.typing import Int64Array

# what may be wrong, and columns of the leaves that `group_fault` is given
SOUND, LACKING, MISNUMBERED, NEGATIVE, OUTSIDE, CROWDED, UNCOUNTED, UNFIT, OTHER_TYPE = range(9)
WRONG_TOTAL, OTHER_SCHEMA = 9, 10
PHYSICAL, MAX_REP, MAX_DEF = range(3)
# a data page takes at least this many bytes and says how many values it holds in 31 bits
_LEAST_PAGE_BYTES = 12
_MOST_PAGE_VALUES = 2**31 - 1
_MOST_ORDINAL = 2**15  # ordinals are numbers of 16 bits


@borrowing_kernel
def group_fault(facts: Int64Array, own: Int64Array, leaves: Int64Array, group: int, size: int) -> tuple[int, int]:
    """What is wrong with a row group that the file cannot hold, or that contradicts the schema.

    Args:
        facts (int64 array, shape (leaves, N_FACTS)): Of all leaf columns: see `chunk_facts`.
        own (int64 array, shape (3,)): See `chunk_facts`.
        leaves (int64 array, shape (leaves, 3)): Physical type, highest repetition and definition level of each.
        group: Its number.
        size: Bytes of the file.

    Returns:
        int: What is wrong; `SOUND` where nothing is.
        int: The leaf column.
    """
    rows, ordinal = own[kernels.ROWS], own[kernels.ORDINAL]
    if own[kernels.COLUMNS] != leaves.shape[0]:
        return LACKING, 0
    if ordinal != kernels.ABSENT and ordinal != group and group < _MOST_ORDINAL:
        return MISNUMBERED, 0
    if rows < 0:
        return NEGATIVE, 0
    for leaf in range(leaves.shape[0] if rows > 0 else 0):
        found = _fault(facts[leaf], leaves[leaf], rows, size)
        if found != SOUND:
            return found, leaf
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
    """Whether a column chunk cannot lie in a file, is encrypted or in another file, or is of another column.

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
