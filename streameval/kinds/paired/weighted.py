"""DCG and other measures of two rankings: what a label counts, which items are drawn for it, and what they prove.

A positive item counts by its rank in each list, and so by the difference of the two. Ranks are rounded within bins,
which are counted by one scan; by how much that may move a measure, whatever the labels, is added to its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.paired import discounts
from streameval.paired.linear import LinearCells, limits, rates_within
from streameval.paired_draws.pair import COUNTS, DrawnPair, ScoreCutoffs, below
from streameval.questions.comparing import Comparing
from streameval.typing import BoolArray, FloatArray, Int8Array, Int32Array, Int64Array, UInt64Array

_BINS, _GROUPS, _PARTS = 600, 1_000, 16  # bins of all measures together
_NEGLIGIBLE = 1e-7  # of a measure: ranks beyond count no more than that together


@dataclass(frozen=True)
class WeightedMeasure:
    """A measure that sums over the positives of a list.

    Attributes:
        name: As it was asked for.
        last: Ranks beyond count nothing.
        beyond: What those beyond would count in all, if they were not left out.
    """

    name: str
    discount: discounts.Discount
    last: int
    beyond: float = 0.0

    @staticmethod
    def of(name: str, items: int) -> WeightedMeasure:
        """Of two lists, the longer of which has so many items."""
        metric, _, cutoff = name.partition("@")
        if metric == "dcg":
            last = min(int(cutoff or items), items)
            return WeightedMeasure(name, discounts.dcg(last), last)
        if metric == "log_mean_precision":
            return WeightedMeasure(name, discounts.log_mean_difference(items), items)
        persistence = float(f"0.{metric.removeprefix('rbp.')}")
        last = max(1, min(items, int(np.ceil(np.log(_NEGLIGIBLE) / np.log(persistence)))))
        beyond = persistence**last if last < items else 0.0
        return WeightedMeasure(name, discounts.rank_biased_precision(persistence), last, beyond)

    def levels(self, ends: Int64Array) -> tuple[FloatArray, FloatArray]:
        """What a rank of each bin counts, about, and how far all of a bin may be from that together.

        Args:
            ends (int64 array, shape (m,)): Last rank of each bin, rising; the first begins at rank 1.

        Returns:
            float64 arrays, shape (m + 1,): the last is of ranks beyond.
        """
        first = np.append(1, ends[:-1] + 1)
        counts = first <= self.last
        edge = self.discount(first), np.where(counts, self.discount(np.minimum(ends, self.last)), 0.0)
        level = np.where(ends <= self.last, (edge[0] + edge[1]) / 2, 0.0)
        apart, begin = np.zeros(ends.size), first
        for part in range(1, _PARTS + 1):
            stop = first + (ends - first + 1) * part // _PARTS  # one beyond the part
            farthest = np.maximum(*(np.abs(self.discount(at) - level) for at in (begin, np.maximum(stop - 1, begin))))
            apart += (stop - begin) * farthest
            begin = stop
        return np.append(level, 0.0), np.append(apart, self.beyond)

    def bins(self, most: int) -> Int64Array:
        """Last rank of each bin, rising, all about as far from what their ranks count."""
        steps = unique(np.geomspace(1, self.last, most * _PARTS).astype(np.int64))
        falls = np.maximum(self.discount(steps[:-1]) - self.discount(steps[1:]), 0.0)
        sums = np.cumsum(np.sqrt(falls * np.diff(steps)))  # a bin is off by its length times the fall within it
        if not sums.size or sums[-1] <= 0:
            return np.array([self.last], np.int64)
        at = np.searchsorted(sums, np.linspace(0, sums[-1], most))
        return unique(steps[at], self.last)


class WeightedNeeds(NamedTuple):
    """How closely measures are to be bounded: relative to those of a list of positives; `error` is one-sided."""

    within: float
    error: float
    variance: float


@dataclass(frozen=True)
class WeightedDraw:
    """Measures of a comparison, with the ranks at which items are counted for them.

    Attributes:
        ends (int64 array, shape (m,)): Ranks, rising: the last of each bin, and the cutoffs that are asked for besides.
    """

    measures: Sequence[WeightedMeasure]
    ends: Int64Array
    needs: WeightedNeeds

    @staticmethod
    def of(names: Sequence[str], items: int, sizes: Int64Array, needs: WeightedNeeds) -> WeightedDraw:
        """For two lists, the longer of which has so many items; `sizes` are the cutoffs."""
        measures = [WeightedMeasure.of(name, items) for name in names]
        bins = [one.bins(_BINS // len(measures)) for one in measures]
        return WeightedDraw(measures, unique(sizes, *bins), needs)

    @cached_property
    def _levels(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Of each measure, what its ranks count: series of all ends, which every step of a plan asks for."""
        return {one.name: one.levels(self.ends) for one in self.measures}

    def whole(self, measure: WeightedMeasure) -> float:
        """The measure of a list of positives."""
        return float((np.diff(self.ends, prepend=0) * self._levels[measure.name][0][:-1]).sum())

    def largest_rates(self) -> FloatArray:
        """Of each end, the largest rate of an item whose better rank is in its bin (float64 array, shape (m,))."""
        rates = [np.minimum(1.0, self._density(one) * self._levels[one.name][0][:-1]) for one in self.measures]
        found: FloatArray = np.max(rates, axis=0)
        return found

    def _density(self, measure: WeightedMeasure) -> float:
        """The largest rate for a weight of 1 that there can be, if every item changed."""
        level, items = self._levels[measure.name][0][:-1], 2 * np.diff(self.ends, prepend=0)
        rates, _ = rates_within(level[level > 0], items[level > 0], **self._wanted(measure))
        return float((rates / level[level > 0]).max())

    def _wanted(self, measure: WeightedMeasure) -> dict[str, float]:
        wanted = self.needs.within * self.whole(measure)
        within = max(wanted - 2 * float(self._levels[measure.name][1].sum()), wanted / 10)
        return {"within": within, "error": self.needs.error, "variance": self.needs.variance}

    def groups(
        self, measure: WeightedMeasure, cells: Int64Array, known: Int64Array
    ) -> tuple[dict[str, Any], Int64Array]:
        """Items of about the same weight, and how they are drawn.

        Args:
            cells, known (int64 arrays, shape (m + 1, m + 1)): Items by their bins in A and in B; and those among them
                that are labelled before the draw.

        Returns:
            what a plan keeps of a measure, and the group of each cell (int64 array, shape (m + 1, m + 1)), or -1.
        """
        level, apart = self._levels[measure.name]
        weight = level[None, :] - level[:, None]
        found, at = np.full(weight.shape, -1, np.int64), np.nonzero((weight != 0) & (cells > 0))
        same: dict[str, Any] = {"name": measure.name, "whole": self.whole(measure)}
        rounded = 2 * float(apart.sum())
        if not at[0].size:
            return {**same, "rounded": rounded, "spread": 0.0, "weights": [1.0], "rates": [1.0], "items": [0]}, found
        exact, items = weight[at], (cells - known)[at]
        group = _alike(exact, cells[at])
        least = np.full(group.max() + 1, np.inf)
        np.minimum.at(least, group, np.abs(exact))
        mean = np.bincount(group, exact * cells[at]) / np.bincount(group, cells[at])
        counts = np.bincount(group, items).astype(np.int64)
        rates, spread = rates_within(mean, counts, **self._wanted(measure))
        rates = np.maximum(np.minimum(rates, np.minimum(1.0, self._density(measure) * least)), 1e-12)
        rounded += float((np.abs(exact - mean[group]) * cells[at]).sum())
        found[at] = group
        lists = {"weights": mean.tolist(), "rates": rates.tolist(), "items": counts.tolist()}
        return {**same, "rounded": rounded, "spread": spread, **lists}, found


