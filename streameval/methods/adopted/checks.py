"""Does a sample contradict what was said of its draw? Nothing is corrected: what is found is said, and ends the claim.

Every test is of ranks and probabilities, never of labels, and its p-value is a bound that holds for a draw as stated;
one is named where chance would show it in fewer than one draw in ten thousand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.methods.adopted.steps import Strata
from streameval.typing import FloatArray, Int64Array

SIGNIFICANCE = 1e-4
_FEW = 20  # draws of a stratum below which its spread says nothing
_THIN = 0.1  # share of a stratum drawn, up to which gaps are those of a thin sample


@dataclass(frozen=True)
class Contradiction:
    """What was found against a draw: a sentence, and how likely a draw as stated shows it."""

    said: str
    p_value: float


def of_strata(strata: Strata, taken: Int64Array) -> list[Contradiction]:
    """Test the drawn ranks of each stratum against a uniform draw; p-values are shared among the tests (Bonferroni)."""
    found = []
    first = np.concatenate([[0], strata.last[:-1]])
    for start, last, n in zip(first.tolist(), strata.last.tolist(), strata.drawn.tolist(), strict=True):
        if n < _FEW or n == last - start:
            continue
        rank = taken[np.searchsorted(taken, start, "right") : np.searchsorted(taken, last, "right")] - start
        where = f"among the {n:,} of ranks {start + 1:,} to {last:,}"
        found += [Contradiction(f"{said} {where}", p) for said, p in _tests(rank, last - start)]
    limit = SIGNIFICANCE / max(1, 3 * strata.last.size)
    return [one for one in found if one.p_value < limit]


def of_weights(probability: FloatArray, n_items: int) -> list[Contradiction]:
    """Hold the sum of inverse probabilities, which estimates N, against N: 4 standard errors are too far."""
    estimate = float(np.sum(1 / probability))
    error = math.sqrt(float(np.sum((1 - probability) / probability**2)))
    if abs(estimate - n_items) <= 4 * max(error, 0.5):
        return []
    said = f"the inverse probabilities sum to {estimate:,.0f} ± {error:,.0f}, where the list has {n_items:,} items"
    return [Contradiction(said, 6e-5)]


def _tests(rank: Int64Array, width: int) -> list[tuple[str, float]]:
    n = rank.size
    share = np.arange(1, n + 1) / n
    off = max(np.max(np.abs(share - rank / width)), np.max(np.abs(share - 1 / n - (rank - 1) / width)))
    spread = ("the drawn ranks crowd in one part", min(1.0, 2 * math.exp(-2 * n * max(0.0, off - 1 / width) ** 2)))
    if n > _THIN * width:
        return [spread]
    gaps = np.diff(rank)
    neighbours, expected = int(np.sum(gaps == 1)), n * (n - 1) / width
    clumped = math.exp(neighbours * (1 - math.log(neighbours / expected)) - expected) if neighbours > expected else 1.0
    short, rare = int(np.sum(gaps < np.mean(gaps) / 4)), 0.15  # a fifth of the gaps of a thin uniform draw are as short
    regular = math.exp(-2 * gaps.size * (rare - short / gaps.size) ** 2) if short < rare * gaps.size else 1.0
    return [
        spread,
        ("drawn ranks stand side by side, as where whole blocks are drawn,", clumped),
        ("drawn ranks keep their distance, as where every so-manieth is taken,", regular),
    ]
