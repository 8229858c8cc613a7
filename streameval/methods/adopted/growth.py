"""Labels of our own beside an adopted sample: drawn where the sample is thin, and counted together with it.

The second draw is by strata too, independent of the first. Its density makes up what the sample lacks to c/(r + o),
at which the relative error is the same at every scale; c is fixed by the sample's size and the look, never by labels.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from streameval.curve.envelope import Points
from streameval.kernels.band import fill_ends
from streameval.kernels.draw import draw_strata
from streameval.kernels.sorted_sets import isin, unique
from streameval.methods.adopted.band import mixture, points
from streameval.methods.adopted.steps import Strata, joined_steps
from streameval.methods.loguniform.design import OFFSET, look_density
from streameval.types import Plan
from streameval.typing import FloatArray, Int64Array

_FIRST = 0.5  # of the sample's labels that the second look adds, about
_GOLDEN = 0.6180339887498949
_NEAR, _FAR = 8, 2  # labels a stratum near the head, where the finite population counts, and far out
_MAX_FOLD_STRATA = 4000  # at most so many strata an e-fold


def strata_of(first: Strata, plan: Plan, look: int) -> Strata:
    """Strata of the second draw at a look, with as many ranks as the density there asks for; nested in the look."""
    c = _density(first, plan.n_items)
    ends = unique(_stratum_ends(plan.n_items, c), first.last)
    width = np.diff(ends, prepend=0)
    if look == 1:
        return Strata(ends, np.zeros(ends.size, np.int64))
    return Strata(ends, _labels_lacking(first, ends, width, look_density(c, look - 1)))


def second_draw(first: Strata, plan: Plan, look: int) -> tuple[Strata, Int64Array]:
    """The second draw at a look: its strata and its ranks."""
    second = strata_of(first, plan, look)
    return second, draw_strata(second.last, second.drawn, np.uint64((plan.seed + 1) % 2**64))


def expected_labels(first: Strata, second: Strata) -> int:
    """Ranks that either draw is expected to hold."""
    last, rate = joined_rates(first, second)
    return round(float(np.sum(np.diff(last, prepend=0) * rate)))


def joined_rates(first: Strata, second: Strata) -> tuple[Int64Array, FloatArray]:
    """Ranges of ranks, and the rate at which either draw takes them."""
    first_rate = (first.drawn / first.width)[np.searchsorted(first.last, second.last)]
    second_rate = second.drawn / second.width
    return second.last, first_rate + second_rate - first_rate * second_rate


def half_width(first: Strata, second: Strata, delta: float) -> float:
    """Relative half-width, at its widest beyond the first ten labels, of a list of precision one half: a forecast."""
    ranks = [draw_strata(strata.last, strata.drawn, np.uint64(1)) for strata in (first, second)]
    both = unique(*ranks)
    label = (np.arange(both.size) % 2).astype(np.int8)
    last, rate = joined_rates(first, second)
    steps = joined_steps([(first, ranks[0]), (second, ranks[1])], both, label)
    bounds = points(steps, mixture(last, rate), delta)
    beyond = np.arange(bounds.rank.size) >= 10
    low, high = bounds.lower[beyond], bounds.upper[beyond]
    width = (high - low) / np.maximum(high + low, 1e-9)
    return float(min(1.0, width.max(initial=0.0)))


def enlarge(plan: Plan, first: Strata, sample: Int64Array, look: int) -> Plan:
    """The plan at a later look. Columns: `adopted`, whether the sample had the rank; `look`, `batch` as of others."""
    rank = sample
    came = np.ones(sample.size, np.int32)
    for index in range(2, look + 1):
        _, drawn_ranks = second_draw(first, plan, index)
        new = drawn_ranks[~isin(drawn_ranks, rank)]
        rank, came = np.concatenate([rank, new]), np.concatenate([came, np.full(new.size, index, np.int32)])
    order = np.argsort(rank)
    rank, came = rank[order], came[order]
    old = isin(rank, plan.ranks)
    batch = np.full(rank.size, _last_batch(plan) + 1, np.int32)
    batch[old] = np.asarray(plan.table.column("batch")) if plan.look > 1 else 1
    stratum = np.searchsorted(first.last, rank).astype(np.int32)
    table = {"rank": rank, "stratum": stratum, "stratum_last": first.last[stratum], "adopted": came == 1,
             "look": came, "batch": batch}  # fmt: skip
    return replace(plan, table=pa.table(table)).with_notes(look=look)


def intersect(bands: list[Points]) -> Points:
    """Bounds at the ranks of all of some bounds, each with its own."""
    ranks = unique(*(bounds.rank for bounds in bands))
    lower, upper = np.zeros(ranks.size), ranks.astype(np.float64)
    for bounds in bands:
        at = np.searchsorted(ranks, bounds.rank)
        lower[at], upper[at] = np.maximum(lower[at], bounds.lower), np.minimum(upper[at], bounds.upper)
    return Points(ranks, lower, upper)


def _last_batch(plan: Plan) -> int:
    return int(np.asarray(plan.table.column("batch")).max()) if plan.look > 1 else 1


def _stratum_ends(n_items: int, c: float) -> Int64Array:
    """Ends b_1 < … < b_J = n_items of strata designed for density c / (r + OFFSET c), of a few labels each."""
    near = max(1, min(_NEAR, round(c / 16)))
    far = max(1, min(_FAR, round(c / 64)), math.ceil(c / _MAX_FOLD_STRATA))
    guess = int(min(n_items, 64 + 2 * c / far * (1 + math.log1p(n_items / c)) + c))
    out = np.empty(guess, np.int64)
    count = fill_ends(int(n_items), float(c), OFFSET * c, float(max(near, far)), float(far), out)
    if count > out.size:
        out = np.empty(count, np.int64)
        fill_ends(int(n_items), float(c), OFFSET * c, float(max(near, far)), float(far), out)
    return np.array(out[:count])


def _density(first: Strata, n_items: int) -> float:
    """Density c at which the second look adds about half as many labels as the sample has."""
    goal = _FIRST * float(first.drawn.sum())
    low, high = 1.0, 4.0 * n_items
    for _ in range(40):
        c = float(np.sqrt(low * high))
        ends = unique(_stratum_ends(n_items, c), first.last)
        more = float(_draws_needed(first, ends, np.diff(ends, prepend=0), c).sum())
        low, high = (c, high) if more < goal else (low, c)
        if high < low * 1.01:
            break
    return low


def _draws_needed(first: Strata, ends: Int64Array, width: Int64Array, c: float) -> FloatArray:
    """Draws that each range lacks to density c/(r + o), as real numbers."""
    aim = np.minimum(1.0, c / (ends - width / 2 + OFFSET * c))
    rate = (first.drawn / first.width)[np.searchsorted(first.last, ends)]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(rate < 1, (aim - rate) / (1 - rate), 0.0)
    return np.asarray(width * np.clip(share, 0.0, 1.0))


def _labels_lacking(first: Strata, ends: Int64Array, width: Int64Array, c: float) -> Int64Array:
    u = np.modf(np.arange(1, ends.size + 1) * _GOLDEN)[0]
    return np.asarray(np.minimum(width, np.floor(_draws_needed(first, ends, width, c) + u))).astype(np.int64)
