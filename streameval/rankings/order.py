"""The order of scores among the rows that were read: they must not rise, and ties are counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from streameval.errors import InputError
from streameval.rankings import RankingOptions
from streameval.rankings.footers import Footer
from streameval.types import Int64Array

NO_ORDER = "sort the list by this column, or leave --score out if the stored order is the ranking"
_BUCKET_BITS = 12


@dataclass(frozen=True)
class Neighbours:
    """Scores of the rows just before and just after a row group; None where nothing is known of them."""

    before: Any = None
    after: Any = None


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
    neighbours : Neighbours
    """

    footer: Footer
    row_group: int
    first_row: int
    n_group_rows: int
    rows: Int64Array
    neighbours: Neighbours

    @property
    def where(self) -> str:
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

    @property
    def rows_and_next(self) -> Int64Array:
        """Wanted rows and the rows beside them in the row group, where ties show."""
        near = np.unique(np.concatenate([self.rows - 1, self.rows, self.rows + 1]))
        return near[(near >= 0) & (near < self.n_group_rows)]


@dataclass(frozen=True)
class Seen:
    """What the scores of a part show: the first and the last score read, and wanted rows that tie with a neighbour."""

    part: Part
    first: Any
    last: Any
    tied: int


def check_order(part: Part, at: Int64Array, score: pl.Series, options: RankingOptions) -> Seen:
    """Check the scores read of one row group.

    Parameters
    ----------
    at : int64 array, strictly increasing
        Their rows within the row group, `part.rows_and_next` among them.
    score : polars.Series

    Raises
    ------
    InputError
        A score that is null, NaN or out of order; with file and place.
    """
    bad = score.is_null() | (score.is_nan() if score.dtype.is_float() else False)
    if bad.any():
        row = part.first_row + int(at[int(bad.arg_true()[0])])
        raise InputError(
            f"{part.where}: {int(bad.sum()):,} of {len(score):,} rows read have no {options.score} (null or NaN; "
            f"first: row {row:,} of the file)",
            "every item of a ranking needs a score",
        )
    before, after = score.head(len(score) - 1), score.tail(len(score) - 1)
    wrong = (after < before) if options.ascending else (after > before)
    if wrong.any():
        i = int(wrong.arg_true()[0])
        raise InputError(
            f"{part.where}: {options.score} goes from {score[i]} to {score[i + 1]} at row "
            f"{part.first_row + int(at[i + 1]):,} of the file, out of order",
            NO_ORDER,
        )
    return Seen(part, score[0], score[-1], _count_ties(part, at, score))


def _count_ties(part: Part, at: Int64Array, score: pl.Series) -> int:
    """Count wanted rows that tie with a neighbour, one outside the row group included where statistics know it."""
    same = np.zeros(len(score) + 1, dtype=bool)
    same[1:-1] = (score.head(len(score) - 1) == score.tail(len(score) - 1)).to_numpy() & (np.diff(at) == 1)
    if at[0] == 0 and part.neighbours.before is not None:
        same[0] = score[0] == part.neighbours.before
    if at[-1] == part.n_group_rows - 1 and part.neighbours.after is not None:
        same[-1] = score[-1] == part.neighbours.after
    places = np.searchsorted(at, part.rows)
    return int(np.sum(same[places] | same[places + 1]))


def check_between(before: Seen, after: Seen, options: RankingOptions) -> None:
    """Scores must not rise from one row group that was read to the next."""
    wrong = after.first < before.last if options.ascending else after.first > before.last
    if wrong:
        raise InputError(
            f"{after.part.footer.file.path}: row {after.part.first_row:,} has {options.score} {after.first}, out of "
            f"order after {before.last} in {before.part.footer.file.path}",
            NO_ORDER,
        )
