"""What a footer says of its row groups, held against the size of the file, the schema, and itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    indexed: bool = False
    key_values: bytes = b""
    fault: InputError | None = None


@dataclass(frozen=True)
class FooterBytes:
    """A FileMetaData.

    Attributes:
        path, size: Of its file.
        leaves: Of its schema.
    """

    path: str
    size: int
    raw: bytes
    leaves: SchemaLeaves


def read_row_groups(footer: FooterBytes, leaf: int | None) -> RowGroups:
    """Read every row group, and check counts and sizes; what is wrong is returned, for it may not be the first fault.

    Args:
        leaf: Of which leaf column facts are wanted.
    """
    found, stopped = find_fields(footer.raw)
    groups, at = _read(footer, found, leaf)
    if groups.fault is not None:
        found, stopped = find_fields(footer.raw, stop=0)
        if min(found[kernels.ALL_ROWS_AT], found[kernels.GROUPS_AT]) < 0:
            nothing = InputError(f"{footer.path}: its Parquet footer is corrupt (it has no row groups)")
            groups = replace(groups, rows=groups.rows[:0], of_leaf=groups.of_leaf[:0], fault=nothing)
    elif stopped:
        kernels.find_fields(np.frombuffer(footer.raw, np.uint8), at, 4, 0, found)
    return replace(groups, key_values=span(footer.raw, found, kernels.KEYS_AT))


def _read(footer: FooterBytes, found: Int64Array, leaf: int | None) -> tuple[RowGroups, int]:
    """Read row groups up to the first that cannot be as it says; the position after them."""
    count, at, n_leaves = int(found[kernels.GROUPS]), int(found[kernels.GROUPS_AT]), footer.leaves.index.size
    view, room = np.frombuffer(footer.raw, np.uint8), max(1, _BLOCK // max(1, n_leaves))
    rows, of_leaf = [np.empty(0, np.int64)], [np.empty((0, 0 if leaf is None else kernels.N_FACTS), np.int64)]
    indexed, fault = False, None
    for first in range(0, count, room):
        chosen = np.arange(min(room, count - first), dtype=np.int64)
        facts, own = np.empty((chosen.size, n_leaves, kernels.N_FACTS), np.int64), np.empty((chosen.size, 3), np.int64)
        at = int(kernels.chunk_facts(view, at, chosen, footer.leaves.index, facts, own))
        sound = chosen.size if at >= 0 else -1 - at
        wrong, group, column = check.check_chunks(facts[:sound], own[:sound], footer.leaves.levels, first, footer.size)
        sound = group if wrong else sound
        rows.append(own[:sound, kernels.ROWS])
        if leaf is not None:
            of_leaf.append(facts[:sound, leaf].copy())
        indexed = indexed or bool(not first and sound and n_leaves and facts[0, 0, kernels.INDEX_AT] > 0)
        if wrong or at < 0:
            fault = _fault(footer, wrong or check.LACKING, (first + sound, column), own[sound], facts[sound])
            break
    fault = fault or _wrong_total(footer, found, rows)
    return RowGroups(np.concatenate(rows), np.concatenate(of_leaf), indexed, fault=fault), at


def _wrong_total(footer: FooterBytes, found: Int64Array, rows: list[Int64Array]) -> InputError | None:
    total = sum(sum(some.tolist()) for some in rows)
    claimed = (
        thrift.read_zigzag(footer.raw, int(found[kernels.ALL_ROWS_AT]))[0] if found[kernels.ALL_ROWS_AT] > 0 else -1
    )
    if total == claimed and total < 2**62:
        return None
    return InputError(f"{footer.path}: the footer claims {claimed:,} rows, its row groups {total:,}")


def _fault(footer: FooterBytes, wrong: int, place: tuple[int, int], own: Int64Array, facts: Int64Array) -> InputError:
    """What is wrong with a row group."""
    group, leaf = place
    where, rows = f"{footer.path}: row group {group}", int(own[kernels.ROWS])
    if wrong == check.LACKING:
        return InputError(f"{where} cannot be read: the Parquet footer is corrupt there")
    if wrong == check.MISNUMBERED:
        return InputError(f"{where} says that it is row group {own[kernels.ORDINAL]}", CORRUPT)
    if wrong == check.NEGATIVE:
        return InputError(f"{where} claims {rows:,} rows")
    chunk, kind = facts[leaf], footer.leaves.levels[leaf, check.PHYSICAL]
    size, values, begin = int(chunk[kernels.COMPRESSED]), chunk[kernels.VALUES], int(begin_of(chunk))
    said = {
        check.OUTSIDE: f"claims bytes {begin:,}..{begin + size:,} of a file of {footer.size:,}",
        check.CROWDED: f"claims {rows:,} rows and {values:,} values in {size:,} bytes",
        check.UNCOUNTED: f"claims {chunk[kernels.NULLS]:,} nulls among {values:,} values",
        check.UNFIT: "its statistics are of other levels than those in the schema",
        check.OTHER_TYPE: f"has physical type {chunk[kernels.TYPE]}, but {kind} in the schema",
    }
    return InputError(f"{where}, column {footer.leaves.names[leaf]}: {said[wrong]}", CORRUPT)
