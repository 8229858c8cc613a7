"""Where PAULA's labels lie: the head, the windows, and the tail."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.grid import geometric_grid
from streameval.types import Int64Array


@dataclass(frozen=True)
class Layout:
    """Where the labels lie.

    Attributes
    ----------
    epsilon, window, head, n_items
        Of the plan; `head` is r̃.
    ell, last_index, head_end, m
        ℓ, L, g_ℓ and m of the paper.
    first, last : int64 arrays, shape (strata,)
        Ranks that begin and end each stratum: the head, then the windows; a closed tail is the last.
    """

    epsilon: Fraction
    window: int
    head: int
    n_items: int
    ell: int
    last_index: int
    head_end: int
    m: int
    first: Int64Array
    last: Int64Array

    @property
    def grid(self) -> Int64Array:
        """g_ℓ, then the last rank of each window."""
        return self.last

    @property
    def everything(self) -> bool:
        """Whether the head covers the list (the count g_ℓ + Δ(L−ℓ) is wrong there)."""
        return self.n_items <= self.head_end

    @property
    def labels(self) -> int:
        """Ranks to label."""
        return int(np.sum(self.last - self.first + 1))

    @property
    def gamma(self) -> float:
        """γ = 1 + ε + (2+ε)/m."""
        return float(1 + self.epsilon + (2 + self.epsilon) / self.m)

    def notes(self) -> dict[str, Any]:
        """Return the paper's constants under its own symbols, and the ranks that stay unknown."""
        return {
            "head": self.head,
            "ell": self.ell,
            "L": self.last_index,
            "g_ell": self.head_end,
            "m": self.m,
            "gamma": round(self.gamma, 5),
            "accuracy": round(self.gamma * float(1 + self.epsilon) - 1, 5),
            "unknown_tail": self.n_items - int(self.last[-1]),
        }

    def cutoffs(self) -> Int64Array:
        """Every rank of the head, every grid point, and N."""
        head = np.arange(1, min(self.head_end, self.n_items) + 1, dtype=np.int64)
        return np.unique(np.concatenate([head, self.grid, [self.n_items]])).astype(np.int64)


def layout_of(epsilon: Fraction, window: int, head: int, tail: str, n_items: int) -> Layout:
    """Lay out head, windows and tail (Algorithm 2).

    Raises
    ------
    InputError
        N·Δ beyond what int64 holds.
    """
    if n_items > 2**62 // window:
        raise InputError(f"{n_items:,} items with windows of {window:,} overflow", "use a smaller window")
    g = geometric_grid(n_items, epsilon, head)
    constants = (epsilon, window, head, n_items, g.first_index, g.last_index, g.head_end, g.m)
    if n_items <= g.head_end:
        return Layout(*constants, np.array([1], dtype=np.int64), np.array([n_items], dtype=np.int64))
    first = np.concatenate([[1], g.points[1:] - window + 1])
    last = g.points
    rest = n_items - int(g.points[-1])
    if tail == "closed" and rest > 0:
        # fewer than m ranks: labelled whole, so the sum over them is exact; else one more window, and
        # Lemmas 3 and 4 hold at N as at any grid point, because the gap is at least m
        first = np.append(first, n_items - (window if rest >= g.m else rest) + 1)
        last = np.append(last, n_items)
    return Layout(*constants, first, last)
