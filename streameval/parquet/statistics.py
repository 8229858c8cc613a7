"""What a file states of values (in its footer, in page headers and page indexes), and whether the values agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Context
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.page_index import column_index
from streameval.parquet.schema import BYTE_ARRAY, Leaf, leaves_of
from streameval.typing import Int64Array

# columns of `streameval.kernels.parquet.statistics` that are places
_IS_PLACE = np.isin(np.arange(kernels.N_STATED), [kernels.LOW_AT, kernels.HIGH_AT])
# physical types whose statistics are plain numbers: INT32, INT64, FLOAT, DOUBLE
_NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
_BOOLEAN, _FIXED = 0, 7


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

    def __getitem__(self, page: int) -> Stated:
        return Stated.read(self.whose, (int(self.first[page]), int(self.rows[page])), self.raw, self.told[page])

    def bounds(self, number: np.dtype[Any]) -> tuple[Any, Any] | None:
        """Lowest and highest values as arrays of a type; None where they are not given for every page."""
        at, size = self.told[:, [kernels.LOW_AT, kernels.HIGH_AT]], self.told[:, [kernels.LOW_SIZE, kernels.HIGH_SIZE]]
        if at.min(initial=0) < 0 or np.any(size != number.itemsize):
            return None
        found = np.frombuffer(self.raw, np.uint8)[at[..., None] + np.arange(number.itemsize)].view(number)[..., 0]
        return found[:, 0].copy(), found[:, 1].copy()


def of_pages(raw: memoryview, first: Int64Array, rows: Int64Array, where: str) -> StatedOfPages:
    """Read a column index: what it states of each page, of which the first row and their number are given.

    Raises:
        InputError: The bytes are none, or of another number of pages.
    """
    found = np.empty((len(first), kernels.N_STATED), dtype=np.int64)
    if column_index(np.frombuffer(raw, np.uint8), found) < 0:
        raise InputError(f"{where}: its column index cannot be read, or is not of its {len(first):,} pages", _RESTORE)
    return StatedOfPages("the statistics in its column index", first, rows, raw, found)


def of_headers(raw: memoryview, at: Int64Array, first: Int64Array, pages: Int64Array) -> list[StatedOfPages]:
    """What the headers of data pages state of their values; `at` is where each begins in `raw`."""
    rows, nulls, told = pages[:, headers.PAGE_VALUES], pages[:, headers.PAGE_NULLS], pages[:, headers.STATED :]
    counts = np.full((len(pages), kernels.N_STATED), kernels.ABSENT, dtype=np.int64)
    counts[:, kernels.STATED_NULLS] = nulls
    places = told + np.where(told >= 0, at[:, None], 0) * _IS_PLACE
    found = [("the counts in its page header", counts), ("the statistics in its page header", places)]
    return [StatedOfPages(whose, first, rows, raw, one) for whose, one in found if one.max(initial=-1) >= 0]


def of_header(page: memoryview, rows: tuple[int, int], header: Int64Array) -> list[Stated]:
    """What the header of a data page states of its values."""
    counts = int(header[headers.PAGE_NULLS])
    found = [] if counts < 0 else [Stated("the counts in its page header", *rows, None, None, counts)]
    told = header[headers.STATED : headers.N_HEADER]
    return [*found, Stated.read("the statistics in its page header", rows, page, told)] if told.max() >= 0 else found


def begin_of(facts: Int64Array) -> int:
    """First byte of a chunk; some writers have the data begin at the dictionary, some put 0 where there is none."""
    data, dictionary = int(facts[kernels.DATA_AT]), int(facts[kernels.DICTIONARY_AT])
    return min(data, dictionary) if dictionary > 0 else data


def bounds_of(facts: Int64Array, raw: bytes, kind: pa.DataType, where: str) -> tuple[Any, Any] | None:
    """Read minimum and maximum of a chunk.

    Args:
        facts (int64 array, shape (N_FACTS,)): See `streameval.kernels.parquet.chunk_facts`.
        raw: The footer that they were read from.
        kind: Of the column.
        where: The place, for messages.

    Returns:
        (number, number) or None: As stored, so that dates and times are integers. None where the footer does not say,
            for a type whose statistics are no plain numbers, and where there are nulls or they are not counted.

    Raises:
        InputError: Statistics of another length than the values.
    """
    number = _NUMBERS.get(int(facts[kernels.TYPE]))
    known = facts[kernels.NULLS] == 0 and min(facts[kernels.MIN_AT], facts[kernels.MAX_AT]) >= 0
    if number is None or not known or not pa.types.is_primitive(kind):
        return None
    if not pa.types.is_integer(kind) and kind.bit_width != 8 * np.dtype(number).itemsize:
        return None  # brought to another unit as it is read
    ends = []
    for at, size in ((kernels.MIN_AT, kernels.MIN_SIZE), (kernels.MAX_AT, kernels.MAX_SIZE)):
        ends.append(
            _number(raw[int(facts[at]) : int(facts[at] + facts[size])], number, kind, f"{where}: its statistics")
        )
    low, high = ends
    # a NaN in the statistics says nothing about order (and equals nothing)
    return (low, high) if low == low and high == high else None


def _number(raw: bytes, number: str, kind: pa.DataType, whose: str) -> Any:
    dtype = np.dtype(number.replace("i", "u") if pa.types.is_unsigned_integer(kind) else number)
    if len(raw) != dtype.itemsize:
        raise InputError(f"{whose} have {len(raw)} bytes instead of {dtype.itemsize}", _RESTORE)
    return np.frombuffer(raw, dtype)[0].item()


def check_values(
    values: pa.ChunkedArray,
    first: int,
    stated: Iterable[Stated | StatedOfPages],
    leaf: Leaf,
    where: str,
    number: int = 0,
) -> None:
    """Hold values against all that is stated of them.

    Args:
        values: Of rows of a row group, from `first` on, in the type and unit that they are stored in.
        stated: Of any rows; numbers of nulls count where all of these are there.
        leaf: Of the column.
        where: The place, for messages.
        number: Which leaf of the values it is, where they are nested.

    Raises:
        InputError: Another number of nulls, a value beyond the minimum or the maximum, or a decimal with more digits
            than its type has.
    """
    _check_digits(values, where)
    known: dict[tuple[int, int], tuple[pa.DataType, Any, Any]] = {}
    for one in _single(stated, values, first, leaf, known):
        begin, end = max(one.first, first), min(one.first + one.rows, first + len(values))
        if begin >= end:
            continue
        part = values.slice(begin - first, end - begin)
        if end - begin == one.rows and not pa.types.is_nested(values.type):
            check_nulls(part.null_count, one, where)
        if one.low is None and one.high is None:
            continue
        if (begin, end) not in known:
            known[begin, end] = _ends(part, number)
        check_ends(known[begin, end], one, leaf, where)


def _single(
    stated: Iterable[Stated | StatedOfPages],
    values: pa.ChunkedArray,
    first: int,
    leaf: Leaf,
    known: dict[tuple[int, int], tuple[pa.DataType, Any, Any]],
) -> Iterator[Stated]:
    """One statement after the other; those of pages of plain numbers are left out where all of them hold.

    If these are all pages, smallest and largest value of all rows become `known`.
    """
    numbers, ends = _numbers(values, leaf), dict[bytes, tuple[Any, Any]]()
    for one in sorted(stated, key=lambda one: isinstance(one, Stated)):
        if isinstance(one, Stated):
            yield one
        elif numbers is None or not _all_hold(one, numbers, first, ends):
            yield from (one[page] for page in range(len(one.first)))
        elif int(one.rows.sum()) == len(values):
            low, high = ends[(one.first - first).tobytes()]
            known[first, first + len(values)] = values.type, low.min().item(), high.max().item()


def _numbers(values: pa.ChunkedArray, leaf: Leaf) -> Any:
    """Values as an array of the type that they are stored in; None where they are no plain numbers, or have nulls."""
    kind, stored = values.type, _NUMBERS.get(leaf.physical)
    if stored is None or values.null_count or values.num_chunks != 1:
        return None
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None
    return values.chunk(0).to_numpy() if kind.bit_width == 8 * np.dtype(stored).itemsize else None


def _all_hold(stated: StatedOfPages, numbers: Any, first: int, known: dict[bytes, tuple[Any, Any]]) -> bool:
    """Whether all pages are there and keep to their bounds; `known` are the ends of pages that were looked at."""
    begin, bounds = stated.first - first, stated.bounds(numbers.dtype)
    if begin.min(initial=0) < 0 or stated.told[:, kernels.STATED_NULLS].max() > 0 or bounds is None:
        return False
    pages = [numbers[at : at + n] for at, n in zip(begin.tolist(), stated.rows.tolist(), strict=True)]
    if not all(len(page) == n > 0 for page, n in zip(pages, stated.rows.tolist(), strict=True)):
        return False
    key = begin.tobytes()
    if key not in known:
        known[key] = np.array([page.min() for page in pages]), np.array([page.max() for page in pages])
    (low, high), (least, most) = known[key], bounds
    # where one of them is NaN, nothing is known here
    return bool(np.all(low >= least) and np.all(high <= most))


def _check_digits(values: pa.ChunkedArray, where: str) -> None:
    if pa.types.is_decimal(values.type):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(f"{where}: it holds what is no {values.type} ({error})", _RESTORE) from error


def check_nulls(nulls: int, stated: Stated, where: str) -> None:
    """Compare a number of nulls with the one that is stated."""
    if 0 <= stated.nulls != nulls:
        raise InputError(f"{where}: {nulls:,} values are null, but {stated.whose} say {stated.nulls:,}", _RESTORE)


def check_ends(ends: tuple[pa.DataType, Any, Any], stated: Stated, leaf: Leaf, where: str) -> None:
    """Hold type, smallest and largest value of a leaf (bytes for texts, None where there is none) against bounds."""
    kind, low, high = ends
    least, most = (
        None if raw is None else _bound(raw, leaf.physical, kind, f"{where}: {stated.whose}")
        for raw in (stated.low, stated.high)
    )
    if low is None or low != low:
        return
    # a column of NaN and nothing else has neither: NaN is not beyond anything
    if (least is not None and low < least) or (most is not None and high > most):
        raise InputError(
            f"{where}: its values go from {_shown(low)} to {_shown(high)}, but {stated.whose} say {_shown(least)} "
            f"to {_shown(most)}",
            _RESTORE,
        )


def _shown(value: Any) -> Any:
    return value[:40] if isinstance(value, bytes) else value


def _bound(raw: bytes, physical: int, kind: pa.DataType, whose: str) -> Any:
    """A bound as `_ends` gives values; None for types without an order that is known."""
    if physical in _NUMBERS:
        return _number(raw, _NUMBERS[physical], kind, whose)
    if physical == _BOOLEAN:
        return _number(raw, "<i1", kind, whose)
    if physical in (BYTE_ARRAY, _FIXED):
        if pa.types.is_decimal(kind):
            return int.from_bytes(raw, "big", signed=True)
        return raw if _is_bytes(kind) else None
    return None


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _ends(column: pa.ChunkedArray, number: int) -> tuple[pa.DataType, Any, Any]:
    """Type, smallest and largest value of a leaf, as numbers or bytes; nulls and NaN are left out.

    None where there is nothing else, or values have no order.
    """
    ends: list[Any] = []
    kind = column.type
    for chunk in column.chunks:
        values = _plain(next(islice(leaves_of(chunk), number, None)))
        kind = values.type
        if values.null_count < len(values):
            ends += [end for end in _ends_of(values) if end is not None and end == end]
    return (kind, min(ends), max(ends)) if ends else (kind, None, None)


def _plain(values: pa.Array) -> pa.Array:
    """Values in a type that has an order."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _plain(values.dictionary.take(values.indices.unique()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.view(pa.binary() if pa.types.is_string(kind) else pa.large_binary())
    if pa.types.is_temporal(kind):
        return values.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return values


def _ends_of(values: pa.Array) -> tuple[Any, Any]:
    kind = values.type
    if not values.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        numbers = values.to_numpy()
        low, high = numbers.min(), numbers.max()
        if low != low:  # numpy looks for NaN only where there is one: it takes ten times as long
            low, high = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
        return low.item(), high.item()
    try:
        found = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return None, None
    low, high = found["min"].as_py(), found["max"].as_py()
    if pa.types.is_decimal(kind) and low is not None:
        exact = Context(prec=100)
        return int(low.scaleb(kind.scale, exact)), int(high.scaleb(kind.scale, exact))
    return low, high


_RESTORE = "the file was damaged after it was written, or its writer is at fault; restore it"