def _alike(weights: FloatArray, items: Int64Array) -> Int64Array:
    """Groups of cells of about the same weight and of one sign, which are nearest where items are (numbered from 0)."""
    order = np.argsort(weights, kind="stable")
    apart = np.diff(weights[order], prepend=weights[order[0]])
    sums = np.cumsum(np.sqrt(apart * items[order]))
    part = np.zeros(weights.size, np.int64)
    part[order] = np.minimum(sums / max(float(sums[-1]), 1e-300) * _GROUPS, _GROUPS - 1)
    _, group = np.unique(np.where(weights > 0, part + _GROUPS, part), return_inverse=True)
    return group


@dataclass(frozen=True)
class WeightedLabels:
    """The labels of a measure (arrays of one shape, (n,)).

    Attributes:
        group: int64; -1 of an item that counts nothing.
        known: bool; of items that were labelled before the draw, which groups do not count.
        seen: float64; probability, over all that is drawn, with which labelling came to the item.
    """

    group: Int64Array
    u: UInt64Array
    label: Int8Array
    known: BoolArray
    seen: FloatArray

    def bounded(self, note: dict[str, Any], error: float, within: float) -> dict[str, Any]:
        """One row of the table of measures, from its note in the plan; `within`: the share that was asked for."""
        weights, rates = np.array(note["weights"]), np.array(note["rates"])
        own = self.group >= 0
        of = np.where(own, self.group, 0)
        drawn, apart = own & ~self.known & below(self.u, rates[of]), own & self.known
        counts = [np.bincount(of[drawn & some], minlength=weights.size)
                  for some in (drawn, self.label == 1, self.label < 0)]  # fmt: skip
        some = np.array(note["items"], np.int64) > 0
        cells = LinearCells(weights[some], rates[some], np.array(note["items"], np.int64)[some],
                            *(one[some].astype(np.int64) for one in counts))  # fmt: skip
        lower, upper = limits(cells, error, note["spread"]) if some.any() else (0.0, 0.0)
        known = weights[of[apart]], self.label[apart]
        sure, open_ = float(known[0][known[1] == 1].sum()), known[0][known[1] < 0]
        least = sure + float(np.minimum(open_, 0).sum()) - note["rounded"]
        most = sure + float(np.maximum(open_, 0).sum()) + note["rounded"]
        gains, losses = (int(cells.items[sign * cells.weights > 0].sum()) for sign in (1, -1))
        looked = drawn & (self.label >= 0)
        stand_for = weights[of[looked]] / np.minimum(rates[of], self.seen)[looked]
        estimate = _estimate(cells, stand_for, self.label[looked] == 1)
        lower, upper = lower + least, upper + most
        return {"measure": note["name"], "whole": note["whole"], "gains": gains, "losses": losses,
                "drawn": int(drawn.sum()), "missing": int((drawn & (self.label < 0)).sum()), "lower": lower,
                "estimate": None if estimate is None else estimate + sure, "upper": upper,
                "better": better(lower, upper, within * note["whole"])}  # fmt: skip


