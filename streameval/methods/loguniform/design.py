"""The design of log-uniform sampling: blocks, how likely each is to be drawn, and the μ of the mixture.

Nothing here looks at a label, and nothing here can break the coverage of `streameval.kernels.martingale`: a poor design
costs width only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from streameval.errors import InputError
from streameval.typing import FloatArray, Int64Array

OFFSET = 0.75  # density c / (r + OFFSET c), less near the top where c is small
LEAST_HEAD = 40  # ranks at the top that are all drawn, or c of them where that is less: few labels are widest there
BLOCK_LABELS = 0.7  # expected labels a block: more of them leave ranks inside blocks to the lift
MAX_FOLD_BLOCKS = 4000  # at most so many blocks an e-fold
REACH = 0.6  # near the head is where relative errors first reach this part of the largest
RATIO = 1.5  # of neighbouring mu
LOG_ODDS = 13.8  # the best mu is √13.8 over the standard error, for a mixture of 40 at δ = .05
GROWTH = math.sqrt(2)  # of the density from one look to the next: half-widths fall by a sixth
_RUN = 32  # blocks of one size that are laid out together; fewer of them go one by one
LAST_BATCH = 0.75  # share of δ for all batches of tasks together: the last costs 4 % more labels than without others


@dataclass(frozen=True)
class Blocks:
    """Blocks of ranks, and with what probability each rank of them is drawn.

    Attributes:
        ends (int64 array, shape (blocks,)): Last rank of each, increasing to N.
        rate (float64 array, shape (blocks,)): In (0, 1]; 1 in the first, the head.
        judged (float64 array, shape (blocks,)): How likely each rank is to be judged, at least `rate`: people label
            some of those ranks. None where a judge answers for every item, or there is none.
    """

    ends: Int64Array
    rate: FloatArray
    judged: FloatArray | None = None

    @property
    def items(self) -> Int64Array:
        """Ranks of each block."""
        return np.diff(self.ends, prepend=0)

    @property
    def phases(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Ranks of each block, and the probabilities of both phases, as `kernels.martingale` takes them."""
        judged = np.ones(self.rate.size) if self.judged is None else self.judged
        return self.items.astype(np.float64), judged, self.rate / judged

    @property
    def labels(self) -> int:
        """Ranks drawn, in expectation."""
        return round(float(np.sum(self.items * self.rate)))

    def merged_from(self, size: int) -> Int64Array:
        """Give the first of each larger block, of `size` of these, or fewer at the end; the head stays as it is."""
        return np.concatenate([[0], np.arange(1, self.ends.size, size)])

    def merge(self, size: int) -> Blocks:
        """Give the same in larger blocks, of as many labels."""
        first = self.merged_from(size)
        items = np.add.reduceat(self.items, first)
        ends, rate = self.ends[np.append(first[1:], self.ends.size) - 1], np.add.reduceat(self.items * self.rate, first)
        judged = None if self.judged is None else np.add.reduceat(self.items * self.judged, first) / items
        return Blocks(ends, rate / items, judged)


