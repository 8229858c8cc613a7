"""Every metric of a ranking along its sorted items, with tied items in every order at once.

Items of one score are a group of n with p positives, behind s items with f positives. A metric has three values: in the
worst order of its tied items (labels ascending), expected over all orders, in the best (labels descending). Expected
values are closed forms or short sums: place i of a group is positive with probability p/n, then with
(p − 1)(i − 1)/(n − 1) positives of the group expected before it (McSherry and Najork, 2008); the first positive of a
group is at place x with probability C(n − x, p − 1)/C(n, p).
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.discounts import discount
from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array

GRADES = 128  # labels are below it
# rows of what is measured: the metrics of a whole ranking, then those of each cutoff; GROUPED is average precision with
# each group of tied items as one threshold (scikit-learn's), which `queries.measured` takes for AP or leaves out
AP, RR, NDCG, R_PRECISION, BPREF, AUC, GROUPED = range(7)
WHOLE = 7
AP_AT, P_AT, R_AT, RR_AT, NDCG_AT, SUCCESS_AT = range(6)
AT_CUTOFF = 6
WORST, EXPECTED, BEST = range(3)
# what is carried along a ranking: items and positives so far, next cutoff, then sums, those of tied items by order
ITEMS, FOUND, NEXT, COMMON, DCG, ABOVE, PAIRS, TIED = range(8)
# sums over groups of tied items are kept three times, by order, and the one of GROUPED once
_AP, _DCG, _ABOVE, _PAIRS = (TIED + 3 * i for i in range(4))
_GROUPED = TIED + 12
STATE = TIED + 13


@kernel
def _record(c: int, values: FloatArray, out: FloatArray) -> None:
    """Put down the sums that a cutoff needs, by metric and order; `finish` makes metrics of them."""
    out[WHOLE + c * AT_CUTOFF : WHOLE + (c + 1) * AT_CUTOFF] = values.reshape(AT_CUTOFF, 3)


@kernel
def add_items(
    keys: UInt64Array,
    labels: UInt8Array,
    relevant: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Go on along a ranking: sorted items, which hold each of their groups whole.

    Args:
        keys, labels (uint64 and uint8 arrays, shape (n,)): The items.
        relevant: Positives of the whole ranking, those that it never returned included.
        state (float64 array, shape (STATE,)): What was carried so far; zero at first.
        cuts (int64 array, ascending).
        tables: Gain of each grade; discounts of the first ranks.
        out (float64 array, shape (WHOLE + AT_CUTOFF·cutoffs, 3)): Zero at first; receives sums.
    """
    gain, table = tables
    s, f, c = int(state[ITEMS]), int(state[FOUND]), int(state[NEXT])
    common, dcg, above, pairs = state[COMMON], state[DCG], state[ABOVE], state[PAIRS]
    wanted = cuts[c] if c < cuts.size else np.int64(-1)
    values = np.empty(3 * AT_CUTOFF)
    histogram = np.zeros(GRADES, np.int64)
    i = 0
    while i < keys.size:
        j = i + 1
        while j < keys.size and keys[j] == keys[i]:
            j += 1
        if j == i + 1:
            label = labels[i]
            s += 1
            if label > 0:
                negatives = s - 1 - f
                f += 1
                common += f / s
                dcg += gain[label] * discount(table, s)
                above += min(negatives, relevant)
                pairs += negatives
                if f == 1:
                    out[RR, :] = 1.0 / s
            if s == relevant:
                out[R_PRECISION, :] = f
            if s == wanted:
                for o in range(3):
                    values[AP_AT * 3 + o], values[NDCG_AT * 3 + o] = common + state[_AP + o], dcg + state[_DCG + o]
                    values[P_AT * 3 + o] = values[R_AT * 3 + o] = f
                    values[RR_AT * 3 + o], values[SUCCESS_AT * 3 + o] = out[RR, o], min(f, 1)
                _record(c, values, out)
                c += 1
                wanted = cuts[c] if c < cuts.size else np.int64(-1)
        else:
            most = 0
            for at in range(i, j):
                histogram[labels[at]] += 1
                most = max(most, int(np.int64(labels[at])))
            state[ITEMS], state[FOUND], state[NEXT] = s, f, c
            state[COMMON], state[DCG] = common, dcg
            add_tied(histogram[: most + 1], relevant, state, cuts, tables, out)
            histogram[: most + 1] = 0
            s, f, c = int(state[ITEMS]), int(state[FOUND]), int(state[NEXT])
            wanted = cuts[c] if c < cuts.size else np.int64(-1)
        i = j
    state[ITEMS], state[FOUND], state[NEXT] = s, f, c
    state[COMMON], state[DCG], state[ABOVE], state[PAIRS] = common, dcg, above, pairs


