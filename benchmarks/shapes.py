"""Shapes of lists that questions are asked of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.simulated_lists import Floats, Ranks, SimulatedList

N, LONG = 10**7, 2 * 10**9


@dataclass(frozen=True)
class Shape:
    """A kind of list.

    Attributes:
        rate: Probability that an item of a rank is positive.
    """

    n_items: int
    rate: Callable[[Ranks], Floats | float]

    def list(self, seed: int) -> SimulatedList:
        """One such list."""
        return SimulatedList(self.n_items, self.rate, seed)


def _logarithmic(rank: Ranks) -> Floats:
    return 0.97 - 0.47 * np.log(rank) / math.log(N)


SHAPES = {
    ".9/(1+r/10⁶)": Shape(N, lambda r: 0.9 / (1 + r / 1e6)),
    ".95/(1+(r/3·10⁵)²)": Shape(N, lambda r: 0.95 / (1 + (r / 3e5) ** 2)),
    ".95 to 10⁶, then .001": Shape(N, lambda r: np.where(r <= 10**6, 0.95, 0.001)),
    ".9/(1+r/2·10⁸), 2·10⁹ items": Shape(LONG, lambda r: 0.9 / (1 + r / 2e8)),
    ".95/(1+(r/3·10⁵)²), 2·10⁹ items": Shape(LONG, lambda r: 0.95 / (1 + (r / 3e5) ** 2)),
    ".97 falling to .5 in ln r": Shape(N, _logarithmic),
    ".97, .3 from N/100": Shape(N, lambda r: np.where(r < N / 100, 0.97, 0.3)),
    ".98/(1+100r/N)": Shape(N, lambda r: 0.98 / (1 + 100 * r / N)),
}


def shape_of(shape: str | float) -> Shape:
    """A shape by its name, or of a rate that is the same everywhere."""
    return SHAPES[shape] if isinstance(shape, str) else Shape(N, lambda _: shape)
