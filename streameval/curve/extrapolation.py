"""Extrapolated precision: the precision at one recall from that at another (Dimm 2015).

A family of reference curves has one parameter β: through a point (recall R, false positive rate F) goes one of them,
F = B(R, β), and precision at the target recall is read off it. With prevalence ρ the paper's eq. 11 is
X(R) = R/(R + (1−ρ)/ρ·B(R, β)), and B, the normalised integral in it, is the false positive rate of the reference curve:
it rises with R from B(0) = 0 to B(1) = 1 and falls with β.

Eq. 11 as printed loses all digits to cancellation at small β and R. Here, with t = atan β,
    B = (1−A)(1+b) + C,   1−A = atan(βR/(1+β²(1−R)))/t,   b = log1p(β²)/(2βt),
    C = log1p(−x)/(2βt) at x = β²R(2−R)/(1+β²) < ½, else (log1p((β(1−R))²) − log1p(β²))/(2βt).

The paper says that every precision above ρ has its β. Real β reach only down to X₀ = 2ρ/(2ρ + (1−ρ)(1+R)), at β = 0.
Below it the family is continued to β = i·tanh τ, which is outside the paper's model and is flagged; the answer can then
be below ρ, because the last τ that makes sense depends on R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.text import short
from streameval.typing import BoolArray, FloatArray

_SMALL, _LARGE = 1e-8, 1e150  # beyond: the limits β → 0 and β → ∞, to more digits than a float has
_STEPS = 80
_NEAR_ONE = 0.99
_CELLS = 2_000
_FAR_TAU = 300.0  # sinh² overflows at 355


@dataclass(frozen=True)
class Extrapolation:
    """Precision at a target recall, by element.

    Attributes:
        precision (float64 array): X(R_T).
        shape (float64 array): β > 0 of the reference curve; −τ < 0 where β = i·tanh τ is imaginary; 0 at the border,
            inf at precision 1.
        outside_model (bool array): Where β is imaginary: precision is below X₀, and the paper has no curve through it.
        below_prevalence (bool array): Where the answer is below ρ, which no ranking better than chance has.
        uncertain (bool array): Where recall or precision exceeds .99: many reference curves pass close to such a point.
        documents (float64 array or None): How many to review for the target recall, where it was said of how many
            items.
    """

    precision: FloatArray
    shape: FloatArray
    outside_model: BoolArray
    below_prevalence: BoolArray
    uncertain: BoolArray
    documents: FloatArray | None = None


def extrapolate(
    precision: npt.ArrayLike,
    recall: npt.ArrayLike,
    prevalence: npt.ArrayLike,
    target: npt.ArrayLike,
    items: int | None = None,
) -> Extrapolation:
    """Extrapolate precision at a recall to the precision at a target recall (eq. 11 and 12).

    Args:
        precision (array-like): P, in (ρ, 1]. At 1, β is infinite and precision 1 everywhere.
        recall, prevalence, target (array-like, broadcast together): R, ρ and R_T, each in (0, 1).
        items: Items that the list was taken from.

    Raises:
        InputError: What is no number, or outside its range; precision not above prevalence, or recall 1, which every
            reference curve has.

    >>> float(extrapolate(0.6, 0.8, 0.03, 0.75).precision.round(4))
    0.6744
    """
    if items is not None and items < 1:
        raise InputError(f"--items is {items:,}", "give a whole number, 1 or more")
    point = {"precision": precision, "recall": recall, "prevalence": prevalence, "target recall": target}
    p, r, rho, to = np.broadcast_arrays(*(_numbers(name, values) for name, values in point.items()))
    for name, values in (("recall", r), ("prevalence", rho), ("target recall", to)):
        _check(name, values, (values > 0) & (values < 1), "(0, 1)")
    _check("precision", p, (p > 0) & (p <= 1), "(0, 1]")
    worst = p <= rho
    if np.any(worst):
        raise InputError(
            f"precision {p[worst].flat[0]:g} is not above prevalence {rho[worst].flat[0]:g}",
            "a list that is no better than chance has no reference curve",
        )
    odds = (1 - rho) / rho
    shape = shape_through(r, r * (1 - p) / p / odds)
    extrapolated = np.asarray(precision_of(to, rho, shape))
    uncertain = (r > _NEAR_ONE) | (p > _NEAR_ONE)
    review = None if items is None else documents(rho, items, to, extrapolated)
    return Extrapolation(extrapolated, shape, shape < 0, extrapolated < rho, uncertain, review)


def _numbers(name: str, values: npt.ArrayLike) -> FloatArray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {short(repr(values))}, which is no number", "such as 0.8") from error


def _check(name: str, values: FloatArray, good: BoolArray, interval: str) -> None:
    if not np.all(good):
        raise InputError(f"{name} is {values[~good].flat[0]:g}, outside {interval}")


def precision_of(recall: npt.ArrayLike, prevalence: npt.ArrayLike, shape: npt.ArrayLike) -> FloatArray:
    """X(R; ρ, β), eq. 11, for shapes as in `Extrapolation.shape`."""
    r, rho = np.asarray(recall, dtype=np.float64), np.asarray(prevalence, dtype=np.float64)
    return np.asarray(r / (r + (1 - rho) / rho * false_positive_rate(r, shape)))


def documents(
    prevalence: npt.ArrayLike, population: npt.ArrayLike, recall: npt.ArrayLike, precision: npt.ArrayLike
) -> FloatArray:
    """Documents to review for a recall: n = ρNR/P (eq. 2)."""
    rho, n, r, p = (np.asarray(x, dtype=np.float64) for x in (prevalence, population, recall, precision))
    return np.asarray(rho * n * r / p)


def false_positive_rate(recall: npt.ArrayLike, shape: npt.ArrayLike) -> FloatArray:
    """B(R, β): false positive rate at recall R of the reference curve.

    Args:
        recall: array-like in [0, 1].
        shape (array-like): As in `Extrapolation.shape`.
    """
    r, q = np.broadcast_arrays(np.asarray(recall, dtype=np.float64), np.asarray(shape, dtype=np.float64))
    with np.errstate(all="ignore"):  # each branch is evaluated everywhere, and is out of its depth in places
        real = _real(r, np.clip(q, _SMALL, _LARGE))
        imaginary = _imaginary(r, np.maximum(-q, _SMALL))
    rate = np.where(q > _SMALL, real, np.where(q < -_SMALL, imaginary, r * (1 + r) / 2))
    return np.where(np.isinf(q) & (r < 1), 0.0, np.where(r >= 1, 1.0, rate))


def _real(r: FloatArray, beta: FloatArray) -> FloatArray:
    t = np.arctan(beta)
    scale = 2 * beta * t
    whole = np.log1p(beta**2)
    rise = np.arctan2(beta * r, 1 + beta**2 * (1 - r)) / t
    x = r * (2 - r) / (1 + beta**-2)
    fall = np.where(x < 0.5, np.log1p(-x), np.log1p((beta * (1 - r)) ** 2) - whole) / scale
    return np.asarray(rise * (1 + whole / scale) + fall)


def _imaginary(r: FloatArray, tau: FloatArray) -> FloatArray:
    """B at β = i·tanh τ: atan turns into atanh, and every large power of e^τ into its logarithm."""
    c = np.tanh(tau)
    near = np.minimum(tau, _FAR_TAU)
    log_cosh = np.where(tau < 1, np.log1p(np.sinh(near) ** 2) / 2, tau - np.log(2) + np.log1p(np.exp(-2 * tau)))
    sech2 = np.exp(-2 * log_cosh)
    z = c * r / (sech2 + c**2 * r)
    # 1 − z is sech²·(1 − cR/(1 + c)) over the same denominator: exact where z is next to 1
    far = (np.log(sech2 + c * r * (1 + c)) - np.log1p(-c * r / (1 + c)) + 2 * log_cosh) / 2
    rise = np.where(z < 0.5, np.arctanh(np.minimum(z, 0.5)), far) / tau
    k = r * (2 - r)
    beyond = 2 * (tau - np.log(2)) + np.log(k)
    fall = np.where(tau < _FAR_TAU, np.log1p(np.sinh(near) ** 2 * k), beyond) / (2 * c * tau)
    return np.asarray(rise * (1 + log_cosh / (c * tau)) - fall)


def shape_through(recall: FloatArray, rate: FloatArray) -> FloatArray:
    """Shape of the reference curve through (R, F), 0 ≤ F < R < 1, by bisection on ln β, or on ln τ.

    B falls with β and rises with τ, so the curve is unique.
    """
    border = recall * (1 + recall) / 2
    sign = np.where(rate <= border, 1.0, -1.0)
    low: FloatArray = np.full(recall.shape, np.log(_SMALL))
    high: FloatArray = np.full(recall.shape, np.log(1e12))
    high[sign > 0] = np.log(_LARGE)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        value = false_positive_rate(recall, sign * np.exp(middle))
        further = np.where(sign > 0, value > rate, value < rate)
        low = np.where(further, middle, low)
        high = np.where(further, high, middle)
    shape = sign * np.exp((low + high) / 2)
    return np.where(rate <= 0, np.inf, np.where(np.abs(shape) <= 2 * _SMALL, 0.0, shape))


@dataclass(frozen=True)
class Counts:
    """Bounds on the counts of one cutoff, which hold together.

    Attributes:
        retrieved: n: items up to the cutoff.
        found: Bounds on Y(n), the positives among them.
        positives: Bounds on P, all positives.
        population: N: items in all, retrieved or not.
    """

    retrieved: int
    found: tuple[float, float]
    positives: tuple[float, float]
    population: int


@dataclass(frozen=True)
class RecallBounds:
    """Consequences of joint bounds on a cutoff for a target recall.

    Attributes:
        precision: Bounds on X(R_T).
        documents: Bounds on the documents to review for it.
    """

    precision: tuple[float, float]
    documents: tuple[float, float]


def interval(counts: Counts, target: float, cells: int = _CELLS) -> RecallBounds:
    """Bounds on X(R_T) from joint bounds on (Y(n), P): the interval that the paper left open.

    The reference curve goes through R = Y/P and F = (n−Y)/(N−P). With P fixed, a larger Y moves that point to larger R
    and smaller F, to a curve of larger β, so X rises in Y: its ends are at those of Y. In P it is not monotone (the
    curve gets worse, prevalence better), so P's bounds are cut into cells; in each the curve is taken at the end that
    is worst (best) for it, and so is prevalence: the union encloses X over the whole box.

    Args:
        target: R_T in (0, 1).
        cells: More cells, closer bounds.

    Returns:
        RecallBounds: Lower precision 0 (all documents) where the bounds leave open that the list is no better than
            chance (F ≥ R), upper precision 1 where recall can be 1 or all retrieved items positive: neither has a
            reference curve.

    Raises:
        InputError: Bounds that contradict each other, or a target outside (0, 1).
    """
    _check("target recall", np.array([target]), np.array([0 < target < 1]), "(0, 1)")
    n, population = counts.retrieved, counts.population
    most = min(counts.positives[1], population - 1)
    least = max(counts.positives[0], counts.found[0], 1.0)
    if not (counts.found[0] <= min(counts.found[1], n) and least <= most and n <= population):
        raise InputError(f"{n:,} items with {counts.found} positives of {counts.positives} cannot be in {population:,}")
    edges = np.geomspace(least, most, cells + 1) if most > least else np.array([least, most])
    a, b = edges[:-1], edges[1:]
    worst = _through(np.full(a.size, counts.found[0]), b, counts)
    best = _through(np.minimum(counts.found[1], b), a, counts)
    chance, hopeless = np.isnan(worst), np.isnan(best)
    rate_high = np.where(chance, 1.0, false_positive_rate(target, np.where(chance, 0.0, worst)))
    rate_low = np.where(hopeless, target, false_positive_rate(target, np.where(hopeless, 0.0, best)))
    lower = np.where(chance, 0.0, target * a / (target * a + rate_high * (population - a)))
    upper = target * b / (target * b + rate_low * (population - b))
    fewest, largest = target * a + rate_low * (population - b), target * b + rate_high * (population - a)
    return RecallBounds(
        (float(lower.min()), float(upper.max())), (float(fewest.min()), float(min(population, largest.max())))
    )


def _through(yields: FloatArray, positives: FloatArray, counts: Counts) -> FloatArray:
    """Shape through Y found of P positives: infinite where R = 1 or F = 0, NaN where F ≥ R."""
    recall = yields / positives
    rate = np.maximum(counts.retrieved - yields, 0.0) / np.maximum(counts.population - positives, 1e-300)
    perfect = (recall >= 1) | (rate <= 0)
    chance = ~perfect & (rate >= recall)
    inside = ~perfect & ~chance
    shape = shape_through(np.where(inside, recall, 0.5), np.where(inside, rate, 0.25))
    return np.where(perfect, np.inf, np.where(chance, np.nan, shape))
