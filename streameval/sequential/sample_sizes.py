"""A sample whose size is fixed before its labels, and which may grow where its bounds are wider than asked for.

A pilot forecasts the size, and may be wrong. To label on until bounds are narrow would choose the size by the labels:
so the sizes that it can grow to are fixed beforehand too, each twice the one before, and each look has a part of the
doubt.

Theorem.  The bounds of all looks hold together with probability 1 - δ, whichever of them are made.

Proof.  The first items of a random order are a uniform sample, of a size that no label chose: look j, counted from 0,
is wrong with probability 0.8·0.2ʲ·δ at most. These sum to less than δ. ∎
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streameval.kernels.hypergeometric import sized_intervals
from streameval.typing import FloatArray, Int8Array

GROWING = tuple(0.8 * 0.2**look for look in range(10))  # shares of the doubt, look by look
SINGLE = (1.0,)  # of a sample that was planned before samples could grow
CANNOT_GROW = "Its sample is whole, and was planned before samples could grow: ask for another width in this study."
_ENDLESS = 10**13  # items of which a sample is as good as one with replacement
_MOST = 10**9  # labels
_NINE_IN_TEN = 0.9
_MARGIN = 1.02  # widths rise and fall a little with whole numbers of positives, which `size_at` leaves out
_CAREFUL = 0.95  # of what a pilot makes likely, for nine in ten: its curves are surer than they should be
_SAMPLES = 200
Half = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class SampleSizes:
    """The sizes of a sample.

    Attributes:
        first: Items of the first look.
        items: Items that it is drawn from: a look at all of them leaves nothing open.
        doubt: Probability with which the bounds of any look may be wrong: δ.
        shares: Parts of it.
    """

    first: int
    items: int
    doubt: float
    shares: Sequence[float] = GROWING

    def size(self, look: int) -> int:
        """Items of a look, those of the looks before among them."""
        return min(self.items, self.first << look)

    def is_last(self, look: int) -> bool:
        """Tell whether the sample cannot grow beyond a look."""
        return self.size(look) == self.items or look + 1 == len(self.shares)

    def bounds(self, sample: Int8Array, n_looks: int) -> tuple[int, int]:
        """Bounds on the positives of the items, from what the first `n_looks` looks allow together.

        Args:
            sample: Labels in the order of the draw, below 0 where there is none: that counts as a 0 and as a 1.
        """
        each = [self._bounds(sample[: self.size(look)], look) for look in range(n_looks)]
        lower, upper = max(interval[0] for interval in each), min(interval[1] for interval in each)
        return (lower, upper) if lower <= upper else each[-1]  # one of them is wrong then

    def _bounds(self, sample: Int8Array, look: int) -> tuple[int, int]:
        low, high = int((sample == 1).sum()), int((sample != 0).sum())
        if sample.size == self.items:
            return low, high
        return exact_bounds((low, high), sample.size, self.items, self.shares[look] * self.doubt)

    def enough(self, sample: Int8Array, n_looks: int, half: Half) -> tuple[int | None, int | None]:
        """Forecast the size at which bounds are narrow enough: half of the time, and nine times in ten.

        Args:
            half: Half of what may lie between the bounds, in items, by the share of positives.

        Returns:
            That of the last look that was made, or of one to come; None where it is none of them.
        """
        positive, negative = int((sample == 1).sum()), int((sample == 0).sum())
        size = self.size(n_looks - 1)
        if positive + negative < size / 2:  # what it was chosen by tells more
            return size, size
        shares = np.random.default_rng(0).beta(positive + 0.5, negative + 0.5, _SAMPLES)
        middle, hard = (
            self._narrow_after(sample, n_looks, _harder_than(shares, half, q), half) for q in (0.5, _NINE_IN_TEN)
        )
        return middle, hard

    def _narrow_after(self, sample: Int8Array, n_looks: int, share: float, half: Half) -> int | None:
        """The first size with labels to come whose bounds are near each other if what comes has that share."""
        answered, positives, silent = int((sample >= 0).sum()), int((sample == 1).sum()), int((sample < -1).sum())
        for look in range(n_looks - 1, len(self.shares)):
            size = self.size(look)
            to_come = size - answered - silent
            if to_come > 0:
                low = min(positives + round(share * to_come), size - silent)
                lower, upper = exact_bounds((low, low + silent), size, self.items, self.shares[look] * self.doubt)
                if size == self.items or (upper - lower) / 2 <= float(half(np.array(share))):
                    return size
            if self.is_last(look):
                return None
        return None


def exact_bounds(positives: tuple[int, int], drawn: int, items: int, doubt: float) -> tuple[int, int]:
    """Bounds on the positives among items, from the fewest and the most positives of a uniform sample of them."""
    low, high, size, of = (np.array([n], np.int64) for n in (*positives, drawn, items))
    lower, upper = sized_intervals(low, high, size, of, doubt)
    return int(lower[0]), int(upper[0])


def first_size(shares: FloatArray, items: int, doubt: float, half: Half) -> int:
    """Size of a first look that is large enough for nine in ten of the samples that may be drawn.

    How many labels a width takes rises steeply where positives are rarer than they seem, so the middle of what is
    likely is too small more often than not.

    Args:
        shares (float64 array): Of positives, as a pilot makes them likely.
        half: Half of what may lie between the bounds, as a share of the items, by the share of positives.
    """
    if not items:
        return 0
    middle = float(np.median(shares))
    labels = size_at(middle, items, doubt, half)
    noise = np.random.default_rng(0).standard_normal(shares.size)
    shown = shares + np.sqrt(shares * (1 - shares) / labels) * noise
    hard = _harder_than(np.clip(shown, middle / 10, 1 - (1 - middle) / 10), half, _CAREFUL)
    return min(items, math.ceil(_MARGIN * size_at(hard, items, doubt, half)))


def size_at(share: float, items: int, doubt: float, half: Half) -> int:
    """Size of a first look that is about large enough where the labels show that share of positives."""
    if not items:
        return 0
    if float(half(np.array(share))) <= 0:
        return items
    endless = sample_size(share, float(half(np.array(share))), GROWING[0] * doubt)
    return math.ceil(endless / (1 + (endless - 1) / items))


def _harder_than(shares: FloatArray, half: Half, part: float) -> float:
    """The share of positives that takes more labels than a part of some shares do: as p(1 - p) / half²."""
    variance = shares * (1 - shares)
    by = np.argsort(variance / np.maximum(half(shares), 1e-12) ** 2, kind="stable")
    return float(shares[by[math.ceil(part * shares.size) - 1]])


def sample_size(precision: float, half: float, claim: float) -> int:
    """Labels, of endlessly many items, from which Clopper's and Pearson's bounds lie within 2 `half` of each other.

    Args:
        precision: Share of positives that the labels show.
        half: Above 0, and so small only that 2³⁰ labels are enough.
        claim: Probability with which the bounds may be wrong.
    """
    high = 1
    while high < _MOST and _apart(precision, high, claim) > 2 * half:
        high *= 2
    low = high // 2 + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _apart(precision, middle, claim) <= 2 * half else (middle + 1, high)
    return low


def _apart(precision: float, labels: int, claim: float) -> float:
    """Tell how far the bounds lie apart, between those of the two whole numbers of positives next to the share."""
    below = math.floor(precision * labels)
    positives = np.array([below, min(below + 1, labels)], np.int64)
    lower, upper = sized_intervals(positives, positives, np.full(2, labels), np.full(2, _ENDLESS), claim)
    part = precision * labels - below
    return float(np.dot(upper - lower, (1 - part, part)) / _ENDLESS)
