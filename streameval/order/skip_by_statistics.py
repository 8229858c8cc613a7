"""Row groups that need not be read: statistics show that no wanted rank can lie in them.

A row group whose scores lie in [min, max] holds ranks after all rows of groups that are wholly better, and up to all
rows of groups that are not wholly worse. Groups that can hold a wanted rank are read, and so are those whose scores
overlap theirs. Each of the others is skipped and counts as its number of rows at its best score, for none of them lies
among scores that matter. Groups without statistics are read. A float's statistics do not count NaN: one in a skipped
group goes unseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from streameval.kernels.order_keys import LAST
from streameval.order.scores import ScoreOrder
from streameval.typing import BoolArray, Int64Array, UInt64Array

if TYPE_CHECKING:
    from streameval.rows import ColumnBounds


@dataclass(frozen=True)
class SkippedRows:
    """Units whose rows are counted without being read.

    Attributes:
        key (uint64 array, shape (n,)): Order key of the best score of each unit.
        rows (int64 array, shape (n,)): Rows of each unit.
    """

    key: UInt64Array
    rows: Int64Array

    @staticmethod
    def none() -> SkippedRows:
        """No unit is skipped."""
        return SkippedRows(np.empty(0, np.uint64), np.empty(0, np.int64))


def must_be_read(first: UInt64Array, last: UInt64Array, rows: Int64Array, wanted: Int64Array) -> BoolArray:
    """Mark the units that have to be read; returns a bool array, shape (n,).

    Args:
        first, last (uint64 arrays, shape (n,)): Smallest and largest order key of each unit; 0 and 2⁶⁴ − 1 where
            nothing is known.
        rows (int64 array, shape (n,)): Rows of each unit.
        wanted (int64 array, strictly increasing): Wanted ranks.
    """
    before = _rows_up_to(last, rows, first, "left")
    up_to = _rows_up_to(first, rows, last, "right")
    holds = np.searchsorted(wanted, before, side="right") < np.searchsorted(wanted, up_to, side="right")
    starts, ends = _merged(first[holds], last[holds])
    at = np.searchsorted(starts, last, side="right") - 1
    return (at >= 0) & (ends[np.maximum(at, 0)] >= first)


def _rows_up_to(keys: UInt64Array, rows: Int64Array, at: UInt64Array, side: str) -> Int64Array:
    """Rows of the units whose key comes before each of some keys ("right": or equals it)."""
    order = np.argsort(keys, kind="stable")
    total = np.concatenate([[0], np.cumsum(rows[order])])
    place = np.searchsorted(keys[order], at, side="left" if side == "left" else "right")
    return np.asarray(total[place], dtype=np.int64)


def _merged(first: UInt64Array, last: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
    """Disjoint intervals that cover the same keys, ascending."""
    order = np.argsort(first, kind="stable")
    first, reach = first[order], np.maximum.accumulate(last[order])
    begins = np.concatenate([[True], first[1:] > reach[:-1]])
    return first[begins], reach[np.concatenate([np.flatnonzero(begins)[1:] - 1, [first.size - 1]])]


def key_bounds(statistics: Sequence[ColumnBounds], order: ScoreOrder) -> tuple[UInt64Array, UInt64Array] | None:
    """Find the smallest and largest order key of each unit, from statistics of its scores; None without any."""
    if order.kind == "decimal" or not statistics:
        return None
    first, last = [], []
    for kind, bounds in statistics:
        try:
            ends = [order.keys(pa.array(bounds.ends[:, side]).cast(kind)).key if bounds.known.any() else
                    np.zeros(bounds.known.size, np.uint64) for side in (0, 1)]  # fmt: skip
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None  # statistics of a type that has no plain value
        first.append(np.where(bounds.known, np.minimum(*ends), np.uint64(0)))
        last.append(np.where(bounds.known, np.maximum(*ends), LAST))
    return np.concatenate(first), np.concatenate(last)
