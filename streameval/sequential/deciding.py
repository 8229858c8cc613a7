"""When a sequential rule decides: its distribution for a known precision, and a forecast from the labels so far.

What is asked for is near what there is, more often than not: so the prior of a forecast is the beta distribution that
`WORTH` labels leave of Jeffreys' prior if as large a share of them are wins as is asked for. Its standard deviation is
.09 at .9, and .15 at .5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernels.deciding import decided_at
from streameval.kernels.jit import small
from streameval.sequential.forecasts import DRAWS
from streameval.typing import BoolArray, FloatArray, Int64Array

WORTH = 10  # labels


@dataclass(frozen=True)
class Rule:
    """Pass at `up` wins or more, else fail at `down` or fewer, at the first number of labels where one holds.

    Attributes:
        items: What the labels are drawn from.
        up, down (int64 arrays, shape (last + 1,)): After 0..last labels; neither ever falls.
    """

    items: int
    up: Int64Array
    down: Int64Array

    def of_wins(self, wins: int) -> Deciding:
        """When it decides if so many of the items are wins: exact, by recursion."""
        return self._forecast(0, 0, (float(wins), float(self.items), -1.0))

    def after(self, labels: int, wins: int, share: float, worth: float = WORTH) -> Deciding:
        """When it may decide, predicted from the labels so far, and from some more with the share that is asked for."""
        return self._forecast(labels, wins, (0.5 + worth * share, 1.0 + worth, 1.0))

    def _forecast(self, labels: int, wins: int, urn: tuple[float, float, float]) -> Deciding:
        undecided = np.minimum(self.up - self.down, np.arange(self.up.size) - labels)[labels:]
        with small(2 * int(undecided.clip(0).sum())):
            return Deciding(*decided_at(self.up, self.down, labels, wins, urn))


@dataclass(frozen=True)
class Deciding:
    """Distribution of the number of labels that decide.

    Attributes:
        passed, failed (float64 arrays, shape (last + 1,)): Probability that the n-th label passes, fails.
        left (float64 array, shape (last + 1,)): Of each number of wins, undecided after the last.
    """

    passed: FloatArray
    failed: FloatArray
    left: FloatArray

    def quantile(self, share: float) -> int | None:
        """Labels by which it has decided with that probability; None where that is beyond the last."""
        reached = np.cumsum(self.passed + self.failed)
        n = int(np.searchsorted(reached, share - 1e-12))
        return n if n < reached.size else None

    def cases(self, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
        """Labels that decide in cases as likely as each other, in random order, and whether they fail.

        Returns:
            labels (float64 array, shape (DRAWS,)): The quantiles; infinite beyond the last.
            fails (bool array, shape (DRAWS,)).
        """
        share = rng.permutation(np.arange(1, DRAWS + 1)) / DRAWS - 1e-12
        at = np.searchsorted(np.cumsum(self.passed + self.failed), share)
        passed, failed = (np.append(numbers, 0.0)[at] for numbers in (self.passed, self.failed))
        return np.where(at < self.passed.size, at, np.inf), rng.random(DRAWS) * (passed + failed) < failed

    @property
    def mean(self) -> float:
        """Mean number of labels, where nothing is asked after the last."""
        n = np.arange(self.passed.size)
        return float(n @ (self.passed + self.failed) + n[-1] * self.left.sum())
