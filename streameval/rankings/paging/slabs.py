"""Wanted items of a run of row groups of one file: the unit of work of `StoredRanking.fetch`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pyarrow as pa

from streameval.kernels.parquet import INDEX_AT
from streameval.rankings import RankingOptions
from streameval.rankings.order import Part, Seen, check_order
from streameval.rankings.paging.chunks import OpenFile
from streameval.rankings.paging.items import Column, Located, Wanted, locate, read_column
from streameval.rankings.paging.schema import wide_type
from streameval.types import Int64Array

WALKED = "no page index: its pages were found by their headers"


@dataclass(frozen=True)
class Job:
    """Parts of one file whose pages are found.

    Attributes
    ----------
    parts : tuple of Part
    columns : tuple of str
        Wanted; those that are no columns of the file are its partition keys.
    options : RankingOptions
    located : tuple of Located
        Of the wanted columns of the file; the score column first, where the order has one.
    bytes_read : int
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    options: RankingOptions
    located: tuple[Located, ...]
    bytes_read: int


@dataclass(frozen=True)
class Slab:
    """What came of a job.

    Attributes
    ----------
    path : str
        Of the file.
    table : pyarrow.Table
        Wanted rows, wanted columns.
    score : pyarrow.Array or None
        Score of the wanted rows.
    seen : tuple of Seen
        What the scores of each part show; empty where the order has none.
    rows_read, pages_read, bytes_read : int
    ways : Counter of (column, why)
        Row groups whose column was not read by its page index, and why.
    """

    path: str
    table: pa.Table
    score: pa.Array | None
    seen: tuple[Seen, ...]
    rows_read: int
    pages_read: int
    bytes_read: int
    ways: Counter[tuple[str, str]]


def find_job(parts: Sequence[Part], columns: Sequence[str], options: RankingOptions) -> Job:
    """Find the pages that hold the wanted rows of `parts`, and have the system fetch them ahead.

    Raises
    ------
    InputError
        A file that changed or is damaged.
    """
    footer = parts[0].footer
    groups = tuple(part.row_group for part in parts)
    wanted = Wanted(footer, groups, tuple(part.rows for part in parts))
    names = [name for name in dict.fromkeys(columns) if name in footer.schema.names]
    requests = [(name, wanted) for name in names]
    if options.score is not None:
        near = replace(wanted, rows=tuple(part.rows_and_next for part in parts))
        requests.insert(0, (options.score, near))
    if not requests:
        return Job(tuple(parts), tuple(columns), options, (), 0)
    with OpenFile(footer) as file:
        located = locate(file, [name for name, _ in requests], [mine for _, mine in requests])
        file.advise([one for found in located for leaf in found.pages for pages in leaf for one in pages.ranges])
    return Job(tuple(parts), tuple(columns), options, tuple(located), file.bytes_read)


def read_job(job: Job, limit: int) -> Slab:
    """Read the items of a job.

    Parameters
    ----------
    limit : int
        Bytes that may be taken beyond what is returned.

    Raises
    ------
    InputError
        Damaged data, a page over the limit, or a score that is null, NaN or out of order; with file and place.
    """
    footer, located = job.parts[0].footer, list(job.located)
    n_rows = sum(part.rows.size for part in job.parts)
    made: dict[str, pa.ChunkedArray] = {}
    read: list[tuple[Located, Column]] = []
    score: pa.Array | None = None
    seen: list[Seen] = []
    with OpenFile(footer) as file:
        if job.options.score is not None:
            found = located.pop(0)
            # every row of the score's pages is looked at, not only the wanted ones
            found = replace(found, wanted=replace(found.wanted, rows=found.page_rows))
            column = read_column(file, found, limit)
            read.append((found, column))
            score, seen = _scores(job, found.wanted.rows, column)
        for found in located:
            column = read_column(file, found, limit)
            read.append((found, column))
            made[found.column] = pa.chunked_array(column.values, wide_type(footer.schema.field(found.column).type))
    for key, value in footer.file.keys:
        if key in job.columns and key not in made:
            made[key] = pa.array([value] * n_rows, pa.large_string())
    table = pa.table(made).select(list(job.columns)) if made else pa.table({"": np.zeros(n_rows)}).select([])
    return Slab(
        path=footer.file.path,
        table=table,
        score=score,
        seen=tuple(seen),
        rows_read=int(np.max([column.n_rows for _, column in read], axis=0).sum()) if read else 0,
        pages_read=sum(column.n_pages for _, column in read),
        bytes_read=job.bytes_read + file.bytes_read if read else 0,
        ways=_ways(read),
    )


def _scores(job: Job, rows: Sequence[Int64Array], column: Column) -> tuple[pa.Array, list[Seen]]:
    """Check the scores read of each part, and take those of the wanted rows."""
    values = pa.concat_arrays(column.values)
    series = pl.Series(pl.from_arrow(values))
    seen, wanted, begin = [], [], 0
    for part, at in zip(job.parts, rows, strict=True):
        seen.append(check_order(part, at, series.slice(begin, at.size), job.options))
        wanted.append(np.searchsorted(at, part.rows) + begin)
        begin += at.size
    return values.take(pa.array(np.concatenate(wanted))), seen


def _ways(read: Sequence[tuple[Located, Column]]) -> Counter[tuple[str, str]]:
    ways: Counter[tuple[str, str]] = Counter()
    for located, column in read:
        if column.unfit:
            ways[located.column, column.unfit] += len(located.wanted.groups)
        else:
            by_group = zip(*located.pages, strict=True)
            walked = sum(any(pages.chunk.facts[INDEX_AT] <= 0 for pages in of) for of in by_group)
            ways[located.column, WALKED] += walked
    return +ways
