"""Sums over a 0/1 sequence in rank order, one fixed block of ranks at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.kernels.jit import kernel
from streameval.types import FloatArray, Int64Array

# ranks per block; the strictly concave chain of a block has fewer than 9,200 corners (one per primitive vector)
BLOCK = 1 << 20
MOST_CORNERS = 1 << 14
# slots of a block's whole numbers
SEEN, POSITIVES, RANK_SUM, CORNERS, LAST = range(5)


@kernel
def push_corner(corner: Int64Array, size: int, rank: int, found: int) -> int:
    """Append a point to an upper concave chain from (0, 0), dropping the points it covers; return the new size."""
    while size > 0:
        x1, y1 = corner[size - 1, 0], corner[size - 1, 1]
        x0, y0 = np.int64(0), np.int64(0)
        if size > 1:
            x0, y0 = corner[size - 2, 0], corner[size - 2, 1]
        if (y1 - y0) * (rank - x1) > (found - y1) * (x1 - x0):
            break
        size -= 1
    corner[size, 0] = rank
    corner[size, 1] = found
    return size + 1


@kernel
def add_labels(
    labels: npt.NDArray[np.uint8], before: int, whole: Int64Array, real: FloatArray, corner: Int64Array
) -> int:
    """Add labels to the sums of one block.

    Additions happen one rank after another, so how a block is cut into calls changes no bit of its sums.

    Parameters
    ----------
    labels : uint8 array, shape (n,)
        0 or 1, of consecutive ranks that end inside the block.
    before : int
        Ranks before the block.
    whole : int64 array, shape (5,)
        Ranks seen, positives j, sum of the positives' ranks counted from the block's start, corners, last label.
    real : float64 array, shape (2,)
        Over the block's positives: Σ j/r and Σ 1/r, with j counted in the block and r the rank in the list.
    corner : int64 array, shape (MOST_CORNERS, 2)
        Upper concave chain of (ranks, positives) inside the block; a run of positives enters once it has ended.

    Returns
    -------
    int
        Position of the first label that is neither 0 nor 1, or -1.
    """
    seen, found, rank_sum = whole[SEEN], whole[POSITIVES], whole[RANK_SUM]
    size, last = whole[CORNERS], whole[LAST]
    weighted, inverse = real[0], real[1]
    for i in range(labels.size):
        if labels[i] == 1:
            rank = seen + i + 1
            found += 1
            rank_sum += rank
            share = 1.0 / np.float64(before + rank)
            weighted += np.float64(found) * share
            inverse += share
            last = 1
        elif labels[i] == 0:
            if last == 1:
                size = push_corner(corner, size, seen + i, found)
                last = 0
        else:
            return i
    whole[SEEN], whole[POSITIVES], whole[RANK_SUM] = seen + labels.size, found, rank_sum
    whole[CORNERS], whole[LAST] = size, last
    real[0], real[1] = weighted, inverse
    return -1


@kernel
def yields_at(labels: npt.NDArray[np.uint8], positions: Int64Array) -> Int64Array:
    """Count positives among the first `positions[i]` labels; `positions` do not fall.

    Parameters
    ----------
    labels : uint8 array, shape (n,)
    positions : int64 array, shape (k,), in 0..n

    Returns
    -------
    int64 array, shape (k,)
    """
    found = np.empty(positions.size, dtype=np.int64)
    total, at = np.int64(0), np.int64(0)
    for i in range(positions.size):
        for position in range(at, positions[i]):
            total += labels[position]
        at = positions[i]
        found[i] = total
    return found
