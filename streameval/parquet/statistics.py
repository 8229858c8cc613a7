"""Statistics of column chunks, from the footer, and whether the values agree with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.typing import Int64Array

# physical types whose statistics are plain numbers: INT32, INT64, FLOAT, DOUBLE
_NUMBERS = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}


def begin_of(facts: Int64Array) -> int:
    """First byte of a chunk; some writers have the data begin at the dictionary, some put 0 where there is none."""
    data, dictionary = int(facts[kernels.DATA_AT]), int(facts[kernels.DICTIONARY_AT])
    return min(data, dictionary) if dictionary > 0 else data


def bounds_of(facts: Int64Array, raw: bytes, kind: pa.DataType, where: str) -> tuple[Any, Any] | None:
    """Read minimum and maximum of a chunk.

    Parameters
    ----------
    facts : int64 array, shape (N_FACTS,)
        See `streameval.kernels.parquet.chunk_facts`.
    raw : bytes
        The footer that they were read from.
    kind : pyarrow.DataType
        Of the column.
    where : str
        The place, for messages.

    Returns
    -------
    (number, number) or None
        As stored, so that dates and times are integers. None where the footer does not say, for a type whose
        statistics are no plain numbers, and where there are nulls or they are not counted.

    Raises
    ------
    InputError
        Statistics of another length than the values.
    """
    number = _NUMBERS.get(int(facts[kernels.TYPE]))
    known = facts[kernels.NULLS] == 0 and min(facts[kernels.MIN_AT], facts[kernels.MAX_AT]) >= 0
    if number is None or not known or not pa.types.is_primitive(kind):
        return None
    dtype = np.dtype(number.replace("i", "u") if pa.types.is_unsigned_integer(kind) else number)
    if not pa.types.is_integer(kind) and kind.bit_width != 8 * dtype.itemsize:
        return None  # brought to another unit as it is read
    ends = []
    for at, size in ((kernels.MIN_AT, kernels.MIN_SIZE), (kernels.MAX_AT, kernels.MAX_SIZE)):
        if facts[size] != dtype.itemsize:
            raise InputError(
                f"{where}: its statistics have {facts[size]} bytes instead of {dtype.itemsize}",
                "the file is corrupt there, or its writer is at fault; write it again",
            )
        ends.append(np.frombuffer(raw, dtype, 1, int(facts[at]))[0].item())
    low, high = ends
    # a NaN in the statistics says nothing about order (and equals nothing)
    return (low, high) if low == low and high == high else None


def check_values(column: pa.ChunkedArray, facts: Int64Array, raw: bytes, where: str) -> None:
    """Hold the values of a whole chunk against its statistics.

    Raises
    ------
    InputError
        Another number of nulls, or a value beyond the minimum or the maximum.
    """
    nulls = int(facts[kernels.NULLS])
    if nulls >= 0 and nulls != column.null_count and not pa.types.is_nested(column.type):
        raise InputError(f"{where}: {column.null_count:,} values are null, but its statistics say {nulls:,}", _RESTORE)
    bounds = bounds_of(facts, raw, column.type, where)
    if bounds is None or not len(column):
        return
    low, high = _ends(column)
    # a column of NaN and nothing else has neither: NaN is not beyond anything
    if low < bounds[0] or high > bounds[1]:
        raise InputError(
            f"{where}: its values go from {low} to {high}, but its statistics say {bounds[0]} to {bounds[1]}", _RESTORE
        )


def _ends(column: pa.ChunkedArray) -> tuple[Any, Any]:
    """Smallest and largest value of a column without nulls, NaN left out; NaN where there is nothing else."""
    kind = column.type
    whole = {32: pa.int32(), 64: pa.int64()}[kind.bit_width] if pa.types.is_temporal(kind) else kind
    ends: list[Any] = []
    for chunk in column.chunks:
        values = chunk.view(whole).to_numpy() if len(chunk) else np.empty(0)
        if values.size:
            low, high = values.min(), values.max()
            if low != low:  # numpy looks for NaN only where there is one: it takes ten times as long
                low, high = np.fmin.reduce(values), np.fmax.reduce(values)
            ends += [end.item() for end in (low, high) if end == end]
    return (min(ends), max(ends)) if ends else (float("nan"), float("nan"))


_RESTORE = "the file was damaged after it was written, or its writer is at fault; restore it"
