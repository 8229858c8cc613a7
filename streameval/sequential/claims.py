"""Conditions that are linear in the labels of a whole list, once the cutoff K and the number demanded are fixed.

Y is the number of positives among the first K items, T of those behind them, N the number of items. With x = p/q as it
is typed, each condition is head·Y + tail·T ≥ least, in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from streameval.errors import InputError
from streameval.questions import Condition, Question
from streameval.typing import Int64Array

_MOST = 2**62


@dataclass(frozen=True)
class LinearClaim:
    """head·Y + tail·T ≥ least."""

    head: int
    tail: int
    least: int

    def opposite(self) -> LinearClaim:
        """Give what holds where this does not."""
        return LinearClaim(-self.head, -self.tail, 1 - self.least)

    def reduce(self) -> LinearClaim:
        """Give the same without a common factor of both: `least` becomes a sum that labels can have."""
        common = math.gcd(self.head, self.tail)
        return LinearClaim(self.head // common, self.tail // common, -(-self.least // common)) if common else self

    def of_blocks(self, last: Int64Array, rank: int) -> Int64Array:
        """The factor of a label, by block (int64 array), of blocks by their last ranks."""
        return np.where(last <= rank, self.head, self.tail).astype(np.int64)


@dataclass(frozen=True)
class _Sizes:
    """K and N."""

    rank: int
    n_items: int


# value ≥ x as (factor of Y, factor of T, least), of x = p/q times q
_Form = Callable[[int, int, _Sizes], tuple[int, int, int]]


def _precision(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return q, 0, p * of.rank


def _recall(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return q - p, -p, 0


def _f1(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return 2 * q - p, -p, p * of.rank


def _accuracy(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return q, -q, p * of.n_items - q * (of.n_items - of.rank)


def _specificity(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return p, p - q, p * of.n_items - q * (of.n_items - of.rank)


def _positives(p: int, q: int, of: _Sizes) -> tuple[int, int, int]:
    return q, q, p


# each with whether it is 1 − value that is meant
FORMS: Mapping[str, tuple[_Form, bool]] = {
    "precision": (_precision, False),
    "recall": (_recall, False),
    "f1": (_f1, False),
    "e_measure": (_f1, True),
    "accuracy": (_accuracy, False),
    "specificity": (_specificity, False),
    "false_positive_rate": (_specificity, True),
    "positives": (_positives, False),
}
"""Metrics, under their names of `curve.at_cutoff.METRICS`, and `positives`, the number of them in the list."""


def claim_of(question: Question, rank: int, n_items: int) -> LinearClaim:
    """Write a condition as a claim in whole numbers.

    A list of which the metric is undefined (recall without positives) meets every `>=` and `<=`.

    Raises:
        InputError: The number is outside what the metric can be, or has too many digits for a list of that length.
    """
    condition = question.demand
    if not isinstance(condition, Condition):
        raise TypeError(f"{question} has no condition")
    form, complement = FORMS[question.metric]
    value = Fraction(condition.value)
    if question.metric != "positives" and not 0 <= value <= 1:
        raise InputError(f"{question}: {question.metric} is between 0 and 1")
    value = 1 - value if complement else value
    head, tail, least = form(value.numerator, value.denominator, _Sizes(rank, n_items))
    strict = condition.operator in ("<", ">")
    if (condition.operator in (">", ">=")) != complement:
        claim = LinearClaim(head, tail, least + strict)
    else:
        claim = LinearClaim(-head, -tail, strict - least)
    if max(abs(head), abs(tail)) * n_items + abs(least) > _MOST:
        raise InputError(f"{question}: so many digits cannot be held against {n_items:,} items", "round the number")
    return claim.reduce()
