"""Which rows of which row group are wanted."""

from __future__ import annotations

from dataclasses import dataclass

from streameval.rankings.footers import Footer
from streameval.types import Int64Array


@dataclass(frozen=True)
class Part:
    """The wanted rows of one row group.

    Attributes
    ----------
    footer : Footer
        Of its file.
    row_group : int
        Its index there.
    first_row : int
        Row of the file that it begins at, 0-based.
    n_group_rows : int
    rows : int64 array, strictly increasing
        Wanted rows, 0-based within the row group.
    """

    footer: Footer
    row_group: int
    first_row: int
    n_group_rows: int
    rows: Int64Array

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.row_group}"
