"""PAULA's window sums and bracket (Algorithm 2, Definition 6)."""

from __future__ import annotations

import numpy as np

from streameval.typing import Int64Array


def window_sums(values: Int64Array, last: Int64Array, window: int) -> Int64Array:
    """Sum the `window` planned values that end at each given position.

    Args:
        values (int64 array, shape (n,)): One value per planned rank, in rank order.
        last (int64 array, shape (k,)): 0-based position in `values` of the last rank of each window; the ranks before
            it are consecutive.
        window: Δ; a window that would begin before position 0 is cut there.
    """
    before = np.append(np.int64(0), np.cumsum(values))
    return before[last + 1] - before[np.maximum(0, last - window + 1)]


def bracket(head_yield: int, gaps: Int64Array, sums: Int64Array, window: int, shift: int) -> Int64Array:
    """Run the recurrence Y_{k+1} = Y_k + (g_{k+1} − g_k)·p_Δ(g_{k+shift}) in exact units of 1/Δ.

    Args:
        head_yield: Y(g_ℓ).
        gaps (int64 array, shape (k,)): g_{ℓ+1} − g_ℓ, …, g_L − g_{L−1}.
        sums (int64 array, shape (k + 1,)): Positives among the last Δ ranks at g_ℓ … g_L.
        window: Δ.
        shift ({0, 1}): 1 takes the window at the far end of each gap (Y⁻), 0 the one at its near end (Y⁺).

    Returns:
        int64 array, shape (k + 1,): Δ·Y at g_ℓ … g_L: integers, so no rounding can move a bound.
    """
    return np.cumsum(np.append(np.int64(head_yield * window), gaps * sums[shift : shift + gaps.size]))
