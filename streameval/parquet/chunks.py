"""Column chunks of one file, and pages in them; the file itself, read by ranges of bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType

import numpy as np

from streameval.errors import InputError, outside_trouble
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import interpreted
from streameval.parquet.footers import Footer
from streameval.parquet.layout import CORRUPT, find_fields, read_columns, schema_bytes
from streameval.parquet.schema import Leaf
from streameval.parquet.statistics import Stated, begin_of
from streameval.stores import store_of
from streameval.stores.ranges import Range
from streameval.typing import Int64Array


class UnfitError(Exception):
    """Pages of a chunk cannot be found or decoded alone, for the reason given: its row group has to be read instead."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """One leaf column of one row group.

    Attributes:
        footer: Of its file.
        facts (int64 array, shape (N_FACTS,)): See `streameval.kernels.parquet.chunk_facts`.
        stated: The statistics of the whole chunk.
    """

    footer: Footer
    group: int
    leaf: Leaf
    facts: Int64Array
    stated: Stated

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.group}, column {'.'.join(self.leaf.path)}"

    @property
    def n_rows(self) -> int:
        """Rows of the row group."""
        return int(self.footer.row_group_rows[self.group])

    @property
    def indexed(self) -> bool:
        """Whether it has an offset index."""
        return bool(self.facts[kernels.INDEX_AT] > 0)

    @property
    def column_index(self) -> list[Range]:
        """Where its column index lies; empty where it has none, or nothing is verified."""
        at, size = self.facts[[kernels.COLUMN_INDEX_AT, kernels.COLUMN_INDEX_SIZE]].tolist()
        return [(at, size)] if at > 0 and not self.leaf.max_rep and self.footer.verify == "on" else []

    @property
    def begin(self) -> int:
        """Its first byte."""
        return int(begin_of(self.facts))

    @property
    def end(self) -> int:
        """The byte after it."""
        return self.begin + int(self.facts[kernels.COMPRESSED])

    @property
    def ratio(self) -> float:
        """Decompressed bytes per byte."""
        return max(1.0, float(self.facts[kernels.UNCOMPRESSED]) / max(1, int(self.facts[kernels.COMPRESSED])))


@dataclass(frozen=True, eq=False)
class Pages:
    """Pages of a chunk that hold wanted rows, in order.

    Attributes:
        places (int64 array, shape (pages, 4)): Offset in the file, bytes with the header, first row within the row
            group, rows.
        wanted (int64 array, strictly increasing): Wanted rows of the row group, all of them in these pages.
        dictionary: Offset and bytes of the dictionary page.
        stated: What the column index says of each page; empty where there is none, or nothing is verified.
    """

    chunk: Chunk
    places: Int64Array
    wanted: Int64Array
    dictionary: Range | None
    stated: tuple[Stated, ...] = ()

    @property
    def n_rows(self) -> int:
        """Rows in these pages."""
        return int(self.places[:, 3].sum())

    @property
    def ranges(self) -> list[Range]:
        """What has to be read."""
        pages = [(at, size) for at, size, _, _ in self.places.tolist()]
        return [self.dictionary, *pages] if self.dictionary else pages

    @property
    def rows(self) -> Int64Array:
        """Every row in these pages, within the row group."""
        first, rows = self.places[:, 2], self.places[:, 3]
        shift = first - np.concatenate([[0], np.cumsum(rows)[:-1]])
        return np.asarray(np.arange(int(rows.sum())) + np.repeat(shift, rows), dtype=np.int64)

    def part(self, begin: int, end: int) -> Pages:
        """Some of the pages."""
        if end - begin == len(self.places):
            return self
        return replace(self, places=self.places[begin:end], stated=self.stated[begin:end])


@dataclass(frozen=True, eq=False)
class Run:
    """Pages of a chunk as they were read and checked.

    Attributes:
        body: The dictionary page, if there is one, and the pages, headers included.
        heads (list of int64 arrays): Header of each page without the dictionary (`streameval.kernels.page_header`).
        stated: What is said of the values of each of these pages.
        dictionary, entries: Bytes of the dictionary page, and of what is in it, decompressed.
        values, uncompressed: Values in the pages; bytes of everything, decompressed.
    """

    pages: Pages
    body: list[memoryview]
    heads: list[Int64Array]
    stated: list[tuple[Stated, ...]]
    dictionary: int
    entries: int
    values: int
    uncompressed: int

    @property
    def size(self) -> int:
        """Bytes as read."""
        return sum(len(piece) for piece in self.body)


class OpenFile:
    """A data file at work: its footer as it was when the ranking was opened, and every byte read from it counted.

    Raises:
        InputError: The file cannot be read, or its footer is another one now.
    """

    def __init__(self, footer: Footer) -> None:
        self.path = footer.file.path
        self.size = footer.size
        try:
            self._file = store_of(self.path).open(self.path)
        except OSError as error:
            raise outside_trouble(error) or InputError(f"{self.path}: cannot be read ({error.strerror})") from error

    @property
    def bytes_read(self) -> int:
        """Bytes read from it so far."""
        return self._file.bytes_read

    def __enter__(self) -> OpenFile:
        self._file.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.__exit__(kind, error, at)

    def chunks(self, footer: Footer, groups: Sequence[int], columns: Sequence[str]) -> list[list[list[Chunk]]]:
        """Column chunks, by column, leaf and row group.

        Args:
            groups: sequence of int, strictly increasing.
            columns: Top-level fields.
        """
        raw = self.footer(footer)
        with interpreted(2 * len(raw)):
            return self._chunks(footer, raw, groups, columns)

    def _chunks(
        self, footer: Footer, raw: bytes, groups: Sequence[int], columns: Sequence[str]
    ) -> list[list[list[Chunk]]]:
        of_column = {column.name: column.leaves for column in read_columns(self.path, schema_bytes(raw))}
        wanted = np.array(sorted({leaf.index for name in columns for leaf in of_column[name]}), dtype=np.int64)
        facts = np.empty((len(groups), wanted.size, kernels.N_FACTS), dtype=np.int64)
        own, chosen = np.empty((len(groups), 3), dtype=np.int64), np.array(groups, dtype=np.int64)
        at = int(find_fields(raw)[0][kernels.GROUPS_AT])
        if kernels.chunk_facts(np.frombuffer(raw, np.uint8), at, chosen, wanted, facts, own) < 0:
            raise InputError(f"{self.path}: its Parquet footer is corrupt (it lacks a column chunk)")
        slot = {int(index): i for i, index in enumerate(wanted)}
        return [
            [
                [self._chunk(footer, group, leaf, facts[i, slot[leaf.index]], raw) for i, group in enumerate(groups)]
                for leaf in of_column[name]
            ]
            for name in columns
        ]

    def hold_indexes(self, chunks: Iterable[Chunk]) -> None:
        """Have the indexes of some chunks fetched together, where single requests are dear."""
        indexed = [chunk for chunk in chunks if chunk.indexed]
        places = [chunk.facts[[kernels.INDEX_AT, kernels.INDEX_SIZE]].tolist() for chunk in indexed]
        places += [place for chunk in indexed for place in chunk.column_index]
        self._file.hold([(at, size) for at, size in places if size > 0])

    def footer(self, footer: Footer) -> bytes:
        """FileMetaData, as it was when the ranking was opened."""
        tail = self.read([(self.size - footer.length - 8, footer.length + 8)])[0]
        if hashlib.sha256(tail).hexdigest() != footer.digest:
            raise InputError(f"{self.path}: changed while it was read", "run the command again")
        return bytes(tail[:-8])

    def _chunk(self, footer: Footer, group: int, leaf: Leaf, facts: Int64Array, raw: bytes) -> Chunk:
        rows = (0, int(footer.row_group_rows[group]))
        told = facts[kernels.NULLS : kernels.NULLS + kernels.N_STATED]
        chunk = Chunk(footer, group, leaf, facts, Stated.read("its statistics", rows, raw, told))
        if facts[kernels.FOREIGN]:
            raise InputError(f"{chunk.place}: encrypted or kept in another file", "this version reads neither")
        if chunk.begin < 0 or facts[kernels.COMPRESSED] < 0 or chunk.end > self.size:
            raise InputError(f"{chunk.place}: claims bytes {chunk.begin:,}..{chunk.end:,} of a file of {self.size:,}")
        named = raw[facts[kernels.PATH_AT] : facts[kernels.PATH_END]] if facts[kernels.PATH_AT] > 0 else b""
        if named != leaf.named:
            raise InputError(f"{chunk.place}: the bytes there are said to be of another column", CORRUPT)
        return chunk

    def advise(self, ranges: Sequence[Range]) -> None:
        """Have the system fetch ranges ahead, many at once."""
        self._file.advise(ranges)

    def stream(self, at: int, end: int) -> None:
        """Read small steps within a stretch as is best for where the file lies."""
        self._file.stream(at, end)

    def read(self, ranges: Sequence[Range]) -> list[memoryview]:
        """Read (offset, bytes) ranges, near ones in one go.

        Raises:
            InputError: A range goes past the end of the file.
            OutsideError: The disk fails, or the store does not answer.
        """
        for at, size in ranges:
            if not 0 <= at <= at + size <= self.size:
                raise InputError(f"{self.path}: bytes {at:,}..{at + size:,} of a file of {self.size:,} were asked for")
        try:
            found = self._file.read(ranges)
        except OSError as error:
            raise outside_trouble(error) or InputError(f"{self.path}: cannot be read ({error.strerror})") from error
        if any(len(got) < size for got, (_, size) in zip(found, ranges, strict=True)):
            raise InputError(f"{self.path}: changed while it was read (it is shorter now)", "run the command again")
        return found
