"""Simultaneous bounds on the yield Y(r) of a ranking from independent draws: an exact martingale, no inequality in it.

Design.  Ranks are cut into blocks. Every rank of block j is drawn with probability π_j, independently of all others. A
judge (a column that anybody filled in, and that may be wrong anywhere) puts every item into one of G classes; without a
judge G = 1. Everything below holds for every fixed 0/1 list and every fixed judge.

Theorem.  Fix μ > 0, ε = 1 − e^{−μ}. For rank r let π be its probability, y = ε/π, and D >= 0 any number fixed by the
judge and by what is known of lower ranks (who was drawn, their labels), with e = 1 + (1−π)D, f = e − y, πD < 1, f > 0.
Put

    s_r = log(1 − πD) if r is not drawn, log e if it is drawn and negative, log f if it is drawn and positive.

Then M_r = exp(μ Y(r) + Σ_{t<=r} s_t) is a martingale started at 1.

Proof.  Given the past, a negative rank multiplies M by (1−π)(1−πD) + π(1 + (1−π)D) = 1 in expectation. A positive
one: by the same less πy = ε, which is e^{−μ}, times e^{μ}. ∎

For weights w_μ fixed by the plan, Σ w_μ M(μ) is a martingale too, so that by Ville's inequality, with probability at
least 1 − δ/2 at all ranks at once, Σ w_μ exp(μ Y(r) + S_μ(r)) < 2/δ. The left side rises in Y: its root bounds Y(r).
The lower bound is the upper bound on the negatives, for the other half of δ.

Two phases.  Where a judge has answered for a random sample only, rank r is judged with probability π' and, if it is
judged, drawn with probability π, independently. Phase 1 bets by the theorem with π' in place of π and on all classes
together: a judged rank adds log e' − θv, with v = 1 if its item is positive and 0 if not, and θ = log(e'/f'); a rank
that is not judged adds log(1 − π'D'). Phase 2 is the theorem again, on
the judged ranks and with θ in place of μ. Given that r is judged, E exp(θv + s) = 1, so that the sum of both has the
mean (1−π')(1−π'D') + π'e'e^{−θv}, which is 1 for a negative and e^{−μ} for a positive, as before: no δ is split. What
the judge says of an item may depend on the item, and on which lower ranks were judged; on nothing else that is random.

Stakes.  D is the stake: it affects the width only. For a label that is positive with probability q, the mean of s over
the draw and the label, E s, is largest at

    b = 1 − y(1−πq),  R = √(b² + 4(1−π)yq),  D = 2yq/(b+R) if b > 0, else (R−b)/(2(1−π)).

q is that of the class of the item, from labels of earlier blocks: the share of positives among the last `MEMORY` or so
of the class, none of them far above in the list (beside `PRIOR` labels of what the plan predicts). So the variance that
rules the width is the one within classes, and lists whose precision changes cost little more than others.

Missing labels.  A missing label is 0 or 1, and nothing is assumed about why it is missing: the upper bound is the
largest over all ways to fill in the missing labels, so that s is taken at its least. As f < e, that is where a block's
own missing labels are positive. Missing labels of earlier blocks put q into an interval, and D, which rises in q, into
one. s is concave in D (a sum of logarithms of linear functions), so that it is least at an end of this interval. In
phase 1, D' is in an interval too; s is concave in D and D' together (ε' = 1 − e^{−θ} is convex in D'), so that it is
least at a corner of the rectangle.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.jit import kernel, small, vector_kernel
from streameval.kernels.mixture import mixture_root
from streameval.kernels.stakes import (
    CHOSEN,
    DRAWN,
    EPSILON,
    FEWEST,
    HIGH,
    ITEMS,
    JUDGED,
    LABELS,
    LEAST,
    LOW,
    MEMORY,
    MOST,
    MU,
    PREDICTED,
    PRIOR,
    REACHED,
    REAL,
    TOTAL,
    WIDTH,
    add_block,
    chain,
)
from streameval.typing import FloatArray, Int64Array

_STEPS = 2  # of plain Python, for each block, class and μ


@kernel
def fill_blocks(n_items: int, head: int, offset: float, growth: float, out: Int64Array) -> int:
    """Fill in the ends of blocks until N, as far as `out` reaches; return how many there are.

    The first block is the head; a later one that starts after rank b has about (b + offset)·growth ranks. No function
    is called that systems compute differently, so that blocks need not be stored with a plan.
    """
    rank = min(head, n_items)
    out[0] = rank
    count = 1
    while rank < n_items:
        step = max(1, int((rank + offset) * growth))
        rank = n_items if step >= n_items - rank else rank + step
        if count < out.size:
            out[count] = rank
        count += 1
    return count


@vector_kernel
def _learn(j: int, fade: float, counts: FloatArray, classes: FloatArray) -> None:
    """Take block `j` into what the next is predicted by; what the plan predicts keeps its weight.

    Args:
        fade: Ranks before the block over those to its end.
        counts: See `_follow`.
        classes: See `streameval.kernels.stakes`.
    """
    for g in range(classes.shape[1]):
        drawn, most, least = counts[DRAWN, j, g], counts[REAL, j, g], counts[FEWEST, j, g]
        classes[JUDGED, g] = (classes[JUDGED, g] - 1) * fade + 1 + counts[ITEMS, j, g]
        decay, prior = fade * math.exp(-drawn / MEMORY), PRIOR * classes[PREDICTED, g]
        classes[LABELS, g] = (classes[LABELS, g] - PRIOR) * decay + PRIOR + drawn
        classes[LEAST, g] = (classes[LEAST, g] - prior) * decay + prior + least
        classes[MOST, g] = (classes[MOST, g] - prior) * decay + prior + most


@vector_kernel
def _follow(blocks: FloatArray, counts: FloatArray, classes: FloatArray, mixture: tuple[FloatArray, float]) -> None:
    """S_μ at the end of each block, and the bounds that follow.

    Args:
        blocks (float64 array, shape (4, blocks)): Ranks of each, π, π', and room for the bound at its end, where one is
            wanted. Then a μ that has nothing left to say is dropped: e^−100 of the sum is less than a rounding error,
            and to leave out what is positive only widens.
        counts (float64 array, shape (4, blocks, classes)): Judged, drawn, most positives, fewest.
        classes, mixture: See `streameval.kernels.stakes`: S of block j comes into the row of totals j modulo their
            number. And the log that the sum over μ must not reach; infinite: no bound is wanted.
    """
    table, threshold = mixture
    rows, live, end = table.shape[0] - TOTAL, table.shape[1], 0.0
    for g in range(classes.shape[1]):  # number by number: operations on arrays take seconds to compile
        positives = PRIOR * classes[PREDICTED, g]
        classes[LABELS, g], classes[LEAST, g], classes[MOST, g], classes[JUDGED, g] = PRIOR, positives, positives, 1.0
    for m in range(live):
        table[EPSILON, m] = -math.expm1(-table[MU, m])
    for j in range(blocks.shape[1]):
        for g in range(classes.shape[1]):
            classes[LOW, g] = classes[LEAST, g] / classes[LABELS, g]
            classes[HIGH, g] = classes[MOST, g] / classes[LABELS, g]
        row, last = TOTAL + j % rows, TOTAL + (j + rows - 1) % rows
        for m in range(live):
            table[row, m] = table[last, m] if j else 0.0
        if blocks[CHOSEN, j] < 1:
            for m in range(live):
                weight = table[MU, m], table[EPSILON, m]
                table[row, m] += chain(blocks, j, weight, counts, classes)
        else:
            add_block(blocks, counts, classes, table, (j, row, live))
        width = blocks[WIDTH, j]
        _learn(j, end / (end + width), counts, classes)
        end += width
        if threshold < np.inf:
            root = mixture_root(table[MU, :live], table[row, :live], threshold)
            blocks[REACHED, j] = root
            while live > 1 and table[MU, live - 1] * root + table[row, live - 1] < threshold - 100:
                live -= 1


def evidence(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    items: FloatArray,
    drawn: FloatArray,
    positives: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mu: FloatArray,
) -> FloatArray:
    """S_μ at the end of each block, shape (blocks, mu): the least that any completion of missing labels leaves.

    Args:
        blocks (triple of float64 arrays, shape (blocks,)): Ranks of each, π' (1 where every item has a judge, or none
            has), and π.
        items, drawn (float64 arrays, shape (blocks, classes)): Judged ranks, and how many of them were drawn; expected
            numbers do as well.
        positives (pair of such arrays): Positives, with missing labels as 0 and as 1.
        prior (float64 array, shape (classes,)): Prediction before there are labels, inside (0, 1).
    """
    return _follow_all(blocks, (items, drawn, *positives), prior, (mu, math.inf), blocks[0].size)[1]


def bounds(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    items: FloatArray,
    drawn: FloatArray,
    positives: tuple[FloatArray, FloatArray],
    prior: FloatArray,
    mixture: tuple[FloatArray, float],
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds (real numbers) on the yield at the end of each block, before closing.

    Args:
        blocks, items, drawn, positives, prior: See `evidence`.
        mixture: The μ, of equal weights, and δ.
    """
    mu, delta = mixture
    threshold = math.log(2 / delta) + math.log(mu.size)
    above, _ = _follow_all(blocks, (items, drawn, *positives), prior, (mu, threshold), 2)
    negatives = drawn - positives[1], drawn - positives[0]
    below, _ = _follow_all(blocks, (items, drawn, *negatives), 1 - prior, (mu, threshold), 2)
    return np.cumsum(blocks[0]) - below, above


def _follow_all(
    blocks: tuple[FloatArray, FloatArray, FloatArray],
    counts: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    prior: FloatArray,
    mixture: tuple[FloatArray, float],
    rows: int,
) -> tuple[FloatArray, FloatArray]:
    """Give what `_follow` finds: bounds, and the last `rows` totals."""
    (width, judged, rate), (items, drawn, least, most), (mu, threshold) = blocks, counts, mixture
    classes, table = np.empty((PREDICTED + 1, prior.size)), np.empty((TOTAL + rows, mu.size))
    classes[PREDICTED], table[MU] = prior, mu
    reached = np.stack([width, rate, judged, np.empty(width.size)])
    with small(_STEPS * mu.size * items.size):
        _follow(reached, np.stack([items, drawn, most, least]), classes, (table, threshold))
    return reached[REACHED], table[TOTAL:]
