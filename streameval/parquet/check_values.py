"""Hold values against what their file states of them: nulls, smallest and largest values, digits of decimals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Context
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.parquet.schema import BYTE_ARRAY, Leaf, leaves_of
from streameval.parquet.statistics import NUMBERS, RESTORE, Stated, StatedOfPages, number_of, number_type
from streameval.parquet.undecodable import why_undecodable
from streameval.typing import AnyArray, Int64Array

_BOOLEAN, _FIXED = 0, 7
ToldOfPages = tuple[int, Sequence[StatedOfPages]]  # how many pages there are, and what is stated of each


def check_values(
    values: pa.ChunkedArray,
    first: int,
    stated: Sequence[Stated | StatedOfPages],
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
    if _hold_at_once(values, first, stated, leaf):
        return
    _check_digits(values, where)
    known: dict[tuple[int, int], tuple[pa.DataType, Any, Any]] = {}
    held = set[tuple[int, int, bytes | None, bytes | None, int]]()  # an index and a header often say the same
    for one in _single(stated, values, first, leaf, known):
        begin, end = max(one.first, first), min(one.first + one.rows, first + len(values))
        said = (one.first, one.rows, one.low, one.high, one.nulls)
        if begin >= end or said in held:
            continue
        held.add(said)
        part = values.slice(begin - first, end - begin)
        if end - begin == one.rows and not pa.types.is_nested(values.type):
            check_nulls(part.null_count, one, where)
        if one.low is None and one.high is None:
            continue
        if (begin, end) not in known:
            try:
                known[begin, end] = _ends(part, number)
            except pa.ArrowIndexError as error:  # a number beyond the dictionary
                raise InputError(f"{where}: cannot be decoded ({why_undecodable(error)})", RESTORE) from error
        check_ends(known[begin, end], one, leaf, where)


def _hold_at_once(
    values: pa.ChunkedArray, first: int, stated: Sequence[Stated | StatedOfPages], leaf: Leaf
) -> bool:  # fmt: skip
    """Whether plain numbers keep to all that is stated of them, page by page; False where not quickly known."""
    numbers = _numbers(values, leaf)
    if numbers is None or not len(values):
        return False
    begin, n_rows = np.array([first]), len(values)
    for one in stated:
        if isinstance(one, StatedOfPages):
            begin, n_rows = one.first, int(one.rows.sum())
            break
    if begin[0] != first or n_rows != len(values) or np.any(begin[1:] <= begin[:-1]):
        return False
    for one in stated:
        if (one.first, one.rows) != (first, n_rows) if isinstance(one, Stated) else one.first is not begin:
            return False
    low, high = (ends.reduceat(numbers[0], begin - first).astype(numbers[2]) for ends in (np.minimum, np.maximum))
    return not np.any(np.isnan(low)) and pages_hold(stated, low, high)


def all_hold(values: pa.ChunkedArray, rows: Int64Array, told: Sequence[ToldOfPages], leaf: Leaf) -> bool:
    """Whether pages of plain numbers keep to all that is stated of each; False as well where that is not quickly known.

    Args:
        values: Of all pages, one after another, in the type and unit that they are stored in.
        rows (int64 array): Of each page.
    """
    numbers = _numbers(values, leaf)
    if numbers is None or rows.min(initial=1) <= 0:
        return False
    begin = np.cumsum(rows) - rows
    low, high = np.minimum.reduceat(numbers[0], begin), np.maximum.reduceat(numbers[0], begin)
    return all_keep(low.astype(numbers[2]), high.astype(numbers[2]), told)


def all_keep(low: AnyArray, high: AnyArray, told: Sequence[ToldOfPages]) -> bool:
    """The same of the smallest and the largest number of each page, in the type of bounds; none is null."""
    if np.any(np.isnan(low)):
        return False
    ends = np.cumsum([pages for pages, _ in told]).tolist()
    return all(
        _ends_hold(one, low[end - pages : end], high[end - pages : end])
        for end, (pages, stated) in zip(ends, told, strict=True)
        for one in stated
    )


def _single(
    stated: Sequence[Stated | StatedOfPages],
    values: pa.ChunkedArray,
    first: int,
    leaf: Leaf,
    known: dict[tuple[int, int], tuple[pa.DataType, Any, Any]],
) -> Iterator[Stated]:
    """One statement after the other; those of pages of plain numbers are left out where all of them hold.

    Smallest and largest value of all rows become `known` on the way.
    """
    of_pages, ends = [one for one in stated if isinstance(one, StatedOfPages)], dict[bytes, tuple[Any, Any]]()
    numbers = _numbers(values, leaf) if of_pages else None
    here = [one.within(first, len(values)) for one in of_pages]
    left = [one for one in here if numbers is None or not _hold(one, numbers, first, ends)]
    for low, high in ends.values():
        if numbers is not None and not np.isnan(low.min()):  # NaN is no end
            known[first, first + len(values)] = numbers[1], low.min().item(), high.max().item()
    yield from (one for one in stated if isinstance(one, Stated))
    for pages in left:
        yield from (pages[page] for page in range(len(pages.first)))


def _numbers(values: pa.ChunkedArray, leaf: Leaf) -> tuple[Any, pa.DataType, np.dtype[Any]] | None:
    """Values as an array, their type and that of bounds; None where they are no plain numbers, or some are null."""
    stored = NUMBERS.get(leaf.physical, "<i1" if leaf.physical == _BOOLEAN else None)
    if stored is None or values.null_count or values.num_chunks != 1:
        return None
    plain = _plain(values.chunk(0))
    kind = plain.type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return None
    return plain.to_numpy(zero_copy_only=False), kind, number_type(stored, kind)


def _hold(
    pages: StatedOfPages,
    numbers: tuple[Any, pa.DataType, np.dtype[Any]],
    first: int,
    known: dict[bytes, tuple[Any, Any]],
) -> bool:
    """Whether numbers, none of them null, keep to all that is stated of their pages.

    The smallest and the largest number of each page become `known`.
    """
    if not pages.first.size or pages.rows.min() <= 0:
        return False
    begin = np.maximum(pages.first - first, 0)
    if (key := begin.tobytes()) not in known:
        known[key] = np.minimum.reduceat(numbers[0], begin), np.maximum.reduceat(numbers[0], begin)
    return _ends_hold(pages, *(ends.astype(numbers[2]) for ends in known[key]))


def _ends_hold(pages: StatedOfPages, low: AnyArray, high: AnyArray) -> bool:
    """The same of the smallest and the largest number of each page."""
    if pages.told[:, kernels.STATED_NULLS].max(initial=-1) > 0:
        return False
    if (found := pages.bounds(low.dtype)) is None:
        return False
    (known, bounds), kept = found, np.empty((low.size, 2), np.bool_)
    # where a number or a bound is NaN, nothing is known here
    np.greater_equal(low, bounds[:, 0], out=kept[:, 0])
    np.less_equal(high, bounds[:, 1], out=kept[:, 1])
    return bool(np.all(kept | ~known))


def pages_hold(stated: Sequence[Stated | StatedOfPages], low: AnyArray, high: AnyArray) -> bool:
    """Whether a chunk without nulls keeps to all that is stated of it; False as well where that is not quickly known.

    Args:
        low, high (arrays of numbers as they are stored, shape (pages,)): Smallest and largest of each page.
    """
    for one in stated:
        if isinstance(one, StatedOfPages):
            if one.first.size != low.size or (low.size > 1 and not _ends_hold(one, low, high)):
                return False
            if low.size > 1:
                continue
            one = one[0]  # of one page, numpy takes longer than to look
        if one.nulls > 0:
            return False
        for raw, end, beyond in ((one.low, low.min(), np.less), (one.high, high.max(), np.greater)):
            if raw is not None and (len(raw) != low.itemsize or beyond(end, np.frombuffer(raw, low.dtype)[0])):
                return False
    return True


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


def check_nulls(nulls: int, stated: Stated, where: str) -> None:
    """Compare a number of nulls with the one that is stated."""
    if 0 <= stated.nulls != nulls:
        raise InputError(f"{where}: {nulls:,} values are null, but {stated.whose} say {stated.nulls:,}", RESTORE)


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
