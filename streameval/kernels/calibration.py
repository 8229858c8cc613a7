"""Sums of what scores in [0, 1] say against labels: by tenths of that scale, and losses by bin of a sample.

Sums are of whole numbers, so any order of the rows leaves the same: a score or a squared error times 2^50, a log loss
times 2^40, each in two words of which the lower has 25 bits. 2^38 rows fit.
"""

from __future__ import annotations

import math

from streameval.kernels.jit import kernel
from streameval.typing import FloatArray, Int64Array, UInt16Array

TENTHS = 10
# of a tenth: rows, positives, and the sum of scores in two words
ITEMS, POSITIVES, SCORES = range(3)
OF_TENTH = 4
# of a bin: squared errors and log losses in two words each, and rows whose log loss is infinite
SQUARES, LOGS, INFINITE = range(0, 6, 2)
OF_BIN = 5
UNIT = float(1 << 50)
LOG_UNIT = float(1 << 40)
WORD = 25  # bits of a lower word
STEPS = 30  # of plain Python, a row; see `jit.small`
_LOWER = (1 << WORD) - 1
_EDGES = tuple(k / TENTHS for k in range(TENTHS + 1))


@kernel
def add_scores(
    scores: FloatArray,
    sizes: Int64Array,
    positives: Int64Array,
    bins: UInt16Array,
    tenths: Int64Array,
    losses: Int64Array,
) -> None:
    """Add groups of rows of one score; those outside [0, 1] are passed over.

    Args:
        scores (float64 array, shape (n,)): Of each group.
        sizes (int64 array, shape (n,) or (1,)): Its rows.
        positives (int64 array, shape (n,)): Positives among them.
        bins (uint16 array, shape (n,) or (1,)): Of a sample: where losses are added.
        tenths (int64 array, shape (TENTHS, OF_TENTH)): Added to.
        losses (int64 array, shape (bins, OF_BIN)): Added to.
    """
    k = 0
    for i in range(scores.size):
        score = scores[i]
        if not 0.0 <= score <= 1.0:
            continue
        n, p, at = sizes[min(i, sizes.size - 1)], positives[i], bins[min(i, bins.size - 1)]
        while k > 0 and score <= _EDGES[k]:
            k -= 1
        while score > _EDGES[k + 1]:
            k += 1
        tenths[k, ITEMS] += n
        tenths[k, POSITIVES] += p
        _add(tenths, k, SCORES, int(score * UNIT + 0.5), n)
        _add_losses(losses, at, score if p > 0 else 1.0 - score, p if p > 0 else n)
        if 0 < p < n:
            _add_losses(losses, at, 1.0 - score, n - p)


@kernel
def _add_losses(losses: Int64Array, at: int, share: float, count: int) -> None:
    """Add rows whose label had this probability, according to their score."""
    _add(losses, at, SQUARES, int((1.0 - share) * (1.0 - share) * UNIT + 0.5), count)
    if share > 0.0:
        _add(losses, at, LOGS, int(-math.log(share) * LOG_UNIT + 0.5), count)
    else:
        losses[at, INFINITE] += count


@kernel
def _add(sums: Int64Array, row: int, column: int, value: int, count: int) -> None:
    sums[row, column] += count * (value >> WORD)
    sums[row, column + 1] += count * (value & _LOWER)
