"""What a footer says of its row groups, held against the size of the file, the schema, and itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.kernels import check_chunks as check
from streameval.kernels import parquet as kernels
from streameval.parquet import thrift
from streameval.parquet.layout import CORRUPT, find_fields, span
from streameval.parquet.schema import SchemaLeaves
from streameval.parquet.statistics import begin_of
from streameval.typing import Int64Array

_BLOCK = 1 << 16  # column chunks whose facts are in memory at a time


@dataclass(frozen=True, eq=False)
class RowGroups:
    """What a footer says of its row groups.

    Attributes:
        rows: int64 array, shape (row groups,).
        of_leaf (int64 array, shape (row groups, N_FACTS)): Facts of the chunks of one leaf column
            (`streameval.kernels.parquet.chunk_facts`); shape (row groups, 0) where none is wanted.
        indexed: Whether the first chunk of the first has an offset index.
        key_values: The list of key-value pairs, as the footer holds it.
        fault: What is wrong with the row group after these, or with all of them.
    """

    rows: Int64Array
    of_leaf: Int64Array
    indexed: bool
    key_values: bytes
    fault: InputError | None


@dataclass(frozen=True, eq=False)
class FooterBytes:
    """A FileMetaData.

    Attributes:
        path, size: Of its file.
        found: What `find_fields` found; up to the row groups where it `stopped` there.
    """

    path: str
    size: int
    raw: bytes
    found: Int64Array
    stopped: bool

    @classmethod
    def of(cls, path: str, size: int, raw: bytes) -> FooterBytes:
        """Find its fields."""
        return cls(path, size, raw, *find_fields(raw))

    @property
    def schema(self) -> bytes:
        """Its schema elements; empty where there are none."""
        return span(self.raw, self.found, kernels.SCHEMA_AT)


def read_row_groups(footer: FooterBytes, leaves: SchemaLeaves, leaf: int | None) -> RowGroups:
    """Read every row group, and check counts and sizes; what is wrong is returned, for it may not be the first fault.

    Args:
        leaves: Of the schema.
        leaf: Of which leaf column facts are wanted.
    """
    found = footer.found
    rows, of_leaf, indexed, fault, at = _read(footer, leaves, leaf)
    if fault is not None:
        found, _ = find_fields(footer.raw, stop=0)
        if min(found[kernels.ALL_ROWS_AT], found[kernels.GROUPS_AT]) < 0:
            fault = InputError(f"{footer.path}: its Parquet footer is corrupt (it has no row groups)")
            rows, of_leaf = rows[:0], of_leaf[:0]
    elif footer.stopped:
        kernels.find_fields(np.frombuffer(footer.raw, np.uint8), at, 4, 0, found)
    return RowGroups(rows, of_leaf, indexed, span(footer.raw, found, kernels.KEYS_AT), fault)


def _read(
    footer: FooterBytes, leaves: SchemaLeaves, leaf: int | None
) -> tuple[Int64Array, Int64Array, bool, InputError | None, int]:
    """Read row groups up to the first that cannot be as it says; what `RowGroups` says of them, the position after."""
    count, at, n_leaves = int(footer.found[kernels.GROUPS]), int(footer.found[kernels.GROUPS_AT]), leaves.index.size
    view, room = np.frombuffer(footer.raw, np.uint8), max(1, _BLOCK // max(1, n_leaves))
    rows, of_leaf, indexed, fault = [], [], False, None
    for first in range(0, max(1, count), room):
        chosen = np.arange(min(room, count - first), dtype=np.int64)
        facts, own = np.empty((chosen.size, n_leaves, kernels.N_FACTS), np.int64), np.empty((chosen.size, 3), np.int64)
        at = int(kernels.chunk_facts(view, at, chosen, leaves.index, facts, own))
        sound = chosen.size if at >= 0 else -1 - at
        wrong, group, column = check.check_chunks(facts[:sound], own[:sound], leaves.levels, first, footer.size)
        sound = group if wrong else sound
        rows.append(own[:sound, kernels.ROWS].copy())
        of_leaf.append(facts[:sound, leaf].copy() if leaf is not None else own[:sound, :0])
        indexed = indexed or bool(not first and sound and n_leaves and facts[0, 0, kernels.INDEX_AT] > 0)
        if chosen.size and (wrong or at < 0):
            place = _CheckedChunk(footer, leaves, first + sound, column)
            fault = place.fault(wrong or check.LACKING, own[sound], facts[sound])
            break
    if len(rows) > 1:
        rows, of_leaf = [np.concatenate(rows)], [np.concatenate(of_leaf)]
    return rows[0], of_leaf[0], indexed, fault or _wrong_total(footer, rows[0]), at


def _wrong_total(footer: FooterBytes, rows: Int64Array) -> InputError | None:
    total, at = sum(rows.tolist()), int(footer.found[kernels.ALL_ROWS_AT])
    claimed = thrift.read_zigzag(footer.raw, at)[0] if at > 0 else -1
    if total == claimed and total < 2**62:
        return None
    return InputError(f"{footer.path}: the footer claims {claimed:,} rows, its row groups {total:,}")


@dataclass(frozen=True)
class _CheckedChunk:
    footer: FooterBytes
    leaves: SchemaLeaves
    group: int
    leaf: int

    def fault(self, wrong: int, own: Int64Array, facts: Int64Array) -> InputError:
        """What is wrong there; `facts` are those of the row group."""
        where, rows = f"{self.footer.path}: row group {self.group}", int(own[kernels.ROWS])
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
                f"{where}: claims bytes {begin:,}..{begin + size:,} of a file of {self.footer.size:,}", CORRUPT
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
