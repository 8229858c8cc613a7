"""What footers say of their row groups, held against the sizes of the files, the schema, and themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.kernels import check_chunks as check
from streameval.kernels import parquet as kernels
from streameval.kernels import row_groups
from streameval.parquet import thrift
from streameval.parquet.layout import CORRUPT, find_fields
from streameval.parquet.schema import SchemaLeaves
from streameval.parquet.statistics import begin_of
from streameval.parquet.tails import FooterBytes
from streameval.typing import BoolArray, Int64Array


@dataclass(frozen=True, eq=False)
class RowGroups:
    """What footers of one schema say of their row groups.

    Attributes:
        rows: int64 array, shape (row groups,): One file after another.
        of_leaf (int64 array, shape (row groups, N_FACTS)): Facts of the chunks of one leaf column
            (`streameval.kernels.parquet.chunk_facts`), minimum and maximum where they lie in `FooterBytes.raw`; shape
            (row groups, 0) where none is wanted.
        ends: int64 array, shape (files,): Row groups up to the last of each file.
        indexed: bool array, shape (files,): Whether the first chunk of the first has an offset index.
        keys: Of each file, the list of key-value pairs, as its footer holds it.
        fault: What is wrong with the last file.
    """

    rows: Int64Array
    of_leaf: Int64Array
    ends: Int64Array
    indexed: BoolArray
    keys: list[bytes]
    fault: InputError | None


def read_row_groups(tails: FooterBytes, schema: bytes, leaves: SchemaLeaves, leaf: int | None) -> RowGroups:
    """Read every row group of the files that share the schema of the first, up to one that has another or a fault.

    Counts and sizes are checked. What is wrong is returned, for it may not be the first fault.

    Args:
        schema, leaves: Of the first file.
        leaf: Of which leaf column facts are wanted.
    """
    n_leaves, n_files = leaves.index.size, len(tails)
    size = tails.spans[:, row_groups.END] - tails.spans[:, row_groups.BEGIN]
    room = int(np.sum(size // (5 + n_leaves)))
    facts, own = np.empty((n_leaves, kernels.N_FACTS), np.int64), np.empty(3, np.int64)
    found, rows = np.empty((n_files, row_groups.N_OF_FILE), np.int64), np.empty(room, np.int64)
    of_leaf = np.empty((0 if leaf is None else room, kernels.N_FACTS), np.int64)
    wrong, at, group, column = row_groups.sound_row_groups(
        tails.raw, tails.spans, np.frombuffer(schema, np.uint8), leaves.index, leaves.levels,
        -1 if leaf is None else leaf, facts, own, found, rows, of_leaf,
    )  # fmt: skip
    fault = None
    if wrong not in (check.SOUND, check.OTHER_SCHEMA):
        chunk = _CheckedChunk(tails.files[at].path, int(tails.spans[at, row_groups.FILE_SIZE]), leaves, group, column)
        begin = int(found[at - 1, row_groups.GROUPS_END]) if at else 0
        mine = rows[begin : found[at, row_groups.GROUPS_END]]
        found[at, : kernels.N_FOUND], fault = _fault(chunk, wrong, tails.footer(at), mine, (own, facts))
        at += 1
    found = found[:at]
    ends = found[:, row_groups.GROUPS_END]
    n = int(ends[-1])
    return RowGroups(rows[:n].copy(), of_leaf[:n], ends, found[:, row_groups.INDEXED] > 0, _keys(tails, found), fault)


def _keys(tails: FooterBytes, found: Int64Array) -> list[bytes]:
    """Key-value pairs of each file; the same object where they are those of the file before."""
    begin = tails.spans[: len(found), row_groups.BEGIN]
    absent = found[:, kernels.KEYS_AT] < 0
    ends = np.where(absent[:, None], 0, found[:, [kernels.KEYS_AT, kernels.KEYS_END]] + begin[:, None]).tolist()
    keys, last = [], b""
    for at, end in ends:
        mine = tails.raw.data[at:end].tobytes()
        last = last if mine == last else mine
        keys.append(last)
    return keys


def _fault(
    chunk: _CheckedChunk, wrong: int, footer: bytes, rows: Int64Array, last: tuple[Int64Array, Int64Array]
) -> tuple[Int64Array, InputError]:
    """Fields of a faulty footer, and what is wrong with it: its sound row groups and facts of the last are given."""
    found, _ = find_fields(footer, stop=0)
    if min(found[kernels.ALL_ROWS_AT], found[kernels.GROUPS_AT]) < 0:
        return found, InputError(f"{chunk.path}: its Parquet footer is corrupt (it has no row groups)")
    if wrong != check.WRONG_TOTAL:
        return found, chunk.fault(wrong, *last)
    claimed, total = thrift.read_zigzag(footer, int(found[kernels.ALL_ROWS_AT]))[0], sum(rows.tolist())
    return found, InputError(f"{chunk.path}: the footer claims {claimed:,} rows, its row groups {total:,}")


@dataclass(frozen=True)
class _CheckedChunk:
    path: str
    size: int
    leaves: SchemaLeaves
    group: int
    leaf: int

    def fault(self, wrong: int, own: Int64Array, facts: Int64Array) -> InputError:
        """What is wrong there; `facts` are those of the row group."""
        where, rows = f"{self.path}: row group {self.group}", int(own[kernels.ROWS])
        if wrong == check.LACKING:
            return InputError(f"{where} cannot be read: the Parquet footer is corrupt there")
        if wrong == check.MISNUMBERED:
            return InputError(f"{where} says that it is row group {own[kernels.ORDINAL]}", CORRUPT)
        if wrong == check.NEGATIVE:
            return InputError(f"{where} claims {rows:,} rows")
        chunk, kind = facts[self.leaf], self.leaves.levels[self.leaf, check.PHYSICAL]
        size, values, begin = int(chunk[kernels.COMPRESSED]), chunk[kernels.VALUES], int(begin_of(chunk))
        where = f"{where}, column {self.leaves.names[self.leaf]}"
        faults = {
            check.OUTSIDE: InputError(
                f"{where}: claims bytes {begin:,}..{begin + size:,} of a file of {self.size:,}", CORRUPT
            ),
            check.CROWDED: InputError(
                f"{where}: claims {rows:,} rows and {values:,} values in {size:,} bytes", CORRUPT
            ),
            check.UNCOUNTED: InputError(
                f"{where}: claims {chunk[kernels.NULLS]:,} nulls among {values:,} values", CORRUPT
            ),
            check.UNFIT: InputError(f"{where}: its statistics are of other levels than those in the schema", CORRUPT),
            check.OTHER_TYPE: InputError(
                f"{where}: has physical type {chunk[kernels.TYPE]}, but {kind} in the schema", CORRUPT
            ),
        }
        return faults[wrong]
