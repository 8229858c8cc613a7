"""The geometric grid g_j = ⌈(1+ε)^j⌉ in exact arithmetic (PAULA paper, section 4.3).

Floating-point logarithms fail at exact powers: ⌊log₂ 8⌋ computed as log(8)/log(2) is a coin toss for other
bases. Powers are therefore carried as integer intervals of 320 fractional bits, and the rare power that such
an interval cannot tell from an integer is decided by exact rationals.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streameval.errors import InputError
from streameval.typing import Int64Array

_BITS = 320
_ONE = 1 << _BITS
_MAX_POWERS = 5_000_000
_UNIT = Fraction(1)


@dataclass(frozen=True)
class GeometricGrid:
    """Grid indices and points between the end of the head and the end of the list.

    Attributes:
        first_index: ℓ = ⌈log_{1+ε} r̃⌉.
        last_index: L = ⌊log_{1+ε} N⌋, so that (1+ε)^L ≤ N < (1+ε)^{L+1}. Less than ℓ where the head covers the list.
        points (int64 array, shape (max(L - ℓ, -1) + 1,)): g_ℓ … g_L, strictly increasing wherever the head obeys the
            contract r̃ ≥ ⌈(Δ+2)/ε⌉.
        head_end: g_ℓ, also where it exceeds N.
        m: ⌊ε(1+ε)^ℓ − 1⌋, the least distance between grid points beyond the head.
    """

    epsilon: Fraction
    first_index: int
    last_index: int
    points: Int64Array
    head_end: int
    m: int


def geometric_grid(n_items: int, epsilon: Fraction, head: int) -> GeometricGrid:
    """Compute ℓ, L, m and g_ℓ … g_L exactly.

    Args:
        n_items: N ≥ 1.
        epsilon: In (0, 1].
        head: r̃ ≥ 1.

    >>> grid = geometric_grid(35_615, Fraction(3, 100), 3_400)
    >>> grid.first_index, grid.last_index, grid.head_end, grid.m
    (276, 354, 3492, 103)
    """
    ratio = 1 + epsilon
    grown, whole = ratio.numerator, ratio.denominator
    low = high = _ONE
    index, first_index, last_index = 0, -1, -1
    head_end, m = 0, 0
    points: list[int] = []
    while True:
        ceiling = _ceiling(low, high, ratio, index)
        if first_index < 0 and ceiling >= head and _floor_of_scaled(low, high, ratio, index, _UNIT) >= head:
            # for integers r̃ and N: (1+ε)^j ≥ r̃ is ⌊(1+ε)^j⌋ ≥ r̃, and (1+ε)^j ≤ N is g_j ≤ N
            first_index, head_end = index, ceiling
            m = _floor_of_scaled(low, high, ratio, index, epsilon) - 1
        if ceiling > n_items:
            if first_index >= 0:
                break
        else:
            last_index = index
            if first_index >= 0:
                points.append(ceiling)
        low, high = low * grown // whole, -(-high * grown // whole)
        index += 1
        if index > _MAX_POWERS:
            raise InputError(
                f"epsilon is {float(epsilon):g}: the grid would take more than {_MAX_POWERS:,} points",
                "a larger epsilon needs fewer labels; the paper uses 0.03",
            )
    return GeometricGrid(epsilon, first_index, last_index, np.array(points, dtype=np.int64), head_end, m)


def _ceiling(low: int, high: int, ratio: Fraction, index: int) -> int:
    """⌈ratio^index⌉ from an interval that holds it, or exactly where the interval straddles an integer."""
    below, above = -(-low >> _BITS), -(-high >> _BITS)
    if below == above:
        return below
    exact = ratio**index
    return -(-exact.numerator // exact.denominator)


def _floor_of_scaled(low: int, high: int, ratio: Fraction, index: int, scale: Fraction) -> int:
    """⌊scale · ratio^index⌋, by the same two steps."""
    below = low * scale.numerator // (scale.denominator * _ONE)
    above = high * scale.numerator // (scale.denominator * _ONE)
    if below == above:
        return int(below)
    exact = ratio**index * scale
    return exact.numerator // exact.denominator
