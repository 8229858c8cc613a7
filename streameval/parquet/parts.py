"""The wanted rows of row groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from streameval.parquet.footers import Footer
from streameval.typing import Int64Array

_BUCKET_BITS = 12


def changes(values: Int64Array) -> Int64Array:
    """Where values begin that differ from the one before; the first does.

    >>> changes(np.array([4, 4, 7, 4])).tolist()
    [0, 2, 3]
    """
    new = np.empty(values.size, np.bool_)
    new[:1] = True
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new.nonzero()[0]


@dataclass(frozen=True)
class Part:
    """The wanted rows of one row group.

    Attributes:
        footer: Of its file.
        row_group: Its index there.
        rows (int64 array, strictly increasing): Wanted rows, 0-based within the row group.
    """

    footer: Footer
    row_group: int
    n_group_rows: int
    rows: Int64Array

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.row_group}"

    @cached_property
    def buckets(self) -> Int64Array:
        """Where the wanted rows that lie close together begin: about as many as the pages they will take."""
        return changes(self.rows >> _BUCKET_BITS)

    def cut(self, most: int) -> list[Part]:
        """Cut into pieces of at most `most` buckets; only with a page index does no piece read what another does."""
        begins = self.buckets[most::most] if self.footer.indexed else ()
        return [replace(self, rows=rows) for rows in np.split(self.rows, begins)] if len(begins) else [self]
