"""Put labels that come in any order in their place."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array

MISSING = 255


@kernel
def place_labels(positions: Int64Array, values: FloatArray, out: UInt8Array) -> int:
    """Put labels where they belong.

    Args:
        positions (int64 array, shape (n,)): 0-based; each within `out`.
        values: float64 array, shape (n,).
        out (uint8 array): `MISSING` where there is no label yet.

    Returns:
        int: Row of the first value that is neither 0 nor 1, or that contradicts a label already there; −1 for none.
    """
    for i in range(positions.size):
        label = np.uint8(1) if values[i] == 1.0 else np.uint8(0)
        there = out[positions[i]]
        if (values[i] != 0.0 and values[i] != 1.0) or (there != MISSING and there != label):
            return i
        out[positions[i]] = label
    return -1
