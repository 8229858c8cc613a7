"""Evidence against "at most so many of these items are wins", from labels in a random order; derived here.

Of K items at most y are wins: the null hypothesis. For alternatives y_1..y_m > y with weights w_i that sum to 1, fixed
before any label, s wins and f losses among the first labels give

    E = sum_i w_i prod_{j<s} (y_i - j) / (y - j) prod_{j<f} (K - y_i - j) / (K - y - j).

Theorem.  In a uniformly random order, P(E >= 1/d after any number of labels) <= d for every list in the null. E never
falls when a loss becomes a win: a missing label may count as a loss, whatever the reason why it is missing.

Proof.  Where r <= y wins are there, the label after n = s + f is one with probability p = (r - s) / (K - n), at most
q = (y - s) / (K - n). It multiplies term i by a = (y_i - s) / (y - s) >= 1 or by b = (K - y_i - f) / (K - y - f) <= 1,
and q a + (1 - q) b = 1, so that p a + (1 - p) b <= 1: each term is a nonnegative supermartingale from 1, and so is
their mean. The rest is Ville's inequality. More than y wins prove the null false: E is infinite. ∎
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streameval.kernels.deciding import least_wins, log_evidence
from streameval.kernels.jit import small
from streameval.typing import FloatArray, Int64Array

_STEPS = (1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 60)  # of the logit, from the null to its alternatives


@dataclass(frozen=True)
class EProcess:
    """The e-process against a null hypothesis: that at most `most` of `items` are wins.

    Attributes:
        alternatives: Numbers of wins, all above `most`; none where only a count above `most` is to prove anything.
        weights: Of the alternatives, summing to 1.
    """

    items: int
    most: int
    alternatives: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()

    @staticmethod
    def plan(items: int, most: int, likely: Sequence[int] = ()) -> EProcess:
        """Alternatives at fixed steps of the logit; each that is `likely` takes half of the weight so far."""
        if not 0 <= most < items:
            return EProcess(items, most)
        share = min(max(most / items, 0.5 / items), 1 - 0.5 / items)
        logit = math.log(share / (1 - share))
        wins = [round(items / (1 + math.exp(-logit - step))) for step in _STEPS]
        weights = [1 / len(_STEPS)] * len(_STEPS)
        for n_wins in likely:
            if n_wins > most:
                wins, weights = [*wins, n_wins], [*(weight / 2 for weight in weights), 0.5]
        return EProcess(items, most, tuple(min(max(n_wins, most + 1), items) for n_wins in wins), tuple(weights))

    def log_evidence(self, wins: Int64Array, losses: Int64Array) -> FloatArray:
        """ln E for each number of wins and losses (arrays of one shape); infinite where the null is proven false."""
        won, lost = _tables(self, int((wins + losses).max(initial=0)))
        with small(won.shape[0] * wins.size):
            return log_evidence(won, lost, self.most, wins, losses)

    def least_wins(self, needed: float, last: int) -> Int64Array:
        """Fewest wins with ln E >= `needed` among the first 0..last labels; one more than there are where none are."""
        won, lost = _tables(self, last)
        with small(2 * won.shape[0] * last):
            return least_wins(won, lost, self.most, needed, last)


@functools.lru_cache(maxsize=16)
def _tables(side: EProcess, last: int) -> tuple[FloatArray, FloatArray]:
    """Logarithms of the factors of 0..last wins and losses, multiplied up; the weights are among those of wins."""
    above = np.array(side.alternatives, np.float64)[:, None] - side.most
    j = np.arange(last, dtype=np.float64)
    won = np.log1p(above / np.maximum(side.most - j, 1.0))  # beyond `most` wins E is infinite: not read there
    rest = side.items - side.most - j
    possible = rest > above  # looked at first: where an alternative is impossible, the denominator may be 0
    lost = np.log1p(-above / np.where(possible, rest, np.inf))
    lost[~possible] = -np.inf
    zero = np.zeros((len(side.alternatives), 1))
    weights = np.log(np.array(side.weights))[:, None]
    return weights + np.hstack([zero, won.cumsum(axis=1)]), np.hstack([zero, lost.cumsum(axis=1)])
