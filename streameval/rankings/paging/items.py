"""Wanted rows and columns of a run of row groups of one file: by pages where that works, else by whole row groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streameval.rankings.footers import Footer
from streameval.rankings.paging.chunks import OpenFile, Pages, UnfitError
from streameval.rankings.paging.locate import find_pages
from streameval.rankings.paging.nested import assemble
from streameval.rankings.paging.pages import read_pages
from streameval.rankings.paging.schema import wide_type
from streameval.rankings.paging.whole import read_whole
from streameval.types import Int64Array


@dataclass(frozen=True)
class Wanted:
    """Rows of some row groups of one file.

    Attributes
    ----------
    footer : Footer
    groups : tuple of int, strictly increasing
    rows : tuple of int64 arrays, strictly increasing
        For each row group, 0-based within it, one at least.
    """

    footer: Footer
    groups: tuple[int, ...]
    rows: tuple[Int64Array, ...]


@dataclass(frozen=True)
class Located:
    """Where a column's wanted rows lie.

    Attributes
    ----------
    column : str
    wanted : Wanted
    pages : tuple of tuple of Pages
        For each leaf, for each row group; empty where the column has to be read by row groups.
    unfit : str
        Why; empty where pages can be read.
    """

    column: str
    wanted: Wanted
    pages: tuple[tuple[Pages, ...], ...]
    unfit: str = ""

    @property
    def page_rows(self) -> tuple[Int64Array, ...]:
        """Every row of the chosen pages of a column with one leaf: all that decoding them shows."""
        return tuple(pages.rows for pages in self.pages[0]) if len(self.pages) == 1 else self.wanted.rows


@dataclass(frozen=True)
class Column:
    """Values of a column, and what was read for them.

    Attributes
    ----------
    values : list of pyarrow.Array
        Of the column's wide type; one after another they are the wanted rows.
    n_rows : int64 array, shape (row groups,)
        Rows decoded.
    n_pages : int
    unfit : str
        Why it was read by row groups; empty where it was not.
    """

    values: list[pa.Array]
    n_rows: Int64Array
    n_pages: int
    unfit: str = ""


def locate(file: OpenFile, columns: Sequence[str], wanted: Sequence[Wanted]) -> list[Located]:
    """Find the pages of columns, and have the system fetch them ahead.

    Parameters
    ----------
    columns : sequence of str
        Top-level fields of the file.
    wanted : sequence of Wanted
        For each column; of the same file and row groups.
    """
    chunks = file.chunks(wanted[0].footer, wanted[0].groups, columns)
    found = []
    for name, mine, leaves in zip(columns, wanted, chunks, strict=True):
        try:
            pages = tuple(tuple(find_pages(file, leaf, mine.rows)) for leaf in leaves)
            found.append(Located(name, mine, pages))
        except UnfitError as error:
            found.append(Located(name, mine, (), str(error)))
    return found


def read_column(file: OpenFile, located: Located, limit: int) -> Column:
    """Decode the wanted rows of one column.

    Parameters
    ----------
    limit : int
        Bytes that may be taken beyond what is returned.

    Raises
    ------
    InputError
        See `read_pages`, `read_whole`.
    """
    wanted = located.wanted
    if located.unfit:
        return _by_row_groups(file, located, located.unfit, limit)
    try:
        leaves = [read_pages(file, pages, wanted.rows, limit) for pages in located.pages]
        kind = wide_type(wanted.footer.schema.field(located.column).type)
        if len(leaves) == 1:
            values = [assemble(kind, [array]) for array in leaves[0]]
        else:
            values = [assemble(kind, [pa.concat_arrays(arrays) for arrays in leaves])]
    except UnfitError as error:
        return _by_row_groups(file, located, str(error), limit)
    rows = np.array([[int(p.n_rows.sum()) for p in pages] for pages in located.pages]).max(axis=0)
    return Column(values, rows, sum(p.at.size for pages in located.pages for p in pages))


def _by_row_groups(file: OpenFile, located: Located, why: str, limit: int) -> Column:
    values, rows = [], []
    footer = located.wanted.footer
    for group, mine in zip(located.wanted.groups, located.wanted.rows, strict=True):
        taken, decoded = read_whole(footer, group, located.column, mine, limit)
        values += taken
        rows.append(decoded)
    file.bytes_read += sum(
        chunk.end - chunk.begin
        for leaf in file.chunks(footer, located.wanted.groups, [located.column])[0]
        for chunk in leaf
    )
    return Column(values, np.array(rows), 0, why)
