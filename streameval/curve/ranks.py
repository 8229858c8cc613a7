"""Ranks that are asked for: whole numbers of the list."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.typing import Int64Array


def ranks_within(ranks: npt.ArrayLike, n_items: int) -> Int64Array:
    """Read one rank or several as an int64 array, shape (n,).

    Raises:
        InputError: One is not a whole number, or outside 1..`n_items`; or ranks lie in lists within a list.

    >>> ranks_within([3, 1e3], 1000)
    array([   3, 1000])
    """
    values = np.atleast_1d(np.asarray(ranks))  # of any size: int64 does not hold every whole number
    if values.ndim > 1:
        raise InputError(f"one rank is asked for, and {values.size:,} were given", "at(ranks) takes several")
    if odd := [value for value in _suspects(values) if not isinstance(value, Integral) or isinstance(value, bool)]:
        raise InputError(f"rank {odd[0]!r} is not a whole number")
    outside = values[(values < 1) | (values > n_items)]
    if outside.size:
        raise InputError(f"rank {outside[0]:,} is outside 1..{n_items:,}")
    return values.astype(np.int64)


def _suspects(values: npt.NDArray[Any]) -> list[object]:
    """Values that may be no whole numbers, of an array that may be long."""
    if values.dtype.kind in "iu":
        return []
    suspects: list[object] = (values[values != np.floor(values)] if values.dtype.kind == "f" else values).tolist()
    return suspects
