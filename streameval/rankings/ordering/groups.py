"""Row groups of Parquet files, as scans read them, and what statistics say of their scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streameval.kernels.orderkeys import LAST, UInt64Array
from streameval.rankings.footers import Footer
from streameval.rankings.ordering.scores import ScoreOrder
from streameval.rankings.ordering.units import RowGroup


def key_bounds(footers: Sequence[Footer], order: ScoreOrder, score: str) -> tuple[UInt64Array, UInt64Array] | None:
    """Find the smallest and largest order key of each row group with rows, from statistics; None without any."""
    if order.kind == "decimal":
        return None
    first, last = [], []
    for footer in footers:
        kind = footer.schema.field(score).type
        known = [bounds for bounds, count in zip(footer.score_bounds, footer.row_group_rows, strict=True) if count]
        some = next((bounds for bounds in known if bounds), None)
        try:
            ends = [order.keys(pa.array([(b or some)[side] for b in known], kind)).key if some else
                    np.zeros(len(known), np.uint64) for side in (0, 1)]  # fmt: skip
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return None  # statistics of a type that has no plain value
        unknown = np.array([bounds is None for bounds in known], dtype=np.bool_)
        first.append(np.where(unknown, np.uint64(0), np.minimum(*ends)))
        last.append(np.where(unknown, LAST, np.maximum(*ends)))
    return np.concatenate(first), np.concatenate(last)


def row_groups(footers: Sequence[Footer]) -> list[RowGroup]:
    """Return all row groups that hold rows, in stored order."""
    units, position = [], 0
    for footer in footers:
        for index, count in enumerate(footer.row_group_rows.tolist()):
            if count:
                units.append(RowGroup(footer, index, position))
            position += count
    return units
