"""Places of PAULA's labels: the head, the windows, and the tail."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.methods.epsilon import least_head
from streameval.methods.grid import geometric_grid
from streameval.typing import Int64Array

_STEPS = 10_000  # ε is sought among the multiples of 1/10,000
_NEIGHBOURS = 24


@dataclass(frozen=True)
class Layout:
    """Places of the labels.

    Attributes:
        epsilon, window, head, n_items: Of the plan; `head` is r̃.
        ell, last_index, head_end, m: ℓ, L, g_ℓ and m of the paper.
        first, last (int64 arrays, shape (strata,)): Ranks that begin and end each stratum: the head, then the windows;
            a closed tail is the last.
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
        """Tell whether the head covers the list (the count g_ℓ + Δ(L−ℓ) is wrong there)."""
        return self.n_items <= self.head_end

    @property
    def labels(self) -> int:
        """Ranks to label."""
        return int(np.sum(self.last - self.first + 1))

    @property
    def gamma(self) -> float:
        """γ = 1 + ε + (2+ε)/m."""
        return float(1 + self.epsilon + (2 + self.epsilon) / self.m)

    @property
    def accuracy(self) -> float:
        """γ(1+ε) − 1, what the paper promises under A.1 and A.2."""
        return self.gamma * float(1 + self.epsilon) - 1

    def notes(self) -> dict[str, Any]:
        """Return the paper's constants under its own symbols, and the ranks that stay unknown."""
        return {
            "head": self.head,
            "ell": self.ell,
            "L": self.last_index,
            "g_ell": self.head_end,
            "m": self.m,
            "gamma": round(self.gamma, 5),
            "accuracy": round(self.accuracy, 5),
            "unknown_tail": self.n_items - int(self.last[-1]),
        }

    def cutoffs(self) -> Int64Array:
        """Every rank of the head, every grid point, and N."""
        head = np.arange(1, min(self.head_end, self.n_items) + 1, dtype=np.int64)
        return unique(head, self.grid, [self.n_items]).astype(np.int64)


def layout_of(epsilon: Fraction, window: int, head: int, tail: str, n_items: int) -> Layout:
    """Lay out head, windows and tail (Algorithm 2); an `InputError` where N·Δ is beyond int64."""
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


def decimal(epsilon: Fraction) -> str:
    """Write a multiple of 1/10,000 as the decimal that it is."""
    return f"{float(epsilon):.4f}".rstrip("0")


@functools.lru_cache(maxsize=64)  # every replicate of a simulation asks for the same plan
def layout_for_alpha(alpha: float, window: int, tail: str, n_items: int) -> Layout:
    """Lay out the plan of fewest labels whose γ(1+ε) − 1 is at most `alpha`.

    Raises `InputError` where no ε reaches it: γ exceeds 1 by about 2/Δ whatever ε.
    """

    def holds(layout: Layout) -> bool:
        return layout.everything or layout.accuracy <= alpha

    best = _search(holds, lambda layout: layout.labels, 1, (window, tail, n_items))
    if best is None:
        raise InputError(
            f"--alpha {alpha} is out of PAULA's reach with a window of {window}",
            f"gamma alone takes about {2 / window:.1%}; a larger window takes less",
        )
    return best


@functools.lru_cache(maxsize=64)  # every replicate of a simulation asks for the same plan
def layout_for_budget(budget: int, window: int, tail: str, n_items: int) -> Layout:
    """Lay out the plan of the smallest γ(1+ε) whose labels keep a budget; an `InputError` where ε = 1 takes more."""

    def holds(layout: Layout) -> bool:
        return layout.labels <= budget

    def accuracy(layout: Layout) -> float:
        return 0.0 if layout.everything else layout.accuracy

    best = _search(holds, accuracy, _STEPS, (window, tail, n_items))
    if best is None:
        least = _step_layout(_STEPS, window, tail, n_items).labels
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", f"it takes {least:,} labels")
    return best


def _search(
    holds: Callable[[Layout], bool], price: Callable[[Layout], float], start: int, rest: tuple[int, str, int]
) -> Layout | None:
    """Cheapest ε for which `holds`, near the end of those that hold going from `start` to the other end.

    Labels and γ zigzag in ε, because m and g_ℓ are whole numbers: bisection finds the place, its neighbours are tried.
    """
    if not holds(_step_layout(start, *rest)):
        return None
    good, bad = start, _STEPS + 1 - start
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        layout = _step_layout(middle, *rest)
        if holds(layout) and layout.everything:
            return layout
        good, bad = (middle, bad) if holds(layout) else (good, middle)
    near = range(max(1, good - _NEIGHBOURS), min(_STEPS, good + _NEIGHBOURS) + 1)
    return min(filter(holds, (_step_layout(step, *rest) for step in near)), key=price)


def _step_layout(step: int, window: int, tail: str, n_items: int) -> Layout:
    epsilon = Fraction(step, _STEPS)
    return layout_of(epsilon, window, least_head(epsilon, window), tail, n_items)
