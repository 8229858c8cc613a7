"""Every metric of a ranking along its sorted items, with tied items in every order at once.

Items of one score are a group of n with p positives, behind s items with f positives. A metric has three values: in the
worst order of its tied items (labels ascending), expected over all orders, in the best (labels descending). A group
without a positive moves the ones behind it, and does nothing else: only groups with one are looked into.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import borrowing_kernel, kernel, owning_kernel
from streameval.kernels.optional_measures import add_optional, finish_optional
from streameval.kernels.tied_items import BEST, EXPECTED, WORST, Tables, discount, first_positive, gains, precisions
from streameval.kernels.words import Words
from streameval.typing import FloatArray, Int64Array, UInt8Array

GRADES = 128  # labels are below it
# rows of what is measured: the metrics of a whole ranking, those of each cutoff, those of `optional_measures`, and last
# average precision with each group of tied items as one threshold (scikit-learn's), which `queries.measured` takes for
# AP or leaves out
AP, RR, NDCG, R_PRECISION, BPREF, AUC = range(6)
WHOLE = 6
AP_AT, P_AT, R_AT, RR_AT, NDCG_AT, SUCCESS_AT = range(6)
AT_CUTOFF = 6
GROUPED = -1
# what is carried along a ranking: items and positives so far, next cutoff, then sums, whether positives were tied with
# others, so that the order matters, and the sums of those by order
ITEMS, FOUND, NEXT, COMMON, DCG, ABOVE, PAIRS, REACHED, OPEN, TIED = range(10)
# sums over groups of tied items are kept three times, by order, and the one of GROUPED once
_AP, _DCG, _ABOVE, _PAIRS = (TIED + 3 * i for i in range(4))
_GROUPED = TIED + 12
STATE = TIED + 13


@borrowing_kernel
def record(c: int, state: FloatArray, out: FloatArray) -> None:
    """Put down the sums that cutoff number `c` needs, here or beyond the end; `finish` makes metrics of them."""
    positives, at = state[FOUND], WHOLE + c * AT_CUTOFF
    for o in range(3):
        out[at + AP_AT, o], out[at + NDCG_AT, o] = state[COMMON] + state[_AP + o], state[DCG] + state[_DCG + o]
        out[at + P_AT, o] = out[at + R_AT, o] = positives
        out[at + RR_AT, o], out[at + SUCCESS_AT, o] = out[RR, o], min(positives, 1.0)


@borrowing_kernel
def add_negatives(count: int, relevant: int, state: FloatArray, cuts: Int64Array, out: FloatArray) -> None:
    """Go on along a ranking by items of grade 0, tied with each other or not, but with no positive; see `add_items`."""
    end = state[ITEMS] + count
    if state[ITEMS] < relevant <= end:
        out[R_PRECISION, :] = state[FOUND]
    c = int(state[NEXT])
    while c < cuts.size and cuts[c] <= end:
        record(c, state, out)
        c += 1
    state[ITEMS], state[NEXT] = end, c


@borrowing_kernel
def add_positive(
    grade: int, relevant: int, state: FloatArray, cuts: Int64Array, tables: Tables,
    out: FloatArray,
) -> None:  # fmt: skip
    """Go on along a ranking by one positive that is tied with nothing; see `add_items`."""
    gain, table, recalls, persistences = tables
    s, f = state[ITEMS] + 1.0, state[FOUND] + 1.0
    state[ITEMS], state[FOUND] = s, f
    state[COMMON] += f / s
    state[DCG] += gain[grade] * discount(table, int(s))
    state[ABOVE] += min(s - f, relevant)
    state[PAIRS] += s - f
    if recalls.size + persistences.size:
        rows, group = out[WHOLE + AT_CUTOFF * cuts.size : GROUPED], (int(s) - 1, int(f) - 1, 1, 1)
        state[REACHED] = add_optional(group, relevant, int(state[REACHED]), recalls, persistences, rows)
    if f == 1.0:
        out[RR, :] = 1.0 / s
    if s == relevant:
        out[R_PRECISION, :] = f
    c = int(state[NEXT])
    if c < cuts.size and cuts[c] == s:
        record(c, state, out)
        state[NEXT] = c + 1.0


@kernel
def add_items(
    keys: Words,
    labels: UInt8Array,
    relevant: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Go on along a ranking: sorted items, which hold each of their groups whole.

    Args:
        keys, labels (arrays of shape (n,)): The items; keys uint32 or uint64, labels uint8.
        relevant: Positives of the whole ranking, those that it never returned included.
        state (float64 array, shape (STATE,)): What was carried so far; zero at first.
        cuts (int64 array, ascending).
        tables: See `tied_items.Tables`.
        out (float64 array, shape (WHOLE + AT_CUTOFF·cutoffs + recalls + persistences + 1, 3)): Zero at first; receives
            sums.
    """
    histogram = np.zeros(GRADES, np.int64)
    i, negatives = 0, 0
    while i < keys.size:
        most, j = np.int64(labels[i]), i + 1
        while j < keys.size and keys[j] == keys[i]:
            most, j = max(most, np.int64(labels[j])), j + 1
        if most == 0:
            negatives += j - i
        else:
            add_negatives(negatives, relevant, state, cuts, out)
            negatives = 0
            if j == i + 1:
                add_positive(int(most), relevant, state, cuts, tables, out)
            else:
                for at in range(i, j):
                    histogram[labels[at]] += 1
                add_tied(histogram[: most + 1], relevant, state, cuts, tables, out)
                histogram[: most + 1] = 0
        i = j
    add_negatives(negatives, relevant, state, cuts, out)


