"""Bounds on measures that are linear in the labels: the DCG, the rank-biased precision and other `discounts`.

An item of weight w ≠ 0 is drawn with a probability in proportion to |w|. With z = 1 for a positive that adds and for a
negative that would take away, the difference is Σ |w| z less the weights that take away. Its upper limit T solves the
mean of exp(μ T + S_μ) over three μ = 1/error (`kernels.paired_linear`): Markov's inequality, once, at the end. Items
are taken in an order that does not depend on u: as they are stored, or by another hash.

The average precision is no such measure: which items are positive decides what the others count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.errors import InputError
from streameval.kernels.mixture import mixture_root
from streameval.kernels.paired_linear import weighted_evidence
from streameval.typing import FloatArray, Int64Array

_MU = np.array([0.7, 1.0, 1.4])
_WIDTH = 1.04  # half-width of the mixture, in √(2 ln(1/error)) standard deviations


@dataclass(frozen=True)
class LinearCells:
    """Cells of items that are alike, or single items (arrays of one shape, (n,)).

    Attributes:
        weights: float64; what a positive counts; none is 0.
        rates: float64; with which probability each item is drawn, in (0, 1].
        items, drawn: int64; how many there are, and how many of them were drawn.
        positive, missing: int64; of the drawn, labelled positive, and without a label.
    """

    weights: FloatArray
    rates: FloatArray
    items: Int64Array
    drawn: Int64Array
    positive: Int64Array
    missing: Int64Array

    def __post_init__(self) -> None:
        if (self.weights == 0).any() or not ((self.rates > 0) & (self.rates <= 1)).all():
            raise InputError("a weight of 0, or a rate outside (0, 1]", "leave out items that count nothing")

    def counts(self, exchanged: bool) -> Int64Array:
        """Items, drawn, and those with z = 1, missing labels as 0 and as 1; of 1 − z where exchanged."""
        negative = self.drawn - self.positive - self.missing
        ones = np.where((self.weights > 0) != exchanged, self.positive, negative)
        return np.stack([self.items, self.drawn, ones, ones + self.missing], axis=1).astype(np.int64)


def rates_within(
    weights: FloatArray, items: Int64Array, *, within: float, error: float, variance: float = 0.25
) -> tuple[FloatArray, float]:
    """Rates for bounds of a half-width.

    Args:
        weights (float64 array), items (int64 array; shape (n,)): Of cells.
        within: The half-width, in units of the measure.
        error: One-sided.
        variance: Of a label, p (1 − p).

    Returns:
        rates (float64 array, shape (n,)): in proportion to |weight|, 1 at most.
        spread: the standard deviation that bounds are planned for.
    """
    size, wanted = np.abs(weights), within / (_WIDTH * math.sqrt(2 * math.log(1 / error)))
    low, high = 0.0, 1 / size.min()
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        if _spread(size, items, middle, variance) > wanted:
            low = middle
        else:
            high = middle
    return np.minimum(1.0, high * size), _spread(size, items, high, variance)


def _spread(size: FloatArray, items: Int64Array, density: float, variance: float) -> float:
    rates = np.minimum(1.0, density * size)
    return math.sqrt(variance * float((items * size**2 * (1 / np.maximum(rates, 1e-300) - 1)).sum()))


def limits(cells: LinearCells, error: float, spread: float) -> tuple[float, float]:
    """Bounds on Σ weight · label over all items, each missed with probability `error` at most.

    Args:
        cells: In an order that does not depend on the draw.
        error: In (0, 1).
        spread: The standard deviation that was planned for; only widths depend on it.
    """
    taken = float((cells.items * np.maximum(-cells.weights, 0.0)).sum())
    whole = float((cells.items * np.abs(cells.weights)).sum())
    return whole - taken - _upper(cells, error, spread, True), _upper(cells, error, spread, False) - taken


def _upper(cells: LinearCells, error: float, spread: float, exchanged: bool) -> float:
    """Upper limit of Σ |weight| z, or of Σ |weight| (1 − z)."""
    size, counts = np.abs(cells.weights), cells.counts(exchanged)
    possible = float((size * (counts[:, 0] - counts[:, 1] + counts[:, 3])).sum())
    if spread <= 0:
        return possible
    mu = _MU * math.sqrt(2 * math.log(1 / error)) / spread
    classes = (cells.weights < 0).astype(np.int8)
    sums = weighted_evidence(size, np.array(cells.rates, np.float64), classes, counts, mu, np.full(2, 0.5))
    return min(possible, float(mixture_root(mu, sums - math.log(mu.size), -math.log(error))))
