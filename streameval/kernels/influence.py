"""Sums of influence functions over a labelled list in rank order, by the bin of each item's cluster.

With R_g and Y_g the ranks and positives up to the end of group g of tied items, p and m its positives and negatives,
and A⁻ = Σ p/R, B⁻ = Σ p·Y/R² over the groups before it, an item of the group adds to its bin

    n += 1;  of a positive: p += 1; L += 2·(negatives before g) + m; U += Y_g/R_g − A⁻ + B⁻
             of a negative:         W += 2·(positives before g) + p; U += B⁻

The influence of a bin on average precision and on the area under the ROC curve is linear in these sums, with factors
that are known at the end of the list: see `streameval.counting.influence`.
"""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import WORD
from streameval.kernels.jit import kernel, vector_kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt16Array, UInt64Array

BINS = 4_096
# whole numbers of a bin
ITEMS, POSITIVES, LOSSES, WINS = range(4)
WHOLES = 4
# real numbers of a bin: U with positives counted in the block, and what each positive before the block adds to it
LOCAL, EACH = range(2)
REALS = 2
# sums over the groups of a block: A; B with positives counted in the block; and what each positive before adds to it
INVERSE, LOCAL_SQUARE, EACH_SQUARE = range(3)
SUMS = 3
# sums of hashes of a bin: of its rows, and of its positive rows
HASHES = 2
STEPS = 4  # of plain Python, an item; see `jit.small`
HASH_STEPS = 2
_ONE = np.uint64(1)


@vector_kernel
def add_influence(
    bits: tuple[UInt64Array, UInt64Array],
    bins: UInt16Array,
    rows: tuple[int, int],
    before: int,
    whole: Int64Array,
    real: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the items of whole groups to their bins, one after another.

    Args:
        bits (pair of uint64 arrays): Labels; and where an item ties with the one before it (`streameval.kernels.bits`).
        bins (uint16 array, shape (items,)): Of each item, below BINS.
        rows: The first item, which begins a group, and the one after the last, which ends one.
        before: Ranks before the first of them.
        whole (int64 array, shape (BINS, WHOLES)): Zero; receives n, p, L, W, counted from the first of them.
        real (float64 array, shape (BINS, REALS)): Zero; receives U, as if nothing came before `rows` but ranks.
        sums (float64 array, shape (SUMS,)): Zero; receives A, and B in two parts as `real` has U.
    """
    labels, repeats = bits
    first, last = rows
    inverse, local_square, each_square = 0.0, 0.0, 0.0
    positives, begin = 0, first
    while begin < last:
        end, p = begin + 1, int(np.int64(labels[begin // WORD] >> np.uint64(begin % WORD) & _ONE))
        while end < last and repeats[end // WORD] >> np.uint64(end % WORD) & _ONE:
            p += int(np.int64(labels[end // WORD] >> np.uint64(end % WORD) & _ONE))
            end += 1
        share = 1.0 / np.float64(before + end - first)
        local = np.float64(positives + p) * share
        losses, wins = 2 * (begin - first - positives) + end - begin - p, 2 * positives + p
        of_local, of_each = local - inverse + local_square, share + each_square
        # positives first, in whatever order tied items come: a sum of a bin depends on none
        for i in range(begin, end if p else begin):
            if labels[i // WORD] >> np.uint64(i % WORD) & _ONE:
                at = bins[i]
                whole[at, ITEMS] += 1
                whole[at, POSITIVES] += 1
                whole[at, LOSSES] += losses
                real[at, LOCAL] += of_local
                real[at, EACH] += of_each
        for i in range(begin, end if p < end - begin else begin):
            if not labels[i // WORD] >> np.uint64(i % WORD) & _ONE:
                at = bins[i]
                whole[at, ITEMS] += 1
                whole[at, WINS] += wins
                real[at, LOCAL] += local_square
                real[at, EACH] += each_square
        if p:
            inverse += p * share
            local_square += p * local * share
            each_square += p * share * share
        positives += p
        begin = end
    sums[INVERSE], sums[LOCAL_SQUARE], sums[EACH_SQUARE] = inverse, local_square, each_square


@kernel
def add_hashes(hashes: UInt64Array, bins: UInt16Array, labels: UInt8Array, sums: UInt64Array) -> None:
    """Add the hash of each row to the sums of its bin, modulo 2⁶⁴.

    Args:
        hashes (uint64 array, shape (rows,)), bins (uint16 array, shape (rows,)): Of each row.
        labels (uint8 array, shape (rows,)): 0 or 1.
        sums (uint64 array, shape (BINS, HASHES)): Of all rows, and of positive ones.
    """
    for i in range(hashes.size):
        at = bins[i]
        sums[at, 0] += hashes[i]
        sums[at, 1] += hashes[i] * np.uint64(labels[i])
