"""Average precision and ROC AUC: bounds by a search over the number F of positives in the list.

For a given F both fall as any positive moves back, so the two extreme lists with F positives give the sharp bounds.
Neither is monotone in F.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from streameval.curve.extremes import Extremes, Walk, whole_near
from streameval.kernels.sorted_sets import unique
from streameval.typing import FloatArray

Interval = tuple[float, float]
Denominator = Callable[[FloatArray], FloatArray]
_STEPS = 8  # of plain Python, for one sum
UNDEFINED: Interval = (float("nan"), float("nan"))


def average_precision(extremes: Extremes) -> Interval:
    """Bounds on (1/P) Σ j/r_j over the lists with P > 0.

    Upper: along a run of positives j/r_j rises, so the mean over the first F positives and M zeros falls and then
    rises with F: it is largest at the end of a run, or where the search begins.

    Lower: the j-th of F positives has min(D_j, N − F) negatives before it, D_j those of the latest list. That makes
    each j/r_j convex in F, and the term that F + 1 adds, (F + 1)/N, rises; so the sum is convex, its quotient by
    F + M has one valley, and bisection finds its floor.
    """

    def positives(in_list: FloatArray) -> FloatArray:
        return in_list + extremes.misses

    least, most = extremes.span
    if most < least:
        return UNDEFINED
    return lowest_average(extremes, positives), highest_average(extremes, positives, [least])


def highest_average(extremes: Extremes, denominator: Denominator, tried: list[float]) -> float:
    """Largest Σ_{j ≤ F} j/r_j ÷ denominator(F) of the earliest list: over ends of runs and what else is to be tried."""
    from streameval.kernels.harmonic import precision_sum, run_sums
    from streameval.kernels.jit import small

    walk = extremes.early
    sums = run_sums(walk.positives, walk.negatives)
    ends = walk.positives >= max(tried[0], 1.0)
    high = np.max((sums / np.maximum(denominator(walk.positives), 1.0))[ends], initial=0.0)
    for in_list in tried:
        if in_list > 0:
            run = int(np.searchsorted(walk.positives, in_list)) - 1
            with small(_STEPS):
                total = sums[run] + precision_sum(walk.positives[run] + 1.0, in_list, walk.negatives[run])
            high = max(high, total / float(denominator(np.array(in_list))))
    return float(min(high, 1.0))


def lowest_average(extremes: Extremes, denominator: Denominator) -> float:
    """Smallest Σ_{j ≤ F} j/r_j ÷ denominator(F) of the latest lists, for a denominator that is concave in F."""
    from streameval.kernels.harmonic import precision_sum, run_sums
    from streameval.kernels.jit import small

    walk, n_items = extremes.late, extremes.n_items
    sums = run_sums(walk.positives, walk.negatives)

    def value(in_list: float) -> float:
        if in_list == 0:
            return 0.0
        room = n_items - in_list
        run = int(np.searchsorted(walk.negatives, room))
        with small(_STEPS):
            total = sums[run] + precision_sum(walk.positives[run] + 1.0, in_list, room)
        return float(total / denominator(np.array(in_list)))

    low, high = extremes.span
    best = min(value(low), value(high))
    while low < high:
        middle = np.floor((low + high) / 2)
        here, after = value(middle), value(middle + 1)
        best = min(best, here, after)
        low, high = (middle + 1, high) if after < here else (low, middle)
    return best


def interpolated_area(extremes: Extremes) -> Interval:
    """Bounds on the area under interpolated precision, (1/P) Σ_j max over k ≥ j of k/r_k; sound, not always sharp.

    Never less than average precision; where F is known, never less than in the latest list. The earliest list has the
    highest precision at and after every positive, and along one of its runs that is constant, so its mean over F
    positives and M zeros turns at ends of runs only.
    """
    least, most = extremes.span
    if most < least:
        return UNDEFINED
    best_after, sums = _best_after(extremes.early)
    y = extremes.early.positives[1:]
    tried = unique([least], y[y > least])
    run = np.maximum(np.searchsorted(extremes.early.positives, tried) - 1, 0)
    area = sums[run] + np.append(best_after, 0.0)[run] * (tried - extremes.early.positives[run])
    high = np.max(area / np.maximum(tried + extremes.misses, 1.0))
    low = lowest_average(extremes, lambda in_list: in_list + extremes.misses)
    if least == most == extremes.late.total:
        low = max(low, float(_best_after(extremes.late)[1][-1]) / (least + extremes.misses))
    return low, float(min(high, 1.0))


def _best_after(walk: Walk) -> tuple[FloatArray, FloatArray]:
    """Highest precision from each run on, and its sum over positives, after a 0."""
    y, r = walk.ends
    best = np.maximum.accumulate((y / r)[::-1])[::-1]
    return best, np.concatenate([[0.0], np.cumsum(best * np.diff(walk.positives))])


def roc_auc(extremes: Extremes) -> Interval:
    """Bounds on the share of (positive, negative) pairs in the right order, over lists that have both.

    A missed positive loses to every returned negative. Between two changes of the runs the number of right pairs is
    a polynomial of degree two in F, and so is that of all pairs: their quotient is stationary at two points at most,
    and every one of them is tried.
    """
    least, most = extremes.span[0], min(extremes.span[1], extremes.n_items - 1)
    if most < least:
        return UNDEFINED
    return max(0.0, _lowest_auc(extremes, least, most)), min(1.0, _highest_auc(extremes, least, most))


def _highest_auc(extremes: Extremes, least: float, most: float) -> float:
    """Right pairs: F(N − F) − S − d(F − c) for F in a run from c on, with S negatives before earlier positives."""
    walk = extremes.early
    if not walk.negatives.size:
        return 0.0
    begun, d = walk.positives[:-1], walk.negatives
    before = np.concatenate([[0.0], np.cumsum(d * np.diff(walk.positives))])
    stationary = _stationary((-1.0, extremes.n_items - d, d * begun - before[:-1]), extremes)
    in_list = whole_near(np.concatenate([stationary, walk.positives]), least, most)
    run = np.maximum(np.searchsorted(walk.positives, in_list) - 1, 0)
    lost = before[run] + d[run] * (in_list - walk.positives[run])
    return float(np.max(_auc(in_list, lost, extremes)))


def _lowest_auc(extremes: Extremes, least: float, most: float) -> float:
    """Wrong pairs: the D_j of positives with D_j < N − F, and N − F for every other."""
    walk, n_items = extremes.late, extremes.n_items
    before = np.concatenate([[0.0], np.cumsum(walk.negatives * np.diff(walk.positives))])
    # right pairs are J(N − F) − S while the first J positives, with S negatives in all, keep their places
    stationary = _stationary((0.0, -walk.positives, walk.positives * n_items - before), extremes)
    in_list = whole_near(np.concatenate([stationary, n_items - walk.negatives]), least, most)
    room = n_items - in_list
    run = np.searchsorted(walk.negatives, room)
    lost = before[run] + room * (in_list - walk.positives[run])
    return float(np.min(_auc(in_list, lost, extremes)))


def _auc(in_list: FloatArray, lost: FloatArray, extremes: Extremes) -> FloatArray:
    """AUC where `lost` pairs of those in the list stand in the wrong order."""
    pairs = np.maximum(in_list * (extremes.n_items - in_list), 1.0)
    return in_list / (in_list + extremes.misses) * (1.0 - lost / pairs)


def _stationary(right: tuple[float, FloatArray, FloatArray], extremes: Extremes) -> FloatArray:
    """Tell where (a F² + b F + c) / ((F + M)(N − F)) has no slope."""
    a, b, c = right
    q0, q1 = extremes.misses * extremes.n_items, extremes.n_items - extremes.misses
    second, first, zeroth = a * q1 + b, 2.0 * (a * q0 + c), b * q0 - c * q1
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(first * first - 4.0 * second * zeroth)
        stable = -0.5 * (first + np.where(first < 0, -root, root))
        return np.concatenate([stable / second, zeroth / stable])
