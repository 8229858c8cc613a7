"""Column chunks of one file, and pages in them; the file itself, read by ranges of bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from types import TracebackType

import numpy as np

from streameval.errors import InputError, outside_trouble
from streameval.kernels import parquet as kernels
from streameval.kernels.check_chunks import misplaced
from streameval.kernels.jit import small
from streameval.parquet.footers import Footer
from streameval.parquet.layout import CORRUPT, find_fields, read_columns, span
from streameval.parquet.schema import Leaf
from streameval.parquet.statistics import WHOLE, Statistics, begin_of
from streameval.stores import store_of
from streameval.stores.ranges import Range
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt8Array


class UnfitError(Exception):
    """Pages of a chunk cannot be found or decoded alone, for the reason given: its row group has to be read instead."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """One leaf column of one row group.

    Attributes:
        footer: Of its file.
        n_rows: Rows of the row group.
        facts (int64 array, shape (N_FACTS,)): See `streameval.kernels.parquet.chunk_facts`.
        stated: The statistics of the whole chunk, one stretch.
        begin, end: Its first byte, and the byte after it.
        schema: The list of schema elements, as the footer holds it.
    """

    footer: Footer
    group: int
    n_rows: int
    leaf: Leaf
    facts: Int64Array
    stated: Statistics
    begin: int
    end: int
    schema: bytes

    @property
    def place(self) -> str:
        """The place, for messages."""
        return f"{self.footer.file.path}: row group {self.group}, column {'.'.join(self.leaf.path)}"

    @property
    def column_index(self) -> list[Range]:
        """Place of its column index; empty where it has none, or nothing is verified."""
        at, size = self.facts[[kernels.COLUMN_INDEX_AT, kernels.COLUMN_INDEX_SIZE]].tolist()
        return [(at, size)] if at > 0 and not self.leaf.max_rep and self.footer.verify == "on" else []


@dataclass(frozen=True, eq=False)
class Chunks:
    """One leaf column of some row groups of a file.

    Attributes:
        groups (int64 array, strictly increasing): The row groups.
        facts (int64 array, shape (row groups, N_FACTS)): See `streameval.kernels.parquet.chunk_facts`.
        raw: The footer that they were read from.
        schema: The list of schema elements, as it holds it.
    """

    footer: Footer
    leaf: Leaf
    groups: Int64Array
    facts: Int64Array
    raw: bytes
    schema: bytes

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Chunk]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Chunk:
        facts, group = self.facts[i], int(self.groups[i])
        begin, n_rows = int(begin_of(facts)), int(self.footer.row_group_rows[group])
        end = begin + int(facts[kernels.COMPRESSED])
        stated = self.stated.chosen(slice(i, i + 1))
        return Chunk(self.footer, group, n_rows, self.leaf, facts, stated, begin, end, self.schema)

    def chosen(self, wanted: BoolArray) -> Chunks:
        """Some of them."""
        return replace(self, groups=self.groups[wanted], facts=self.facts[wanted])

    @cached_property
    def n_rows(self) -> Int64Array:
        """Rows of each row group."""
        return np.asarray(self.footer.row_group_rows[self.groups], dtype=np.int64)

    @cached_property
    def begin(self) -> Int64Array:
        """First byte of each."""
        return begin_of(self.facts)

    @property
    def end(self) -> Int64Array:
        """The byte after each."""
        return np.asarray(self.begin + self.facts[:, kernels.COMPRESSED], dtype=np.int64)

    @property
    def indexed(self) -> BoolArray:
        """Tell whether each has an offset index."""
        return np.asarray(self.facts[:, kernels.INDEX_AT] > 0)

    @cached_property
    def indexes(self) -> Int64Array:
        """Places of offset index and column index of each: int64, shape (row groups, 2, 2), offset and bytes.

        Offset 0 where there is none; no column index where it is not read (`Chunk.column_index`).
        """
        spans = self.facts[:, kernels.INDEX_AT : kernels.COLUMN_INDEX_SIZE + 1].reshape(-1, 2, 2)  # a copy
        if self.leaf.max_rep or self.footer.verify == "off":
            spans[:, 1] = 0
        spans[spans[:, 0, 0] <= 0] = 0
        spans[spans[..., 0] <= 0] = 0
        return spans

    @property
    def ratio(self) -> FloatArray:
        """Decompressed bytes per byte of each."""
        compressed = np.maximum(self.facts[:, kernels.COMPRESSED], 1)
        return np.maximum(1.0, self.facts[:, kernels.UNCOMPRESSED] / compressed)

    @cached_property
    def stated(self) -> Statistics:
        """The statistics of each."""
        fields = self.facts[:, kernels.NULLS : kernels.NULLS + kernels.N_STATED]
        return Statistics(WHOLE, np.zeros_like(self.n_rows), self.n_rows, memoryview(self.raw), fields)

    def check(self, size: int) -> None:
        """Refuse chunks that cannot lie in a file of some size, or are of another column."""
        foreign = self.facts[:, kernels.FOREIGN] != 0
        inside = (self.begin >= 0) & (self.begin <= self.end) & (self.end <= size)
        paths = self.facts[:, [kernels.PATH_AT, kernels.PATH_END]].tolist()
        named = np.array([at > 0 and self.raw[at:end] == self.leaf.named for at, end in paths], np.bool_)
        for i in np.flatnonzero(foreign | ~inside | ~named)[:1].tolist():
            chunk = self[i]
            if foreign[i]:
                raise InputError(f"{chunk.place}: encrypted or kept in another file", "this version reads neither")
            if not inside[i]:
                claimed = f"{chunk.begin:,}..{chunk.end:,}"
                raise InputError(f"{chunk.place}: claims bytes {claimed} of a file of {size:,}")
            raise InputError(f"{chunk.place}: the bytes there are said to be of another column", CORRUPT)


@dataclass(frozen=True, eq=False)
class TogetherRead:
    """Ranges of a file that were read together.

    Attributes:
        raw: What was read.
        offsets, places (int64 arrays, shape (ranges,)): Where each range begins in the file, in ascending order, and
            where in `raw`.
    """

    raw: UInt8Array
    offsets: Int64Array
    places: Int64Array

    def gather(self, ranges: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Find some of the ranges; see `OpenFile.gather`."""
        return self.raw, self.places[self.offsets.searchsorted(ranges[:, 0])]


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
            raise self._unreadable(error) from error

    @property
    def bytes_read(self) -> int:
        """Bytes read from it so far."""
        return self._file.bytes_read

    def __enter__(self) -> OpenFile:
        self._file.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.__exit__(kind, error, at)

    def chunks(self, footer: Footer, groups: Sequence[int], columns: Sequence[str]) -> list[list[Chunks]]:
        """Column chunks, by column and leaf.

        Args:
            groups: sequence of int, strictly increasing.
            columns: Top-level fields, or fields of structs.
        """
        raw = self.footer(footer)
        with small(2 * len(raw)):
            return self._chunks(footer, raw, groups, columns)

    def _chunks(self, footer: Footer, raw: bytes, groups: Sequence[int], columns: Sequence[str]) -> list[list[Chunks]]:
        places = find_fields(raw)[0]
        schema = span(raw, places, kernels.SCHEMA_AT)
        columns_by_name = read_columns(self.path, schema)
        of_column = {name: columns_by_name[name].leaves for name in columns}
        leaves = {leaf.index: leaf for name in columns for leaf in of_column[name]}
        wanted = np.array(sorted(leaves), dtype=np.int64)
        facts = np.empty((len(groups), wanted.size, kernels.N_FACTS), dtype=np.int64)
        group_facts, chosen = np.empty((len(groups), 3), dtype=np.int64), np.array(groups, dtype=np.int64)
        at = int(places[kernels.GROUPS_AT])
        view = np.frombuffer(raw, np.uint8)
        if kernels.chunk_facts(view, at, chosen, wanted, facts, group_facts) < 0:
            raise InputError(f"{self.path}: its Parquet footer is corrupt (it lacks a column chunk)")
        slot = {int(index): i for i, index in enumerate(wanted)}
        by_column = [
            [Chunks(footer, leaf, chosen, facts[:, slot[leaf.index]], raw, schema) for leaf in of_column[name]]
            for name in columns
        ]
        named = [leaves[index].named for index in wanted.tolist()]
        names, cuts = np.frombuffer(b"".join(named), np.uint8), np.cumsum([0, *map(len, named)])
        if misplaced(view, facts, names, cuts, self.size):
            for chunks in chain.from_iterable(by_column):
                chunks.check(self.size)
        return by_column

    def hold_indexes(self, leaves: Sequence[Chunks]) -> None:
        """Have the indexes of some chunks fetched together, where single requests are dear."""
        if leaves:
            places = np.concatenate([chunks.indexes.reshape(-1, 2) for chunks in leaves])
            self._file.hold(places[places[:, 1] > 0])

    def footer(self, footer: Footer) -> bytes:
        """FileMetaData, as it was when the ranking was opened."""
        tail = self.read([(self.size - footer.length - 8, footer.length + 8)])[0]
        if hashlib.sha256(tail).hexdigest() != footer.digest:
            raise self.changed()
        return bytes(tail[:-8])

    def changed(self) -> InputError:
        """Make the error of a footer that is not what it was."""
        return InputError(f"{self.path}: changed while it was read", "run the command again")

    def advise(self, ranges: Int64Array) -> None:
        """Have the system fetch ranges (rows of offset and bytes) ahead, many at once."""
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
                raise self._outside(at, size)
        try:
            pieces = self._file.read(ranges)
        except OSError as error:
            raise self._unreadable(error) from error
        if [len(got) for got in pieces] != [size for _, size in ranges]:
            raise self._shorter()
        return pieces

    def gather(self, ranges: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Read many ranges, given as rows of offset and bytes; errors as in `read`.

        Returns:
            uint8 array, read-only: What was read.
            int64 array: Where in it each range begins.
        """
        at, size = ranges.T
        for wrong in np.flatnonzero((at < 0) | (size < 0) | (size > self.size - at))[:1].tolist():
            raise self._outside(*ranges[wrong].tolist())
        try:
            memory, places = self._file.gather(ranges)
        except OSError as error:
            raise self._unreadable(error) from error
        if np.any(places + size > memory.size):
            raise self._shorter()
        return memory, places

    def read_together(self, ranges: Int64Array) -> TogetherRead:
        """Read many ranges, to be taken one by one; errors as in `read`."""
        raw, places = self.gather(ranges)
        order = ranges[:, 0].argsort(kind="stable")
        return TogetherRead(raw, ranges[order, 0], places[order])

    def _outside(self, at: int, size: int) -> InputError:
        return InputError(f"{self.path}: bytes {at:,}..{at + size:,} of a file of {self.size:,} were asked for")

    def _unreadable(self, error: OSError) -> Exception:
        return outside_trouble(error) or InputError(f"{self.path}: cannot be read ({error.strerror})")

    def _shorter(self) -> InputError:
        return InputError(f"{self.path}: changed while it was read (it is shorter now)", "run the command again")
