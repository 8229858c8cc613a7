"""Rankings of few positives, none of them tied: most are such, and little has to be compiled for them.

All others are left to `segments.measure`, which comes to the same of these, to the bit.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.bits import load
from streameval.kernels.jit import kernel, vector_kernel
from streameval.kernels.optional_measures import add_optional, finish_optional
from streameval.kernels.ranking_metrics import (
    AP,
    AP_AT,
    AT_CUTOFF,
    AUC,
    BPREF,
    GRADES,
    GROUPED,
    NDCG,
    NDCG_AT,
    P_AT,
    R_AT,
    R_PRECISION,
    RR,
    RR_AT,
    SUCCESS_AT,
    WHOLE,
)
from streameval.kernels.segments import STRETCH, places, sort_words
from streameval.kernels.tied_items import Tables, discount
from streameval.kernels.words import Words
from streameval.typing import FloatArray, Int64Array, UInt8Array

MOST = 64  # positives of such a ranking, those that it never returned included
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
_END = 1 << 62


@kernel
def measure_untied(
    keys: Words,
    labels: UInt8Array,
    starts: Int64Array,
    misses: tuple[Int64Array, UInt8Array],
    cuts: Int64Array,
    tables: Tables,
    facts: Int64Array,
    out: FloatArray,
    left: Int64Array,
) -> int:
    """Measure rankings that lie one after another, where no positive is tied and there are `MOST` at most.

    Args:
        keys, labels, starts, misses, cuts, tables, facts, out: See `streameval.kernels.segments.measure`.
        left (int64 array, shape (rankings,)): Receives the numbers of the others, of which nothing else is put down.

    Returns:
        int: How many others there are.
    """
    missed, never = misses
    counts, rest = np.zeros(GRADES, np.int64), np.empty(STRETCH, keys.dtype)
    at, word, order = np.empty(MOST + 8, np.int64), np.empty(MOST + 8, np.int64), np.empty(MOST + 8, np.int64)
    others = 0
    for r in range(starts.size - 1):
        query_keys, grades = keys[starts[r] : starts[r + 1]], labels[starts[r] : starts[r + 1]]
        gone = never[missed[r] : missed[r + 1]]
        few = _positives(grades, at)
        if few + gone.size > MOST or not _place(query_keys, grades, at[:few], rest, word):
            left[others] = r
            others += 1
            continue
        sort_words(word[:few], order)
        facts[r, 0], facts[r, 1], facts[r, 2] = query_keys.size, few, gone.size
        most = 0
        for i in range(few):
            most = max(most, int(order[i] & 255))
            counts[order[i] & 255] += 1
        for i in range(gone.size):
            most = max(most, int(np.int64(gone[i])))
            counts[gone[i]] += 1
        _along(order[:few], (query_keys.size, few + gone.size), counts[: most + 1], cuts, tables, out[r])
        counts[: most + 1] = 0
    return others


@kernel
def _positives(labels: UInt8Array, at: Int64Array) -> int:
    """Find the positives of a ranking; returns how many, or more than `MOST`."""
    count, whole = 0, labels.size - labels.size % 8
    for begin in range(0, whole, 8):
        if load(labels, np.uint64(begin)) == 0:  # eight labels at once: most are 0
            continue
        if count > MOST:
            return count
        for i in range(begin, begin + 8):
            at[count] = i
            count += int(np.int64(labels[i] != 0))
    for i in range(whole, labels.size):
        if count > MOST:
            return count
        at[count] = i
        count += int(np.int64(labels[i] != 0))
    return count


@kernel
def _place(keys: Words, labels: UInt8Array, at: Int64Array, rest: Words, word: Int64Array) -> bool:
    """Tell whether some items are tied with no other; puts down a word of each: items before it, and its label."""
    whole = keys.size - keys.size % STRETCH
    rest[:] = _LAST
    for i in range(whole, keys.size):
        rest[i - whole] = keys[i]
    for i in range(at.size):
        key = keys[at[i]]
        smaller, equal = places(keys, key)
        others, also = places(rest, key)
        if equal + also != 1:  # what fills the rest may equal the last key there can be: then this is left too
            return False
        word[i] = (smaller + others) << 8 | np.int64(labels[at[i]])
    return True


@vector_kernel
def _along(
    order: Int64Array,
    sizes: tuple[int, int],
    counts: Int64Array,
    cuts: Int64Array,
    tables: Tables,
    out: FloatArray,
) -> None:
    """Go along a ranking: the metrics of `add_items` and `finish`, by the same sums in the same order.

    Args:
        order (int64 array): Positives as they are ranked: items before each, and its grade.
        sizes: Items, and positives with those never returned.
        counts (int64 array): Positives of each grade.
    """
    gain, table, recalls, persistences = tables
    items, relevant = sizes
    reached, optional = 0, out[WHOLE + AT_CUTOFF * cuts.size : GROUPED]
    for m in range(optional.shape[0]):
        optional[m, 0] = optional[m, 1] = optional[m, 2] = 0.0
    negatives, positives = items - order.size, float(relevant)
    common, dcg, above, pairs, within, c = 0.0, 0.0, 0.0, 0.0, 0.0, 0
    out[RR, 0] = 0.0
    for i in range(order.size + 1):
        before = int(order[i] >> 8) if i < order.size else _END
        while c < cuts.size and cuts[c] <= before:
            row = WHOLE + c * AT_CUTOFF
            out[row + AP_AT, 0], out[row + NDCG_AT, 0] = common / positives if relevant else math.nan, dcg
            out[row + P_AT, 0], out[row + R_AT, 0] = i / float(cuts[c]), i / positives if relevant else math.nan
            out[row + RR_AT, 0], out[row + SUCCESS_AT, 0] = out[RR, 0], min(float(i), 1.0)
            c += 1
        if i == order.size:
            break
        s, f = before + 1.0, i + 1.0
        common += f / s
        dcg += gain[order[i] & 255] * discount(table, before + 1)
        above += min(s - f, positives)
        pairs += s - f
        within += 1.0 if s <= relevant else 0.0
        if optional.shape[0]:
            reached = add_optional((before, i, 1, 1), relevant, reached, recalls, persistences, optional)
        if i == 0:
            out[RR, 0] = 1.0 / s
    below = positives if relevant else math.nan
    lost = above / min(negatives, relevant) if negatives and relevant else 0.0
    every, behind = positives * negatives, pairs + float(relevant - order.size) * negatives
    out[AP, 0] = out[GROUPED, 0] = common / below
    out[R_PRECISION, 0], out[BPREF, 0] = within / below, (order.size - lost) / below
    out[AUC, 0] = (every - behind) / every if every else math.nan
    ideal, grade, some, c = 0.0, counts.size - 1, counts[-1], 0
    for place in range(1, relevant + 1):
        while some == 0:
            grade -= 1
            some = counts[grade]
        some -= 1
        ideal += gain[grade] * discount(table, place)
        if c < cuts.size and cuts[c] == place:
            out[WHOLE + c * AT_CUTOFF + NDCG_AT, 0] /= ideal
            c += 1
    for beyond in range(c, cuts.size):
        out[WHOLE + beyond * AT_CUTOFF + NDCG_AT, 0] /= ideal if relevant else math.nan
    out[NDCG, 0] = dcg / (ideal if relevant else math.nan)
    finish_optional(relevant, recalls, optional)
    for m in range(out.shape[0]):
        out[m, 1] = out[m, 2] = out[m, 0]
