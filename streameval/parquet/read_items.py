"""Wanted items of some row groups: what `ParquetRows.take` does at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

import numpy as np
import pyarrow as pa

from streameval.kernels.jit import small
from streameval.parquet.account import Fallback
from streameval.parquet.check_values import check_text
from streameval.parquet.checks import COPIES_OF_ONE
from streameval.parquet.chunks import OpenFile, TogetherRead
from streameval.parquet.footers import Footer
from streameval.parquet.pages import Part
from streameval.parquet.read_column import LocatedColumn, ReadCounts, locate, read_column
from streameval.parquet.schema import wide_type
from streameval.parquet.small_files import read_small
from streameval.parquet.undecodable import decoding
from streameval.typing import Int64Array

# bytes of a job that are read at once: a pass and, from a store, some requests for all columns instead of for each
_TOGETHER = 1 << 25


@dataclass(frozen=True)
class ReadJob:
    """Parts of row groups whose pages are found.

    Attributes:
        parts: Of one or more files, in order.
        columns: Wanted; those that are no columns of a file are its partition keys.
        located: Wanted columns of the files, by file.
        bytes_read: Bytes of footers and indexes.
    """

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    located: tuple[tuple[LocatedColumn, ...], ...]
    bytes_read: int

    @cached_property
    def size(self) -> int:
        """Bytes of the pages."""
        return sum(int(ranges[:, 1].sum()) for _, found in self._ranges for ranges in found)

    def advise(self) -> None:
        """Have the system fetch the pages ahead."""
        for footer, found in self._ranges:
            if found:
                with OpenFile(footer) as file:
                    file.advise(np.concatenate(found))

    def read_together(self, most: int) -> tuple[dict[str, TogetherRead], int]:
        """Read the pages of all columns, file by file, if they are `most` bytes at most; and how many were read."""
        read, n_bytes = dict[str, TogetherRead](), 0
        for footer, found in self._ranges if self.size <= most else ():
            if found:
                with OpenFile(footer) as file:
                    read[file.path] = file.read_together(np.concatenate(found))
                n_bytes += file.bytes_read
        return read, n_bytes

    @cached_property
    def _ranges(self) -> list[tuple[Footer, list[Int64Array]]]:
        """What has to be read, by file."""
        by_file = zip(*self.located, strict=True)
        return [(of[0].footer, [pages.ranges for column in of for pages in column.pages]) for of in by_file]


@dataclass(frozen=True)
class DecodedRows:
    """The result of a job.

    Attributes:
        table: Wanted rows, wanted columns.
        ways: Columns that were not read by a page index, by file.
    """

    table: pa.Table
    rows_read: int
    pages_read: int
    bytes_read: int
    ways: tuple[LocatedColumn, ...]


def find_job(parts: Sequence[Part], columns: Sequence[str]) -> ReadJob:
    """Find the pages that hold the wanted rows of `parts`; a file that changed or is damaged is an `InputError`."""
    stored = set(parts[0].footer.schema.names)
    names = [name for name in dict.fromkeys(columns) if name in stored]
    with small(_steps(parts, len(names))):
        return _find(parts, columns, names)


def _steps(parts: Sequence[Part], n_columns: int) -> int:
    """How much there is to look at: footers, twice; wanted rows; and of pages 100 bytes for 20,000 rows or so."""
    footers = {part.footer.file.path: part.footer.length for part in parts}
    return 2 * sum(footers.values()) + n_columns * sum(part.rows.size // 3 + part.n_group_rows // 200 for part in parts)


def _find(parts: Sequence[Part], columns: Sequence[str], names: Sequence[str]) -> ReadJob:
    by_file: list[list[LocatedColumn]] = []
    n_bytes = 0
    for footer, group in groupby(parts, key=lambda part: part.footer):
        mine = list(group)
        with OpenFile(footer) as file:
            chunks = file.chunks(footer, [part.row_group for part in mine], names) if names else []
            file.hold_indexes([leaf for column in chunks for leaf in column])
            rows = [part.rows for part in mine]
            by_file.append(locate(names, file, chunks, rows))
        n_bytes += file.bytes_read
    return ReadJob(tuple(parts), tuple(columns), tuple(zip(*by_file, strict=True)), n_bytes)


def read_small_items(parts: Sequence[Part], columns: Sequence[str]) -> DecodedRows | None:
    """Read wanted items of small files of one schema, whole and at once; None: find their pages.

    Raises:
        InputError: A file that changed, or text that is not UTF-8.
    """
    schema = parts[0].footer.schema
    names = [name for name in dict.fromkeys(columns) if name in schema.names]
    with decoding(parts[0].place):
        whole = read_small([part.footer for part in parts], names) if names else None
    if whole is None:
        return None
    sizes = np.array([part.n_group_rows for part in parts])
    rows = np.concatenate([part.rows + begin for part, begin in zip(parts, np.cumsum(sizes) - sizes, strict=True)])
    # some of the types that files have can be cast but not taken from
    table = whole.cast(pa.schema([schema.field(name).with_type(wide_type(schema.field(name).type)) for name in names]))
    made = dict(zip(names, table.take(pa.array(rows)).columns, strict=True))
    for name in names:
        check_text(made[name], name, _places(parts))
    for name in columns:
        if name not in made:
            made[name] = _partition_key(parts, name)
    return DecodedRows(
        table=pa.table(made).select(list(columns)),
        rows_read=int(sizes.sum()),
        pages_read=len(parts) * len(names),
        bytes_read=sum(part.footer.size for part in parts),
        ways=(),
    )


def _places(parts: Sequence[Part]) -> Iterator[tuple[str, int]]:
    return ((part.place, int(row)) for part in parts for row in part.rows)


def read_job(job: ReadJob, limit: int) -> DecodedRows:
    """Read the items of a job.

    Args:
        limit: Bytes that may be taken beyond what is returned.

    Raises:
        InputError: Damaged data or a page over the limit, with file and place.
    """
    together, n_bytes = job.read_together(min(_TOGETHER, limit // COPIES_OF_ONE))
    counts = ReadCounts(job.bytes_read + n_bytes, 0, {})
    ways: list[LocatedColumn] = []
    made: dict[str, pa.ChunkedArray] = {}
    for located in job.located:
        name = located[0].column
        values, way = read_column(located, limit, counts, together)
        made[name] = pa.chunked_array(values, wide_type(located[0].footer.schema.field(name).type))
        check_text(made[name], name, _places(job.parts))
        ways += way
    for name in job.columns:
        if name not in made:
            made[name] = _partition_key(job.parts, name)
    n_rows = sum(part.rows.size for part in job.parts)
    table = pa.table(made).select(list(job.columns)) if made else pa.table({"": np.zeros(n_rows)}).select([])
    return DecodedRows(
        table=table,
        rows_read=sum(int(rows.sum()) for rows in counts.rows.values()),
        pages_read=counts.n_pages,
        bytes_read=counts.n_bytes,
        ways=tuple(replace(way, pages=(), rows=()) for way in ways if way.why),
    )


def _partition_key(parts: Sequence[Part], name: str) -> pa.ChunkedArray:
    values = [pa.array([dict(part.footer.file.keys)[name]] * part.rows.size, pa.large_string()) for part in parts]
    return pa.chunked_array(values, pa.large_string())


def fallbacks(decoded_runs: Sequence[DecodedRows]) -> tuple[Fallback, ...]:
    """Count the row groups that were not read by a page index, by column and reason."""
    groups: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for way in (way for decoded in decoded_runs for way in decoded.ways):
        groups.setdefault((way.column, way.why), set()).update((way.footer.file.path, group) for group in way.groups)
    return tuple(
        Fallback(column, why, row_groups=len(found), files=len({path for path, _ in found}))
        for (column, why), found in sorted(groups.items())
    )
