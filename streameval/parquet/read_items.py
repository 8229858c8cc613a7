"""Wanted items of some row groups: each column by pages where that works, else by whole row groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice

import numpy as np
import pyarrow as pa

from streameval.kernels.jit import small
from streameval.kernels.page_index import CHUNK, ROWS
from streameval.parquet.account import Fallback
from streameval.parquet.checks import COPIES_OF_ONE
from streameval.parquet.chunks import Chunks, OpenFile, TogetherRead, UnfitError
from streameval.parquet.decode_pages import read_pages
from streameval.parquet.find_pages import find_pages
from streameval.parquet.footers import Footer
from streameval.parquet.pages import Pages, Part
from streameval.parquet.schema import wide_type
from streameval.parquet.small_files import read_small
from streameval.parquet.statistics import check_text
from streameval.parquet.undecodable import decoding
from streameval.parquet.whole_row_groups import read_whole
from streameval.typing import Int64Array

WALKED = "no page index: its pages were found by their headers"
# bytes of a job that are read at once: a pass and, from a store, some requests for all columns instead of for each
_TOGETHER = 1 << 25


def leaf_count(kind: pa.DataType) -> int:
    """Tell how many leaf columns a type is stored in."""
    if isinstance(kind, pa.BaseExtensionType):
        return leaf_count(kind.storage_type)
    if pa.types.is_struct(kind):
        return sum(leaf_count(field.type) for field in kind)
    if pa.types.is_map(kind):
        return leaf_count(kind.key_type) + leaf_count(kind.item_type)
    return leaf_count(kind.value_type) if _is_list(kind) else 1


def _is_list(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list))


def assemble(kind: pa.DataType, leaves: list[pa.Array]) -> pa.Array:
    """Join leaves.

    Args:
        kind: Of the whole column, wide (`wide_type`).
        leaves: Of equal length, of wide types, one per leaf in file order: structs of one field and lists of these.

    Returns:
        pyarrow.Array: Of `kind`.

    Raises:
        UnfitError: The leaves do not make this type.
    """
    if leaf_count(kind) != len(leaves):
        raise UnfitError(f"{len(leaves)} leaf columns do not make a {kind}")
    try:
        joined = _join(kind, leaves) if len(leaves) > 1 else leaves[0]
        joined = joined if joined.type == kind else joined.cast(kind)
        joined.validate()
    except (pa.ArrowException, IndexError, TypeError, ValueError) as error:
        raise UnfitError(f"its leaf columns do not make a {kind}") from error
    return joined


def _join(kind: pa.DataType, leaves: list[pa.Array]) -> pa.Array:
    if len(leaves) == 1:
        return leaves[0]
    first = leaves[0]
    _same_shape(leaves)
    if pa.types.is_struct(kind):
        children = _fields(kind, [leaf.field(0) for leaf in leaves])
        # an explicit length: children of an empty struct column have none
        return pa.StructArray.from_arrays(children, names=[f.name for f in kind], mask=first.is_null())
    offsets, inner = first.offsets, [leaf.flatten() for leaf in leaves]
    nulls = first.is_null() if first.null_count else None
    if pa.types.is_map(kind):
        cut = leaf_count(kind.key_type)
        keys, items = _join(kind.key_type, inner[:cut]), _join(kind.item_type, inner[cut:])
        return pa.MapArray.from_arrays(offsets.cast(pa.int32()), keys, items, mask=nulls)
    if _is_list(kind):
        return pa.LargeListArray.from_arrays(offsets, _join(kind.value_type, inner), mask=nulls)
    raise UnfitError(f"{len(leaves)} leaf columns do not make a {kind}")


def _fields(kind: pa.StructType, leaves: list[pa.Array]) -> list[pa.Array]:
    children, begin = [], 0
    for field in kind:
        end = begin + leaf_count(field.type)
        children.append(_join(field.type, leaves[begin:end]))
        begin = end
    return children


def _same_shape(leaves: list[pa.Array]) -> None:
    """Siblings are null together, and their lists are equally long: else one of them was read from wrong rows."""
    first = leaves[0]
    for leaf in leaves[1:]:
        same = len(leaf) == len(first) and leaf.is_null().equals(first.is_null())
        if same and pa.types.is_large_list(first.type):
            same = np.array_equal(leaf.offsets.to_numpy(), first.offsets.to_numpy())
        if not same:
            raise UnfitError("its leaf columns have different shapes")


@dataclass(frozen=True)
class LocatedColumn:
    """Places of wanted rows of a column in one file.

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
    at_once = [leaf for of, is_indexed in zip(leaves, indexed, strict=True) if is_indexed for leaf in of]
    by_index = iter(find_pages(file, at_once, rows) if at_once else ())
    located = []
    for column, of, is_indexed in zip(columns, leaves, indexed, strict=True):
        footer, groups = of[0].footer, tuple(of[0].groups.tolist())
        pages, why = tuple(islice(by_index, len(of))) if is_indexed else (), ""
        if not is_indexed:
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
    for alike, group in groupby(located, key=_encoding_key):
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


