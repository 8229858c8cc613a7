"""Discounts of ranks in the discounted cumulative gain."""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import borrowing_kernel
from streameval.typing import FloatArray


@borrowing_kernel
def discount(table: FloatArray, rank: int) -> float:
    """1/log2(rank + 1), from a table where it reaches."""
    return table[rank - 1] if rank <= table.size else 1.0 / math.log2(rank + 1.0)


def discounts(count: int) -> FloatArray:
    """1/log2(rank + 1) for ranks 1..count; by the system's logarithm, as `discount` has it."""
    return 1.0 / np.fromiter(map(math.log2, range(2, count + 2)), np.float64, count)
