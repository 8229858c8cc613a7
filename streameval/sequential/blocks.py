"""Blocks of a list, from which items are drawn one at a time at rates that follow the labels.

A block is a range of ranks, and a class of items within it (0 where there are no classes). How items are drawn decides
how many labels a question takes, never whether its answer is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from streameval.sequential import KnownItems
from streameval.sequential.hash_order import free_ranks
from streameval.typing import FloatArray, Int8Array, Int64Array

_HEAD = 20
_REACH = 1.5  # blocks: how far a neighbour's labels tell of a block


@dataclass(frozen=True)
class RankBlocks:
    """Ranges of ranks, half an e-fold each, in order.

    Attributes:
        first, last, kind (int64 arrays, shape (blocks,)): Ranks, and the class.
    """

    first: Int64Array
    last: Int64Array
    kind: Int64Array

    @staticmethod
    def of_list(n_items: int, cutoffs: Iterable[int] = ()) -> RankBlocks:
        """Part a list, at cutoffs too: then a block lies on one side of each."""
        steps = 2 * math.log(max(n_items, _HEAD) / _HEAD)
        ends = {round(_HEAD * math.exp(j / 2)) for j in range(math.ceil(steps))} | set(cutoffs)
        last = np.array(sorted({end for end in ends if end < n_items} | {n_items}), np.int64)
        return RankBlocks.read([[first, end, 0] for first, end in zip([1, *(last[:-1] + 1)], last, strict=True)])

    @staticmethod
    def read(rows: Sequence[Sequence[int]]) -> RankBlocks:
        """Read what `rows` gave."""
        return RankBlocks(*np.array(rows, np.int64).reshape(-1, 3).T.copy())

    def rows(self) -> list[list[int]]:
        """[first rank, last rank, class] of each."""
        table: list[list[int]] = np.column_stack([self.first, self.last, self.kind]).tolist()
        return table

    @property
    def count(self) -> int:
        """How many there are."""
        return self.last.size

    @property
    def items(self) -> Int64Array:
        """How many each holds."""
        return self.last - self.first + 1

    def find(self, rank: Int64Array) -> Int64Array:
        """Index of the block of each rank."""
        return np.searchsorted(self.last, rank)

    def left(self, *taken: Int64Array) -> Int64Array:
        """Items of each block that are not taken."""
        return self.items - self.counts(np.concatenate(taken))

    def counts(self, rank: Int64Array) -> Int64Array:
        """How many of some ranks each block holds."""
        return np.bincount(self.find(rank), minlength=self.count).astype(np.int64)


@dataclass(frozen=True)
class Tally:
    """Labels by block.

    Attributes:
        labels, positives (int64 arrays, shape (blocks,)): How many items have a label, and a positive one.
    """

    labels: Int64Array
    positives: Int64Array

    @staticmethod
    def of(blocks: RankBlocks, known: KnownItems, rank: Int64Array, label: Int8Array) -> Tally:
        """Count what is known, and what was drawn since."""
        ranks, labels = np.concatenate([known.rank, rank]), np.concatenate([known.label, label])
        return Tally(blocks.counts(ranks[labels >= 0]), blocks.counts(ranks[labels == 1]))

    def smoothed(self) -> FloatArray:
        """Rate of positives of each block, in (0, 1): its own labels, and two more as its neighbours have them."""
        return (self.positives + 2 * self._nearby()) / (self.labels + 2)

    def beta(self) -> tuple[FloatArray, FloatArray]:
        """Parameters of a beta distribution of each rate."""
        nearby = self._nearby()
        return self.positives + 2 * nearby + 0.5, self.labels - self.positives + 2 * (1 - nearby) + 0.5

    def cautious(self) -> FloatArray:
        """Rates nearer to one half than `smoothed`, by which items are drawn."""
        a, b = self.beta()
        return a / (a + b)

    def _nearby(self) -> FloatArray:
        """What the labels of the other blocks make likely."""
        index = np.arange(self.labels.size)
        weight = np.exp(-abs(index[:, None] - index) / _REACH)
        np.fill_diagonal(weight, 0)
        nearby: FloatArray = (weight @ self.positives + 0.5) / (weight @ self.labels + 1)
        return nearby


def rates_for(left: Int64Array, mass: Int64Array, share: FloatArray, spread: float = 0.03) -> FloatArray:
    """Rates of draws by block that are best for a sum, as far as it is known: as u·a·√(q(1 − q)), a few spread evenly.

    Args:
        share (float64 array, shape (blocks,)): Rates of positives, in (0, 1).
        spread: How many of the draws.

    Returns:
        float64 array, shape (blocks,): Sum 1; above 0 wherever items that count are left.
    """
    wanted = left * mass * np.sqrt(share * (1 - share))
    open_ = (left > 0) & (mass > 0)
    if not open_.any():
        return np.zeros(left.size)
    return np.where(open_, (1 - spread) * wanted / wanted.sum() + spread / open_.sum(), 0.0)


def totals(blocks: RankBlocks, known: KnownItems, rank: Int64Array, label: Int8Array) -> FloatArray:
    """Positives of each block, estimated (float64 array, shape (blocks,)); exact where every item has a label.

    Those found, and of the items without a label as many as of those that were drawn from the block (`rank`, `label`);
    where none was, as many as neighbours make likely.
    """
    of_draw, tally = Tally.of(blocks, KnownItems.nothing(), rank, label), Tally.of(blocks, known, rank, label)
    rate = np.where(of_draw.labels > 0, of_draw.positives / np.maximum(of_draw.labels, 1), tally.smoothed())
    estimated: FloatArray = tally.positives + (blocks.items - tally.labels) * rate
    return estimated


def draw(
    blocks: RankBlocks, taken: Int64Array, rates: FloatArray, size: int, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array]:
    """Draw items one at a time: a block with its rate among those with items left, then one of those, uniformly.

    Args:
        taken (int64 array): Every rank that is known or drawn, strictly increasing.

    Returns:
        rank, block (int64 arrays, shape (size,)): In the order of the draw; fewer where no more are left.
    """
    left = blocks.left(taken)
    drawn = _sequence(left, rates, min(size, int(left[rates > 0].sum())), rng)
    ranks = np.empty(drawn.size, np.int64)
    for block in np.unique(drawn):
        start, last = int(blocks.first[block]) - 1, int(blocks.last[block])
        inside = taken[np.searchsorted(taken, start, "right") : np.searchsorted(taken, last, "right")]
        where = drawn == block
        ranks[where] = free_ranks(rng.choice(int(left[block]), int(where.sum()), replace=False), start, inside)
    return ranks, drawn


def _sequence(left: Int64Array, rates: FloatArray, size: int, rng: np.random.Generator) -> Int64Array:
    """Blocks in the order of the draw."""
    left, drawn = left.copy(), np.empty(size, np.int64)
    at = 0
    while at < size:
        upto = np.cumsum(np.where(left > 0, rates, 0.0))
        found = np.searchsorted(upto / upto[-1], rng.random(size - at), "right")
        for block in found:
            if left[block] == 0:
                break  # from here on at the rates of the others
            drawn[at] = block
            left[block] -= 1
            at += 1
    return drawn
