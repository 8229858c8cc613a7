"""Ranks that are claimed one after another, in a sequence fixed before the draw, up to the first that is not proven.

The claim of rank k is that the first k items have a precision of at least t. Its null is tested by the theorem of
`evidence` on those of them that are not known, in the order of the draw.

Theorem.  P(a false rank is ever claimed) <= d, for any number of ranks and any list, whenever labels are looked at and
whatever decides how many labels a rank has.

Proof.  A false rank is claimed only if the first false rank of the sequence is. Which that is is fixed given what is
known, so it is a single test at d. ∎

Positives that were known when the sequence was fixed may be withdrawn later: forgotten, corrected, torn. Let M be the
most positives among the rest of the first k for which the precision is too low (`most`), counted with all of them, and
w the number withdrawn among the first k. The rank is claimed only if the evidence against "at most y" reaches 1/d for
every y from M to M + w.

Theorem.  The theorem above stays true, whichever of the known positives are withdrawn, when, and given again.

Proof.  Let y be the most for which the precision is too low, counted with those known positives that are true. As long
as no false one counts, M + w is y at least, so that a claim takes evidence against "at most y": one test for each rank,
fixed given what is known, whatever is withdrawn meanwhile. The alternatives of that test follow from y alone. ∎

(The evidence against "at most M + w" alone is no such test: it does not fall with w everywhere, and whoever could claim
by either of two has two chances.)
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from streameval.sequential import KnownItems
from streameval.sequential.evidence import EProcess
from streameval.sequential.pool import DrawnOrder
from streameval.typing import BoolArray, FloatArray, Int64Array

_MORE = 0.7  # nats: what evidence takes beyond what it is on average
_SPARE = 1.1  # of labels


@dataclass(frozen=True, eq=False)
class FixedSequence:
    """A sequence of claims.

    Attributes:
        ranks: Strictly increasing.
        known: As it was when the sequence was fixed; a skipped item is a negative.
        precision: t, as decimal text.
        claim: d, of the whole sequence.
        withdrawn: Ranks of known positives that are positive no more, strictly increasing.
    """

    ranks: Int64Array
    known: KnownItems
    precision: str
    claim: float
    withdrawn: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def needed(self) -> float:
        """ln E that proves a rank."""
        return -math.log(self.claim)

    @functools.cached_property
    def count_unknown(self) -> Int64Array:
        """Items of the first k that are not known, for each rank."""
        return self.ranks - np.searchsorted(self.known.rank, self.ranks, "right")

    @functools.cached_property
    def most(self) -> Int64Array:
        """Most positives among those for which the precision is too low, for each rank; below 0 where it cannot be.

        Counted without the positives that were withdrawn.
        """
        return self._most_at_first + self._lost

    @functools.cached_property
    def _lost(self) -> Int64Array:
        """Positives that were withdrawn among the first k, for each rank."""
        return np.searchsorted(self.withdrawn, self.ranks, "right")

    @functools.cached_property
    def _most_at_first(self) -> Int64Array:
        """Give the same as `most`, counted with what was withdrawn."""
        target = Fraction(self.precision)
        enough = np.array([math.ceil(target * int(rank)) for rank in self.ranks], np.int64)
        positives = np.append(0, np.cumsum(self.known.label == 1))
        before = positives[np.searchsorted(self.known.rank, self.ranks, "right")]
        return np.asarray(enough - 1 - before)

    @property
    def possible(self) -> BoolArray:
        """Tell which ranks can still be proven by what is not known, bool."""
        return self.most < self.count_unknown

    def path(self, at: int, pool: DrawnOrder) -> FloatArray:
        """ln E of the rank at an index after 0, 1, 2… of its labels; one that is missing is a negative."""
        return self._path(at, pool, int(self.most[at]))

    def _path(self, at: int, pool: DrawnOrder, most: int) -> FloatArray:
        """ln E against so many positives at most among those that are not known."""
        label = pool.label[pool.asked(int(self.ranks[at]))]
        wins = np.append(0, np.cumsum(label == 1))
        side = EProcess.plan(int(self.count_unknown[at]), most)
        return side.log_evidence(wins, np.arange(wins.size) - wins)

    def _is_proven(self, at: int, pool: DrawnOrder) -> bool:
        """Tell whether the evidence is enough against every number from the most at first to the most now."""
        nulls = range(int(self.most[at]), int(self._most_at_first[at]) - 1, -1)
        return all(self._path(at, pool, most).max() >= self.needed for most in nulls)

    def proven(self, pool: DrawnOrder) -> int:
        """Tell how many ranks are proven, from the first on."""
        unproven = (at for at in range(self.ranks.size) if not self._is_proven(at, pool))
        return next(unproven, self.ranks.size)

    def shares(self, first: int, pool: DrawnOrder, precision: FloatArray, density: FloatArray) -> FloatArray:
        """Share of its items that each rank may need to be proven; 0 before `first`, infinite where it is unlikely.

        Args:
            precision: Forecast at each rank.
            density: Share of the items that were asked for, at each rank.
        """
        unknown = np.maximum(self.count_unknown, 1)
        positives = self.ranks * precision - (np.ceil(self.ranks * float(self.precision)) - 1 - self.most)
        rest, null = np.clip(positives / unknown, 0, 1), np.clip(self.most / unknown, 0, 1)
        likely, shares = _divergence(rest, null), np.zeros(self.ranks.size)
        for at in range(first, self.ranks.size):
            if not (self.possible[at] and rest[at] > null[at]):
                shares[at] = np.inf
                continue
            left = self.needed + _MORE - self.path(at, pool)[-1]
            shares[at] = min(1.0, density[at] + _SPARE * max(left, 0.5) / likely[at] / unknown[at])
        return shares


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """Kullback–Leibler divergence of Bernoulli(p) from Bernoulli(q), which may be infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(p > 0, p * np.log(p / q), 0.0)
        zeros = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(ones + zeros)
