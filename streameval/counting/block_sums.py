"""Sums of a fully labelled list: partial sums that merge, whatever its length.

Ranks are cut into blocks of 2^20. The sums of a block are those of the groups of tied items that begin in it (untied
items are groups of one); 2·10⁹ ranks leave 1,908 of them, a few kilobytes each. Floats are summed group by group inside
a block and then block by block, so chunks and threads change no byte of a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from streameval.counting.calibration import ScoreLosses
from streameval.counting.influence import Bits, BlockInfluence, block_influence
from streameval.counting.labelled_rows import pack
from streameval.errors import InputError
from streameval.kernels import exact, groups
from streameval.kernels.bits import WORD, copy_bits, count_bits
from streameval.kernels.bits import repeats as set_repeats
from streameval.kernels.exact import BLOCK
from streameval.kernels.group_sums import add_groups
from streameval.kernels.groups import GroupSource
from streameval.kernels.hull import found_before, founds_of, hull_of_labels
from streameval.kernels.jit import small
from streameval.typing import AnyArray, FloatArray, Int64Array, UInt8Array, UInt16Array, UInt64Array

_STRETCH_STEPS = 80  # see `small`; those of a whole block are too many


@dataclass
class BlockSums:
    """Sums of the groups that begin in one block.

    Attributes:
        lead: Items at the block's start that belong to a group that began before, and the positives among them.
        start: Ranks before the first group that begins here.
        rest: The last group so far: it may go on in the next block. (0, 0): none is open.
        whole, real (arrays): See `streameval.kernels.exact`.
        corner (tuple of two int64 arrays, shape (k, 2)): Hulls of (ranks, positives) counted from `start`: mixed groups
            early, and at groups' ends.
        cut (int64 array, shape (k, 4)): The group at each cutoff passed.
        bits: What was summed (see `sum_bits`); None where it was groups.
        influence: Sums by bin, where the list is a sample.
        score_losses: Of the rows, where scores may be probabilities.
    """

    lead: tuple[int, int]
    start: int
    rest: tuple[int, int]
    whole: Int64Array = field(repr=False)
    real: FloatArray = field(repr=False)
    corner: tuple[Int64Array, Int64Array] = field(repr=False)
    cut: Int64Array = field(repr=False)
    bits: Bits | None = field(default=None, repr=False)
    influence: BlockInfluence | None = field(default=None, repr=False)
    score_losses: ScoreLosses | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Items of the block: those that lead it, and of the groups that begin here."""
        return self.lead[0] + int(self.whole[exact.SEEN]) + self.rest[0]

    @property
    def empty(self) -> bool:
        """Tell whether no group begins here."""
        return not int(self.whole[exact.SEEN]) and not self.rest[0]


def sum_bits(before: int, size: int, bits: Bits, cutoffs: Int64Array) -> BlockSums:
    """Sum one block of items, as bits (`streameval.kernels.bits`).

    Args:
        before: Ranks before the block.
        size: Items, no more than BLOCK.
        bits (pair of uint64 arrays): Labels; and where an item ties with the one before it, None where none may.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
    """
    words = size // WORD + 1
    summed = _sum_block(before, size, bits, cutoffs)
    summed.bits = bits[0][:words], None if bits[1] is None else bits[1][:words]
    return summed


def with_influence(
    summed: BlockSums, before: int, bins: UInt16Array | None, cutoffs: Int64Array, above: Sequence[int] = ()
) -> BlockSums:
    """Sum a block of items by bin too, where the list is a sample.

    Args:
        before: Ranks before the block.
        above: How many of its items have each score that is wanted, or a better one.
    """
    if bins is not None and summed.bits is not None:
        ends = summed.lead[0], summed.size - summed.rest[0], summed.size
        summed.influence = block_influence(before, ends, summed.bits, bins, cutoffs, above)
    return summed


def _sum_block(before: int, size: int, bits: Bits, cutoffs: Int64Array) -> BlockSums:
    labels, repeats = bits
    if repeats is None:
        return _sum_untied(before, labels, size, cutoffs)
    n = groups.leading_ties(repeats, size)
    lead = n, count_bits(labels, 0, n)
    tied = groups.of_bits(labels, repeats)
    if n == size:
        return replace(_part(before + n, (tied, (n, n), 0), (0, 0), cutoffs), lead=lead)
    if not count_bits(repeats, n, size):  # nothing ties: all but the last, which may go on
        words = labels
        if n:
            words = np.zeros(labels.size, np.uint64)
            copy_bits(labels, n, size - n - 1, words, 0)
        last = count_bits(labels, size - 1, size)
        return replace(_sum_untied(before + n, words, size - n - 1, cutoffs), lead=lead, rest=(1, last))
    last = groups.last_group(repeats, size)
    rest = size - last, count_bits(labels, last, size)
    return replace(_part(before + n, (tied, (n, last), last - n), rest, cutoffs), lead=lead)