def _encoding_key(located: LocatedColumn) -> tuple[str, ...]:
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
    for leaf_pages in zip(*(file.pages for file in files), strict=True):
        arrays, n_bytes = read_pages(leaf_pages, limit, together)
        leaves.append(arrays)
        counts.n_bytes += n_bytes
        for pages in leaf_pages:
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
        arrays, n_rows, n_bytes = read_whole(file.footer, group, file.column, rows, limit)
        values += arrays
        counts.n_bytes += n_bytes
        decoded.append(n_rows)
    counts.add_rows(file.footer, np.array(decoded))
    return values


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
        return sum(int(ranges[:, 1].sum()) for _, spans in self._ranges for ranges in spans)

    def advise(self) -> None:
        """Have the system fetch the pages ahead."""
        for footer, spans in self._ranges:
            if spans:
                with OpenFile(footer) as file:
                    file.advise(np.concatenate(spans))

    def read_together(self, most: int) -> tuple[dict[str, TogetherRead], int]:
        """Read the pages of all columns, file by file, if they are `most` bytes at most; and how many were read."""
        read, n_bytes = dict[str, TogetherRead](), 0
        for footer, spans in self._ranges if self.size <= most else ():
            if spans:
                with OpenFile(footer) as file:
                    read[file.path] = file.read_together(np.concatenate(spans))
                n_bytes += file.bytes_read
        return read, n_bytes

    @cached_property
    def _ranges(self) -> list[tuple[Footer, list[Int64Array]]]:
        """Give what has to be read, by file."""
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
    """Tell how much there is to look at: footers, twice; wanted rows; and of pages 100 bytes for 20,000 rows or so."""
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
    arrays = dict(zip(names, table.take(pa.array(rows)).columns, strict=True))
    for name in names:
        check_text(arrays[name], name, _places(parts))
    for name in columns:
        if name not in arrays:
            arrays[name] = _partition_key(parts, name)
    return DecodedRows(
        table=pa.table(arrays).select(list(columns)),
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
    arrays: dict[str, pa.ChunkedArray] = {}
    for located in job.located:
        name = located[0].column
        values, way = read_column(located, limit, counts, together)
        arrays[name] = pa.chunked_array(values, wide_type(located[0].footer.schema.field(name).type))
        check_text(arrays[name], name, _places(job.parts))
        ways += way
    for name in job.columns:
        if name not in arrays:
            arrays[name] = _partition_key(job.parts, name)
    n_rows = sum(part.rows.size for part in job.parts)
    table = pa.table(arrays).select(list(job.columns)) if arrays else pa.table({"": np.zeros(n_rows)}).select([])
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
        Fallback(column, why, row_groups=len(row_groups), files=len({path for path, _ in row_groups}))
        for (column, why), row_groups in sorted(groups.items())
    )
