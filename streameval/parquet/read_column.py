"""Wanted rows of one column in some row groups: by pages where that works, else by whole row groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice

import numpy as np
import pyarrow as pa

from streameval.kernels.page_index import CHUNK, ROWS
from streameval.parquet.chunks import Chunks, OpenFile, TogetherRead, UnfitError
from streameval.parquet.decode_pages import read_pages
from streameval.parquet.find_pages import find_pages
from streameval.parquet.footers import Footer
from streameval.parquet.nested import assemble
from streameval.parquet.pages import Pages
from streameval.parquet.schema import wide_type
from streameval.parquet.whole_row_groups import read_whole
from streameval.typing import Int64Array

WALKED = "no page index: its pages were found by their headers"


@dataclass(frozen=True)
class LocatedColumn:
    """Where wanted rows of a column lie in one file.

    Attributes:
        groups (tuple of int, strictly increasing): Row groups.
        rows (tuple of int64 arrays, strictly increasing): For each row group, wanted rows within it, one at least.
        pages: For each leaf; empty where the column has to be read by row groups.
        why: Why the column cannot be read by a page index; empty where it can.
    """

    column: str
    footer: Footer
    groups: tuple[int, ...]
    rows: tuple[Int64Array, ...]
    pages: tuple[Pages, ...] = ()
    why: str = ""


@dataclass
class ReadCounts:
    """Bytes and pages read, and per file the rows decoded of its row groups, of the column that took most of each."""

    n_bytes: int
    n_pages: int
    rows: dict[str, Int64Array]

    def add_rows(self, footer: Footer, rows: Int64Array) -> None:
        """Count rows of the row groups of a file."""
        self.rows[footer.file.path] = np.maximum(self.rows.get(footer.file.path, 0), rows)


def locate(
    columns: Sequence[str], file: OpenFile, leaves: Sequence[Sequence[Chunks]], rows: Sequence[Int64Array]
) -> list[LocatedColumn]:
    """Find the pages of columns: of those that have a page index at once.

    Args:
        leaves: Of each column.
        rows (sequence of int64 arrays): Wanted rows of each row group.
    """
    indexed = [all(bool(np.all(leaf.indexed)) for leaf in of) for of in leaves]
    at_once = [leaf for of, known in zip(leaves, indexed, strict=True) if known for leaf in of]
    found = iter(find_pages(file, at_once, rows) if at_once else ())
    located = []
    for column, of, known in zip(columns, leaves, indexed, strict=True):
        footer, groups = of[0].footer, tuple(of[0].groups.tolist())
        pages, why = tuple(islice(found, len(of))) if known else (), ""
        if not known:
            try:
                pages, why = tuple(find_pages(file, of, rows)), WALKED
            except UnfitError as error:
                why = str(error)
        located.append(LocatedColumn(column, footer, groups, tuple(rows), pages, why))
    return located


def read_column(
    located: Sequence[LocatedColumn], limit: int, counts: ReadCounts, together: Mapping[str, TogetherRead]
) -> tuple[list[pa.Array], list[LocatedColumn]]:
    """Decode the wanted rows of one column.

    Args:
        located: By file.
        limit: Bytes that may be taken beyond what is returned.
        counts: Added to.
        together: Pages that were read before, by file.

    Returns:
        list of pyarrow.Array: Of the column's wide type; one after another they are the wanted rows.
        list of LocatedColumn: As given, with the reason why where pages turned out not to be readable.

    Raises:
        InputError: See `read_pages`, `read_whole`.
    """
    values, ways = [], []
    for alike, group in groupby(located, key=_written):
        files = list(group)
        try:
            if alike:
                values += _by_pages(files, limit, counts, together)
            else:
                for file in files:
                    values += _by_row_groups(file, limit, counts)
            ways += files
        except UnfitError as error:
            # one file at a time, so that only the one at fault is read by row groups
            if len(files) == 1:
                files = [replace(files[0], pages=(), why=str(error))]
            for file in files:
                more, way = read_column([file], limit, counts, together)
                values += more
                ways += way
    return values, ways


def _written(located: LocatedColumn) -> tuple[str, ...]:
    """Files alike in this can be decoded together; () stands for row groups, one file at a time."""
    if not located.pages:
        return ()
    kind = str(wide_type(located.footer.schema.field(located.column).type))
    return (kind, *(pages.chunks.leaf.chain.hex() for pages in located.pages))


def _by_pages(
    files: Sequence[LocatedColumn], limit: int, counts: ReadCounts, together: Mapping[str, TogetherRead]
) -> list[pa.Array]:
    kind = wide_type(files[0].footer.schema.field(files[0].column).type)
    leaves = []
    for found in zip(*(file.pages for file in files), strict=True):
        arrays, n_bytes = read_pages(found, limit, together)
        leaves.append(arrays)
        counts.n_bytes += n_bytes
        for pages in found:
            counts.n_pages += len(pages.places)
            decoded = np.zeros(len(pages.chunks), np.int64)
            np.add.at(decoded, pages.places[:, CHUNK], pages.places[:, ROWS])
            counts.add_rows(pages.chunks.footer, decoded)
    if len(leaves) == 1:
        return [assemble(kind, [array]) for array in leaves[0]]
    return [assemble(kind, [pa.concat_arrays(arrays) for arrays in leaves])]


def _by_row_groups(file: LocatedColumn, limit: int, counts: ReadCounts) -> list[pa.Array]:
    values: list[pa.Array] = []
    decoded: list[int] = []
    for group, rows in zip(file.groups, file.rows, strict=True):
        taken, n_rows, n_bytes = read_whole(file.footer, group, file.column, rows, limit)
        values += taken
        counts.n_bytes += n_bytes
        decoded.append(n_rows)
    counts.add_rows(file.footer, np.array(decoded))
    return values
