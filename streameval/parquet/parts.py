"""The wanted rows of row groups."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streameval.parquet.footers import Footer
from streameval.typing import Int64Array

_BUCKET_BITS = 12


@dataclass(frozen=True)
class Part:
    """The wanted rows of one row group.

    Attributes:
        footer: Of its file.
        row_group: Its index there.
        first_row: Row of the file that it begins at, 0-based.
        rows (int64 array, strictly increasing): Wanted rows, 0-based within the row group.
    """

    footer: Footer
    row_group: int
    first_row: int
    n_group_rows: int
    rows: Int64Array

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.row_group}"

    @property
    def buckets(self) -> Int64Array:
        """Where the wanted rows that lie close together begin: about as many as the pages they will take."""
        return np.append(0, np.flatnonzero(np.diff(self.rows >> _BUCKET_BITS)) + 1)

    def cut(self, most: int) -> list[Part]:
        """Cut into pieces of at most `most` buckets; only with a page index does no piece read what another does."""
        if not self.footer.indexed:
            return [self]
        return [replace(self, rows=rows) for rows in np.split(self.rows, self.buckets[most::most])]