@kernel
def add_tied(
    histogram: Int64Array,
    relevant: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Go on along a ranking by one group of tied items, of which `histogram` counts the grades; see `add_items`."""
    s, f, c = int(state[ITEMS]), int(state[FOUND]), int(state[NEXT])
    n, p = histogram.sum(), histogram[1:].sum()
    if s < relevant <= s + n:
        d = relevant - s
        out[R_PRECISION, WORST] = f + max(0, d - (n - p))
        out[R_PRECISION, EXPECTED] = f + p * d / n
        out[R_PRECISION, BEST] = f + min(p, d)
    if f == 0:
        first_positive(s, n, p, n, out[RR])
    values = np.empty(3 * AT_CUTOFF)
    while c < cuts.size and cuts[c] <= s + n:
        _cut_group((s, f, n, p), cuts[c], histogram, state, tables, out, values)
        _record(c, values, out)
        c += 1
    if p > 0:
        _add_group((s, f, n, p), relevant, histogram, tables, state)
    state[ITEMS], state[FOUND], state[NEXT] = s + n, f + p, c


@kernel
def first_positive(s: int, n: int, p: int, reach: int, out: FloatArray) -> None:
    """Reciprocal rank of the first positive of a group, by order; 0 where it is beyond `reach` places."""
    out[:3] = 0.0
    if p > 0:
        out[BEST] = 1.0 / (s + 1) if reach >= 1 else 0.0
        out[WORST] = 1.0 / (s + n - p + 1) if reach >= n - p + 1 else 0.0
        chance = p / n
        for x in range(1, min(reach, n - p + 1) + 1):
            out[EXPECTED] += chance / (s + x)
            if x < n - p + 1:
                chance *= (n - x - p + 1) / (n - x)


@kernel
def _precisions(group: tuple[int, int, int, int], reach: int, out: FloatArray) -> None:
    """Σ of precisions over the positives among the first `reach` places of a group, by order."""
    s, f, n, p = group
    out[:3] = 0.0
    slope = (p - 1.0) / (n - 1.0) if n > 1 else 0.0
    chance = p / n
    for i in range(1, reach + 1):
        share = 1.0 / (s + i)
        out[EXPECTED] += chance * (f + 1.0 + slope * (i - 1.0)) * share
        if i <= p:
            out[BEST] += (f + i) * share
        if i > n - p:
            out[WORST] += (f + i - (n - p)) * share


@kernel
def _gains(
    s: int, n: int, reach: int, histogram: Int64Array, tables: tuple[FloatArray, FloatArray], out: FloatArray
) -> None:
    """Discounted gains of the first `reach` places of a group, by order."""
    gain, table = tables
    out[:3] = 0.0
    total = 0.0
    for grade in range(histogram.size):
        total += gain[grade] * histogram[grade]
    low, high = 0, histogram.size - 1
    low_left, high_left = histogram[low], histogram[high]
    for i in range(1, reach + 1):
        while low_left == 0:
            low += 1
            low_left = histogram[low]
        while high_left == 0:
            high -= 1
            high_left = histogram[high]
        low_left, high_left = low_left - 1, high_left - 1
        share = discount(table, s + i)
        out[WORST] += gain[low] * share
        out[EXPECTED] += total / n * share
        out[BEST] += gain[high] * share


@kernel
def _cut_group(
    group: tuple[int, int, int, int],
    k: int,
    histogram: Int64Array,
    state: FloatArray,
    tables: tuple[FloatArray, FloatArray],
    out: FloatArray,
    values: FloatArray,
) -> None:
    """What a cutoff inside a group, or at its end, needs."""
    s, f, n, p = group
    d = k - s
    _precisions(group, d if p > 0 else 0, values[3 * AP_AT : 3 * AP_AT + 3])
    _gains(s, n, d if p > 0 else 0, histogram, tables, values[3 * NDCG_AT : 3 * NDCG_AT + 3])
    for o in range(3):
        values[3 * AP_AT + o] += state[COMMON] + state[_AP + o]
        values[3 * NDCG_AT + o] += state[DCG] + state[_DCG + o]
        values[3 * RR_AT + o] = out[RR, o]
        values[3 * SUCCESS_AT + o] = 1.0
    values[3 * P_AT + WORST] = values[3 * R_AT + WORST] = f + max(0, d - (n - p))
    values[3 * P_AT + EXPECTED] = values[3 * R_AT + EXPECTED] = f + p * d / n
    values[3 * P_AT + BEST] = values[3 * R_AT + BEST] = f + min(p, d)
    if f == 0:
        first_positive(s, n, p, d, values[3 * RR_AT : 3 * RR_AT + 3])
        values[3 * SUCCESS_AT + WORST] = 1.0 if d > n - p else 0.0
        values[3 * SUCCESS_AT + BEST] = 1.0 if p > 0 else 0.0
        none = 1.0  # that no positive is among d drawn of n
        for x in range(min(p, d)):
            none *= max(0, n - max(p, d) - x) / (n - x)
        values[3 * SUCCESS_AT + EXPECTED] = 1.0 - none


@kernel
def _add_group(
    group: tuple[int, int, int, int],
    relevant: int,
    histogram: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    state: FloatArray,
) -> None:
    """Add a group of tied items, some of them positive, to the sums by order."""
    s, f, n, p = group
    own = np.empty(3)
    _precisions(group, n, own)
    state[_AP : _AP + 3] += own
    state[_GROUPED] += p * ((f + p) / (s + n))
    _gains(s, n, n, histogram, tables, own)
    state[_DCG : _DCG + 3] += own
    before, negatives = s - f, n - p
    state[_ABOVE + WORST] += p * min(before + negatives, relevant)
    state[_ABOVE + BEST] += p * min(before, relevant)
    # a positive has 0..negatives of the group's others before it, each number as likely as another
    open_ = min(max(relevant - before, 0), negatives + 1)
    capped = open_ * (2.0 * before + open_ - 1.0) / 2.0 + (negatives + 1.0 - open_) * relevant
    state[_ABOVE + EXPECTED] += p * capped / (negatives + 1.0)
    state[_PAIRS + WORST] += p * (before + negatives)
    state[_PAIRS + EXPECTED] += p * (before + negatives / 2.0)
    state[_PAIRS + BEST] += p * before


@kernel
def finish(
    counts: Int64Array,
    negatives: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Turn the sums of a ranking into its metrics; NaN where one is undefined.

    Args:
        counts (int64 array, shape (GRADES,)): Items of each grade, those that were never returned included.
        negatives: Returned items of grade 0.
        state, cuts, tables, out: See `add_items`.
    """
    gain, table = tables
    relevant = counts[1:].sum()
    items, found = int(state[ITEMS]), int(state[FOUND])
    for c in range(int(state[NEXT]), cuts.size):  # cutoffs beyond the end
        for o in range(3):
            at = WHOLE + c * AT_CUTOFF
            out[at + AP_AT, o] = state[COMMON] + state[_AP + o]
            out[at + P_AT, o] = out[at + R_AT, o] = found
            out[at + RR_AT, o] = out[RR, o]
            out[at + NDCG_AT, o] = state[DCG] + state[_DCG + o]
            out[at + SUCCESS_AT, o] = 1.0 if found > 0 else 0.0
    if relevant > items:
        out[R_PRECISION, :] = found
    below, nan = float(relevant) if relevant else math.nan, math.nan
    for o in range(3):
        out[AP, o] = (state[COMMON] + state[_AP + o]) / below
        out[NDCG, o] = state[DCG] + state[_DCG + o]
        out[R_PRECISION, o] /= below
        lost = (state[ABOVE] + state[_ABOVE + o]) / min(negatives, relevant) if negatives and relevant else 0.0
        out[BPREF, o] = (found - lost) / below
        all_pairs = float(relevant) * negatives
        behind = state[PAIRS] + state[_PAIRS + o] + float(relevant - found) * negatives
        out[AUC, o] = (all_pairs - behind) / all_pairs if all_pairs else nan
        out[GROUPED, o] = (state[COMMON] + state[_GROUPED]) / below
    ideal, place, grade, left, c = 0.0, 0, GRADES - 1, counts[GRADES - 1], 0
    for place in range(1, relevant + 1):
        while left == 0:
            grade -= 1
            left = counts[grade]
        left -= 1
        ideal += gain[grade] * discount(table, place)
        if c < cuts.size and cuts[c] == place:
            out[WHOLE + c * AT_CUTOFF + NDCG_AT] /= ideal
            c += 1
    for beyond in range(c, cuts.size):
        out[WHOLE + beyond * AT_CUTOFF + NDCG_AT] /= ideal if relevant else nan
    out[NDCG] /= ideal if relevant else nan
    for c in range(cuts.size):
        at = WHOLE + c * AT_CUTOFF
        out[at + AP_AT] /= below
        out[at + P_AT] /= cuts[c]
        out[at + R_AT] /= below
