"""Monotone bins of order keys: counting, and picking out what lies in wanted bins.

Stage 0 maps a key to a bin: by a shift alone (`even_bins`), or by its segment (its top bits after `low`) and its
place in it (`segment_bins`); heavy keys, which many items share, then get bins of their own, by tie hash
(`part_heavy`). Each further stage splits wanted bins of the stage before: `cell[bin]` is −1 or the number of a cell,
which splits one word of the item (0: key, 1: low word of a wide score, 2: tie hash, 3: position) by a shift. All of it
is monotone in the order (key, low, hash, position), so counts of bins are ranks.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.order import LAST, position_hash
from streameval.kernels.words import Words
from streameval.typing import AnyArray, Int32Array, Int64Array, UInt32Array, UInt64Array

_STEP = 2048  # cells that stay in the first-level cache


@kernel
def even_bins(keys: UInt64Array, low: np.uint64, high: np.uint64, shift: np.uint64, out: UInt32Array) -> None:
    """Bins of equal width from `low` to `high`, numbered from 1; keys before and beyond go to the first and last."""
    for i in range(keys.size):  # without branches, so that it is done several at a time
        key = keys[i]
        inside = (low if key < low else (high if key > high else key)) - low
        out[i] = np.uint32((inside >> shift) + np.uint64(1))


@kernel
def segment_bins(
    keys: UInt64Array, bounds: UInt64Array, first: Int64Array, inner: UInt64Array, out: UInt32Array
) -> None:
    """Bins of segments; `bounds` is (low, high, shift). Keys before `low` get bin 0, those beyond `high` the last."""
    low, high, shift = bounds[0], bounds[1], bounds[2]
    mask = (np.uint64(1) << shift) - np.uint64(1)
    last = first[first.size - 1]
    for i in range(keys.size):
        key = keys[i]
        if key < low:
            out[i] = 0
        elif key > high:
            out[i] = last
        else:
            offset = key - low
            segment = np.int64(offset >> shift)
            out[i] = first[segment] + np.int64((offset & mask) >> inner[segment])


@kernel
def part_heavy(
    keys: UInt64Array,
    hashes: UInt64Array,
    positions: tuple[int, UInt32Array],
    start: Int64Array,
    heavy_of: Int32Array,
    heavy: UInt64Array,
    shift: UInt64Array,
    out: UInt32Array,
) -> None:
    """Make room for heavy keys, in place.

    Args:
        keys: uint64 array, shape (n,).
        hashes (uint64 array, shape (n,) or (0,)): Tie hashes; empty where they are those of the stored positions.
        positions (pair): Stored position of the block, and the row of each key in it: uint32 array, shape (n,), or (0,)
            where these are the block's rows one after another.
        start (int64 array, shape (bins before,)): Where each bin begins now.
        heavy_of (int32 array, shape (bins before,)): Number of the heavy key in a bin, or −1. Such a bin becomes one
            for the keys before, bins by hash, and one for the keys after.
        heavy, shift (uint64 arrays, shape (heavy keys,)): The keys, and the shift of a hash that makes its bin; 64 for
            a single one.
        out (uint32 array, shape (n,)): Bins.
    """
    first, rows = positions
    ties = hashes if hashes.size else np.empty(keys.size, np.uint64)
    if rows.size:
        for i in range(rows.size):
            ties[i] = position_hash(int(first + np.int64(rows[i])))
    elif not hashes.size:
        for i in range(keys.size):
            ties[i] = position_hash(first + i)
    for i in range(keys.size):  # without branches: which way they go is chance
        before, key = out[i], keys[i]
        h = heavy_of[before]
        slot = max(h, 0)
        inside = np.int64(ties[i] >> shift[slot]) + 1 if key == heavy[slot] else np.int64(0)
        at = start[before + 1] - 1 if key > heavy[slot] else start[before] + inside
        out[i] = np.uint32(at if h >= 0 else start[before])


@kernel
def keep_open(bins: UInt32Array, wanted: UInt64Array, out_row: UInt32Array) -> int:
    """Rows whose bin is wanted (a bit set); returns how many there are. `out_row` has room for all rows."""
    n = 0
    for i in range(bins.size):
        # written in any case and kept only where wanted: a branch that is taken half the time costs more
        out_row[n] = i
        n += int((wanted[bins[i] >> np.uint32(6)] >> np.uint64(bins[i] & np.uint32(63))) & np.uint64(1))
    return n


@kernel
def append_rows(
    keys: UInt64Array,
    positions: tuple[int, UInt32Array],
    bins: UInt32Array,
    chosen: UInt32Array,
    kept: tuple[AnyArray, AnyArray, UInt32Array],
    shift: np.uint64,
    n: int,
) -> int:
    """Append some of the keys to a pile of keys, positions and bins that holds `n` items.

    Keys are shifted to the right by `shift`; `positions` as in `part_heavy`. Returns how many items there are then; the
    pile has room for them.
    """
    out_key, out_position, out_bin = kept
    first, rows = positions
    for i in range(chosen.size):
        at = chosen[i]
        out_key[n + i] = keys[at] >> shift
        out_position[n + i] = first + np.int64(rows[at] if rows.size else at)
        out_bin[n + i] = bins[at]
    return n + chosen.size


@kernel
def keep_wanted(kept: tuple[AnyArray, AnyArray, UInt32Array], n: int, wanted: UInt64Array) -> int:
    """Keep only what lies in wanted bins, of the first `n` items of a pile, in place; returns how many remain."""
    key, position, bins = kept
    m = 0
    for i in range(n):
        at = bins[i]
        key[m], position[m], bins[m] = key[i], position[i], at
        m += int((wanted[at >> np.uint32(6)] >> np.uint64(at & np.uint32(63))) & np.uint64(1))
    return m


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
            # apart from bins and from −1, so that a later call for another kind does not take it for a bin of before
            bins[i] = -2 - (base[c] + np.int64((word[i] - start[c]) >> shift[c]))


@kernel
def end_stage(bins: Int64Array) -> None:
    """End a stage: bins that `descend` found (kept apart as −2 − bin) become bins."""
    for i in range(bins.size):
        if bins[i] <= -2:
            bins[i] = -2 - bins[i]


@kernel
def open_rows(
    words: Words, place: Words, wide: UInt64Array, counts: UInt32Array, out_row: UInt32Array, out_key: UInt64Array
) -> int:
    """Count cells, adding to `counts`, and find the rows in open ones: those whose count has its highest bit set.

    Args:
        words (uint32 or uint64 array, shape (n,)): Keys, or their upper halves.
        place (array of the same type, shape (3,)): Smallest and largest word, and the shift that makes a cell; see
            `even_bins`.
        wide (uint64 array, shape (3,)): What makes a word a key: its shift, the bits below; the word of what is
            missing, whose key is `LAST`.
        out_row, out_key (arrays of shape (n,)): Receive the rows, and their keys.

    Returns:
        int: How many there are.
    """
    low, high, shift = place[0], place[1], place[2]
    cells, n = np.empty(_STEP, np.uint32), np.int64(0)
    for first in range(0, words.size, _STEP):
        here = words[first : first + _STEP]
        for i in range(here.size):  # without branches, so that it is done several at a time
            inside = (low if here[i] < low else (high if here[i] > high else here[i])) - low
            cells[i] = np.uint32(inside >> shift) + np.uint32(1)
        for i in range(here.size):
            count = counts[cells[i]]
            counts[cells[i]] = count + np.uint32(1)
            out_row[n] = first + i
            n += np.int64(count >> np.uint32(31))
    for i in range(n):
        word = np.uint64(words[out_row[i]])
        out_key[i] = LAST if word == wide[2] else word << wide[0] | wide[1]
    return int(n)


@kernel
def count_bins(bins: AnyArray, counts: AnyArray) -> None:
    """Count bins, adding to `counts`."""
    for i in range(bins.size):
        counts[bins[i]] += 1
