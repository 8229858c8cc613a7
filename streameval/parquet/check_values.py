"""Hold values against what their file states of them: nulls, smallest and largest values, digits of decimals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Context
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import check_chunks as kernels
from streameval.kernels.check_chunks import keep_to
from streameval.kernels.jit import read_only, small
from streameval.parquet.schema import BYTE_ARRAY, Leaf, leaves_of
from streameval.parquet.statistics import NUMBERS, RESTORE, Statistics, number_of, number_type
from streameval.parquet.undecodable import why_undecodable
from streameval.typing import AnyArray, Int64Array, UInt8Array

_BOOLEAN, _FIXED = 0, 7
_STEPS = 10  # of plain Python, for a stretch
ValueEnds = tuple[pa.DataType, Any, Any]  # type, smallest and largest value, as numbers or bytes


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
    for one in unproven_of(values, first, stated, leaf):
        spans = zip(one.first.tolist(), one.rows.tolist(), one.bounded.tolist(), strict=True)
        for i, (start, rows, bounded) in enumerate(spans):
            span = max(start, first), min(start + rows, end)
            if span[0] >= span[1]:
                continue
            part = values.slice(span[0] - first, span[1] - span[0])
            if flat and len(part) == rows:
                check_nulls(part.null_count, one, i, where)
            if not bounded:
                continue
            if span not in ends:
                try:
                    ends[span] = _ends(part, number)
                except pa.ArrowIndexError as error:  # a number beyond the dictionary
                    raise InputError(f"{where}: cannot be decoded ({why_undecodable(error)})", RESTORE) from error
            check_ends(ends[span], one, i, leaf, where)


def unproven_of(values: pa.ChunkedArray, first: int, stated: Sequence[Statistics], leaf: Leaf) -> list[Statistics]:
    """What values are not quickly shown to keep to, of what is stated of rows from `first` on."""
    here = [one for one in (one.within(first, len(values)) for one in stated) if one.rows.size]
    stored = NUMBERS.get(leaf.physical, "<i1" if leaf.physical == _BOOLEAN else None)
    if not here or stored is None or values.null_count or values.num_chunks != 1:
        return here
    plain = _plain(values.chunk(0))
    kind = plain.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return here
    numbers, begin = plain.to_numpy(zero_copy_only=False), np.unique(np.concatenate([one.first for one in here]))
    begin = begin[max(0, begin.searchsorted(first, side="right") - 1) :]
    cuts, bound = np.maximum(begin - first, 0), number_type(stored, kind)
    low, high = np.minimum.reduceat(numbers, cuts), np.maximum.reduceat(numbers, cuts)
    return unproven(begin, low.astype(bound), high.astype(bound), here)


def unproven(begin: Int64Array, low: AnyArray, high: AnyArray, stated: Sequence[Statistics]) -> list[Statistics]:
    """What numbers, none of them null, are not shown to keep to: what they break, and what is of another kind.

    Args:
        begin (int64 array, strictly increasing): First rows of stretches, one after another; what is stated is of one
            or more of these.
        low, high (arrays, shape (stretches,)): Smallest and largest number of each, in the type of bounds; NaN where
            one of the numbers is.
    """
    told = _told(low.dtype)
    ends = begin, _keys(low, told), _keys(high, told), told
    with small(_STEPS * sum(one.rows.size for one in stated)):
        return [one for one in stated if not keep_to(*_places(one), *ends)]


def _places(one: Statistics) -> tuple[UInt8Array, Int64Array, Int64Array, Int64Array]:
    fields, first, rows = map(np.ascontiguousarray, (one.fields, one.first, one.rows))
    return read_only(np.frombuffer(one.raw, np.uint8)), fields, first, rows


@lru_cache(maxsize=32)
def _told(number: np.dtype[Any]) -> Int64Array:
    """What makes keys of numbers: see `streameval.kernels.check_chunks.keep_to`."""
    bits, whole = 8 * number.itemsize, number.kind != "f"
    told = np.zeros(5, np.int64)
    told[kernels.WIDTH], told[kernels.FLIP] = number.itemsize, -(1 << bits - 1) if number.kind == "u" else 0
    told[kernels.SIGNED] = 0 if whole else (1 << bits - 1) - 1
    ends = (np.iinfo(number).min, np.iinfo(number).max) if whole else (-np.inf, np.inf)
    told[[kernels.LEAST, kernels.MOST]] = _keys(np.array(ends, number), told)
    return told


def _keys(numbers: AnyArray, told: Int64Array) -> Int64Array:
    bits = numbers.view(f"i{numbers.itemsize}").astype(np.int64)
    return np.asarray(bits ^ told[kernels.FLIP] ^ (bits >> 63 & told[kernels.SIGNED]))


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
                    f"{place}, row {row + 1:,}: the text in column '{name}' is not UTF-8 ({text.as_py()[:20]!r})",
                    "correct it where it is written, or leave the column out with --columns",
                ) from None
    raise InputError(f"{next(places)[0]}, column '{name}': cannot be used ({broken})") from broken


def check_nulls(nulls: int, stated: Statistics, stretch: int, where: str) -> None:
    """Compare a number of nulls with the one that is stated of a stretch."""
    said = int(stated.nulls[stretch])
    if 0 <= said != nulls:
        raise InputError(f"{where}: {nulls:,} values are null, but {stated.source} say {said:,}", RESTORE)


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
            f"{where}: its values go from {_shown(low)} to {_shown(high)}, but {stated.source} say {_shown(least)} "
            f"to {_shown(most)}",
            RESTORE,
        )


def _shown(value: Any) -> Any:
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
    """Those of a leaf; None where there is nothing but nulls and NaN, or values have no order."""
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
        found = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return None, None
    low, high = found["min"].as_py(), found["max"].as_py()
    if pa.types.is_decimal(kind) and low is not None:
        exact = Context(prec=100)
        return int(low.scaleb(kind.scale, exact)), int(high.scaleb(kind.scale, exact))
    return low, high
