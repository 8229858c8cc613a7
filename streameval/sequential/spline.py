"""A forecast of the precision curve from the labels so far: a logistic spline of ln rank, as curves drawn from it.

It is no claim. Designs choose by it what to ask for, and say how many labels may decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.kernels.sorted_sets import unique
from streameval.sequential import KnownItems
from streameval.sequential.blocks import RankBlocks
from streameval.typing import FloatArray, Int64Array

CURVES = 100
RATIO = 1.03  # of neighbouring ranks of a grid
_BEND = 0.35  # standard deviation of second differences of the logit, at knots an e-fold apart
_LEVEL, _SLOPE = 5.0, 1.0  # at the first knot: so weak that they only hold where all labels are the same
_STEPS = 50
_FORECAST_BEND, _FORECAST_CURVES = 1.0, 200


@dataclass(frozen=True)
class Curves:
    """Curves that the labels make likely.

    Attributes:
        rank (int64 array, shape (ranks,)): Strictly increasing, from 1 to N.
        precision (float64 array, shape (curves, ranks)): Of the first `rank` items.
    """

    rank: Int64Array
    precision: FloatArray

    def at(self, ranks: Int64Array) -> FloatArray:
        """Precision at other ranks, of shape (curves, ranks)."""
        where = np.log(ranks)
        return np.array([np.interp(where, np.log(self.rank), curve) for curve in self.precision])

    def deepest(self, precision: float) -> Int64Array:
        """The deepest rank that has a precision, of each curve; 0 where none has."""
        has = self.precision >= precision
        last = self.rank.size - 1 - np.argmax(has[:, ::-1], axis=1)
        return np.where(has.any(axis=1), self.rank[last], 0)


def grid(first: int, n_items: int) -> Int64Array:
    """Ranks from `first` to N whose neighbours are 3 % apart, or 1."""
    steps = math.ceil(math.log(n_items / first) / math.log(RATIO)) if n_items > first else 0
    ranks = np.floor(first * RATIO ** np.arange(steps)).astype(np.int64)
    return unique(ranks[ranks < n_items], n_items)


def fit(
    known_items: KnownItems, n_items: int, rng: np.random.Generator, bend: float = _BEND, curves: int = CURVES
) -> Curves:
    """Draw curves from Laplace's approximation to what the labels say.

    Args:
        known_items: Items without a label are left out.
        n_items: N.
        bend: Standard deviation of second differences of the logit.
        curves: How many.
    """
    knots = max(2, math.ceil(math.log(n_items)) + 1)
    counts = known_items.label >= 0
    mode, curvature = _mode(
        _hats(known_items.rank[counts], knots), known_items.label[counts].astype(float), _prior(knots, bend)
    )
    draws = rng.standard_normal((curves, knots))
    coefficients = mode + np.linalg.solve(np.linalg.cholesky(curvature).T, draws.T).T
    ranks = grid(1, n_items)
    shares = _share(coefficients @ _hats(ranks, knots).T)
    widths = np.diff(ranks, prepend=0)
    shares[:, 1:] = (shares[:, 1:] + shares[:, :-1]) / 2
    return Curves(ranks, np.cumsum(shares * widths, axis=1) / ranks)


def likely_rates(known_items: KnownItems, blocks: RankBlocks) -> FloatArray:
    """Rates of positives by block, of curves that a design counts on (shape (curves, blocks)), in (0, 1).

    Blocks that are taken apart know little each, and are drawn to one half: together they would seem to know that the
    long tail of a list holds many positives.
    """
    return _rates(fit(known_items, int(blocks.last[-1]), np.random.default_rng(0)), blocks)


def forecast_rates(known_items: KnownItems, blocks: RankBlocks) -> FloatArray:
    """Give the same, of curves that may turn within an e-fold, as real ones do: a forecast has to hold."""
    rng = np.random.default_rng(0)
    return _rates(fit(known_items, int(blocks.last[-1]), rng, _FORECAST_BEND, _FORECAST_CURVES), blocks)


def _rates(curves: Curves, blocks: RankBlocks) -> FloatArray:
    ends = curves.at(blocks.last) * blocks.last
    return np.clip(np.diff(ends, axis=1, prepend=0) / blocks.items, 1e-12, 1 - 1e-12)


def _hats(rank: Int64Array, knots: int) -> FloatArray:
    """Linear hat functions of ln rank, at 0, 1, 2, …: shape (ranks, knots)."""
    return np.asarray(np.maximum(0.0, 1 - np.abs(np.log(rank)[:, None] - np.arange(knots))))


def _prior(knots: int, bend: float) -> FloatArray:
    """Precision matrix of the coefficients."""
    bends = np.diff(np.eye(knots), 2, axis=0) / bend
    ends = np.zeros((2, knots))
    ends[0, 0], ends[1, :2] = 1 / _LEVEL, (-1 / _SLOPE, 1 / _SLOPE)
    rows = np.concatenate([bends, ends])
    return np.asarray(rows.T @ rows)


def _mode(hats: FloatArray, label: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Most likely coefficients, and the curvature of the logarithm there, by Newton's steps that never go down."""
    at = np.zeros(len(prior))
    height = _height(at, hats, label, prior)
    for _ in range(_STEPS):
        share = _share(hats @ at)
        step = np.linalg.solve(_curvature(share, hats, prior), hats.T @ (label - share) - prior @ at)
        size = 1.0
        while (better := _height(at + size * step, hats, label, prior)) < height - 1e-9 and size > 1e-6:
            size /= 2
        at, gained, height = at + size * step, better - height, better
        if gained < 1e-9:
            break
    return at, _curvature(_share(hats @ at), hats, prior)


def _curvature(share: FloatArray, hats: FloatArray, prior: FloatArray) -> FloatArray:
    return (hats * (share * (1 - share))[:, None]).T @ hats + prior


def _height(at: FloatArray, hats: FloatArray, label: FloatArray, prior: FloatArray) -> float:
    """Logarithm of the posterior density, but for a constant."""
    logit = hats @ at
    return float(np.sum(label * logit - np.logaddexp(0, logit)) - at @ prior @ at / 2)


def _share(logit: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-np.clip(logit, -700, 700)))
