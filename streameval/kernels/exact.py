"""Sums over labels in rank order, one fixed block of ranks at a time; of tied items: see `group_sums`."""

from __future__ import annotations

import numpy as np

from streameval.kernels.bits import WORD, lowest
from streameval.kernels.groups import STRETCH
from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt64Array

# ranks per block; the strictly concave chain of a block has fewer than 9,200 corners (one per primitive vector)
BLOCK = 1 << 20
MOST_CORNERS = 1 << 14
# a block's whole numbers: rows summed, positives; sums of positives' ranks counted from the block's start, where the
# order is immaterial and in mixed groups; corners of both hulls; 1 if an order is open
SEEN, POSITIVES, RANKS, EARLY_RANKS, LATE_RANKS, EARLY, ENDS, MIXED = range(8)
WHOLES = 8
# a block's real numbers, in pairs: Σ j/r and Σ 1/r over positives, j counted in the block, r the rank in the list
COMMON, EARLY_SUM, LATE_SUM, EXPECTED_SUM, GROUPED_SUM = 0, 2, 4, 6, 8
REALS = 10
# from here on the series of `add_far_labels` is exact to the last bit
FAR_RANKS = 1 << 22
_ONE = np.uint64(1)
_PIECE = 1 << 14  # summed together by numpy: what the nearest cache holds


def add_labels(words: UInt64Array, rows: int, before: int, whole: Int64Array, real: FloatArray) -> None:
    """Sum untied items, one after another; numpy alone, since only the first few million ranks of a list come here.

    Args:
        words (uint64 array): Labels of consecutive ranks (`streameval.kernels.bits`).
        rows: How many.
        before: Ranks before the first.
        whole: int64 array, shape (WHOLES,), zero.
        real: float64 array, shape (REALS,), zero.
    """
    bits = np.unpackbits(words.view(np.uint8), count=rows, bitorder="little")
    ranks = np.flatnonzero(bits.view(np.bool_)) + 1  # five times as fast as of numbers
    whole[SEEN], whole[POSITIVES], whole[RANKS] = rows, ranks.size, ranks.sum()
    real[COMMON : COMMON + 2] = rank_sums(ranks, before)


def rank_sums(ranks: Int64Array, before: int) -> tuple[float, float]:
    """Σ j/r and Σ 1/r over untied positives, r `before` more than each of `ranks`, which ascend; numpy alone."""
    weighted, inverse = 0.0, 0.0
    for first in range(0, ranks.size, _PIECE):
        share = 1.0 / (before + ranks[first : first + _PIECE])
        each = np.arange(first + 1, first + share.size + 1) * share
        each[0] += weighted
        share[0] += inverse  # `cumsum` adds one after another, and `sum` would add in pairs
        weighted, inverse = float(np.cumsum(each)[-1]), float(np.cumsum(share)[-1])
    return weighted, inverse


def corners() -> Int64Array:
    """Room for two hulls of a block, and to find them."""
    return np.empty((3, MOST_CORNERS, 2), np.int64)


# sums over the bits that are set in a byte of a word, the j-th of them at place e of the word: Σ 1, Σ e, Σ e² in one
# number, and Σ je, Σ je² in another, each wide enough for a word's, times the bits before the byte
_SUM_AT, _SQUARE_AT, _NTH_AT = np.uint64(12), np.uint64(30), np.uint64(16)
_BYTE, _EIGHT, _ENTRIES = np.uint64(255), np.uint64(8), np.uint64(512)
_COUNT, _SUM, _NTH = np.uint64((1 << 12) - 1), np.uint64((1 << 18) - 1), np.uint64((1 << 16) - 1)


def _byte_sums() -> UInt64Array:
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.uint64)
    nth, place = np.cumsum(bits, axis=1).astype(np.uint64), np.arange(64, dtype=np.uint64).reshape(8, 1, 8)
    linear, square = np.sum(bits * place, axis=2), np.sum(bits * place * place, axis=2)
    nth_one, nth_two = np.sum(bits * nth * place, axis=2), np.sum(bits * nth * place * place, axis=2)
    plain = np.sum(bits, axis=1) + (linear << _SUM_AT) + (square << _SQUARE_AT)
    return np.stack([plain, nth_one + (nth_two << _NTH_AT)], axis=2).astype(np.uint64).ravel()


