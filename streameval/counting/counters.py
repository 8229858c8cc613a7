"""A counter of labels for every key, and keys of a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.counting.labelled_rows import LabelledRows
from streameval.kernels import label_counts as kernels
from streameval.kernels.jit import read_only
from streameval.typing import AnyArray, Int64Array, UInt8Array, UInt64Array

_SAMPLE_ROWS = 1 << 18


@dataclass(frozen=True)
class Cells:
    """A counter for every key between two.

    Attributes:
        low: Smallest key.
        shift: Right shift that turns a distance from it into a cell.
        count: Cells in all.
    """

    low: int
    shift: int
    count: int

    @staticmethod
    def spanning(span: tuple[int, int], rows: LabelledRows) -> Cells:
        """Cells for keys from one to another; low bits that all keys of a type of score share are left out."""
        shift = free_bits(rows)
        low = span[0] >> shift << shift
        return Cells(low, shift, ((span[1] - low) >> shift) + 1)

    @property
    def place(self) -> UInt64Array:
        """Smallest key and shift, for kernels."""
        return np.array([self.low, self.shift], np.uint64)

    def place_of(self, bits: int) -> AnyArray:
        """Give the same for keys cut to so many upper bits, which the shift leaves out."""
        cut = 64 - bits
        return np.array([self.low >> cut, self.shift - cut], np.uint32 if cut else np.uint64)

    def counters(self) -> Int64Array:
        """Zeros: negatives and positives of each cell."""
        return np.zeros(2 * self.count, np.int64)

    def add(self, counts: Int64Array, keys: UInt64Array, labels: UInt8Array) -> None:
        """Count some rows; keys without a cell are passed over."""
        kernels.count_keys(keys, read_only(labels), self.place, counts)


def free_bits(rows: LabelledRows) -> int:
    """Lowest bits that are zero in every key: keys of 32-bit floats fill the upper half only."""
    return 32 if rows.order is not None and rows.order.kind == "float32" else 0


def sample(rows: LabelledRows, units: int) -> UInt64Array:
    """Keys of some rows from all over the list: of `units` to twice as many units."""
    step = max(1, len(rows.units) // units)
    chosen = list(rows.units[::step])[: 2 * units]
    each = max(1, _SAMPLE_ROWS // len(chosen))
    keys = (rows.keys(unit) for unit in chosen)  # one unit at a time: a view of its keys would keep all of them
    return np.concatenate([key[:: max(1, key.size // each)].copy() for key in keys])
