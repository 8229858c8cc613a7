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

from streameval.kernels.bits import WORD, count, lowest
from streameval.kernels.jit import kernel, vector_kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt16Array, UInt64Array

BINS = 4_096
BIN_SHIFT = np.uint64(64 - (BINS - 1).bit_length())
# whole numbers of a bin, each with a count of items above its lowest bits: W of its negatives, and L of its positives
WINS, LOSSES = range(2)
WHOLES = 2
SUM_BITS = 42  # of 2^20 numbers up to 2^21
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
_NONE, _ONE, _TOP = np.uint64(0), np.uint64(1), np.uint64(WORD - 1)
_ITEM = np.int64(1 << SUM_BITS)


@kernel
def put_hashes(
    hashes: UInt64Array, row_hashes: UInt64Array, labels: UInt8Array, bins: UInt16Array, sums: UInt64Array
) -> None:
    """Put rows into bins by the upper bits of their hashes, and add hashes to the sums of their bins, modulo 2⁶⁴.

    Args:
        hashes, row_hashes (uint64 arrays, shape (rows,)): Of the cluster of each row, and of the row itself.
        labels (uint8 array, shape (rows,)): 0 or 1.
        bins (uint16 array, shape (rows,)): Receives the bin of each row.
        sums (uint64 array, shape (BINS, HASHES)): Of all rows, and of positive ones.
    """
    for i in range(hashes.size):
        at = hashes[i] >> BIN_SHIFT
        bins[i] = np.uint16(at)
        sums[at, 0] += row_hashes[i]
        sums[at, 1] += row_hashes[i] * np.uint64(labels[i])


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

    All negatives between two positives add the same numbers. What items of each label add comes into tables, one line
    after another for the positives of a word, so that an item is added without a branch.

    Args:
        bits (pair of uint64 arrays): Labels; and where an item ties with the one before it (`streameval.kernels.bits`).
        bins (uint16 array, shape (items,)): Of each item, below BINS.
        rows: The first item, which begins a group, and the one after the last, which ends one; 2^20 at most.
        before: Ranks before the first of them.
        whole (int64 array, shape (BINS, WHOLES)): Zero; receives W and L, counted from the first of them.
        real (float64 array, shape (BINS, REALS)): Zero; receives U, as if nothing came before `rows` but ranks.
        sums (float64 array, shape (SUMS,)): Zero; receives A, and B in two parts as `real` has U.
    """
    labels, repeats = bits
    first, last = rows
    tables = np.zeros((WORD + 1, WHOLES), np.int64), np.zeros((WORD + 1, WHOLES, REALS))
    begin, positives, so_far = first, 0, (0.0, 0.0, 0.0)
    while begin < last:
        end, line = min(_plain_up_to(labels, repeats, begin), last), 0
        if begin < end:
            word = labels[begin // WORD] >> np.uint64(begin % WORD) & lowest(end - begin)
            left = word
            while left:
                place = int(begin - first + count((left - _ONE) & ~left))
                _set_negatives(tables, line, 2 * positives, so_far)
                group = 2 * (place - positives), positives, 1, before + place + 1
                so_far = _set_positives(tables, line, group, so_far)
                left &= left - _ONE
                line += 1
                positives += 1
            _set_negatives(tables, line, 2 * positives, so_far)
            at = _NONE
            for i in range(np.uint64(begin), np.uint64(end)):
                label = word & _ONE
                _add(whole, real, np.uint64(bins[i]), tables, at, label)
                word >>= _ONE
                at += label
        else:
            end = _group_end(repeats, begin, last)
            words = range(begin // WORD, (end - 1) // WORD + 1)
            p = 0
            for i in words:
                p += int(count(_within(labels[i], i, begin, end)))
            _set_negatives(tables, 0, 2 * positives + p, so_far)
            if p:
                losses = 2 * (begin - first - positives) + end - begin - p
                so_far = _set_positives(tables, 0, (losses, positives, p, before + end - first), so_far)
            # positives first, in whatever order tied items come: a sum of a bin depends on none
            for i in words:
                _add_each(whole, real, bins, WORD * i, _within(labels[i], i, begin, end), tables, _ONE)
            for i in words:
                _add_each(whole, real, bins, WORD * i, _within(~labels[i], i, begin, end), tables, _NONE)
            positives += p
        begin = end
    sums[INVERSE], sums[LOCAL_SQUARE], sums[EACH_SQUARE] = so_far


@kernel
def _plain_up_to(labels: UInt64Array, repeats: UInt64Array, begin: int) -> int:
    """Find the next group of several items with a positive among them, or that leaves the word; else the word's end.

    Where nothing is positive, it does not matter what ties.
    """
    i = begin // WORD
    ties = repeats[i] | repeats[i] >> _ONE
    beyond = _NONE
    if i + 1 < repeats.size:
        beyond = repeats[i + 1] << _TOP
    held = (labels[i] & (ties | beyond) | beyond) & ~lowest(begin % WORD)
    if not held:
        return WORD * (i + 1)
    return WORD * i + _highest(~repeats[i] & ((held ^ (held - _ONE)) | _ONE << np.uint64(begin % WORD)))


@kernel
def _highest(word: np.uint64) -> int:
    """Its highest bit that is set."""
    word |= word >> _ONE
    word |= word >> np.uint64(2)
    word |= word >> np.uint64(4)
    word |= word >> np.uint64(8)
    word |= word >> np.uint64(16)
    word |= word >> np.uint64(32)
    return int(count(word)) - 1


@kernel
def _group_end(repeats: UInt64Array, begin: int, last: int) -> int:
    at = begin + 1
    while at < last:
        word = ~repeats[at // WORD] >> np.uint64(at % WORD)
        if word:
            return min(int(at + count((word - _ONE) & ~word)), last)
        at = WORD * (at // WORD + 1)
    return last


@kernel
def _within(word: np.uint64, i: int, begin: int, end: int) -> np.uint64:
    """Bits of the i-th word that are of items from `begin` on, before `end`."""
    return word & lowest(min(WORD, end - WORD * i)) & ~lowest(max(0, begin - WORD * i))


@vector_kernel
def _set_negatives(
    tables: tuple[Int64Array, FloatArray], line: int, wins: int, sums: tuple[float, float, float]
) -> None:
    tables[0][line, WINS] = _ITEM + wins
    tables[1][line, WINS, LOCAL] = sums[LOCAL_SQUARE]
    tables[1][line, WINS, EACH] = sums[EACH_SQUARE]


@vector_kernel
def _set_positives(
    tables: tuple[Int64Array, FloatArray],
    line: int,
    group: tuple[int, int, int, int],
    sums: tuple[float, float, float],
) -> tuple[float, float, float]:
    """Set what each positive of a group adds, and give the sums with this group.

    Args:
        group: L of each; positives before it, and its own; rank of its last item.
    """
    losses, positives, p, rank = group
    inverse, local_square, each_square = sums
    share = 1.0 / np.float64(rank)
    local = np.float64(positives + p) * share
    tables[0][line, LOSSES] = _ITEM + losses
    tables[1][line, LOSSES, LOCAL] = local - inverse + local_square
    tables[1][line, LOSSES, EACH] = share + each_square
    return inverse + p * share, local_square + p * local * share, each_square + p * share * share


@vector_kernel
def _add_each(
    whole: Int64Array, real: FloatArray, bins: UInt16Array, first: int, word: np.uint64,
    tables: tuple[Int64Array, FloatArray], label: np.uint64,
) -> None:  # fmt: skip
    """Add the items whose bit is set."""
    while word:
        _add(whole, real, np.uint64(bins[np.uint64(first + count((word - _ONE) & ~word))]), tables, _NONE, label)
        word &= word - _ONE


@vector_kernel
def _add(
    whole: Int64Array, real: FloatArray, row: np.uint64, tables: tuple[Int64Array, FloatArray], line: np.uint64,
    label: np.uint64,
) -> None:  # fmt: skip
    whole[row, label] += tables[0][line, label]
    real[row, LOCAL] += tables[1][line, label, LOCAL]
    real[row, EACH] += tables[1][line, label, EACH]
