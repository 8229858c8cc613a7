"""Read the wanted rows of one row group: one lazy Polars slice with projection pushed down.

Polars cannot read every type that Parquet can hold, nor slice past row 2³² of one file; pyarrow reads those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, outside_trouble
from streameval.rankings import RankingOptions
from streameval.rankings.footers import Footer
from streameval.types import Int64Array

_POLARS_ROWS = 2**32 - 2


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
    first_rank : int
    n_group_rows : int
    rows : int64 array, strictly increasing
        Wanted rows, 0-based within the row group.
    neighbours : Neighbours
    """

    footer: Footer
    row_group: int
    first_row: int
    first_rank: int
    n_group_rows: int
    rows: Int64Array
    neighbours: Neighbours

    @property
    def begin(self) -> int:
        """First row read: one before the first wanted, so that ties and order are seen there too."""
        return max(0, int(self.rows[0]) - 1)

    @property
    def n_rows(self) -> int:
        """Rows read."""
        return min(self.n_group_rows, int(self.rows[-1]) + 2) - self.begin

    @property
    def where(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.row_group}"


@dataclass(frozen=True)
class Slab:
    """What came of a part.

    Attributes
    ----------
    table : pyarrow.Table
        Wanted rows, wanted columns.
    score : pyarrow.Array or None
    first, last : score of the first and the last row read, or None
    tied : int
        Wanted rows whose score equals that of a neighbour.
    """

    table: pa.Table
    score: pa.Array | None
    first: Any
    last: Any
    tied: int


def read_part(part: Part, columns: Sequence[str], options: RankingOptions, limit: int) -> Slab:
    """Read one part.

    Parameters
    ----------
    columns : sequence of str
        Wanted; partition keys among them come from the file's path.
    limit : int
        Bytes that one row group may take decoded.

    Raises
    ------
    InputError
        Damaged data, a row group over the limit, or a score that is null, NaN or out of order; with file and place.
    """
    stored = [name for name in columns if name in part.footer.schema.names]
    needed = list(dict.fromkeys([*stored, *([options.score] if options.score else [])]))
    _check_size(part, needed, limit)
    frame = _read(part, needed)
    taken = frame[part.rows - part.begin]
    score, first, last, tied = None, None, None, 0
    if options.score is not None:
        series = frame[options.score]
        _check_order(part, series, options)
        tied = _count_ties(part, series)
        score, first, last = taken[options.score].to_arrow(), series[0], series[-1]
    table = taken.select(stored).to_arrow() if stored else pa.table({"_": np.zeros(part.rows.size)})
    for key, value in part.footer.file.keys:
        if key in columns and key not in stored:
            table = table.append_column(key, pa.array([value] * part.rows.size, pa.large_string()))
    return Slab(table.select(list(columns)), score, first, last, tied)


def _check_size(part: Part, needed: Sequence[str], limit: int) -> None:
    metadata = pq.read_metadata(part.footer.file.path).row_group(part.row_group)
    chunks = [metadata.column(i) for i in range(metadata.num_columns)]
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in needed)
    if size > limit:
        raise InputError(
            f"{part.where}: its columns take {size / 1e9:.1f} GB decoded, over the limit of {limit / 1e9:g} GB",
            "ask for fewer with --columns, or plan again with a larger --memory",
        )


def _read(part: Part, needed: list[str]) -> pl.DataFrame:
    if not needed:
        return pl.DataFrame({"_": np.zeros(part.n_rows)})
    try:
        if int(np.sum(part.footer.row_group_rows)) > _POLARS_ROWS:
            return _read_with_pyarrow(part, needed)
        return _read_with_polars(part, needed)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError) as error:
        raise outside_trouble(error) or _damaged(part, needed) from error


def _read_with_polars(part: Part, needed: list[str]) -> pl.DataFrame:
    scan = pl.scan_parquet(part.footer.file.path, hive_partitioning=False, glob=False, cache=False)
    frame = scan.select(needed).slice(part.first_row + part.begin, part.n_rows).collect()
    if frame.height != part.n_rows:
        raise OSError(f"{frame.height} rows instead of {part.n_rows}")
    return frame


def _read_with_pyarrow(part: Part, needed: list[str]) -> pl.DataFrame:
    with pq.ParquetFile(part.footer.file.path) as file:
        table = file.read_row_group(part.row_group, columns=needed, use_threads=False)
    frame = pl.from_arrow(table.slice(part.begin, part.n_rows))
    if not isinstance(frame, pl.DataFrame) or frame.height != part.n_rows:
        raise OSError("fewer rows than the footer claims")
    return frame


def _damaged(part: Part, needed: Sequence[str]) -> InputError:
    """Find the column at fault by reading each alone, so that the message can name it."""
    for name in needed:
        try:
            _read_with_polars(part, [name])
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            return InputError(
                f"{part.where}, column {name}: cannot be decoded ({first_line})",
                "the file is corrupt there, or uses a type that the reader does not know: leave the column out",
            )
    return InputError(f"{part.where}: cannot be decoded", "the file is corrupt there")


def _check_order(part: Part, score: pl.Series, options: RankingOptions) -> None:
    bad = score.is_null() | (score.is_nan() if score.dtype.is_float() else False)
    if bad.any():
        row = part.first_row + part.begin + int(bad.arg_true()[0])
        raise InputError(
            f"{part.where}: {int(bad.sum()):,} of {len(score):,} rows read have no {options.score} (null or NaN; "
            f"first: row {row:,} of the file)",
            "every item of a ranking needs a score",
        )
    wrong = _out_of_order(score, options)
    if wrong.any():
        at = int(wrong.arg_true()[0])
        raise InputError(
            f"{part.where}: {options.score} goes from {score[at]} to {score[at + 1]} at row "
            f"{part.first_row + part.begin + at + 1:,} of the file, out of order",
            "sort the list by this column, or leave --score out if the stored order is the ranking",
        )


def _out_of_order(score: pl.Series, options: RankingOptions) -> pl.Series:
    before, after = score.head(len(score) - 1), score.tail(len(score) - 1)
    return after < before if options.ascending else after > before


def _count_ties(part: Part, score: pl.Series) -> int:
    """Count wanted rows that tie with a neighbour, one outside the row group included where statistics know it."""
    same = np.zeros(len(score) + 1, dtype=bool)
    same[1:-1] = (score.head(len(score) - 1) == score.tail(len(score) - 1)).to_numpy()
    if part.begin == 0 and part.neighbours.before is not None:
        same[0] = score[0] == part.neighbours.before
    if part.begin + part.n_rows == part.n_group_rows and part.neighbours.after is not None:
        same[-1] = score[-1] == part.neighbours.after
    at = part.rows - part.begin
    return int(np.sum(same[at] | same[at + 1]))
