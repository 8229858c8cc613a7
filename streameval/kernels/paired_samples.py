"""Labelled gains and losses of each cutoff, from the items of one draw that serves all cutoffs."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.typing import BoolArray, Int8Array, Int64Array, UInt64Array


@kernel
def labelled_counts(
    runs: tuple[Int64Array, Int64Array],
    sides: Int8Array,
    labels: Int8Array,
    u: UInt64Array,
    certain: BoolArray,
    thresholds: UInt64Array,
) -> Int64Array:
    """Count the labels of every cutoff: its own sample, and certain items apart from it.

    Args:
        runs: First cutoff at which one top alone holds the item, and the first after it at which it does not (int64
            arrays, shape (n,)).
        sides (int8 array, shape (n,)): 0 where positives are added, 1 where they are subtracted.
        labels (int8 array, shape (n,)): 1, 0, or anything else where it is missing.
        u (uint64 array), certain (bool array, shape (n,)): Of a certain item u is not looked at.
        thresholds (uint64 array, shape (m,)): An item is in the sample of a cutoff if u is below.

    Returns:
        int64 array, shape (m, 2, 2, 3): by cutoff, side, and whether certain: items, positive, missing.
    """
    counts = np.zeros((thresholds.size, 2, 2, 3), np.int64)
    for i in range(labels.size):
        sure, side, label = 1 if certain[i] else 0, sides[i], labels[i]
        for j in range(runs[0][i], runs[1][i]):
            if sure == 1 or u[i] < thresholds[j]:
                counts[j, side, sure, 0] += 1
                counts[j, side, sure, 1] += label == 1
                counts[j, side, sure, 2] += label != 0 and label != 1
    return counts
