"""Upper hulls of (rank, yield), on which every quotient that rises with yield and falls with rank has its maximum.

A walk of a million steps keeps so far from the hull of a few of its points that most stretches between these need not
be looked at: a stretch that gains k positives cannot rise above the corner it would make with all k first.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.kernels.jit import kernel
from streameval.types import Int64Array

STRETCH = 256


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
def coarse_hull(ranks: Int64Array, founds: Int64Array, corner: Int64Array) -> npt.NDArray[np.bool_]:
    """Find the stretches that may reach above the hull of their ends.

    Parameters
    ----------
    ranks, founds : int64 arrays, shape (n + 1,)
        Ranks and yield at the ends of n stretches, from (0, 0).
    corner : int64 array, shape (k, 2)
        Room for the hull.

    Returns
    -------
    bool array, shape (n,)
    """
    size = 0
    for i in range(1, ranks.size):
        size = push_corner(corner, size, ranks[i], founds[i])
    wanted = np.zeros(ranks.size - 1, np.bool_)
    edge, x0, y0 = 0, np.int64(0), np.int64(0)
    for i in range(ranks.size - 1):
        gained = founds[i + 1] - founds[i]
        rank, found = ranks[i] + gained, founds[i] + gained
        while corner[edge, 0] < rank:
            x0, y0 = corner[edge, 0], corner[edge, 1]
            edge += 1
        x1, y1 = corner[edge, 0], corner[edge, 1]
        wanted[i] = gained > 0 and (found - y0) * (x1 - x0) >= (y1 - y0) * (rank - x0)
    return wanted


@kernel
def hull_of_labels(labels: npt.NDArray[np.uint8], founds: Int64Array, corner: Int64Array) -> int:
    """Hull of untied items; returns how many corners it has.

    Parameters
    ----------
    labels : uint8 array, shape (n,)
    founds : int64 array, shape (⌈n/STRETCH⌉ + 1,)
        Positives up to the ends of stretches, from 0.
    corner : int64 array, shape (k, 2)
        Receives (ranks, positives).
    """
    ranks = np.minimum(np.arange(founds.size) * STRETCH, labels.size)
    wanted = coarse_hull(ranks, founds, corner)
    size = 0
    for i in range(wanted.size):
        if wanted[i]:
            found = founds[i]
            for row in range(ranks[i], ranks[i + 1]):
                found += labels[row]
                # the end of a run of positives
                if labels[row] == 1 and (row + 1 == labels.size or labels[row + 1] == 0):
                    size = push_corner(corner, size, row + 1, found)
        elif founds[i + 1] > founds[i]:
            size = push_corner(corner, size, ranks[i + 1], founds[i + 1])
    return size


@kernel
def hull_of_groups(starts: Int64Array, founds: Int64Array, corner: Int64Array, late: int) -> int:
    """Hull of groups of tied items; returns how many corners it has.

    Parameters
    ----------
    starts, founds : int64 arrays, shape (groups + 1,)
        Items and positives before each group, from 0, and in all.
    corner : int64 array, shape (k, 2)
        Receives (ranks, positives).
    late : int
        0: a group's positives come first. 1: they have come by its end.
    """
    groups = starts.size - 1
    every = np.minimum(np.arange((groups + STRETCH - 1) // STRETCH + 1) * STRETCH, groups)
    wanted = coarse_hull(starts[every], founds[every], corner)
    size = 0
    for i in range(wanted.size):
        if wanted[i]:
            for g in range(every[i], every[i + 1]):
                found = founds[g + 1]
                if found > founds[g]:
                    rank = starts[g + 1] if late else starts[g] + found - founds[g]
                    size = push_corner(corner, size, rank, found)
        elif founds[every[i + 1]] > founds[every[i]]:
            size = push_corner(corner, size, starts[every[i + 1]], founds[every[i + 1]])
    return size
