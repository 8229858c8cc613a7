"""Growth of evidence: the basis of stakes and of forecasts. Nothing here can make an answer wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streameval.sequential.blocks import Tally
from streameval.typing import BoolArray, FloatArray, Int64Array

FACTORS = np.array([0.6, 1.0, 1.6])  # times the best stake: a mean over them costs little where it is not the best
_TRIED = 2.0 ** np.arange(-10, 10.5, 0.5)  # Σ f y = η U
_MIXED = 0.7  # nats that a mean over stakes costs
_UNEVEN = 1.2  # labels until evidence gets there, to those after which its expectation does
_SAMPLES = 200
_ENDLESS = 1e12  # labels
_LEARNED, _MIXED_ON = 10, 0.2  # of a forecast: labels until stakes are about right, and nats as above from then on
_SWING = 0.6  # variance of what a label adds to a mean over stakes, beside that with the best of them


@dataclass(frozen=True)
class Bet:
    """One side of a claim as it stands.

    Attributes:
        mass (int64 array, shape (blocks,)): Of a bad item.
        positive_is_bad (bool array, shape (blocks,)): Which items are bad.
        beta: The hypothesis is that all bad items that are left have this mass together, or more: a number, or one for
            each sample (float64 array).
        wanted: Evidence that is still to come, in nats.
    """

    mass: Int64Array
    positive_is_bad: BoolArray
    beta: float | FloatArray
    wanted: float

    def bad(self, rate: FloatArray) -> FloatArray:
        """Rates of bad items by those of positives."""
        return np.where(self.positive_is_bad, rate, 1 - rate)


@dataclass(frozen=True)
class Rates:
    """Rates of a round, and rates of positives that the labels so far leave likely.

    Attributes:
        left (int64 array, shape (blocks,)): Items left.
        rates, share (float64 arrays, shape (blocks,)): f, and the rates of positives that stakes count on.
        samples (float64 array, shape (samples, blocks)): Rates of positives.
        telling: Whether so much is known of the list that something is staked.
    """

    left: Int64Array
    rates: FloatArray
    share: FloatArray
    samples: FloatArray
    telling: bool

    @staticmethod
    def from_tally(left: Int64Array, rates: FloatArray, tally: Tally) -> Rates:
        """Draw rates that are likely, each block's apart, as if of half as many labels: stakes are lower then."""
        a, b = tally.beta()
        samples = np.random.default_rng(0).beta(a / 2, b / 2, (_SAMPLES, a.size))
        return Rates(left, rates, tally.smoothed(), samples, tally.telling)

    def growth(self, bet: Bet) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Expected growth of the evidence by one label.

        Returns:
            eta (float64 array, shape (m,)): Stakes that were tried.
            growth, variance (float64 arrays, shape (samples, m)): Of what a label adds, in nats.
        """
        open_ = (self.rates > 0) & (self.left > 0)
        f, q = self.rates[open_] / self.rates[open_].sum(), bet.bad(self.share)[open_]
        mass = (bet.mass * self.left).astype(float)[open_]
        eta = _TRIED / max(mass.sum(), 1.0)
        y = eta[:, None] * mass / f
        root = np.sqrt((1 - y) ** 2 + 4 * q * y)
        kept = np.where(y < 1, (1 - y + root) / 2, 2 * q * y / (root + abs(y - 1)))
        all_ = float((bet.mass * self.left).sum())  # what is no longer drawn may be bad
        gap = np.maximum(0.0, all_ - np.maximum(0.0, np.reshape(bet.beta, (-1, 1))))
        x = bet.bad(self.samples)[:, open_]
        bad, good = np.log(kept).T, np.log(kept + y).T
        mean = (f * x) @ bad + (f * (1 - x)) @ good
        variance = (f * x) @ bad**2 + (f * (1 - x)) @ good**2 - mean**2
        return eta, mean - np.log(kept @ f + eta * gap), variance

    def as_expected(self) -> Rates:
        """Give the same, as if the rates of positives were just those that are expected."""
        return replace(self, samples=self.share[None])

    def with_stakes(self, eta: Sequence[Sequence[float]]) -> dict[str, Any]:
        """Say what a round is drawn with, JSON-ready: `rates`, `share`, and the `eta` of each bet."""
        return {"rates": self.rates.tolist(), "share": self.share.tolist(), "eta": [*eta]}

    def stake(self, bet: Bet) -> list[float]:
        """The η that grows most on average, and some around it; 0 where too little is known."""
        if not self.telling:
            return [0.0] * FACTORS.size
        eta, growth, _ = self.growth(bet)
        best: list[float] = (FACTORS * eta[growth.mean(axis=0).argmax()]).tolist()
        return best

    def labels(self, bet: Bet) -> FloatArray:
        """Labels until the evidence is there, for each sample (float64 array); infinite where it never is."""
        if not (self.rates * self.left).any():
            return np.full(len(self.samples), np.inf)
        return _UNEVEN * max(1e-9, bet.wanted + _MIXED) * self.per_nat(bet)

    def per_nat(self, bet: Bet) -> FloatArray:
        """Labels in which the evidence grows by one, for each sample (float64 array); infinite where it does not."""
        growth = self.growth(bet)[1].max(axis=1)
        return np.where(growth > 1e-12, 1 / np.maximum(growth, 1e-12), np.inf)

    def cases(self, bet: Bet, labels: int, rng: np.random.Generator) -> FloatArray:
        """Labels until the evidence is there, as chance has it, for each sample; infinite where nothing is staked.

        Evidence is taken for a random walk, which gets to a level after a time that has an inverse Gaussian
        distribution, with stakes that get better as the labels do.

        Args:
            labels: How many there are.
        """
        if not (self.rates * self.left).any():
            return np.full(len(self.samples), np.inf)
        _, growth, variance = self.growth(bet)
        best = growth.argmax(axis=1)[:, None]
        growth, variance = (np.take_along_axis(array, best, axis=1)[:, 0] for array in (growth, variance))
        wanted, learned = max(bet.wanted + _MIXED_ON, 0.01), 1 + _LEARNED / max(labels, 1)
        mean = np.minimum(learned * wanted / np.maximum(growth, 1e-12), _ENDLESS)
        times = rng.wald(mean, learned * wanted**2 / np.maximum(_SWING * variance, 1e-12))
        return np.where(mean < _ENDLESS, times, np.inf)
