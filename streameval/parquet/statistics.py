"""What a file states of values: in its footer, in page headers and page indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
WHOLE, IN_INDEX = "its statistics", "the statistics in its column index"
# physical types whose statistics are plain numbers: INT32, INT64, FLOAT, DOUBLE
NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}


@dataclass(frozen=True, eq=False)
class Statistics:
    """What a file states of the values in some stretches of rows: those of row groups, or of pages.

    Attributes:
        source: Where it says so, for messages.
        first, rows: int64 arrays, shape (stretches,): First row of each, and its rows.
        raw: Where the bounds lie.
        fields: int64 array, shape (stretches, N_STATED): Columns of `streameval.kernels.parquet.statistics`.
    """

    source: str
    first: Int64Array
    rows: Int64Array
    raw: memoryview
    fields: Int64Array

    @property
    def nulls(self) -> Int64Array:
        """Nulls of each; negative where it does not say."""
        return np.asarray(self.fields[:, kernels.STATED_NULLS])

    @property
    def bounded(self) -> BoolArray:
        """Whether each has a bound."""
        return np.asarray(np.any(self.fields[:, _ENDS] >= 0, axis=1))

    def chosen(self, which: slice | Int64Array) -> Statistics:
        """Those of some of the stretches."""
        return replace(self, first=self.first[which], rows=self.rows[which], fields=self.fields[which])

    def within(self, first: int, rows: int) -> Statistics:
        """Those of the stretches that hold some of the rows from `first` on."""
        begin = np.searchsorted(self.first + self.rows, first, side="right")
        return self.chosen(slice(int(begin), int(np.searchsorted(self.first, first + rows))))

    def bound(self, stretch: int, end: int) -> bytes | None:
        """The smallest (`end` 0) or largest (1) value of a stretch as stored, or a bound of it; None where none is."""
        at, size = self.fields[stretch, [_ENDS[end], _SIZES[end]]].tolist()
        return bytes(self.raw[at : at + size]) if at >= 0 else None

    def numbers(self, number: np.dtype[Any]) -> tuple[BoolArray, AnyArray] | None:
        """Which bounds each stretch has, the lower and the upper, and these; None where one is of another length."""
        at, size = self.fields[:, _ENDS], self.fields[:, _SIZES]
        known = at >= 0
        if np.any(known & (size != number.itemsize)):
            return None
        starts = (max(0, len(self.raw) - number.itemsize + 1),)  # a number may begin at any byte
        bounds = np.zeros(at.shape, number)
        bounds[known] = np.ndarray(starts, number, self.raw, strides=(1,))[at[known]]
        return known, bounds


def of_pages(raw: memoryview, first: Int64Array, rows: Int64Array, where: str) -> Statistics:
    """Read a column index: what it states of each page, of which the first row and their number are given.

    Raises:
        InputError: The bytes are none, or of another number of pages.
    """
    found = np.empty((len(first), kernels.N_STATED), dtype=np.int64)
    with small(len(raw)):
        read = column_index(np.frombuffer(raw, np.uint8), 0, found)
    if read < 0:
        raise not_of_pages(where, len(first))
    return Statistics(IN_INDEX, first, rows, raw, found)


def not_of_pages(where: str, pages: int) -> InputError:
    """A column index that cannot be read."""
    return InputError(f"{where}: its column index cannot be read, or is not of its {pages:,} pages", RESTORE)


def nothing_of(first: Int64Array, rows: Int64Array) -> Statistics:
    """A column index that is not there."""
    absent = np.full((len(first), kernels.N_STATED), kernels.ABSENT)
    return Statistics(IN_INDEX, first, rows, memoryview(b""), absent)


def joined(some: Sequence[Statistics], first: Int64Array, rows: Int64Array) -> Statistics:
    """Those from one source, one after another, of the rows that are given."""
    fields = np.concatenate([one.fields for one in some])
    if len(some) == 1:
        return Statistics(some[0].source, first, rows, some[0].raw, fields)
    begins = np.cumsum([0, *(len(one.raw) for one in some)])[:-1]
    shift = np.repeat(begins, [len(one.fields) for one in some])[:, None]
    fields += np.where(fields >= 0, shift, 0) * _IS_PLACE
    return Statistics(some[0].source, first, rows, memoryview(b"".join(one.raw for one in some)), fields)


def states_anything(pages: Int64Array) -> bool:
    """Whether a header of a data page states anything of its values."""
    nulls, told = pages[:, headers.PAGE_NULLS], pages[:, headers.STATED : headers.N_HEADER]
    return bool(nulls.max(initial=-1) >= 0 or told.max(initial=-1) >= 0)


def of_headers(
    raw: memoryview, at: Int64Array, rows: tuple[Int64Array, Int64Array], pages: Int64Array
) -> list[Statistics]:
    """What the headers of data pages state of their values.

    Args:
        at (int64 array): Where each begins in `raw`.
        rows (int64 arrays): First row and rows of each.
        pages (int64 array, shape (pages, N_HEADER)): See `streameval.kernels.page_header`.
    """
    if not states_anything(pages):
        return []
    nulls, told = pages[:, headers.PAGE_NULLS], pages[:, headers.STATED : headers.N_HEADER]
    counts = np.full((len(pages), kernels.N_STATED), kernels.ABSENT, dtype=np.int64)
    counts[:, kernels.STATED_NULLS] = nulls
    places = told + np.where(told >= 0, at[:, None], 0) * _IS_PLACE
    found = [("the counts in its page header", counts), ("the statistics in its page header", places)]
    return [Statistics(whose, *rows, raw, one) for whose, one in found if one.max(initial=-1) >= 0]


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
    fields, none = facts[:, kernels.NULLS : kernels.NULLS + kernels.N_STATED].copy(), np.zeros(len(facts), np.int64)
    # a chunk of another type is encrypted or in another file: nothing is known of it
    known = (fields[:, kernels.STATED_NULLS] == 0) & (facts[:, kernels.TYPE] == physical)
    known &= np.all(fields[:, _ENDS] >= 0, axis=1)
    fields[~known] = kernels.ABSENT
    if (found := Statistics(WHOLE, none, none, raw.data, fields).numbers(number)) is None:
        wrong = int(np.any(known[:, None] & (fields[:, _SIZES] != number.itemsize), axis=1).argmax())
        low, high = fields[wrong, _SIZES].tolist()
        held = f"{where(wrong)}: its statistics have {high if low == number.itemsize else low} bytes"
        raise InputError(f"{held} instead of {number.itemsize}", RESTORE)
    numbers = found[1]
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