BYTE_SUMS = _byte_sums()


@kernel
def word_sums(word: np.uint64, sums: UInt64Array) -> tuple[float, float, float, float, float, float]:
    """Σ 1, Σ e, Σ e², Σ j, Σ je, Σ je² over the bits that are set in a word, the j-th of them bit e + 31.5.

    Args:
        sums (uint64 array, shape (8 · 256 · 2,)): `BYTE_SUMS`.
    """
    plain, nth, times, base = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for _ in range(8):
        at = base + ((word & _BYTE) << _ONE)
        byte_sums = sums[at]
        times += (plain & _COUNT) * byte_sums
        plain += byte_sums
        nth += sums[at + _ONE]
        word >>= _EIGHT
        base += _ENTRIES
    n, linear, square = np.float64(plain & _COUNT), np.float64(plain >> _SUM_AT & _SUM), np.float64(plain >> _SQUARE_AT)
    n_one = np.float64((times >> _SUM_AT & _SUM) + (nth & _NTH))
    n_two = np.float64((times >> _SQUARE_AT) + (nth >> _NTH_AT))
    # from places to distances from the middle: these are whole numbers or quarters, and exact
    each = 0.5 * n * (n + 1.0)
    return (
        n,
        linear - 31.5 * n,
        square - 63.0 * linear + 992.25 * n,
        each,
        n_one - 31.5 * each,
        n_two - 63.0 * n_one + 992.25 * each,
    )


@kernel
def add_far_labels(
    words_and_sums: tuple[UInt64Array, UInt64Array], rows: int, before: int, whole: Int64Array, real: FloatArray
) -> None:
    """Do what `add_labels` does, far down a list: 64 items at a time.

    Args:
        words_and_sums (pair of arrays): Words, and `BYTE_SUMS`.
        rows: Labels in the words.
        before: Ranks before the first, `FAR_RANKS` or more.
        whole, real: As there.

    With c the middle of 64 ranks and e the distance from it, 1/(c + e) is (1 − e/c + e²/c²)/c but for a part of
    (e/c)³ ≤ (31.5/2^22)³ < 4.3·10⁻¹⁶. Sums over a word are whole numbers or quarters, hence exact. Twelve roundings
    turn them into a word's part, five add up those of a stretch (each within 2⁻⁵³), and what is lost where stretches
    are added is carried along: all of it is within 4.3·10⁻¹⁶ + 18 · 2⁻⁵³ < 2.5·10⁻¹⁵ of the truth at the worst, and as
    roundings go both ways within 10⁻¹⁵.
    """
    words, sums = words_and_sums
    positives, ranks, weighted, inverse, lost, lost1 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for stretch in range((rows + STRETCH - 1) // STRETCH):
        first, part, part1 = stretch * (STRETCH // WORD), -lost, -lost1
        for i in range(first, min(first + STRETCH // WORD, (rows + WORD - 1) // WORD)):
            word = words[i] & lowest(rows - WORD * i)
            if word:
                n, linear, square, each, n_one, n_two = word_sums(word, sums)
                middle = 64.0 * i + 32.5
                share = 1.0 / (before + middle)
                here = share * (n - share * (linear - share * square))
                part += positives * here + share * (each - share * (n_one - share * n_two))
                part1 += here
                ranks += n * middle + linear
                positives += n
        more, more1 = weighted + part, inverse + part1
        lost, lost1 = (more - weighted) - part, (more1 - inverse) - part1
        weighted, inverse = more, more1
    whole[SEEN], whole[POSITIVES], whole[RANKS] = rows, np.int64(positives), np.int64(ranks)
    real[COMMON], real[COMMON + 1] = weighted, inverse
