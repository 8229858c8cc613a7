"""Number of items that have at least some score: counted by one scan that statistics prune."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.order.by_score import ByScore
from streameval.order.scores import Keys, missing_rows
from streameval.rows.options import NEEDS_SCORE
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.text import those_with

_BLOCK = 1 << 16  # rows whose keys fit a cache


def count_at_score(order: ByScore, score: Any) -> int:
    """Count the items whose score is `score` or better, ties included: the rank of the last of them.

    Args:
        score: A number as typed, or a date where these are dates; read as the column's own type, so that 0.7 finds the
            float32 that prints as 0.7.

    Raises:
        InputError: No such score of this column; scores that are null or NaN, unless they come last; a damaged file;
            memory that cannot hold a row group.
    """
    wanted = order.order.keys(pa.array([as_score(score, order.kind, order.options.ascending)], order.kind))
    first, last = order.bounds if order.bounds is not None else (None, None)
    count, read = 0, []
    for at, unit in enumerate(order.units):
        if first is not None and last is not None and not wanted.low.size:
            if last[at] <= wanted.key[0]:
                count += unit.rows
                continue
            if first[at] > wanted.key[0]:
                continue
        read.append(unit)
    counts = each_unit(lambda unit: _of_unit(order, unit, wanted), read, order.scan_all(1).threads)
    return count + sum(of_unit for _, of_unit in counts)


def _of_unit(order: ByScore, unit: Unit, wanted: Keys) -> int:
    count, missing = 0, 0
    for _, keys in order.order.blocks(unit.read([order.score]).column(0), np.empty(_BLOCK, np.uint64)):
        missing += keys.missing
        before = keys.key < wanted.key[0]
        same = keys.key == wanted.key[0]
        if keys.low.size:
            same &= keys.low <= wanted.low[0]
        count += int(np.count_nonzero(before | same))
    if missing and order.options.nan == "refuse":
        row = next(missing_rows([unit], lambda part: part.read([order.score]).column(0)))
        raise InputError(
            f"{row}: {those_with(missing, 'item')} no {order.score} (null or NaN)",
            NEEDS_SCORE,
        )
    return count


def as_score(text: Any, kind: pa.DataType, ascending: bool) -> Any:
    """Read a score as a value of its column's type; of whole numbers, the next one that is as good.

    Raises:
        InputError: It is none.
    """
    if pa.types.is_temporal(kind):
        try:
            return pa.scalar(str(text)).cast(kind).as_py()
        except pa.ArrowInvalid:
            raise InputError(f"score is '{text}', and the scores are of type {kind}") from None
    try:
        value = Decimal(str(text))
    except InvalidOperation:
        raise InputError(f"score is '{text}', not a number", "give a score such as 0.7") from None
    if not value.is_finite():
        raise InputError(f"score is '{text}', not a number", "give a score such as 0.7")
    if pa.types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}").type(float(value))
    if pa.types.is_decimal(kind):
        return _round_score(value, kind.scale, ascending)
    whole = int(_round_score(value, 0, ascending))
    low, high = _ends(kind)
    if not low <= whole <= high:
        raise InputError(f"score is {text}, beyond what scores of type {kind} hold", f"they lie in {low}..{high}")
    return whole


def _round_score(value: Decimal, digits: int, ascending: bool) -> Decimal:
    """A number of so many digits that as good items have and no worse: above where large scores are best."""
    return value.quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR if ascending else ROUND_CEILING)


def _ends(kind: pa.DataType) -> tuple[int, int]:
    signed = pa.types.is_signed_integer(kind)
    bits = kind.bit_width - signed
    return (-(2**bits) if signed else 0), 2**bits - 1
