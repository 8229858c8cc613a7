"""Blocks of a list, from which items are drawn one at a time at rates that follow the labels.

A block is a range of ranks, and a class of items within it (0 where there are no classes). How items are drawn decides
how many labels a question takes, never whether its answer is right.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.kernels.sorted_sets import setdiff1d, unique
from streameval.sequential import KnownItems
from streameval.sequential.hash_order import free_ranks
from streameval.typing import FloatArray, Int8Array, Int64Array

_HEAD = 20
_REACH = 1.5  # blocks: how far a neighbour's labels tell of a block
_TELLING = 25  # labels


@dataclass(frozen=True)
class RankBlocks:
    """Ranges of ranks in order, and the classes within each, of which every range has the same.

    Attributes:
        first, last, kind (int64 arrays, shape (blocks,)): Ranks, and the class.
        items (int64 array, shape (blocks,)): How many each holds.
        prior (float64 array, shape (classes,)): Rate of positives that a class predicts before there are labels.
    """

    first: Int64Array
    last: Int64Array
    kind: Int64Array
    items: Int64Array
    prior: FloatArray = field(default_factory=lambda: np.array([0.5]))

    @staticmethod
    def of_list(n_items: int, cutoffs: Iterable[int] = ()) -> RankBlocks:
        """Part a list every half e-fold, and at cutoffs: then a block lies on one side of each."""
        steps = 2 * math.log(max(n_items, _HEAD) / _HEAD)
        ends = {round(_HEAD * math.exp(j / 2)) for j in range(math.ceil(steps))} | set(cutoffs)
        return RankBlocks.ending_at({end for end in ends if end < n_items} | {n_items})

    @staticmethod
    def ending_at(ends: Iterable[int]) -> RankBlocks:
        """Ranges that end at given ranks, the last of which is N."""
        last = np.array(sorted(ends), np.int64)
        first = np.append(1, last[:-1] + 1)
        return RankBlocks(first, last, np.zeros(last.size, np.int64), last - first + 1)

    def by_class(self, items: Int64Array, prior: FloatArray) -> RankBlocks:
        """Give the same ranges with classes of so many items: `items` has the shape (ranges, classes)."""
        classes = prior.size
        each = np.repeat(self.first, classes), np.repeat(self.last, classes), np.tile(np.arange(classes), self.count)
        return RankBlocks(*each, items.reshape(-1).astype(np.int64), prior)

    @staticmethod
    def read(facts: Mapping[str, Any]) -> RankBlocks:
        """Read what `facts` gave."""
        if "prior" not in facts:  # of a plan from before judges
            return RankBlocks.ending_at(last for _, last, _ in facts["blocks"])
        first, last, kind, items = np.array(facts["blocks"], np.int64).reshape(-1, 4).T.copy()
        return RankBlocks(first, last, kind, items, np.array(facts["prior"]))

    def facts(self) -> dict[str, Any]:
        """First rank, last rank, class and number of items of each, and what the classes predict; JSON-ready."""
        rows = np.column_stack([self.first, self.last, self.kind, self.items]).tolist()
        return {"blocks": rows, "prior": self.prior.tolist()}

    @property
    def count(self) -> int:
        """Tell how many there are."""
        return self.last.size

    @property
    def judged(self) -> bool:
        """Tell whether there are classes."""
        return self.prior.size > 1

    def find(self, rank: Int64Array, kind: Int8Array | None = None) -> Int64Array:
        """Index of the block of each rank, with its class."""
        classes = self.prior.size
        block = np.searchsorted(self.last[::classes], rank) * classes
        return block if kind is None else block + kind

    def left(self, *used: Int64Array) -> Int64Array:
        """Items of each block but for those taken, which are given by their blocks."""
        return self.items - self.counts(np.concatenate(used))

    def counts(self, block: Int64Array) -> Int64Array:
        """Tell how often each block is named."""
        return np.bincount(block, minlength=self.count).astype(np.int64)

    def nearness(self) -> FloatArray:
        """Tell how much the labels of one block tell of another: 0 of itself, and of another class."""
        at = np.arange(self.count) // self.prior.size
        same = self.kind[:, None] == self.kind
        weight: FloatArray = np.where(same, np.exp(-abs(at[:, None] - at) / _REACH), 0.0)
        np.fill_diagonal(weight, 0)
        return weight


@dataclass(frozen=True)
class Tally:
    """Labels by block.

    Attributes:
        blocks: Those.
        labels, positives (int64 arrays, shape (blocks,)): How many items have a label, and a positive one.
    """

    blocks: RankBlocks
    labels: Int64Array
    positives: Int64Array

    @staticmethod
    def from_labels(blocks: RankBlocks, known_items: KnownItems, block: Int64Array, label: Int8Array) -> Tally:
        """Count what is known, and what was drawn since, by its blocks."""
        all_ = np.concatenate([blocks.find(known_items.rank, known_items.judge_class), block])
        labels = np.concatenate([known_items.label, label])
        return Tally(blocks, blocks.counts(all_[labels >= 0]), blocks.counts(all_[labels == 1]))

    @property
    def telling(self) -> bool:
        """Tell whether it is worth a stake: a judge is, and so are some labels."""
        return self.blocks.judged or self.labels.sum() >= _TELLING

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
        """Give what the labels of the other blocks make likely."""
        weight, prior = self.blocks.nearness(), self.blocks.prior[self.blocks.kind]
        nearby: FloatArray = (weight @ self.positives + prior) / (weight @ self.labels + 1)
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


def totals(blocks: RankBlocks, known_items: KnownItems, block: Int64Array, label: Int8Array) -> FloatArray:
    """Positives of each block, estimated (float64 array, shape (blocks,)); exact where every item has a label.

    Those found, and of the items without a label as many as of those that were drawn from the block (`block`, `label`);
    where none was, as many as neighbours make likely.
    """
    of_draw, tally = (
        Tally.from_labels(blocks, KnownItems.nothing(), block, label),
        Tally.from_labels(blocks, known_items, block, label),
    )
    rate = np.where(of_draw.labels > 0, of_draw.positives / np.maximum(of_draw.labels, 1), tally.smoothed())
    estimated: FloatArray = tally.positives + (blocks.items - tally.labels) * rate
    return estimated


def draw(
    blocks: RankBlocks, used_ranks: Int64Array, rates: FloatArray, size: int, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array]:
    """Draw items one at a time: a block with its rate among those with items left, then one of those, uniformly.

    Args:
        used_ranks (int64 array): Every rank that is known or drawn, strictly increasing.

    Returns:
        rank, block (int64 arrays, shape (size,)): In the order of the draw; fewer where no more are left.
    """
    left = blocks.left(blocks.find(used_ranks))
    drawn = _sequence(left, left, rates, size, rng)
    ranks = np.empty(drawn.size, np.int64)
    for block in unique(drawn):
        start, last = int(blocks.first[block]) - 1, int(blocks.last[block])
        inside = used_ranks[np.searchsorted(used_ranks, start, "right") : np.searchsorted(used_ranks, last, "right")]
        where = drawn == block
        ranks[where] = free_ranks(rng.choice(int(left[block]), int(where.sum()), replace=False), start, inside)
    return ranks, drawn


def draw_in_order(
    left: Int64Array, reserve: pa.Table, rates: FloatArray, size: int, rng: np.random.Generator
) -> tuple[pa.Table, pa.Table]:
    """Draw items that were put in a random order beforehand: a block with its rate, then the next of its order.

    Args:
        left (int64 array, shape (blocks,)): Items of each block that are not taken, whether or not `reserve` has them.
        reserve: `rank`, `block` and `draw`, the place in the order of the block.

    Returns:
        What was drawn, in the order of the draw, and the rest.
    """
    block = reserve.column("block").to_numpy()
    drawn = _sequence(left, np.bincount(block, minlength=left.size), rates, size, rng)
    order = np.lexsort((reserve.column("draw").to_numpy(), block))
    start = np.searchsorted(block[order], drawn)
    by = np.argsort(drawn, kind="stable")
    turn = np.empty(drawn.size, np.int64)  # how many were drawn of its block before
    turn[by] = np.arange(drawn.size) - np.searchsorted(drawn[by], drawn[by])
    row = order[start + turn]
    return reserve.take(row), reserve.take(setdiff1d(np.arange(block.size), row))


def _sequence(
    left: Int64Array, there: Int64Array, rates: FloatArray, size: int, rng: np.random.Generator
) -> Int64Array:
    """Blocks in the order of the draw, `size` of them at most.

    It ends with the last item of a block that is `there` and not the last that is left: what follows is drawn at other
    rates, of which none is that block's, and such rates are written down with a round.
    """
    drawn: list[int] = []
    left, there = left.copy(), there.copy()
    while len(drawn) < size and left[rates > 0].any():
        upto = np.cumsum(np.where(left > 0, rates, 0.0))
        blocks = np.searchsorted(upto / upto[-1], rng.random(size - len(drawn)), "right")
        for block in blocks.tolist():
            if left[block] == 0:
                break  # from here on at the rates of the others
            drawn.append(block)
            left[block] -= 1
            there[block] -= 1
            if there[block] == 0 < left[block]:
                return np.array(drawn, np.int64)
    return np.array(drawn, np.int64)
