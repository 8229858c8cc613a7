"""Forecasts: the width of bounds for a density, and the density that keeps a half-width or a budget.

All of it is a forecast, for a list of constant precision: coverage does not depend on it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from streameval.errors import InputError
from streameval.methods.loguniform.design import (
    Blocks,
    blocks,
    close_bounds,
    half_width,
    judged_density,
    mixture,
    whole,
    with_judged,
)
from streameval.methods.loguniform.expected import expected_bounds
from streameval.typing import FloatArray, Int64Array

LEAST_VARIANCE = 0.02  # of a label, where the precision that is planned for leaves less
MERGED = 6  # blocks of the design in one of most runs
ROUGH, FINE = 10_000, 80_000  # blocks that are simulated for a median, in all runs: where to look, then what stands


@dataclass(frozen=True)
class Expected:
    """A list of constant precision, and what a judge says of its items: all that a forecast is made of.

    Attributes:
        share, precision (float64 arrays, shape (classes,)): Items of each class of the judge, and positives among them.
        prior (float64 array, shape (classes,)): What the plan predicts of each class (`kernels.martingale.evidence`).
    """

    share: FloatArray
    precision: FloatArray
    prior: FloatArray

    @staticmethod
    def from_accuracy(precision: float, accuracy: float | None = None) -> Expected:
        """Without a judge, or with one that says of an item of either kind what it is with probability `accuracy`."""
        if accuracy is None:
            return Expected(np.ones(1), np.array([precision]), np.array([0.5]))
        yes = precision * accuracy + (1 - precision) * (1 - accuracy)
        if not 0 < yes < 1:
            return Expected(np.ones(1), np.array([precision]), np.array([0.75 if yes else 0.25]))
        share = np.array([1 - yes, yes])
        return Expected(share, precision * np.array([1 - accuracy, accuracy]) / share, np.array([0.25, 0.75]))

    def mixture(self, design: Blocks) -> FloatArray:
        """The mu of a plan for this list: wide enough for a judge that is worthless."""
        return mixture(design, variance(float(self.share @ self.precision)),
                       float(self.share @ (self.precision * (1 - self.precision))))  # fmt: skip


def variance(precision: float) -> float:
    """Variance of a label, for `mixture`."""
    return max(precision * (1 - precision), LEAST_VARIANCE)


def noise_free(design: Blocks, delta: float, of: Expected) -> float:
    """Half-width at the ends of blocks where each finds just what it is expected to."""
    width, judged, rate = design.phases
    items = (width * judged)[:, None] * of.share
    drawn = items * rate[:, None]
    return _widths(design, delta, of, (items, drawn, drawn * of.precision))[0]


def median(design: Blocks, delta: float, precision: float) -> float:
    """Half-width that the median run reaches on independent labels of one precision, without a judge.

    It is a maximum over all ranks, and somewhere the estimate is low by two or three standard errors, where the
    relative width is larger: about 1 + g·width times the noise-free one. Simulated (10⁵, 10⁷ and 2·10⁹ items, 40 runs a
    cell, half-widths of 4 to 16 %).
    """
    at_ends = expected_bounds(design, precision, (Expected.from_accuracy(precision).mixture(design), delta))
    labels = design.items * design.rate
    width = half_width(design, (labels, labels * precision), at_ends)
    g = np.interp(1 / max(1 - precision, 0.03), [1, 2, 3.333, 10, 20, 33], [0.2, 0.55, 1.2, 3.6, 5.4, 7.0])
    return min(1.0, width * (1 + float(g) * width))


def simulate(design: Blocks, delta: float, of: Expected, runs: int, seed: int = 0) -> tuple[FloatArray, int]:
    """Half-widths of simulated runs, and how many of them missed the truth at the end of some block.

    Counts of blocks are drawn, which has the law of drawing ranks, so that any N is cheap.
    """
    random, reached, missed = np.random.RandomState(seed), [], 0
    for _ in range(runs):
        items, drawn, counts = _draw(design, of, random)
        y = np.cumsum((counts[2] + random.binomial(items - drawn, of.precision)).sum(axis=1))
        _, width, (low, high) = _widths(design, delta, of, counts)
        missed += bool(np.any((y < low) | (y > high)))
        reached.append(width)
    return np.array(reached), missed


def simulated_median(design: Blocks, delta: float, of: Expected, effort: int) -> float:
    """Median half-width of simulated runs, of which most are drawn in larger blocks and looked at only at their ends.

    How much wider the widest place of all is, is seen in a few runs of the blocks themselves, whose counts are then
    put together: about 1 %, and alike in all runs.

    Args:
        effort: Blocks to simulate.
    """
    random, larger = np.random.RandomState(0), design.merge(MERGED)
    runs, wider = int(np.clip(effort / larger.ends.size, 9, 401)), []
    for _ in range(1 + runs // 20):
        counts = _draw(design, of, random)[2]
        whole_width = _widths(design, delta, of, counts)[1]
        together = [np.add.reduceat(class_counts, design.merged_from(MERGED), axis=0) for class_counts in counts]
        wider.append(whole_width / max(_widths(larger, delta, of, together)[0], 1e-12))
    ends = [_widths(larger, delta, of, _draw(larger, of, random)[2])[0] for _ in range(runs)]
    return float(np.median(ends) * np.mean(wider))


ClassCounts = Sequence[FloatArray]
"""Items that were judged, those of them that were drawn, and positives among these; shape (blocks, classes)."""


def _draw(design: Blocks, of: Expected, random: np.random.RandomState) -> tuple[Int64Array, Int64Array, ClassCounts]:
    """Draw a list and its labels, block by block: all items of each class, those that were drawn, and the counts."""
    items, left = np.empty((design.ends.size, of.share.size), np.int64), design.items
    for g, share in enumerate(of.share[:-1] / np.cumsum(of.share[::-1])[::-1][:-1]):
        items[:, g] = random.binomial(left, share)
        left = left - items[:, g]
    items[:, -1] = left
    seen = items if design.judged is None else random.binomial(items, design.judged[:, None])
    drawn = random.binomial(seen, design.phases[2][:, None])
    positives = random.binomial(drawn, of.precision)
    return items, drawn, [class_counts.astype(np.float64) for class_counts in (seen, drawn, positives)]


def _widths(
    design: Blocks, delta: float, of: Expected, counts: ClassCounts
) -> tuple[float, float, tuple[FloatArray, FloatArray]]:
    """Largest half-width at the ends of blocks, that anywhere, and the bounds."""
    from streameval.kernels.martingale import bounds

    seen, drawn, positives = counts
    at_ends = bounds(design.phases, seen, drawn, (positives, positives), of.prior, (of.mixture(design), delta))
    at_ends = whole(design, *at_ends)
    labels = drawn.sum(axis=1), positives.sum(axis=1)
    low, high = close_bounds(design, labels, at_ends)
    return float(((high - low) / np.maximum(high + low, 1e-9)).max()), half_width(design, labels, at_ends), at_ends


def expected_width(
    design: Blocks, planned: Blocks, delta: float, precision: float, accuracy: float | None, sample: int | None
) -> float:
    """Half-width that the median run reaches at some look or batch, with a judge or without.

    Args:
        planned: The design of the plan, which decides of which ranks a judge is asked.
        accuracy, sample: Of a judge, None where there is none, and of how many items it is asked, None where of all.
    """
    if accuracy is None:
        return median(design, delta, precision)
    if sample is not None:
        density = judged_density(planned, max(sample, planned.labels))
        design = replace(design, judged=with_judged(planned, density).judged)
    return min(1.0, simulated_median(design, delta, Expected.from_accuracy(precision, accuracy), ROUGH))


_NINE_IN_TEN = 1.2816  # standard deviations of a normal number above its mean


@functools.lru_cache(maxsize=64)  # every replicate of a simulation asks for the same plan
def smallest_c(
    n_items: int, alpha: float, delta: float, precision: float, accuracy: float | None = None, sample: int | None = None
) -> float:
    """About the smallest density whose median half-width is within alpha; a judge answers for `sample` items or all."""
    if alpha < 1e-7:  # every item, and squares would vanish
        return 4.0 * max(2, n_items)
    guess = 7.2 * (1 - precision + 0.02) / precision / alpha**2
    if accuracy is None:
        return _least_density(n_items, alpha, guess, lambda c: median(blocks(n_items, c), delta, precision))
    of = Expected.from_accuracy(precision, accuracy)

    def rough(c: float) -> float:
        return noise_free(blocks(n_items, c).merge(MERGED), delta, of)

    c = _least_density(n_items, alpha, guess, rough)
    fall = rough(c) / max(rough(1.1 * c), 1e-12)
    power = float(np.clip(math.log(1.1) / max(math.log(fall), 1e-9), 1, 2))  # with a good judge widths fall faster
    for effort in (ROUGH, FINE):  # with a good judge noise rules, and a formula would not do
        design = blocks(n_items, c)
        if design.labels < n_items:
            if sample is not None:
                design = with_judged(design, judged_density(design, max(sample, design.labels)))
            c *= (simulated_median(design, delta, of, effort) / alpha) ** power
    return min(c, 4.0 * max(2, n_items))


def _least_density(n_items: int, alpha: float, guess: float, width: Callable[[float], float]) -> float:
    """Least c with width(c) <= alpha, to about half a percent; width falls about like c**-.5, and is 0 at 4·N."""
    low, high = 1.0, float(max(2, n_items)) * 4
    c = min(high, max(4.0, guess))
    for step in range(16):
        value = width(c) if c < high else 0.0
        low, high = (low, c) if value <= alpha else (c, high)
        if high <= low * 1.005 or (value <= alpha and value > 0.9985 * alpha):
            break
        c *= (max(value, alpha / 4) / alpha) ** 2 * 1.0005
        if step >= 4 or not low < c < high:
            c = math.sqrt(low * high) if high < 50 * low else min(low * 3, high)
    return high


@functools.lru_cache(maxsize=64)
def affordable_c(n_items: int, budget: int) -> float:
    """About the largest density whose draw stays within `budget` nine times in ten; an `InputError` where none does."""
    low, high = 1.0, 4.0 * max(2, n_items)
    if budget >= n_items:
        return high
    least = math.ceil(_ninth_decile(blocks(n_items, low)))
    if least > budget:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", f"it takes {least:,} labels")
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _ninth_decile(blocks(n_items, middle)) <= budget else (low, middle)
        if high <= low * 1.00005:
            break
    return low


def _ninth_decile(design: Blocks) -> float:
    """Number of labels that a draw keeps nine times in ten: its ranks are drawn independently of each other."""
    size = np.diff(design.ends, prepend=0)
    return float(np.sum(size * design.rate) + _NINE_IN_TEN * math.sqrt(np.sum(size * design.rate * (1 - design.rate))))
