"""When a sequential rule decides: its distribution for a known precision, and a forecast from the labels so far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streameval.kernels.deciding import decided_at
from streameval.kernels.jit import small
from streameval.typing import FloatArray, Int64Array


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
        return self._decided(0, 0, (float(wins), float(self.items), -1.0))

    def after(self, labels: int, wins: int) -> Deciding:
        """When it may decide, predicted from the labels so far under Jeffreys' prior."""
        return self._decided(labels, wins, (0.5, 1.0, 1.0))

    def _decided(self, labels: int, wins: int, urn: tuple[float, float, float]) -> Deciding:
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

    @property
    def mean(self) -> float:
        """Mean number of labels, where nothing is asked after the last."""
        n = np.arange(self.passed.size)
        return float(n @ (self.passed + self.failed) + n[-1] * self.left.sum())