@borrowing_kernel
def _add(out: FloatArray, terms: FloatArray) -> None:  # numpy's own words for three numbers take seconds to compile
    for order in range(3):
        out[order] += terms[order]


@borrowing_kernel
def _divide(out: FloatArray, orders: int, by: float) -> None:
    for order in range(orders):
        out[order] /= by


@owning_kernel
def add_tied(
    histogram: Int64Array,
    relevant: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Go on along a ranking by one group of tied items, of which `histogram` counts the grades; see `add_items`."""
    s, f, c = int(state[ITEMS]), int(state[FOUND]), int(state[NEXT])
    state[OPEN] = 1.0
    n = histogram.sum()
    p = n - histogram[0]
    if s < relevant <= s + n:
        d = relevant - s
        out[R_PRECISION, WORST] = f + max(0, d - (n - p))
        out[R_PRECISION, EXPECTED] = f + p * d / n
        out[R_PRECISION, BEST] = f + min(p, d)
    if f == 0:
        first_positive(s, n, p, n, out[RR])
    while c < cuts.size and cuts[c] <= s + n:
        _cut_group((s, f, n, p), (c, cuts[c]), histogram, state, tables, out)
        c += 1
    if p > 0:
        _add_group((s, f, n, p), relevant, histogram, tables, state)
        if tables[2].size + tables[3].size:
            rows = out[WHOLE + AT_CUTOFF * cuts.size : GROUPED]
            state[REACHED] = add_optional((s, f, n, p), relevant, int(state[REACHED]), tables[2], tables[3], rows)
    state[ITEMS], state[FOUND], state[NEXT] = s + n, f + p, c


@kernel
def _cut_group(
    group: tuple[int, int, int, int],
    cut: tuple[int, int],
    histogram: Int64Array,
    state: FloatArray,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Put down what a cutoff inside a group, or at its end, needs; the cutoff is its number and its rank."""
    s, f, n, p = group
    record(cut[0], state, out)
    if p == 0:
        return
    d, at, terms = cut[1] - s, WHOLE + cut[0] * AT_CUTOFF, np.empty(3)
    precisions(group, d, terms)
    _add(out[at + AP_AT], terms)
    gains(s, n, d, histogram, tables, terms)
    _add(out[at + NDCG_AT], terms)
    out[at + P_AT, WORST] = out[at + R_AT, WORST] = f + max(0, d - (n - p))
    out[at + P_AT, EXPECTED] = out[at + R_AT, EXPECTED] = f + p * d / n
    out[at + P_AT, BEST] = out[at + R_AT, BEST] = f + min(p, d)
    if f == 0:
        first_positive(s, n, p, d, out[at + RR_AT])
        out[at + SUCCESS_AT, WORST] = 1.0 if d > n - p else 0.0
        out[at + SUCCESS_AT, BEST] = 1.0
        none = 1.0  # that no positive is among d drawn of n
        for x in range(min(p, d)):
            none *= max(0, n - max(p, d) - x) / (n - x)
        out[at + SUCCESS_AT, EXPECTED] = 1.0 - none


@kernel
def _add_group(
    group: tuple[int, int, int, int],
    relevant: int,
    histogram: Int64Array,
    tables: Tables,
    state: FloatArray,
) -> None:
    """Add a group of tied items, some of them positive, to the sums by order."""
    s, f, n, p = group
    terms = np.empty(3)
    precisions(group, n, terms)
    _add(state[_AP : _AP + 3], terms)
    state[_GROUPED] += p * ((f + p) / (s + n))
    gains(s, n, n, histogram, tables, terms)
    _add(state[_DCG : _DCG + 3], terms)
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


@borrowing_kernel
def finish(
    counts: Int64Array,
    negatives: int,
    state: FloatArray,
    cuts: Int64Array,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Turn the sums of a ranking into its metrics; NaN where one is undefined.

    Args:
        counts (int64 array): Items of each grade up to the highest, those that were never returned included.
        negatives: Returned items of grade 0.
        state, cuts, tables, out: See `add_items`.
    """
    gain, table, recalls, _ = tables
    relevant = counts.sum() - counts[0]
    items, positives = int(state[ITEMS]), int(state[FOUND])
    for c in range(int(state[NEXT]), cuts.size):  # cutoffs beyond the end
        record(c, state, out)
    if relevant > items:
        out[R_PRECISION, :] = positives
    below, nan = float(relevant) if relevant else math.nan, math.nan
    orders = 3 if state[OPEN] else 1
    for o in range(orders):
        out[AP, o] = (state[COMMON] + state[_AP + o]) / below
        out[NDCG, o] = state[DCG] + state[_DCG + o]
        out[R_PRECISION, o] /= below
        lost = (state[ABOVE] + state[_ABOVE + o]) / min(negatives, relevant) if negatives and relevant else 0.0
        out[BPREF, o] = (positives - lost) / below
        all_pairs = float(relevant) * negatives
        behind = state[PAIRS] + state[_PAIRS + o] + float(relevant - positives) * negatives
        out[AUC, o] = (all_pairs - behind) / all_pairs if all_pairs else nan
        out[GROUPED, o] = (state[COMMON] + state[_GROUPED]) / below
    ideal, place, grade, left, c = 0.0, 0, counts.size - 1, counts[-1], 0
    for place in range(1, relevant + 1):
        while left == 0:
            grade -= 1
            left = counts[grade]
        left -= 1
        ideal += gain[grade] * discount(table, place)
        if c < cuts.size and cuts[c] == place:
            _divide(out[WHOLE + c * AT_CUTOFF + NDCG_AT], orders, ideal)
            c += 1
    for beyond in range(c, cuts.size):
        _divide(out[WHOLE + beyond * AT_CUTOFF + NDCG_AT], orders, ideal if relevant else nan)
    _divide(out[NDCG], orders, ideal if relevant else nan)
    for c in range(cuts.size):
        at = WHOLE + c * AT_CUTOFF
        _divide(out[at + AP_AT], orders, below)
        _divide(out[at + P_AT], orders, np.float64(cuts[c]))
        _divide(out[at + R_AT], orders, below)
    finish_optional(relevant, recalls, out[WHOLE + AT_CUTOFF * cuts.size : GROUPED])
    if orders == 1:
        for m in range(out.shape[0]):
            out[m, 1] = out[m, 2] = out[m, 0]
