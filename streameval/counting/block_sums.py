"""What is kept of a fully labelled list: partial sums that merge, whatever its length.

Ranks are cut into blocks of 2^20. The sums of a block are those of the groups of tied items that begin in it (untied
items are groups of one); 2·10⁹ ranks leave 1,908 of them, a few kilobytes each. Floats are summed group by group inside
a block and then block by block, so chunks and threads change no byte of a result.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from streameval.errors import InputError
from streameval.kernels import exact
from streameval.kernels.exact import BLOCK
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array


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
    """

    lead: tuple[int, int]
    start: int
    rest: tuple[int, int]
    whole: Int64Array = field(repr=False)
    real: FloatArray = field(repr=False)
    corner: tuple[Int64Array, Int64Array] = field(repr=False)
    cut: Int64Array = field(repr=False)

    @property
    def empty(self) -> bool:
        """Whether no group begins here."""
        return not int(self.whole[exact.SEEN]) and not self.rest[0]


def sum_labels(before: int, labels: UInt8Array, cutoffs: Int64Array) -> BlockSums:
    """Sum one block of untied items.

    Args:
        before: Ranks before the block.
        labels (uint8 array, shape (n,), n ≤ BLOCK): 0 or 1, by rank.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.

    Raises:
        InputError: A label that is neither 0 nor 1; names its rank.
    """
    whole, real, corner = _room()
    if before < exact.FAR_RANKS:
        exact.add_labels(labels, before, whole, real, corner)
        bad = bool(whole[exact.BAD])
    elif not (bad := labels.max(initial=0) > 1):
        bits = np.packbits(labels, bitorder="little"), exact.BYTE_SUMS
        exact.add_far_labels(labels, bits, before, whole, real, corner)
    if bad:
        raise _bad_label(before, labels)
    local = _inside(cutoffs, before, labels.size)
    # counted from cutoff to cutoff, a register at a time: a running sum would take longer than all others together
    kinds, edges = labels.view(np.bool_), [0, *local.tolist()]
    found = np.cumsum([np.count_nonzero(kinds[a:b]) for a, b in pairwise(edges)], dtype=np.int64)
    own = labels[local - 1].astype(np.int64)
    cut = np.stack([local - 1, found - own, np.ones_like(local), own], axis=1)
    return BlockSums((0, 0), before, (0, 0), whole, real, _hulls(whole, corner), cut)


def sum_rows(
    before: int, keys: UInt64Array, labels: UInt8Array, previous: int | None, cutoffs: Int64Array
) -> BlockSums:
    """Sum one block of items in order of their keys.

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
    n, p = exact.leading_group(keys, labels, np.uint64(previous)) if previous is not None else (0, 0)
    if n and labels[:n].max() > 1:
        raise _bad_label(before, labels)
    if n == keys.size:
        return _part(before + n, (n, p), np.zeros(1, np.int64), np.zeros(1, np.int64), (0, 0), cutoffs)
    if previous is not None and int(keys[n]) < previous:
        raise UnorderedError(before + n + 1)
    starts, founds = _scratch(keys.size - n + 1)
    groups = exact.group_rows(keys[n:], labels[n:], starts, founds)
    if groups < 0:
        if labels.max() > 1:
            raise _bad_label(before, labels)
        raise UnorderedError(before + n + 2 + int(np.argmax(keys[n + 1 :] < keys[n:-1])))
    rest = int(starts[groups] - starts[groups - 1]), int(founds[groups] - founds[groups - 1])
    if groups == keys.size - n:  # nothing ties: all but the last, which may go on
        return replace(sum_labels(before + n, labels[n:-1], cutoffs), lead=(n, p), rest=rest)
    return _part(before + n, (n, p), starts[:groups], founds[:groups], rest, cutoffs)


def sum_groups(before: int, sizes: Int64Array, positives: Int64Array, cutoffs: Int64Array) -> Iterator[BlockSums]:
    """Sum whole groups of tied items, block by block.

    Args:
        before: Ranks before the first group, which is the first to begin in its block.
        sizes, positives (int64 arrays, shape (n,)): Items and positives of each group, best first; no group is empty.
        cutoffs (int64 array, ascending): Ranks whose yield is wanted.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    founds = np.concatenate([[0], np.cumsum(positives)])
    block = (before + starts[:-1]) // BLOCK
    for run in np.split(np.arange(sizes.size), np.flatnonzero(np.diff(block)) + 1):
        if run.size:
            first, last = int(run[0]), int(run[-1])
            rest = int(sizes[last]), int(positives[last])
            own, mine = starts[first : last + 1] - starts[first], founds[first : last + 1] - founds[first]
            yield _part(before + int(starts[first]), (0, 0), own, mine, rest, cutoffs)


def _part(
    start: int,
    lead: tuple[int, int],
    starts: Int64Array,
    founds: Int64Array,
    rest: tuple[int, int],
    cutoffs: Int64Array,
) -> BlockSums:
    """Sum groups that have ended, `starts` and `founds` of them, before one that may go on."""
    whole, real, corner = _room()
    exact.add_groups(starts, founds, start, whole, real, corner)
    local = _inside(cutoffs, start, int(starts[-1]))
    at = np.searchsorted(starts, local, side="left")
    before = np.maximum(at - 1, 0)
    cut = np.stack([starts[before], founds[before], starts[at] - starts[before], founds[at] - founds[before]], axis=1)
    return BlockSums(lead, start, rest, whole, real, _hulls(whole, corner), cut)


_OWN = threading.local()


def _scratch(size: int) -> tuple[Int64Array, Int64Array]:
    """Arrays for groups, a thread's own: fresh memory of this size costs more than the sums made in it."""
    if getattr(_OWN, "room", np.empty((2, 0))).shape[1] < size:
        _OWN.room = np.empty((2, max(size, BLOCK + 1)), np.int64)
    return _OWN.room[0, :size], _OWN.room[1, :size]


def _room() -> tuple[Int64Array, FloatArray, Int64Array]:
    corner = np.empty((2, exact.MOST_CORNERS, 2), np.int64)
    return np.zeros(exact.WHOLES, np.int64), np.zeros(exact.REALS), corner


def _hulls(whole: Int64Array, corner: Int64Array) -> tuple[Int64Array, Int64Array]:
    early = corner[0, : whole[exact.EARLY]].copy()
    return early, corner[1, : whole[exact.ENDS]].copy() if whole[exact.MIXED] else early


def _inside(cutoffs: Int64Array, start: int, size: int) -> Int64Array:
    """Cutoffs in the first `size` ranks after `start`, counted from there."""
    first, last = np.searchsorted(cutoffs, [start, start + size], side="right")
    return cutoffs[first:last] - start


class UnorderedError(Exception):
    """Scores are not in order; `rank` is the first that comes too late."""

    def __init__(self, rank: int) -> None:
        super().__init__(rank)
        self.rank = rank


def _bad_label(before: int, labels: UInt8Array) -> InputError:
    at = int(np.argmax(labels > 1))
    return InputError(f"the label at rank {before + at + 1:,} is {labels[at]}, not 0 or 1")
