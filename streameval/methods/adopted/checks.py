"""Does a sample contradict what was said of its draw? Nothing is corrected: what is found is said, and ends the claim.

Every test is of ranks and probabilities, never of labels, and its p-value is a bound that holds for a draw as stated;
one is named where chance would show it in fewer than one draw in ten thousand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.methods.adopted.steps import Floor, Strata
from streameval.typing import FloatArray, Int64Array

SIGNIFICANCE = 1e-4
_APART = "drawn ranks keep their distance, as where every so-manieth is taken,"
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
    limit = SIGNIFICANCE / max(1, 4 * strata.last.size)
    return [one for one in found if one.p_value < limit]


def of_weights(probability: FloatArray, floor: Floor) -> list[Contradiction]:
    """Hold the sum of inverse probabilities, which estimates N, against N (Bernstein's inequality)."""
    n_items = int(floor.last[-1])
    estimate = float(np.sum(1 / probability))
    largest = float(np.max(1 / floor.least))
    variance = float(np.sum(np.diff(floor.last, prepend=0) * (1 / floor.least - 1)))
    off = max(0.0, abs(estimate - n_items) - 1e-6 * n_items)
    p_value = 2 * math.exp(-off * off / (2 * (variance + off * largest / 3))) if off else 1.0
    if p_value >= SIGNIFICANCE:
        return []
    return [
        Contradiction(
            f"the inverse probabilities sum to {estimate:,.0f}, where the list has {n_items:,} items", p_value
        )
    ]


def _tests(rank: Int64Array, width: int) -> list[tuple[str, float]]:
    n = rank.size
    share = np.arange(1, n + 1) / n
    off = max(np.max(np.abs(share - rank / width)), np.max(np.abs(share - 1 / n - (rank - 1) / width)))
    gaps = np.diff(rank)
    # ranks next to one another are as many as a hypergeometric number says (runs of a random arrangement)
    together, expected = int(np.sum(gaps == 1)) / n, (n - 1) / width
    unlikely = math.exp(-n * _divergence(together, expected))
    found = [
        ("the drawn ranks crowd in one part", min(1.0, 2 * math.exp(-2 * n * max(0.0, off - 1 / width) ** 2))),
        ("drawn ranks stand side by side, as where whole blocks are drawn,", unlikely if together > expected else 1.0),
        (_APART, unlikely if together < expected else 1.0),
    ]
    if n <= _THIN * width:
        short, rare = float(np.mean(gaps < np.mean(gaps) / 4)), 0.15  # a fifth of a thin uniform draw's are as short
        found.append((_APART, math.exp(-2 * gaps.size * (rare - short) ** 2) if short < rare else 1.0))
    return found


def _divergence(seen: float, expected: float) -> float:
    """Kullback and Leibler's, of two probabilities of one event: the exponent of a binomial tail (Hoeffding 1963)."""
    parts = [(seen, expected), (1 - seen, 1 - expected)]
    return sum(one * math.log(one / other) if other > 0 else math.inf for one, other in parts if one > 0)
