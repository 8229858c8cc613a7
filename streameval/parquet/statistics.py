"""What a file states of values: in its footer, in page headers and page indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import small
from streameval.kernels.page_index import column_index
from streameval.kernels.sorted_sets import isin
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt8Array

RESTORE = "the file was damaged after it was written, or its writer is at fault; restore it"
# columns of `streameval.kernels.parquet.statistics` that are places
_ENDS = np.array([kernels.LOW_AT, kernels.HIGH_AT])
_SIZES = _ENDS + 1
_IS_PLACE = isin(np.arange(kernels.N_STATED), _ENDS)
IN_INDEX = "the statistics in its column index"
# physical types whose statistics are plain numbers: INT32, INT64, FLOAT, DOUBLE
NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}


@dataclass(frozen=True)
class Stated:
    """What a file states of the values in some rows of a row group.

    Attributes:
        whose: Where it says so, for messages.
        first, rows: The rows.
        low, high: Smallest and largest value as stored, or bounds of them; None where it does not say.
        nulls: Negative where it does not say.
    """

    whose: str
    first: int
    rows: int
    low: bytes | None
    high: bytes | None
    nulls: int

    @classmethod
    def read(cls, whose: str, rows: tuple[int, int], raw: bytes | memoryview, stated: Int64Array) -> Stated:
        """Take it from where `streameval.kernels.parquet.statistics` found it."""
        nulls, low, low_size, high, high_size = stated.tolist()
        return cls(
            whose,
            *rows,
            bytes(raw[low : low + low_size]) if low >= 0 else None,
            bytes(raw[high : high + high_size]) if high >= 0 else None,
            nulls,
        )


@dataclass(frozen=True, eq=False)
class StatedOfPages:
    """What a file states of the values of each page of a chunk.

    Attributes:
        whose: Where it says so, for messages.
        first, rows: int64 arrays, shape (pages,).
        raw: Where the bounds are.
        told: int64 array, shape (pages, N_STATED): Columns of `streameval.kernels.parquet.statistics`.
    """

    whose: str
    first: Int64Array
    rows: Int64Array
    raw: memoryview
    told: Int64Array

    def chosen(self, pages: slice | Int64Array) -> StatedOfPages:
        """What is stated of some of the pages."""
        return StatedOfPages(self.whose, self.first[pages], self.rows[pages], self.raw, self.told[pages])

    def within(self, first: int, rows: int) -> StatedOfPages:
        """What is stated of the pages that hold some of the rows from `first` on."""
        begin = np.searchsorted(self.first + self.rows, first, side="right")
        return self.chosen(slice(int(begin), int(np.searchsorted(self.first, first + rows))))

    def __getitem__(self, page: int) -> Stated:
        return Stated.read(self.whose, (int(self.first[page]), int(self.rows[page])), self.raw, self.told[page])

    def bounds(self, number: np.dtype[Any]) -> tuple[BoolArray, AnyArray] | None:
        """Which bounds each page has, the lower and the upper, and these; None where one is of another length."""
        at, size = self.told[:, _ENDS], self.told[:, _SIZES]
        known = at >= 0
        if np.any(known & (size != number.itemsize)):
            return None
        bounds = np.zeros((*at.shape, number.itemsize), np.uint8)
        bounds[known] = np.frombuffer(self.raw, np.uint8)[at[known, None] + np.arange(number.itemsize)]
        return known, bounds.view(number)[..., 0]


def of_pages(raw: memoryview, first: Int64Array, rows: Int64Array, where: str) -> StatedOfPages:
    """Read a column index: what it states of each page, of which the first row and their number are given.

    Raises:
        InputError: The bytes are none, or of another number of pages.
    """
    found = np.empty((len(first), kernels.N_STATED), dtype=np.int64)
    with small(len(raw)):
        read = column_index(np.frombuffer(raw, np.uint8), found)
    if read < 0:
        raise not_of_pages(where, len(first))
    return StatedOfPages(IN_INDEX, first, rows, raw, found)


def not_of_pages(where: str, pages: int) -> InputError:
    """A column index that cannot be read."""
    return InputError(f"{where}: its column index cannot be read, or is not of its {pages:,} pages", RESTORE)


def of_headers(
    raw: memoryview, at: Int64Array, rows: tuple[Int64Array, Int64Array], pages: Int64Array
) -> list[StatedOfPages]:
    """What the headers of data pages state of their values.

    Args:
        at (int64 array): Where each begins in `raw`.
        rows (int64 arrays): First row and rows of each.
        pages (int64 array, shape (pages, N_HEADER)): See `streameval.kernels.page_header`.
    """
    nulls, told = pages[:, headers.PAGE_NULLS], pages[:, headers.STATED : headers.N_HEADER]
    if max(nulls.max(initial=-1), told.max(initial=-1)) < 0:
        return []
    counts = np.full((len(pages), kernels.N_STATED), kernels.ABSENT, dtype=np.int64)
    counts[:, kernels.STATED_NULLS] = nulls
    places = told + np.where(told >= 0, at[:, None], 0) * _IS_PLACE
    found = [("the counts in its page header", counts), ("the statistics in its page header", places)]
    return [StatedOfPages(whose, *rows, raw, one) for whose, one in found if one.max(initial=-1) >= 0]


@dataclass(frozen=True, eq=False)
class ChunkBounds:
    """Minimum and maximum of column chunks.

    Attributes:
        known: bool array, shape (chunks,): False where the footer does not say, for a type whose statistics are no
            plain numbers, and where there are nulls or they are not counted.
        ends (array, shape (chunks, 2)): As stored, so that dates and times are integers; 0 where they are not known.
    """

    known: BoolArray
    ends: AnyArray

    @classmethod
    def joined(cls, some: Sequence[ChunkBounds]) -> ChunkBounds:
        """Those of one column after another, of one type."""
        return cls(np.concatenate([one.known for one in some]), np.concatenate([one.ends for one in some]))

    def chosen(self, chunks: slice | BoolArray) -> ChunkBounds:
        """Those of some of the chunks."""
        return ChunkBounds(self.known[chunks], self.ends[chunks])


def begin_of(facts: Int64Array) -> Int64Array:
    """First byte of chunks; some writers have the data begin at the dictionary, some put 0 where there is none.

    Args:
        facts (int64 array, shape (..., N_FACTS)): See `streameval.kernels.parquet.chunk_facts`.
    """
    data, dictionary = facts[..., kernels.DATA_AT], facts[..., kernels.DICTIONARY_AT]
    return np.where(dictionary > 0, np.minimum(data, dictionary), data)


def bounds_of(
    facts: Int64Array, raw: UInt8Array, physical: int, kind: pa.DataType, where: Callable[[int], str]
) -> ChunkBounds:
    """Read minimum and maximum of chunks of one column.

    Args:
        facts (int64 array, shape (chunks, N_FACTS)): See `streameval.kernels.parquet.chunk_facts`.
        raw (uint8 array): Where minima and maxima lie.
        physical, kind: Types of the column.
        where: The place of a chunk, for messages.

    Raises:
        InputError: Statistics of another length than the values.
    """
    number = number_type(NUMBERS[physical], kind) if physical in NUMBERS and pa.types.is_primitive(kind) else None
    known = np.zeros(len(facts), np.bool_)
    if number is None or not (pa.types.is_integer(kind) or kind.bit_width == 8 * number.itemsize):
        return ChunkBounds(known, np.zeros((len(facts), 2), np.int64))  # no plain numbers, or brought to another unit
    ends = np.zeros((len(facts), 2, number.itemsize), np.uint8)
    wrong = int(kernels.bounds(raw, facts, physical, ends, known))
    if wrong >= 0:
        low, high = facts[wrong, [kernels.MIN_SIZE, kernels.MAX_SIZE]].tolist()
        held = f"{where(wrong)}: its statistics have {high if low == number.itemsize else low} bytes"
        raise InputError(f"{held} instead of {number.itemsize}", RESTORE)
    numbers = ends.view(number)[..., 0]
    nan = np.isnan(numbers).any(axis=1)  # which says nothing about order
    known[nan], numbers[nan] = False, 0
    return ChunkBounds(known, numbers)


def number_of(raw: bytes, number: str, kind: pa.DataType, whose: str) -> Any:
    """Read a bound that is a plain number; an `InputError` where it has another length."""
    dtype = number_type(number, kind)
    if len(raw) != dtype.itemsize:
        raise InputError(f"{whose} have {len(raw)} bytes instead of {dtype.itemsize}", RESTORE)
    return np.frombuffer(raw, dtype)[0].item()


def number_type(number: str, kind: pa.DataType) -> np.dtype[Any]:
    """The type of bounds of a column."""
    return np.dtype(number.replace("i", "u") if pa.types.is_unsigned_integer(kind) else number)
