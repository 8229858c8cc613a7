"""Monotone bins of order keys: counting, and picking out what lies in wanted bins.

Stage 0 maps a key to a bin by two look-ups: the key's segment (its top bits after `low`), and its place in it. Each
further stage splits wanted bins of the stage before: `cell[bin]` is −1 or the number of a cell, which splits one word
of the item (0: key, 1: low word of a wide score, 2: tie hash, 3: position) by a shift. All of it is monotone in the
order (key, low, hash, position), so counts of bins are ranks.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streameval.kernels.jit import kernel
from streameval.types import Int64Array

UInt64Array = npt.NDArray[np.uint64]
Int32Array = npt.NDArray[np.int32]


@kernel
def count_first(
    keys: UInt64Array,
    bounds: UInt64Array,
    first: Int64Array,
    inner: UInt64Array,
    counts: Int64Array,
) -> None:
    """Count keys per bin of stage 0, adding to `counts`; `bounds` is (low, high, shift)."""
    low, high, shift = bounds[0], bounds[1], bounds[2]
    mask = (np.uint64(1) << shift) - np.uint64(1)
    for i in range(keys.size):
        key = keys[i]
        if key < low:
            counts[0] += 1
        elif key > high:
            counts[first[first.size - 1]] += 1
        else:
            offset = key - low
            segment = np.int64(offset >> shift)
            counts[first[segment] + np.int64((offset & mask) >> inner[segment])] += 1


@kernel
def mark(
    keys: UInt64Array,
    bounds: UInt64Array,
    first: Int64Array,
    inner: UInt64Array,
    wanted: UInt64Array,
    out_row: Int64Array,
    out_bin: Int64Array,
) -> int:
    """Rows whose stage-0 bin is wanted (a bit set), and their bins; returns how many there are.

    `out_row` and `out_bin` have room for all rows.
    """
    low, high, shift = bounds[0], bounds[1], bounds[2]
    mask = (np.uint64(1) << shift) - np.uint64(1)
    last = first[first.size - 1]
    n = 0
    for i in range(keys.size):
        key = keys[i]
        if key < low:
            at = 0
        elif key > high:
            at = last
        else:
            offset = key - low
            segment = np.int64(offset >> shift)
            at = first[segment] + np.int64((offset & mask) >> inner[segment])
        # written in any case and kept only where wanted: a branch that is taken half the time costs more
        out_row[n] = i
        out_bin[n] = at
        n += int((wanted[at >> 6] >> np.uint64(at & 63)) & np.uint64(1))
    return n


@kernel
def descend(
    bins: Int64Array,
    word: UInt64Array,
    cell: Int32Array,
    start: UInt64Array,
    shift: UInt64Array,
    base: Int64Array,
    kind: Int64Array,
    wanted_kind: int,
) -> None:
    """One further stage, in place: the bin of each item among the split bins; −1 where its bin is not split.

    Cells of another kind than `wanted_kind` are left for the call that brings their word.
    """
    for i in range(bins.size):
        if bins[i] < 0:
            continue
        c = cell[bins[i]]
        if c < 0:
            bins[i] = -1
        elif kind[c] == wanted_kind:
            bins[i] = -2 - (base[c] + np.int64((word[i] - start[c]) >> shift[c]))


@kernel
def settle(bins: Int64Array) -> None:
    """End a stage: bins that `descend` found (kept apart as −2 − bin) become bins."""
    for i in range(bins.size):
        if bins[i] <= -2:
            bins[i] = -2 - bins[i]


@kernel
def count_bins(bins: Int64Array, counts: Int64Array) -> None:
    """Count bins, adding to `counts`."""
    for i in range(bins.size):
        counts[bins[i]] += 1