def better(lower: float, upper: float, within: float) -> str:
    """Which ranking is better by bounds on B less A: "b", "a", "neither" (both lie within ±`within`) or "open"."""
    if lower > 0 or upper < 0:
        return "b" if lower > 0 else "a"
    return "neither" if -within <= lower and upper <= within else "open"


def _estimate(cells: LinearCells, stand_for: FloatArray, positive: BoolArray) -> float | None:
    """The difference, where labels stand for what is like them; None where nothing says what one side is.

    Args:
        stand_for (float64 array), positive (bool array, one shape): Of every label, the weight that it stands for, and
            whether it says positive.
    """
    whole, total = cells.weights * cells.items, 0.0
    for sign in (1, -1):
        side = sign * stand_for > 0
        size, seen = math.fsum(whole[sign * whole > 0]), math.fsum(stand_for[side])
        if size and not seen:
            return None
        total += size * math.fsum(stand_for[side & positive]) / seen if size else 0.0
    return total


def weighted_draw(comparing: Comparing, items: int, at: Int64Array | ScoreCutoffs) -> WeightedDraw | None:
    """What is drawn for measures, of lists of which the longer has so many items; None where none is asked for."""
    if not comparing.measures:
        return None
    if isinstance(at, ScoreCutoffs):
        raise InputError("--at names scores and a measure by rank", "plan each kind into a study of its own")
    error = (1 - comparing.certainty) / (2 * (at.size + len(comparing.measures)))
    variance = comparing.min_precision * (1 - comparing.min_precision)
    return WeightedDraw.of(comparing.measures, items, at, WeightedNeeds(comparing.half_width, error, variance))


def with_bins(sizes: Int64Array, kept: FloatArray, weighted: WeightedDraw) -> tuple[Int64Array, FloatArray]:
    """Ranks and rates of a draw of all that the measures need, and of what cutoffs do, at rates `kept`."""
    rates = weighted.largest_rates()
    at = np.searchsorted(weighted.ends, sizes)
    rates[at] = np.maximum(rates[at], kept)
    return weighted.ends, rates


def at_cutoffs(drawn: DrawnPair, ends: Int64Array, sizes: Int64Array) -> DrawnPair:
    """What was counted and drawn, by cutoffs alone, which are among the ends."""
    at = np.searchsorted(ends, sizes)
    counts = {name: getattr(drawn, name)[at] for name in COUNTS}
    table = drawn.table
    for name in ("first_a", "first_b"):
        first = np.searchsorted(at, table.column(name).to_numpy()).astype(np.int32)
        table = table.set_column(table.column_names.index(name), name, pa.array(first))
    return DrawnPair(table, **counts, cells=None)


@dataclass(frozen=True)
class PlannedMeasures:
    """Measures of a plan.

    Attributes:
        notes: What the plan keeps of each.
        group (int32 arrays, shape (n,)): Of each, the group of every drawn item; -1 where it counts nothing.
        probability (float64 array, shape (n,)): The largest rate of each item.
    """

    notes: Sequence[dict[str, Any]]
    group: Sequence[Int32Array]
    probability: FloatArray

    @staticmethod
    def of(weighted: WeightedDraw | None, drawn: DrawnPair, known: BoolArray) -> PlannedMeasures:
        """From the draw of all bins; `known` are items that were labelled before."""
        probability = np.zeros(known.size)
        if weighted is None or drawn.cells is None:
            return PlannedMeasures((), (), probability)
        bins = tuple(drawn.table.column(name).to_numpy().astype(np.int64) for name in ("first_a", "first_b"))
        cells, before = drawn.cells.sum(axis=0), np.zeros(drawn.cells.shape[1:], np.int64)
        np.add.at(before, tuple(one[known] for one in bins), 1)
        notes, group = [], []
        for measure in weighted.measures:
            note, of_cell = weighted.groups(measure, cells, before)
            own = of_cell[bins]
            probability = np.maximum(probability, np.where(own >= 0, np.array(note["rates"])[own], 0.0))
            notes.append(note)
            group.append(own.astype(np.int32))
        return PlannedMeasures(notes, group, probability)

    @property
    def columns(self) -> dict[str, Int32Array]:
        """Columns of the plan."""
        return {f"measure_{i}": one for i, one in enumerate(self.group)}
