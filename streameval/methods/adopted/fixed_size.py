"""Bounds from samples of a fixed size whose items had unequal probabilities: wider, for a rank says less of the next.

Sampford, conditional Poisson and ordered pivotal sampling are negatively associated (strongly Rayleigh: Brändén and
Jonasson 2012): the mean of a product of functions that all fall, or all rise, in who was drawn is at most the product
of their means. With I_r whether r was drawn, v_r its label and e0 = 1 - exp(-mu), therefore

- E exp(-sum theta_r v_r I_r) <= exp(-mu Y) with theta_r = -log(1 - e0/pi_r), where e0 < pi_r for every r, drawn or not;
- E exp(sum theta_r v_r I_r) <= exp(mu Y) with theta_r = log(1 + (exp(mu) - 1)/pi_r).

The first bounds the positives above, the second below; the negatives give one bound more for each side. At fixed
cutoffs a mixture over three mu, fixed by the design, and Markov's inequality turn each into a bound; the four tails of
all cutoffs share delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.curve.envelope import Points
from streameval.kernels.mixture import mixture_root
from streameval.kernels.sorted_sets import unique
from streameval.methods.adopted.steps import Floor
from streameval.typing import BoolArray, FloatArray, Int64Array

_CUTOFFS = 200
_RATIO = 2.2  # of neighbouring mu


@dataclass(frozen=True)
class FixedSize:
    """A sample, and what is known of every item's probability.

    Attributes:
        rank (int64 array, shape (n,), strictly increasing): The sample.
        probability (float64 array, shape (n,)): With which each was to be drawn.
        floor: Smallest probability of any item.
    """

    rank: Int64Array
    probability: FloatArray
    floor: Floor

    def points(self, low: BoolArray, high: BoolArray, delta: float) -> Points:
        """Bounds on the yield at the cutoffs, all true at once with probability 1 - delta or more.

        Args:
            low, high (bool arrays, shape (n,)): Whether each is positive, a missing label as no and as yes.
        """
        n_items = int(self.floor.last[-1])
        cutoffs = unique(np.rint(np.geomspace(1, n_items, _CUTOFFS)).astype(np.int64))
        threshold = math.log(4 * cutoffs.size / delta)
        least = np.minimum.accumulate(self.floor.least)[np.searchsorted(self.floor.last, cutoffs)]
        mus = self._mus(cutoffs, threshold)
        lower, upper = np.empty(cutoffs.size), np.empty(cutoffs.size)
        for at, (cutoff, mu) in enumerate(zip(cutoffs.tolist(), mus, strict=True)):
            n = int(np.searchsorted(self.rank, cutoff, side="right"))
            some = _Tails(self.probability[:n], float(least[at]), mu, threshold)
            upper[at] = min(some.above(high[:n]), cutoff - some.below(~high[:n]))
            lower[at] = max(some.below(low[:n]), cutoff - some.above(~low[:n]))
        slack = 1e-6 + 1e-12 * cutoffs
        return Points(
            cutoffs, np.ceil(np.clip(lower - slack, 0, None)), np.floor(np.clip(upper + slack, None, cutoffs))
        )

    def _mus(self, cutoffs: Int64Array, threshold: float) -> FloatArray:
        """Three mu for each cutoff: about the best of a list of precision one half, and its neighbours."""
        width = np.diff(self.floor.last, prepend=0)
        running = np.concatenate([[0.0], np.cumsum(width / self.floor.least)])
        block = np.searchsorted(self.floor.last, cutoffs)
        least = self.floor.least[block]
        weight = running[block + 1] - (self.floor.last[block] - cutoffs) / least
        best = 1 / (np.sqrt(0.5 * weight / (2 * threshold)) + 1 / (3 * least))
        return np.asarray(best[:, None] * np.array([1 / _RATIO, 1.0, _RATIO]))


@dataclass(frozen=True)
class _Tails:
    """The two inequalities at one cutoff, for the part of the sample up to it."""

    probability: FloatArray
    least: float
    mu: FloatArray
    threshold: float

    def above(self, taken: BoolArray) -> float:
        """Upper bound on what `taken` marks; infinite where no mu counts."""
        mu = self.mu[-np.expm1(-self.mu) < self.least]
        reward = -np.expm1(-mu)
        return self._root(mu, np.log1p(-reward / self.probability[taken, None]).sum(axis=0))

    def below(self, taken: BoolArray) -> float:
        """Lower bound on what `taken` marks."""
        return -self._root(self.mu, np.log1p(np.expm1(self.mu) / self.probability[taken, None]).sum(axis=0))

    def _root(self, mu: FloatArray, sums: FloatArray) -> float:
        return float(mixture_root(mu, sums - math.log(mu.size), self.threshold)) if mu.size else math.inf
