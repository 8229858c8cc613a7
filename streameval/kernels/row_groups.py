"""Row groups as Parquet footers describe them, held against the sizes of the files and the schema; many at once."""

from __future__ import annotations

from streameval.kernels import parquet as kernels
from streameval.kernels.check_chunks import LACKING, OTHER_SCHEMA, SOUND, WRONG_TOTAL, group_fault
from streameval.kernels.jit import borrowing_kernel
from streameval.kernels.parquet import find_fields, row_group
from streameval.kernels.thrift import Bytes, zigzag
from streameval.typing import Int64Array

# columns of what is found of each file, after those of `find_fields`: row groups up to its last, and whether the first
# chunk of its first has an offset index
GROUPS_END, INDEXED = kernels.N_FOUND, kernels.N_FOUND + 1
N_OF_FILE = kernels.N_FOUND + 2
BEGIN, END, FILE_SIZE = range(3)  # columns of `spans`
_MOST_ROWS = 2**62


@borrowing_kernel
def sound_row_groups(
    raw: Bytes, spans: Int64Array, schema: Bytes, leaves: Int64Array, levels: Int64Array, leaf: int, facts: Int64Array,
    group_facts: Int64Array, file_facts: Int64Array, rows: Int64Array, of_leaf: Int64Array
) -> tuple[int, int, int, int]:  # fmt: skip
    """Read and check all row groups of footers of one schema, up to the first that cannot be as it says.

    Args:
        raw (uint8 array): Where the footers lie.
        spans (int64 array, shape (files, 3)): Where each FileMetaData begins and ends, and the bytes of its file.
        schema (uint8 array): Schema elements, as a footer holds them.
        leaves (int64 array, shape (leaves,)): 0, 1, …
        levels (int64 array, shape (leaves, 3)): Physical type, highest repetition and definition level of each.
        leaf: The one whose facts are wanted; negative for none.
        facts, group_facts (int64 arrays, shapes (leaves, N_FACTS) and (3,)): Receive those of the last row group that
            was read; see `chunk_facts`.
        file_facts (int64 array, shape (files, N_OF_FILE)): Filled as by `find_fields`, places counted from where each
            footer begins, and with `GROUPS_END` and `INDEXED`.
        rows (int64 array, shape (room,)): Receives rows of each row group, of one file after another. There has to be
            room for one for every 5 + leaves bytes of a footer: each takes so many at least.
        of_leaf (int64 array, shape (room, N_FACTS)): Receives facts of the leaf, minimum and maximum where they lie in
            `raw`.

    Returns:
        int: What is wrong: see `check_chunks`; `OTHER_SCHEMA` where a file is of another one.
        int, int, int: File, row group in it and leaf column.
    """
    n = 0
    for i in range(spans.shape[0]):
        mine, view = file_facts[i], raw[spans[i, BEGIN] : spans[i, END]]
        mine[:] = -1
        stopped = find_fields(view, 0, 0, 4, mine)
        if stopped and min(mine[0], mine[1], mine[2]) < 0:  # they may follow
            mine[:] = -1
            stopped = find_fields(view, 0, 0, 0, mine)
        mine[GROUPS_END], mine[INDEXED] = n, 0
        if not _same(view, mine[kernels.SCHEMA_AT], mine[kernels.SCHEMA_END], schema):
            return OTHER_SCHEMA, i, 0, 0
        at, total = mine[kernels.GROUPS_AT], 0
        for group in range(mine[kernels.GROUPS]):
            at = row_group(view, at, leaves, facts, group_facts)
            wrong, column = LACKING, 0
            if at >= 0 and n < rows.size:
                wrong, column = group_fault(facts, group_facts, levels, group, spans[i, FILE_SIZE])
            if wrong != SOUND:
                return wrong, i, group, column
            if group == 0 and leaves.size > 0 and facts[0, kernels.INDEX_AT] > 0:
                mine[INDEXED] = 1
            rows[n] = group_facts[kernels.ROWS]
            total = total + rows[n] if rows[n] < _MOST_ROWS - total else _MOST_ROWS
            if leaf >= 0:
                _copy(facts[leaf], spans[i, BEGIN], of_leaf[n])
            n += 1
            mine[GROUPS_END] = n
        if stopped:
            find_fields(view, at, 4, 0, mine)
        claimed, after = zigzag(view, mine[kernels.ALL_ROWS_AT])
        if after < 0 or total != claimed or total >= _MOST_ROWS:
            return WRONG_TOTAL, i, 0, 0
    return SOUND, spans.shape[0], 0, 0


@borrowing_kernel
def _same(raw: Bytes, at: int, end: int, other: Bytes) -> bool:
    """Tell whether some bytes are these; there are none where `at` is negative."""
    if at < 0:
        return other.size == 0
    same = end - at == other.size
    for byte in range(other.size if same else 0):
        same &= raw[at + byte] == other[byte]
    return same


@borrowing_kernel
def _copy(chunk: Int64Array, begin: int, room: Int64Array) -> None:
    """Copy facts of a chunk, minimum and maximum counted from `begin` bytes further ahead."""
    for fact in range(chunk.size):
        room[fact] = chunk[fact]
    for at in (kernels.MIN_AT, kernels.MAX_AT):
        if chunk[at] >= 0:
            room[at] += begin