def _sum_untied(before: int, words: UInt64Array, size: int, cutoffs: Int64Array) -> BlockSums:
    whole, real, corner = _room()
    if before < exact.FAR_RANKS:
        exact.add_labels(words, size, before, whole, real)
    else:
        exact.add_far_labels((words, exact.BYTE_SUMS), size, before, whole, real)
    founds = founds_of(words, size)
    with small(_STRETCH_STEPS * founds.size):
        whole[exact.EARLY] = hull_of_labels(words, size, founds, corner[2], corner[0])
    local = _cutoffs_inside(cutoffs, before, size)
    cut = np.empty((local.size, 4), np.int64)
    cut[:, 0], cut[:, 1], cut[:, 2] = local - 1, found_before(words, local - 1, founds), 1
    cut[:, 3] = words[cut[:, 0] // WORD] >> (cut[:, 0] % WORD).astype(np.uint64) & np.uint64(1)
    return BlockSums((0, 0), before, (0, 0), whole, real, _hulls(whole, corner), cut)


def sum_labels(before: int, labels: UInt8Array, cutoffs: Int64Array) -> BlockSums:
    """Do what `sum_bits` does with untied items; an `InputError` names the rank of a label that is neither 0 nor 1."""
    return sum_bits(before, labels.size, (_pack(before, labels), None), cutoffs)


def sum_rows(
    before: int, keys: UInt64Array, labels: UInt8Array, previous: int | None, cutoffs: Int64Array
) -> BlockSums:
    """Do what `sum_bits` does with items and their order keys.

    Args:
        before: Ranks before the block.
        keys (uint64 array, shape (n,), n ≤ BLOCK, not decreasing): Order keys.
        labels (uint8 array, shape (n,)): 0 or 1.
        previous: Key of the item before the block.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.

    Raises:
        UnorderedError: A key that is smaller than the one before it.
        InputError: A label that is neither 0 nor 1; names its rank.
    """
    words = _pack(before, labels)
    repeats = np.zeros(words.size, np.uint64)
    wrong = 0 if previous is not None and keys[0] < previous else set_repeats(keys, 0, repeats)
    if wrong < keys.size:
        raise UnorderedError(before + wrong + 1)
    repeats[0] |= np.uint64(previous is not None and int(keys[0]) == previous)
    return sum_bits(before, labels.size, (words, repeats), cutoffs)


def _pack(before: int, labels: UInt8Array) -> UInt64Array:
    if labels.max(initial=0) > 1:
        at = int(np.argmax(labels > 1))
        raise InputError(f"the label at rank {before + at + 1:,} is {labels[at]}, not 0 or 1")
    return pack(labels)


def block_edges(before: int, starts: AnyArray) -> list[int]:
    """Tell which groups are the first of those that begin in a block, and the number of all; none may begin in some.

    `starts` (array of whole numbers, ascending) says how many ranks come before each group, after those `before` all.
    """
    last = int(starts[-1]) if starts.size else 0
    ranks = np.arange(before // BLOCK + 1, (before + last) // BLOCK + 1) * BLOCK - before
    return [0, *np.searchsorted(starts, ranks.astype(starts.dtype)).tolist(), starts.size]


def before_each(counts: AnyArray) -> Int64Array:
    """Give what comes before each group, and in all."""
    sums = np.empty(counts.size + 1, np.int64)
    sums[0] = 0
    np.cumsum(counts, dtype=np.int64, out=sums[1:])
    return sums


def sum_groups(sizes: Int64Array, positives: Int64Array, cutoffs: Int64Array) -> Iterator[BlockSums]:
    """Sum whole groups of tied items, block by block.

    Args:
        sizes, positives (int64 arrays, shape (n,)): Items and positives of each group, best first; no group is empty.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
    """
    starts = before_each(sizes)
    for a, b in pairwise(block_edges(0, starts[:-1])):
        if a < b:
            yield sum_groups_of_block(int(starts[a]), np.stack([sizes[a:b], positives[a:b]]), cutoffs)


def sum_groups_of_block(before: int, numbers: AnyArray, cutoffs: Int64Array) -> BlockSums:
    """Sum whole groups that all begin in one block: sizes and positives, whole numbers, shape (2, groups)."""
    rest, items = (int(numbers[0, -1]), int(numbers[1, -1])), int(numbers[0, :-1].sum(dtype=np.int64))
    return _part(before, (groups.of_numbers(numbers), (0, numbers.shape[1] - 1), items), rest, cutoffs)


def _part(
    start: int, ended: tuple[GroupSource, tuple[int, int], int], rest: tuple[int, int], cutoffs: Int64Array
) -> BlockSums:
    """Sum groups that have ended, before one that may go on: where they are read, which, and their items."""
    whole, real, corner = _room()
    source, rows, items = ended
    local = _cutoffs_inside(cutoffs, start, items)
    cut = np.empty((local.size, 4), np.int64)
    with small(groups.steps(source, rows)):
        add_groups(source, rows, start, local, whole, real, corner, cut)
    return BlockSums((0, 0), start, rest, whole, real, _hulls(whole, corner), cut)


def _room() -> tuple[Int64Array, FloatArray, Int64Array]:
    return np.zeros(exact.WHOLES, np.int64), np.zeros(exact.REALS), exact.corners()


def _hulls(whole: Int64Array, corner: Int64Array) -> tuple[Int64Array, Int64Array]:
    early = corner[0, : whole[exact.EARLY]].copy()
    return early, corner[1, : whole[exact.ENDS]].copy() if whole[exact.MIXED] else early


def _cutoffs_inside(cutoffs: Int64Array, start: int, size: int) -> Int64Array:
    """Cutoffs in the first `size` ranks after `start`, counted from there."""
    first, last = np.searchsorted(cutoffs, [start, start + size], side="right")
    return cutoffs[first:last] - start


class UnorderedError(Exception):
    """Scores are not in order; `rank` is the first that comes too late."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank
