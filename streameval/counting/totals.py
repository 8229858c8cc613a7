"""A whole list, summed: the parts of its blocks, merged in the order of their ranks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from streameval.counting.block_sums import BlockSums
from streameval.counting.influence import Influence, InfluenceSums
from streameval.kernels import exact
from streameval.kernels.exact import COMMON, EARLY_SUM, EXPECTED_SUM, GROUPED_SUM, LATE_SUM
from streameval.kernels.harmonic import harmonic_difference, precision_sum
from streameval.kernels.jit import small
from streameval.typing import FloatArray, Int64Array

# orders of tied items, and where their sums begin
ORDERS = {"late": LATE_SUM, "expected": EXPECTED_SUM, "early": EARLY_SUM, "grouped": GROUPED_SUM}
_GROUP_STEPS = 50  # see `small`
_RANKS = {"early": exact.EARLY_RANKS, "late": exact.LATE_RANKS}


@dataclass(frozen=True)
class Totals:
    """A whole list, summed.

    Attributes:
        n_items, positives: N and Y(N).
        rank_sum (dict of str to int): Σ r_j over positives with tied items "early" or "late"; of any size.
        twice_ranks (list of int): Σ r_j of both orders together, over the positives before each block.
        precision_sum (dict of str to float): Σ j/r_j over positives, by order of tied items: "late", "expected",
            "early", "grouped".
        block_sum (dict of str to float64 array, shape (blocks + 1,)): The same up to each block.
        start, start_yield (int64 arrays, shape (blocks + 1,)): Ranks, and positives, before the first group of each
            block; N and Y(N) at the end.
        corner (dict of str to (int64 array of shape (k, 2), int64 array of shape (k,))): For "early" and "ends": (r,
            Y(r)) among which every quotient that rises with Y and falls with r has its largest value, over the list and
            over any run of whole blocks; and the block of each.
        cut (int64 array, shape (cutoffs, 4)): The group at each cutoff: ranks and positives before it, its size, its
            positives.
        rest: Size and positives of the last group of each block, which may reach into the next; (0, 0): untied.
        mixed: Whether tied items with different labels leave the order open.
        influence: Sums by bin, where the list is a sample.
    """

    n_items: int
    positives: int
    rank_sum: dict[str, int]
    twice_ranks: list[int] = field(repr=False)
    precision_sum: dict[str, float]
    block_sum: dict[str, FloatArray] = field(repr=False)
    start: Int64Array
    start_yield: Int64Array
    corner: dict[str, tuple[Int64Array, Int64Array]] = field(repr=False)
    cut: Int64Array = field(repr=False)
    rest: list[tuple[int, int]] = field(repr=False)
    mixed: bool
    influence: Influence | None = field(default=None, repr=False)

    def twice_roc_area(self, block: int) -> int:
        """Twice the area under the ROC curve of what lies before a block, in pairs of a positive and a negative."""
        positives, start = int(self.start_yield[block]), int(self.start[block])
        return 2 * positives * (start - positives) - (self.twice_ranks[block] - positives * (positives + 1))

    def roc_auc(self, misses: int) -> dict[str, float]:
        """Share of (positive, negative) pairs in the right order, by order of tied items: "late", "expected", "early".

        Args:
            misses: Positives that the list never returned: each loses to every negative.

        Returns:
            dict of str to float: "expected" counts a tied pair half. NaN where there are no positives or no negatives.
        """
        positives, negatives = self.positives, self.n_items - self.positives
        pairs = (positives + misses) * negatives
        if not pairs:
            return dict.fromkeys(("late", "expected", "early"), float("nan"))
        lost = {order: self.rank_sum[order] - positives * (positives + 1) // 2 for order in ("late", "early")}
        twice = {"late": 2 * lost["late"], "expected": lost["late"] + lost["early"], "early": 2 * lost["early"]}
        return {order: float(Fraction(2 * positives * negatives - area, 2 * pairs)) for order, area in twice.items()}


def fold(parts: Iterable[BlockSums], cutoffs: Int64Array) -> Totals:
    """Merge the sums of all blocks, in the order of their ranks; `cutoffs` are those that they were made with."""
    cut = np.zeros((cutoffs.size, 4), np.int64)
    blocks: list[_EndedBlock] = []
    pending: BlockSums | None = None
    seen, n_positives, by_bin = 0, 0, InfluenceSums(cutoffs)
    for part in parts:
        if part.influence is not None:
            by_bin.add_rows(part.influence)
        if pending is not None:
            pending.rest = (pending.rest[0] + part.lead[0], pending.rest[1] + part.lead[1])
            if pending.influence is not None and part.influence is not None:
                pending.influence.rest += part.influence.lead
            if part.empty:
                continue
            blocks.append(_close(pending, seen, n_positives, cutoffs, cut))
            _add_by_bin(by_bin, pending, seen, n_positives)
            seen, n_positives = blocks[-1].end
        pending = part
    if pending is not None:
        blocks.append(_close(pending, seen, n_positives, cutoffs, cut))
        _add_by_bin(by_bin, pending, seen, n_positives)
    is_sample = pending is not None and pending.influence is not None
    return replace(_totals(blocks, cut), influence=by_bin.total() if is_sample else None)


@dataclass(frozen=True)
class _EndedBlock:
    """A part whose last group has ended: its place, exact sums of ranks, sums of precisions, hulls."""

    start: int
    found: int
    size: int
    positives: int
    ranks: dict[str, int]
    weighted: dict[str, tuple[float, float]]
    corner: tuple[Int64Array, Int64Array]
    rest: tuple[int, int]
    mixed: bool

    @property
    def end(self) -> tuple[int, int]:
        return self.start + self.size, self.found + self.positives


def _close(part: BlockSums, start: int, positives_before: int, cutoffs: Int64Array, cut: Int64Array) -> _EndedBlock:
    """End the last group of a part, and put its cutoffs in their place."""
    whole, real = part.whole, part.real
    seen, positives = int(whole[exact.SEEN]), int(whole[exact.POSITIVES])
    n, p = part.rest
    first = int(np.searchsorted(cutoffs, start, side="right"))
    rows = cut[first : first + part.cut.shape[0]]
    rows[:] = part.cut
    rows[:, :2] += (start, positives_before)
    last = int(np.searchsorted(cutoffs, start + seen + n, side="right"))
    cut[first + part.cut.shape[0] : last] = (start + seen, positives_before + positives, n, p)
    ranks = {order: int(whole[exact.RANKS]) + int(whole[at]) for order, at in _RANKS.items()}
    corner = part.corner
    if p:  # in Python's whole numbers: a group may be as long as the list
        tail = p * (p + 1) // 2
        ranks["early"] += p * seen + tail
        ranks["late"] += p * (seen + n - p) + tail
        early, ends = ([[seen + reach, positives + p]] for reach in (p, n))
        corner = np.concatenate([corner[0], early]), np.concatenate([corner[1], ends])
    weighted = {}
    for order, at in ORDERS.items():
        more = (0.0, 0.0)
        if p:
            with small(_GROUP_STEPS):
                more = _group_sums(order, start + seen, positives, n, p)
        weighted[order] = (real[COMMON] + real[at] + more[0], real[COMMON + 1] + real[at + 1] + more[1])
    mixed = bool(whole[exact.MIXED]) or 0 < p < n
    return _EndedBlock(start, positives_before, seen + n, positives + p, ranks, weighted, corner, part.rest, mixed)


def _add_by_bin(sums: InfluenceSums, part: BlockSums, start: int, positives_before: int) -> None:
    """Add an ended part of a sample to the sums by bin."""
    if part.influence is not None:
        ended = start + int(part.whole[exact.SEEN]), positives_before + int(part.whole[exact.POSITIVES])
        sums.add_groups(part.influence, (start, positives_before), (*ended, *part.rest))


def _group_sums(order: str, before: int, positives_before: int, n: int, p: int) -> tuple[float, float]:
    """Σ j/r and Σ 1/r over a group's positives, j counted in the block."""
    if order == "grouped":
        return p * (positives_before + p) / (before + n), p / (before + n)
    if order == "expected" and p < n:
        places = harmonic_difference(float(before), float(n))
        spread = (p - 1.0) / (n - 1.0) * (n - (before + 1.0) * places)
        return p / n * ((positives_before + 1.0) * places + spread), p / n * places
    start = before + (n - p if order == "late" else 0)
    weighted = precision_sum(positives_before + 1.0, float(positives_before + p), float(start - positives_before))
    return weighted, harmonic_difference(float(start), float(p))


def _totals(blocks: list[_EndedBlock], cut: Int64Array) -> Totals:
    n_items, positives = blocks[-1].end if blocks else (0, 0)
    rank_sum = {order: sum(b.ranks[order] + b.start * b.positives for b in blocks) for order in ("early", "late")}
    twice_ranks = [0]
    for b in blocks:
        twice_ranks.append(twice_ranks[-1] + sum(b.ranks[order] + b.start * b.positives for order in ("early", "late")))
    precision_sum, block_sum = {}, {}
    for order in ORDERS:
        terms = [(b.weighted[order][0], b.found * b.weighted[order][1]) for b in blocks]
        precision_sum[order] = math.fsum(value for pair in terms for value in pair)
        block_sum[order] = np.concatenate([[0.0], np.cumsum([a + b for a, b in terms])])
    corner = {}
    for side, name in enumerate(("early", "ends")):
        points = [b.corner[side] + np.array([b.start, b.found]) for b in blocks]
        lengths = [point.shape[0] for point in points]
        joined = np.concatenate([np.empty((0, 2), np.int64), *points])
        corner[name] = (joined, np.repeat(np.arange(len(blocks)), lengths))
    return Totals(
        n_items,
        positives,
        rank_sum,
        twice_ranks,
        precision_sum,
        block_sum,
        np.array([b.start for b in blocks] + [n_items], np.int64),
        np.array([b.found for b in blocks] + [positives], np.int64),
        corner,
        cut,
        [b.rest for b in blocks],
        any(b.mixed for b in blocks),
    )
