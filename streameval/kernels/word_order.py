"""Where items stand among boundaries of the order (key, low, hash, position)."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import Int64Array, UInt64Array


@kernel
def count_before(items: UInt64Array, bounds: UInt64Array) -> Int64Array:
    """Count the boundaries that come strictly before each item.

    Args:
        items (uint64 array, shape (words, n)): The words of each item, the one that is compared first in the first row.
        bounds (uint64 array, shape (words, k)): Boundaries in ascending order.

    Returns:
        int64 array, shape (n,): In 0..k.
    """
    n_words, n = items.shape
    found = np.empty(n, np.int64)
    for i in range(n):
        low, high = 0, bounds.shape[1]
        while low < high:
            middle = (low + high) // 2
            before = False
            for word in range(n_words):
                if bounds[word, middle] != items[word, i]:
                    before = bounds[word, middle] < items[word, i]
                    break
            if before:
                low = middle + 1
            else:
                high = middle
        found[i] = low
    return found