def blocks(n_items: int, first_c: float, c: float | FloatArray | None = None) -> Blocks:
    """Lay out the blocks of density `first_c`, to be drawn at density c, by default the same; of each, or of all.

    They follow from whole numbers and from sums, products and quotients of floats alone, which are the same on every
    system.
    """
    from streameval.kernels.jit import small
    from streameval.kernels.martingale import fill_blocks

    before = float(offset(first_c))
    head, growth = max(1, int(first_c - before)), max(BLOCK_LABELS / first_c, 1 / MAX_FOLD_BLOCKS)
    folds = math.log1p(n_items / (first_c + 1))
    guess = np.empty(int(min(n_items, 64 + 2 * first_c + 1.5 * folds / min(growth, 0.5))), np.int64)
    first = _small_blocks(int(n_items), head, before, growth)
    with small(max(0, guess.size // 6 - first.size)):
        count = fill_blocks(int(n_items), int(first[-1]), before, growth, guess)
        if count > guess.size:
            guess = np.empty(count, np.int64)
            fill_blocks(int(n_items), int(first[-1]), before, growth, guess)
    ends = np.concatenate([first[:-1], guess[:count]])
    rate = np.minimum(1.0, (first_c if c is None else c) / (middle(ends) + before))
    rate[0] = 1.0
    return Blocks(ends, rate)


def _small_blocks(n_items: int, head: int, before: float, growth: float) -> Int64Array:
    """Ends of the first blocks, as long as many of one size follow each other; the rule is that of `fill_blocks`."""
    rank = min(head, n_items)
    ends = [np.array([rank])]
    while rank < n_items and (step := max(1, int((rank + before) * growth))) * growth * _RUN <= 1:
        ranks = rank + step * np.arange(1 + min(n_items - rank, int(((step + 1) / growth - before - rank) / step) + 2))
        alike = np.maximum(1, ((ranks + before) * growth).astype(np.int64)) == step
        ranks = ranks[1 : 1 + (int(np.argmin(alike)) or alike.size)]
        ends.append(ranks[ranks < n_items])
        rank = int(min(ranks[-1], n_items))
    return np.concatenate([*ends, [n_items]] if rank == n_items > head else ends)


def offset(c: float | FloatArray) -> FloatArray:
    """Give what ranks are shifted by in the density c / (r + offset)."""
    return np.asarray(np.maximum(0.0, np.minimum(OFFSET * c, c - LEAST_HEAD)))


def middle(ends: Int64Array) -> FloatArray:
    """Rank in the middle of each block."""
    return np.asarray((np.concatenate([[0], ends[:-1]]) + ends + 1.0) / 2)


def with_judged(design: Blocks, density: float) -> Blocks:
    """Let a judge answer for ranks drawn at a density of its own, and for all that people may label."""
    return replace(design, judged=np.maximum(design.rate, np.minimum(1.0, density / middle(design.ends))))


def judged_density(design: Blocks, sample: int) -> float:
    """Density at which a judge is asked for about `sample` items.

    Raises:
        InputError: Fewer than people label.
    """
    if sample < design.labels:
        raise InputError(f"sample of --judge is {sample:,}, below the {design.labels:,} items that people label",
                         "a judge answers for more items than people do")  # fmt: skip
    low, high = 1e-3, 4.0 * float(design.ends[-1])
    for _ in range(60):
        middle = math.sqrt(low * high)
        many = float(np.sum(design.items * with_judged(design, middle).phases[1]))
        low, high = (middle, high) if many <= sample else (low, middle)
    return low


def mixture(design: Blocks, variance: float, least_variance: float | None = None) -> FloatArray:
    """The mu of the mixture (equal weights): from the best one at the last rank to the best near the head.

    They follow from the plan alone, and tune the width. The best one is that of Bernstein's inequality: with good
    judges it is not the variance that rules, but what a single label stands for. None exceeds 3: from about 40 on, at
    π = .99, rounding in log(1 − πD) would count (`streameval.kernels.stakes`).

    Args:
        variance: Of a label, where nothing is known of the item.
        least_variance: Of a label given what the judge said, as planned for; by default the same.
    """
    total = np.cumsum(design.items * (1 - design.rate) / design.rate)
    if total[-1] == 0:
        return np.ones(1)
    relative = np.sqrt(total) / design.ends
    near = int(np.argmax(relative >= REACH * relative.max()))

    def best(at: int, of_label: float) -> float:
        return 1 / (math.sqrt(total[at] * of_label / LOG_ODDS) + 1 / (3 * float(design.rate[at])))

    low = 0.8 * best(-1, variance)
    high = best(near, variance if least_variance is None else least_variance)
    return space_out(low, high)


def space_out(low: float, high: float) -> FloatArray:
    """The mu of a mixture between two, each about `RATIO` times the one before."""
    return np.geomspace(low, high, max(1, round(math.log(high / low) / math.log(RATIO))) + 1)


def half_width(design: Blocks, counts: tuple[FloatArray, FloatArray], bounds: tuple[FloatArray, FloatArray]) -> float:
    """Largest (Yhi−Ylo)/(Yhi+Ylo) over all ranks, for bounds at the ends of blocks, closed as `curve.envelope` does.

    Between two ends Yhi rises by steps of one until it meets the next value, Ylo stays until it must rise: the ratio
    is largest where the first of the two happens.

    Args:
        counts (pair of float64 arrays, shape (blocks,)): Labels of each block, and positives among them; expected
            counts do as well.
        bounds (pair of such arrays): On the yield at the end of each block.
    """
    low, high = close_bounds(design, counts, bounds)
    before_low, before_high = np.concatenate([[0], low[:-1]]), np.concatenate([[0], high[:-1]])
    run = np.maximum(0, np.minimum(high - before_high, design.items - (low - before_low)))
    top = before_high + run
    inside = np.where(design.rate >= 1, 0.0, (top - before_low) / np.maximum(top + before_low, 1e-9))
    return float(np.maximum(inside, (high - low) / np.maximum(high + low, 1e-9)).max())


def close_bounds(
    design: Blocks, counts: tuple[FloatArray, FloatArray], bounds: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Close bounds at the ends of blocks among each other: what is not labelled is a walk (`curve.envelope`)."""
    from streameval.curve.envelope import close_walk

    positives = np.cumsum(counts[1])
    steps = design.ends - np.cumsum(counts[0])
    low, high = close_walk(steps, np.maximum(bounds[0] - positives, 0), np.minimum(bounds[1] - positives, steps))
    return low + positives, high + positives


def whole(design: Blocks, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds at the ends of blocks as whole numbers, outward against rounding."""
    slack = 1e-6 + 1e-12 * design.ends
    return np.ceil(low - slack), np.floor(high + slack)


def look_share(delta: float, look: int, looks: int) -> float:
    """δ_i = δ/(i(i+1)) of look i: they sum to less than δ over any number of looks. A single look has all of it."""
    return delta if looks == 1 else delta / (look * (look + 1))


def batch_share(delta: float, batch: int, batches: int) -> float:
    """Share of δ for what is told after a batch of the tasks: most of it is for all of them."""
    return delta if batches == 1 else delta * (LAST_BATCH if batch == batches else (1 - LAST_BATCH) / (batches - 1))


def look_density(first_c: float, look: int) -> float:
    """c_i = c_1 q^(i−1), a grid fixed by the first plan."""
    return first_c * GROWTH ** (look - 1)
