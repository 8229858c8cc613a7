"""Mean precision over runs of days, with bounds on every run at once, however many days come and whenever one looks.

Day.  On day j a list is ranked and cut at rank r_j, which the list fixes before anything of it is drawn. Its labels
give S_j(λ) with E exp(λ p_j + S_j(λ)) ≤ 1 over the draw, given all earlier days; p_j = Y(r_j)/r_j is the precision of
that day (`streameval.kernels.martingale` at μ = λ/r_j). The list of a day may depend on the labels of earlier days.

Assumption.  Given all earlier days, the draw of day j is a fresh one: one seed for two days would draw the same ranks,
and evidence that is repeated must not be multiplied. `streameval.verbs.monitor` refuses a seed, or a study, that
another day has. And no day is left out because of its labels: a day whose own band contradicts itself, as chance makes
some do, counts with its S like any other, for S is of its labels alone, whatever the band shows.

Theorem.  With probability at least 1 − δ, for all days a ≤ b at once, the mean of p_a … p_b lies inside the bounds of
`Days.means`.

Proof.  Fix the first day a. As b grows, Π_{a≤j≤b} exp(λ p_j + S_j(λ)) is a supermartingale started at 1: each day
multiplies it by at most 1 in expectation, given the days before. So is its mean over the λ of `STAKES`, and by Ville's
inequality, with probability at least 1 − δ_a/2, for all b,

    Σ_λ exp(λ Σ p_j + Σ S_j(λ)) < |STAKES| · 2/δ_a.

The left side rises in Σ p_j: its root bounds the sum from above. The bound from below is that on the share of
negatives. δ_a = δ/(a(a+1)) sums to δ over all a. ∎

Labels that come late.  The labels of a day are fixed before its draw, whether or not they have been given yet. Let S_j
be the evidence of all that were planned. S'_j, which counts some of them as missing, is at most what any way to fill
them in gives (`streameval.kernels.martingale`), so S'_j ≤ S_j for every draw. The left side above rises in S, so its
root falls: where the bounds of the theorem hold for S, all bounds hold that labels at hand have ever given, whenever
and for whatever reason one looked. The same is true of levels, whose bounds from some of the labels contain those from
all. No δ is spent on looking early, and a day may be replaced by the same draw with more labels. Nothing else may be: a
label that has changed is one of another list, for which the event is another one, and whoever corrects labels after a
look may choose between the two. Nor may a day come in between two that were taken: later days would have another δ_a,
and another product.

A change is named on day b where the bounds on two neighbouring runs, from the day of the last change to c − 1 and from
c to b, exclude each other. All runs are bounded at once, so that all such statements are true with the same
probability: looking every day, at every c, costs nothing more.

A day without such evidence (another method, labels that may be wrong, or a draw by key, which versions of a list share)
adds the bounds on its own precision instead, which hold with the half of the error probability that levels have: S = 0,
and the bound is a constant. Where these bounds contradict themselves, they are false of some rank, so that the event
has failed; 0 and 1 are taken for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from streameval.typing import FloatArray, Int64Array

_STEPS = 4  # of plain Python, for each run and λ
STAKES = np.geomspace(2.0, 2000.0, 16)
"""The λ: the best one for m days, each with standard error σ, is about √(2 ln(1/δ)/m)/σ. Histories hold S at each."""


def share_of(delta: float, day: int | Int64Array) -> FloatArray:
    """δ_k = δ/(k(k+1)) of day k, from 1: they sum to less than δ, however many days come.

    >>> float(share_of(0.06, 2))
    0.01
    """
    k = np.asarray(day, np.float64)
    return np.asarray(delta / (k * (k + 1)))


class Bounded(NamedTuple):
    """Bounds on the mean precision of a run of days."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Change:
    """Two neighbouring runs whose mean precision is not the same.

    Attributes:
        first: The first day of the later run, from 1.
    """

    first: int
    direction: Literal["fall", "rise"]
    before: Bounded
    after: Bounded


@dataclass(frozen=True)
class Days:
    """Evidence of every day on its precision, in order.

    Attributes:
        positives, negatives (float64 arrays, shape (days, stakes)): S of the share of positives, and of negatives.
        most, fewest (float64 arrays, shape (days,)): Of days without evidence, upper bounds on the share of positives
            and on that of negatives; else 0.
    """

    positives: FloatArray
    negatives: FloatArray
    most: FloatArray
    fewest: FloatArray

    def means(self, first: Int64Array, last: Int64Array, delta: float) -> tuple[FloatArray, FloatArray]:
        """Bounds on the mean precision of some runs; all runs hold together with probability ≥ 1 − δ.

        Args:
            first, last (int64 arrays): Days, from 1, both ends inside.
        """
        days = (last - first + 1).astype(np.float64)
        threshold = np.log(2.0 / share_of(delta, first)) + np.log(STAKES.size)
        high = self._sums(self.positives, self.most, (first, last), threshold) / days
        low = 1.0 - self._sums(self.negatives, self.fewest, (first, last), threshold) / days
        return np.clip(low - 1e-9, 0.0, 1.0), np.clip(high + 1e-9, 0.0, 1.0)

    @staticmethod
    def _sums(
        evidence: FloatArray, weights: FloatArray, runs: tuple[Int64Array, Int64Array], threshold: FloatArray
    ) -> FloatArray:
        from streameval.kernels.jit import small
        from streameval.kernels.mixture import mixture_roots

        first, last = runs
        total = np.concatenate([np.zeros((1, STAKES.size)), np.cumsum(evidence, axis=0)])
        constant = np.concatenate([[0.0], np.cumsum(weights)])
        with small(_STEPS * STAKES.size * first.size):
            roots = mixture_roots(STAKES, total[last] - total[first - 1], threshold)
        return np.asarray(roots + constant[last] - constant[first - 1])

    def change(self, since: int, delta: float) -> Change | None:
        """The change that is established on the last day, among days from `since` on: of several the clearest.

        Bounds on a run that contradict themselves establish nothing.
        """
        today = self.most.size
        split = np.arange(since + 1, today + 1)
        if not split.size:
            return None
        before = self.means(np.full(split.size, since), split - 1, delta)
        after = self.means(split, np.full(split.size, today), delta)
        fall, rise = before[0] - after[1], after[0] - before[1]
        sound = (before[0] <= before[1]) & (after[0] <= after[1])
        gap = np.where(sound, np.maximum(fall, rise), 0.0)
        at = int(np.argmax(gap))
        if gap[at] <= 0:
            return None
        sides = [Bounded(float(low[at]), float(high[at])) for low, high in (before, after)]
        return Change(int(split[at]), "fall" if fall[at] > 0 else "rise", *sides)
