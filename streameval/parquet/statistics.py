"""Statistics that a file states in its footer, page headers and page indexes; and values held against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Context
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import page_header as headers
from streameval.kernels import parquet as kernels
from streameval.kernels.check_chunks import FLIP, LEAST, MOST, SIGNED, WIDTH, keep_to
from streameval.kernels.jit import read_only, small
from streameval.kernels.page_index import column_index
from streameval.kernels.sorted_sets import isin
from streameval.parquet.schema import BYTE_ARRAY, Leaf, leaves_of
from streameval.parquet.undecodable import why_undecodable
from streameval.text import row_of
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt8Array

RESTORE = "the file was damaged after it was written, or its writer is at fault; restore it"
# columns of `streameval.kernels.parquet.statistics` that are places
_ENDS = np.array([kernels.LOW_AT, kernels.HIGH_AT])
_SIZES = _ENDS + 1
_IS_PLACE = isin(np.arange(kernels.N_STATED), _ENDS)
WHOLE, IN_INDEX = "its statistics", "the statistics in its column index"
# physical types whose statistics are plain numbers: INT32, INT64, FLOAT, DOUBLE
NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}
_BOOLEAN, _FIXED = 0, 7
_STEPS = 10  # of plain Python, for a stretch
ValueEnds = tuple[pa.DataType, Any, Any]  # type, smallest and largest value, as numbers or bytes


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the values in some stretches of rows: those of row groups, or of pages.

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
        """Tell whether each has a bound."""
        return np.asarray(np.any(self.fields[:, _ENDS] >= 0, axis=1))

    def chosen(self, which: slice | Int64Array) -> Statistics:
        """Give those of some of the stretches."""
        return replace(self, first=self.first[which], rows=self.rows[which], fields=self.fields[which])

    def overlapping(self, first: int, rows: int) -> Statistics:
        """Give those of the stretches that hold some of the rows from `first` on."""
        begin = np.searchsorted(self.first + self.rows, first, side="right")
        return self.chosen(slice(int(begin), int(np.searchsorted(self.first, first + rows))))

    def bound(self, stretch: int, end: int) -> bytes | None:
        """The smallest (`end` 0) or largest (1) value of a stretch as stored, or a bound of it; None where none is."""
        at, size = self.fields[stretch, [_ENDS[end], _SIZES[end]]].tolist()
        return bytes(self.raw[at : at + size]) if at >= 0 else None

    def numbers(self, number: np.dtype[Any]) -> tuple[BoolArray, AnyArray] | None:
        """Give which bounds each stretch has, lower and upper, and these; None where one is of another length."""
        at, size = self.fields[:, _ENDS], self.fields[:, _SIZES]
        has_bounds = at >= 0
        if np.any(has_bounds & (size != number.itemsize)):
            return None
        starts = (max(0, len(self.raw) - number.itemsize + 1),)  # a number may begin at any byte
        bounds = np.zeros(at.shape, number)
        bounds[has_bounds] = np.ndarray(starts, number, self.raw, strides=(1,))[at[has_bounds]]
        return has_bounds, bounds


def of_pages(raw: memoryview, first: Int64Array, rows: Int64Array, where: str) -> Statistics:
    """Read a column index: what it states of each page, of which the first row and their number are given.

    Raises:
        InputError: The bytes are none, or of another number of pages.
    """
    fields = np.empty((len(first), kernels.N_STATED), dtype=np.int64)
    with small(len(raw)):
        read = column_index(np.frombuffer(raw, np.uint8), 0, fields)
    if read < 0:
        raise not_of_pages(where, len(first))
    return Statistics(IN_INDEX, first, rows, raw, fields)


def not_of_pages(where: str, pages: int) -> InputError:
    """A column index that cannot be read."""
    return InputError(f"{where}: its column index cannot be read, or is not of its {pages:,} pages", RESTORE)


def nothing_of(first: Int64Array, rows: Int64Array) -> Statistics:
    """A column index that is not there."""
    absent = np.full((len(first), kernels.N_STATED), kernels.ABSENT)
    return Statistics(IN_INDEX, first, rows, memoryview(b""), absent)


def join(some: Sequence[Statistics], first: Int64Array, rows: Int64Array) -> Statistics:
    """Give those from one source, one after another, of the rows that are given."""
    fields = np.concatenate([part.fields for part in some])
    if len(some) == 1:
        return Statistics(some[0].source, first, rows, some[0].raw, fields)
    begins = np.cumsum([0, *(len(part.raw) for part in some)])[:-1]
    shift = np.repeat(begins, [len(part.fields) for part in some])[:, None]
    fields += np.where(fields >= 0, shift, 0) * _IS_PLACE
    return Statistics(some[0].source, first, rows, memoryview(b"".join(part.raw for part in some)), fields)


def states_anything(pages: Int64Array) -> bool:
    """Tell whether a header of a data page states anything of its values."""
    nulls, fields = pages[:, headers.PAGE_NULLS], pages[:, headers.STATED : headers.N_HEADER]
    return bool(nulls.max(initial=-1) >= 0 or fields.max(initial=-1) >= 0)


def of_headers(
    raw: memoryview, at: Int64Array, rows: tuple[Int64Array, Int64Array], pages: Int64Array
) -> list[Statistics]:
    """Give what the headers of data pages state of their values.

    Args:
        at (int64 array): Where each begins in `raw`.
        rows (int64 arrays): First row and rows of each.
        pages (int64 array, shape (pages, N_HEADER)): See `streameval.kernels.page_header`.
    """
    if not states_anything(pages):
        return []
    nulls, stated = pages[:, headers.PAGE_NULLS], pages[:, headers.STATED : headers.N_HEADER]
    counts = np.full((len(pages), kernels.N_STATED), kernels.ABSENT, dtype=np.int64)
    counts[:, kernels.STATED_NULLS] = nulls
    places = stated + np.where(stated >= 0, at[:, None], 0) * _IS_PLACE
    by_source = [("the counts in its page header", counts), ("the statistics in its page header", places)]
    return [Statistics(whose, *rows, raw, fields) for whose, fields in by_source if fields.max(initial=-1) >= 0]


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
        """Give those of one column after another, of one type."""
        return cls(np.concatenate([bounds.known for bounds in some]), np.concatenate([bounds.ends for bounds in some]))

    def chosen(self, chunks: slice | BoolArray) -> ChunkBounds:
        """Give those of some of the chunks."""
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
    valid = np.zeros(len(facts), np.bool_)
    if number is None or not (pa.types.is_integer(kind) or kind.bit_width == 8 * number.itemsize):
        return ChunkBounds(valid, np.zeros((len(facts), 2), np.int64))  # no plain numbers, or brought to another unit
    fields, none = facts[:, kernels.NULLS : kernels.NULLS + kernels.N_STATED].copy(), np.zeros(len(facts), np.int64)
    # a chunk of another type is encrypted or in another file: nothing is known of it
    valid = (fields[:, kernels.STATED_NULLS] == 0) & (facts[:, kernels.TYPE] == physical)
    valid &= np.all(fields[:, _ENDS] >= 0, axis=1)
    fields[~valid] = kernels.ABSENT
    if (ends := Statistics(WHOLE, none, none, raw.data, fields).numbers(number)) is None:
        wrong = int(np.any(valid[:, None] & (fields[:, _SIZES] != number.itemsize), axis=1).argmax())
        low, high = fields[wrong, _SIZES].tolist()
        held = f"{where(wrong)}: its statistics have {high if low == number.itemsize else low} bytes"
        raise InputError(f"{held} instead of {number.itemsize}", RESTORE)
    numbers = ends[1]
    nan = np.isnan(numbers).any(axis=1)  # which says nothing about order
    valid[nan], numbers[nan] = False, 0
    return ChunkBounds(valid, numbers)


def number_of(raw: bytes, number: str, kind: pa.DataType, whose: str) -> Any:
    """Read a bound that is a plain number; an `InputError` where it has another length."""
    dtype = number_type(number, kind)
    if len(raw) != dtype.itemsize:
        raise InputError(f"{whose} have {len(raw)} bytes instead of {dtype.itemsize}", RESTORE)
    return np.frombuffer(raw, dtype)[0].item()


def number_type(number: str, kind: pa.DataType) -> np.dtype[Any]:
    """The type of bounds of a column."""
    return np.dtype(number.replace("i", "u") if pa.types.is_unsigned_integer(kind) else number)


def check_values(
    values: pa.ChunkedArray, first: int, stated: Sequence[Statistics], leaf: Leaf, where: str, number: int = 0
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
    ends, end, flat = dict[tuple[int, int], ValueEnds](), first + len(values), not pa.types.is_nested(values.type)
    for statistics in unproven_of(values, first, stated, leaf):
        spans = zip(statistics.first.tolist(), statistics.rows.tolist(), statistics.bounded.tolist(), strict=True)
        for i, (start, rows, bounded) in enumerate(spans):
            span = max(start, first), min(start + rows, end)
            if span[0] >= span[1]:
                continue
            part = values.slice(span[0] - first, span[1] - span[0])
            if flat and len(part) == rows:
                check_nulls(part.null_count, statistics, i, where)
            if not bounded:
                continue
            if span not in ends:
                try:
                    ends[span] = _ends(part, number)
                except pa.ArrowIndexError as error:  # a number beyond the dictionary
                    raise InputError(f"{where}: cannot be decoded ({why_undecodable(error)})", RESTORE) from error
            check_ends(ends[span], statistics, i, leaf, where)


def unproven_of(values: pa.ChunkedArray, first: int, stated: Sequence[Statistics], leaf: Leaf) -> list[Statistics]:
    """Give what values are not quickly shown to keep to, of what is stated of rows from `first` on."""
    here = [part for part in (part.overlapping(first, len(values)) for part in stated) if part.rows.size]
    stored = NUMBERS.get(leaf.physical, "<i1" if leaf.physical == _BOOLEAN else None)
    if not here or stored is None or values.null_count or values.num_chunks != 1:
        return here
    plain = _plain(values.chunk(0))
    kind = plain.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return here
    numbers, begin = plain.to_numpy(zero_copy_only=False), np.unique(np.concatenate([part.first for part in here]))
    begin = begin[max(0, begin.searchsorted(first, side="right") - 1) :]
    cuts, bound = np.maximum(begin - first, 0), number_type(stored, kind)
    low, high = np.minimum.reduceat(numbers, cuts), np.maximum.reduceat(numbers, cuts)
    return unproven(begin, low.astype(bound), high.astype(bound), here)


def unproven(begin: Int64Array, low: AnyArray, high: AnyArray, stated: Sequence[Statistics]) -> list[Statistics]:
    """Give what numbers, none of them null, are not shown to keep to: what they break, and what is of another kind.

    Args:
        begin (int64 array, strictly increasing): First rows of stretches, one after another; what is stated is of one
            or more of these.
        low, high (arrays, shape (stretches,)): Smallest and largest number of each, in the type of bounds; NaN where
            one of the numbers is.
    """
    key_rule = key_rule_of(low.dtype)
    return unproven_keys(begin, keys_of(low, key_rule), keys_of(high, key_rule), key_rule, stated)


def unproven_keys(
    begin: Int64Array, low: Int64Array, high: Int64Array, key_rule: Int64Array, stated: Sequence[Statistics]
) -> list[Statistics]:
    """Give the same of numbers by their keys, which `key_rule` makes."""
    with small(_STEPS * sum(statistics.rows.size for statistics in stated)):
        return [statistics for statistics in stated if not keep_to(*_places(statistics), begin, low, high, key_rule)]


def _places(statistics: Statistics) -> tuple[UInt8Array, Int64Array, Int64Array, Int64Array]:
    fields, first, rows = map(np.ascontiguousarray, (statistics.fields, statistics.first, statistics.rows))
    return read_only(np.frombuffer(statistics.raw, np.uint8)), fields, first, rows


@lru_cache(maxsize=32)
def key_rule_of(number: np.dtype[Any]) -> Int64Array:
    """Give what makes keys of numbers: see `streameval.kernels.check_chunks.keep_to`."""
    bits, whole = 8 * number.itemsize, number.kind != "f"
    key_rule = np.zeros(5, np.int64)
    key_rule[WIDTH], key_rule[FLIP] = number.itemsize, -(1 << bits - 1) if number.kind == "u" else 0
    key_rule[SIGNED] = 0 if whole else (1 << bits - 1) - 1
    ends = (np.iinfo(number).min, np.iinfo(number).max) if whole else (-np.inf, np.inf)
    key_rule[[LEAST, MOST]] = keys_of(np.array(ends, number), key_rule)
    return key_rule


def keys_of(numbers: AnyArray, key_rule: Int64Array) -> Int64Array:
    """Make keys of numbers: signed numbers of the same order."""
    bits = numbers.view(f"i{numbers.itemsize}").astype(np.int64)
    return np.asarray(bits ^ key_rule[FLIP] ^ (bits >> 63 & key_rule[SIGNED]))


def _check_digits(values: pa.ChunkedArray, where: str) -> None:
    if pa.types.is_decimal(values.type):
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as error:
            raise InputError(f"{where}: it holds a value that is not {values.type}", RESTORE) from error


def check_text(values: pa.ChunkedArray, name: str, rows: Iterable[tuple[str, int]]) -> None:
    """Refuse text that is not UTF-8: no table of tasks, database or page could hold it as it is.

    Args:
        values: Of a column in its wide type (`wide_type`).
        name: Of the column.
        rows: Place of the row group, and row in it, of each value; looked at where one is refused.
    """
    try:
        for chunk in values.chunks:
            for leaf in leaves_of(chunk):
                if pa.types.is_large_string(leaf.type):
                    leaf.validate(full=True)
        return
    except pa.ArrowInvalid as error:
        broken = error
    places = iter(rows)
    if pa.types.is_large_string(values.type):
        whole = pa.chunked_array([chunk.view(pa.large_binary()) for chunk in values.chunks], pa.large_binary())
        for (place, row), text in zip(places, whole, strict=True):
            try:
                (text.as_py() or b"").decode()
            except UnicodeDecodeError:
                raise InputError(
                    f"{row_of(place, row)}: the text in column '{name}' is not UTF-8 ({text.as_py()[:20]!r})",
                    "correct it where it is written, or leave the column out with --columns",
                ) from None
    raise InputError(f"{next(places)[0]}, column '{name}': cannot be used ({broken})") from broken


def check_nulls(nulls: int, stated: Statistics, stretch: int, where: str) -> None:
    """Compare a number of nulls with the one that is stated of a stretch."""
    stated_nulls = int(stated.nulls[stretch])
    if 0 <= stated_nulls != nulls:
        raise InputError(f"{where}: {nulls:,} values are null, but {stated.source} say {stated_nulls:,}", RESTORE)


def check_ends(ends: ValueEnds, stated: Statistics, stretch: int, leaf: Leaf, where: str) -> None:
    """Hold the ends of a leaf's values against the bounds of a stretch."""
    kind, low, high = ends
    least, most = (
        None if raw is None else _bound(raw, leaf.physical, kind, f"{where}: {stated.source}")
        for raw in (stated.bound(stretch, 0), stated.bound(stretch, 1))
    )
    if low is None or low != low:
        return
    # a column of NaN and nothing else has neither: NaN is not beyond anything
    if (least is not None and low < least) or (most is not None and high > most):
        raise InputError(
            f"{where}: its values go from {_show(low)} to {_show(high)}, but {stated.source} say {_show(least)} "
            f"to {_show(most)}",
            RESTORE,
        )


def _show(value: Any) -> Any:
    return value[:40] if isinstance(value, bytes) else value


def _bound(raw: bytes, physical: int, kind: pa.DataType, whose: str) -> Any:
    """A bound as `_ends` gives values; None for types without an order that is known."""
    if physical in NUMBERS:
        return number_of(raw, NUMBERS[physical], kind, whose)
    if physical == _BOOLEAN:
        return number_of(raw, "<i1", kind, whose)
    if physical in (BYTE_ARRAY, _FIXED):
        if pa.types.is_decimal(kind):
            return int.from_bytes(raw, "big", signed=True)
        return raw if _is_bytes(kind) else None
    return None


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _ends(column: pa.ChunkedArray, number: int) -> ValueEnds:
    """Give those of a leaf; None where there is nothing but nulls and NaN, or values have no order."""
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
    import pyarrow.compute as pc

    try:
        ends = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return None, None
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if pa.types.is_decimal(kind) and low is not None:
        exact = Context(prec=100)
        return int(low.scaleb(kind.scale, exact)), int(high.scaleb(kind.scale, exact))
    return low, high
