"""Are the PAULA paper's assumptions true of a list whose labels are all known? In one pass, in fixed memory.

For a window Δ and a grid ratio 1 + ε, with r̃ = ⌈(Δ+2)/ε⌉ and m = ⌊ε(1+ε)^ℓ − 1⌋ ≥ Δ as in its section 4.2:

- A.1 (Definition 2): p(r₁) ≥ p(r₂) for all r₁ ≥ r̃ and r₂ ≥ r₁ + m.
- A.2 (Definition 3, of labels, as its proofs need it): p_Δ(r₁) ≥ the share of positives in (r₁, r₂] ≥ p_Δ(r₂) for the
  same pairs.

A.1 is a comparison of p(r₂) with the least p(r₁) so far. A.2 implies that windows never rise, p_Δ(r₁) ≥ p_Δ(r₂), which
is such a comparison too. Where they never rise, A.2 has to be looked at for r₂ − r₁ < m + Δ only. For a longer stretch
is a shorter one and a window: (r₁, r₂ − Δ] and the window at r₂, whose shares are at most p_Δ(r₁), the latter because
windows never rise; and likewise the window at r₁ + Δ and (r₁ + Δ, r₂], whose shares are at least p_Δ(r₂).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.methods.epsilon import least_head, parse_epsilon
from streameval.methods.grid import geometric_grid
from streameval.typing import FloatArray, Int64Array, UInt8Array

_BLOCK = 1 << 16  # labels that stay in a cache while every window slides over them
_LONGEST = 2**31 - 1


@dataclass(frozen=True)
class Rises:
    """Tests of one assumption.

    Attributes:
        holds: Whether it is true of the whole list.
        first_rank: First rank r₂ at which it is broken; 0 where it holds.
        ranks: Ranks r₂ that rise above an r₁: whose precision (A.1) or window (A.2) exceeds that of some r₁ ≤ r₂ − m.
            A.2 can be broken without any.
        largest_rise: The most by which one does: the tolerance with which nothing would rise.
    """

    holds: bool
    first_rank: int
    ranks: int
    largest_rise: float


@dataclass(frozen=True)
class WindowResult:
    """Findings on a list for one window and ε.

    Attributes:
        window: Δ.
        head, m: r̃ and m of the paper.
        ranks_compared: Ranks r₂ that have an r₁; 0 where the list is too short to say anything.
    """

    window: int
    epsilon: float
    head: int
    m: int
    ranks_compared: int
    a1: Rises
    a2: Rises

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        values = {name: value for name, value in self.__dict__.items() if name not in ("a1", "a2")}
        return {**values, "A.1": dict(self.a1.__dict__), "A.2": dict(self.a2.__dict__)}


class Sliding:
    """Slides windows over the labels of consecutive ranks, from rank 1 on.

    Args:
        windows: Each Δ with its ε.

    Raises:
        InputError: No window, one below 1, or an ε outside (0, 1].

    >>> sliding = Sliding([(10, "0.03"), (50, "0.03")])
    >>> sliding.add(np.repeat([1, 0], [5_000, 5_000]).astype(np.uint8))
    >>> [(one.window, one.a1.holds, one.a2.holds) for one in sliding.result()]
    [(10, True, True), (50, True, True)]
    """

    def __init__(self, windows: Sequence[tuple[int, str | float | Fraction]]) -> None:
        """See the class."""
        lengths = [window for window, _ in windows]
        if not lengths or min(lengths) < 1:
            raise InputError(f"windows are {lengths}", "give one at least, of one label or more")
        if max(lengths) > _LONGEST:
            raise InputError(
                f"a window of {max(lengths):,} labels is above {_LONGEST:,}", "its labels are kept in memory"
            )
        self._slides = [_Slide(window, parse_epsilon(epsilon)) for window, epsilon in windows]
        self._history = max(slide.reach for slide in self._slides)
        self._labels = np.zeros(self._history + 4 * max(_BLOCK, self._history), dtype=np.uint8)
        self._end = self._history
        self.last_rank = 0

    def add(self, labels: UInt8Array) -> None:
        """Add the labels of the next ranks; how a list is cut into calls changes nothing.

        Raises:
            InputError: A label that is neither 0 nor 1; names its rank.
        """
        for first in range(0, labels.size, _BLOCK):
            part = labels[first : first + _BLOCK]
            if part.max() > 1:
                at = int(np.argmax(part > 1))
                raise InputError(f"the label at rank {self.last_rank + at + 1:,} is {part[at]}, not 0 or 1")
            self._add_block(part)

    def _add_block(self, part: UInt8Array) -> None:
        if self._end + part.size > self._labels.size:
            self._labels[: self._history] = self._labels[self._end - self._history : self._end].copy()
            self._end = self._history
        start, self._end = self._end, self._end + part.size
        self._labels[start : self._end] = part
        for window in self._slides:
            window.add(self._labels[start - window.reach : self._end])
        self.last_rank += part.size

    def result(self) -> tuple[WindowResult, ...]:
        """Give what is true of the labels added so far, in the order in which windows were given."""
        return tuple(slide.result() for slide in self._slides)


def smallest_window(results: Sequence[WindowResult]) -> WindowResult | None:
    """Find the smallest window, of these the largest ε, for which A.2 holds on a list long enough to say so."""
    holding = [result for result in results if result.a2.holds and result.ranks_compared]
    return min(holding, key=lambda result: (result.window, -result.epsilon), default=None)


class _Slide:
    """One window and ε."""

    def __init__(self, window: int, epsilon: Fraction) -> None:
        from streameval.kernels.sliding import LOW_WINDOW, WHOLE

        self.epsilon = epsilon
        head = least_head(epsilon, window)
        self.shape = (window, geometric_grid(1, epsilon, head).m, head)
        self.reach = 2 * window + self.shape[1]
        self.uneven = 0
        self.whole: Int64Array = np.zeros(WHOLE, np.int64)
        self.whole[LOW_WINDOW] = window
        self.real: FloatArray = np.array([np.inf, 0.0])

    def add(self, labels: UInt8Array) -> None:
        """Add labels after `reach` of the ranks before."""
        from streameval.kernels.sliding import FIRST_WINDOW_RISE, RANK, WINDOW_RISES, first_uneven, slide

        rank = int(self.whole[RANK])
        slide(labels, self.reach, self.shape, self.whole, self.real)
        # a window that rose has broken A.2 there at the latest: what comes after it is no news
        if not self.uneven and (not self.whole[WINDOW_RISES] or self.whole[FIRST_WINDOW_RISE] > rank):
            self.uneven = int(first_uneven(labels, self.reach, rank, self.shape))

    def result(self) -> WindowResult:
        from streameval.kernels.sliding import (
            FIRST_RISE,
            FIRST_WINDOW_RISE,
            LARGEST_RISE,
            MOST,
            RANK,
            RISES,
            WINDOW_RISES,
        )

        window, gap, head = self.shape
        whole = [int(value) for value in self.whole]
        breaks = [rank for rank in (self.uneven, whole[FIRST_WINDOW_RISE]) if rank]
        return WindowResult(
            window=window,
            epsilon=float(self.epsilon),
            head=head,
            m=gap,
            ranks_compared=max(0, whole[RANK] - gap - head + 1),
            a1=Rises(not whole[RISES], whole[FIRST_RISE], whole[RISES], float(self.real[LARGEST_RISE])),
            a2=Rises(not breaks, min(breaks, default=0), whole[WINDOW_RISES], whole[MOST] / window),
        )
