"""Predictions of the metrics of a ranking from a judge's answers for its items."""

from __future__ import annotations

import numpy as np

from streameval.kernels.jit import kernel
from streameval.kernels.segments import sort_segment
from streameval.typing import FloatArray, Int64Array, UInt8Array, UInt64Array

YES = 127  # an answer is a whole number of 1/YES
STEP = 2.0**-20  # a prediction is a whole number of these: sums of 2^33 of them are exact, in any order
PRECISION, SUCCESS, RECIPROCAL_RANK, DCG = range(4)
METRICS = 4
# what is carried along a ranking: items so far, sums of three metrics, and how likely no item so far is positive
ITEMS, _SUM, _RR, _DCG, _NONE = range(5)
STATE = 5


@kernel
def begin(state: FloatArray) -> None:
    """Begin a ranking."""
    state[:] = 0.0
    state[_NONE] = 1.0


@kernel
def _record(c: int, cut: int, ideal: float, state: FloatArray, out: FloatArray) -> None:
    at = c * METRICS
    out[at + PRECISION], out[at + SUCCESS] = state[_SUM] / cut, 1.0 - state[_NONE]
    out[at + RECIPROCAL_RANK], out[at + DCG] = state[_RR], state[_DCG] / ideal
    for m in range(at, at + METRICS):
        out[m] = min(np.floor(out[m] / STEP) * STEP, 1.0)


@kernel
def add_group(
    answers: int, count: int, cuts: Int64Array, tables: tuple[FloatArray, FloatArray], state: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """Go on along a ranking by items of one score, each as likely to be positive as their mean answer says.

    Items are taken for independent of each other; whether they are is of no consequence but for the width of bounds.

    Args:
        answers: Sum of theirs, each from 0 to YES.
        count: How many there are, of which those at the last cutoff and before it matter.
        cuts (int64 array, ascending).
        tables: Discounts of the ranks down to the last cutoff; their sum down to each cutoff.
        state (float64 array, shape (STATE,)): See `begin`.
        out (float64 array, shape (METRICS·cutoffs,)): Receives predictions at cutoffs that are reached, all in [0, 1]:
            DCG in units of the greatest possible.
    """
    discounts, ideals = tables
    p = answers / (count * np.float64(YES))
    first = int(state[ITEMS])
    c = 0
    while c < cuts.size and cuts[c] <= first:
        c += 1
    for rank in range(first + 1, min(first + count, cuts[-1]) + 1):
        state[_SUM] += p
        state[_RR] += p * state[_NONE] / rank
        state[_DCG] += p * discounts[rank - 1]
        state[_NONE] *= 1.0 - p
        if rank == cuts[c]:
            _record(c, cuts[c], ideals[c], state, out)
            c += 1
    state[ITEMS] = first + count


@kernel
def add_sorted(
    keys: UInt64Array, answers: UInt8Array, cuts: Int64Array, tables: tuple[FloatArray, FloatArray], state: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """Go on along a ranking by sorted items, which hold each of their groups whole; see `add_group`."""
    i = 0
    while i < keys.size and state[ITEMS] < cuts[-1]:
        total, j = 0, i
        while j < keys.size and keys[j] == keys[i]:
            total, j = total + int(np.int64(answers[j])), j + 1
        add_group(total, j - i, cuts, tables, state, out)
        i = j


@kernel
def end(cuts: Int64Array, tables: tuple[FloatArray, FloatArray], state: FloatArray, out: FloatArray) -> None:
    """Put down what is predicted at cutoffs beyond the end of a ranking."""
    for c in range(cuts.size):
        if cuts[c] > state[ITEMS]:
            _record(c, cuts[c], tables[1][c], state, out)


@kernel
def predict(
    keys: UInt64Array,
    answers: UInt8Array,
    starts: Int64Array,
    cuts: Int64Array,
    tables: tuple[FloatArray, FloatArray],
    out: FloatArray,
) -> None:
    """Predict the metrics of rankings that lie one after another; their items are sorted in place.

    Args:
        keys, answers (arrays of shape (n,)): Order keys, the best item has the smallest; what the judge says.
        starts (int64 array, shape (rankings + 1,)): First item of each ranking; and n.
        cuts, tables: See `add_group`.
        out (float64 array, shape (rankings, METRICS·cutoffs)): Receives the predictions.
    """
    longest = 0
    for r in range(starts.size - 1):
        longest = max(longest, starts[r + 1] - starts[r])
    keys2, answers2, state = np.empty(longest, keys.dtype), np.empty(longest, np.uint8), np.empty(STATE)
    for r in range(starts.size - 1):
        first, last = starts[r], starts[r + 1]
        query_keys, query_answers = keys[first:last], answers[first:last]
        sort_segment(query_keys, query_answers, keys2[: last - first], answers2[: last - first])
        begin(state)
        add_sorted(query_keys, query_answers, cuts, tables, state, out[r])
        end(cuts, tables, state, out[r])
