"""Does a sample contradict what was said of its draw? Nothing is corrected: what is found is said, and ends the claim.

Every test is of ranks and probabilities, never of labels. Its p-value is a bound that holds for a draw as stated, and
`of_strata`, `of_ends` and `of_weights` each find something in fewer than one such draw in ten thousand. Where several
tests do, the clearest is said of each range of ranks: one fault shows in many ways, whose words need not fit together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streameval.kernels.sorted_sets import isin
from streameval.methods.adopted.steps import Floor, Strata
from streameval.typing import FloatArray, Int64Array

SIGNIFICANCE = 1e-4
_FEW = 20  # draws of a stratum below which its spread says nothing
_THIN = 0.1  # share of a stratum drawn, up to which gaps are those of a thin sample
_SHORT = 0.15  # at least this share of a thin uniform draw's gaps are shorter than a quarter of the mean gap
_TESTS = 7  # of a stratum
_OF_SUM = 0.1  # share of the p-value that the sum of inverse probabilities has where the number drawn is tested too
_SURE = 1e-12  # below it, chance is not worth a number
_SAID = 3  # strata that a sentence names
_Finding = tuple[float, str]  # log of a p-value, and what was found


@dataclass(frozen=True)
class Contradiction:
    """Finding against a draw: a clause, and how likely a draw as stated shows it."""

    said: str
    p_value: float


def in_words(against: list[Contradiction]) -> str:
    """Say what was found, as a sentence without its stop, and how rare that is."""
    clearest = sorted(against, key=lambda contradiction: contradiction.p_value)
    clauses = [contradiction.said for contradiction in clearest[:_SAID]]
    if len(clearest) > _SAID:
        clauses.append(f"and {len(clearest) - _SAID:,} more ranges look no better")
    chance = "no draw as stated" if clearest[0].p_value < _SURE else "fewer than one draw as stated in 10,000"
    return f"{clauses[0][0].upper()}{'; '.join(clauses)[1:]}: {chance} looks like that"


def of_strata(strata: Strata, drawn_ranks: Int64Array) -> list[Contradiction]:
    """Test the drawn ranks of each stratum against a uniform draw; p-values are shared among all tests (Bonferroni)."""
    contradictions = []
    limit = math.log(SIGNIFICANCE / (_TESTS * strata.last.size))
    first = np.concatenate([[0], strata.last[:-1]])
    for start, last, n in zip(first.tolist(), strata.last.tolist(), strata.drawn.tolist(), strict=True):
        if n < _FEW or n == last - start:
            continue
        rank = drawn_ranks[np.searchsorted(drawn_ranks, start, "right") : np.searchsorted(drawn_ranks, last, "right")]
        exponent, clause = min(_tests(rank - start, start, last - start))
        if exponent < limit:
            if rank[-1] - rank[0] + 1 == n:
                clause = f"all {n:,} are ranks {rank[0]:,} to {rank[-1]:,}"
            contradictions.append(Contradiction(clause, math.exp(exponent)))
    return contradictions


def of_ends(strata: Strata, drawn_ranks: Int64Array) -> float:
    """Give the probability that a draw as stated takes the last rank of every stratum but the last one.

    Strata that were cut from a sample end at what it took. One that was taken whole does so whatever the draw.
    """
    if not np.all(isin(strata.last[:-1], drawn_ranks)):
        return 1.0
    return float(np.prod(strata.drawn[:-1] / strata.width[:-1]))


def of_weights(probability: FloatArray, floor: Floor) -> list[Contradiction]:
    """Hold the sum of inverse probabilities, which estimates N, against N; and the number drawn against its mean.

    The sum by Bernstein's inequality. The number, where every item's probability is known and items were drawn each by
    itself, by its own distribution, with the mean probability of a class for that of each of its items: that spreads it
    (Hoeffding 1956). One of the two is said.

    Args:
        probability (float64 array, shape (n,)): Of the drawn items.
    """
    n_items = int(floor.last[-1])
    estimate = float(np.sum(1 / probability))
    largest = float(np.max(1 / floor.least))
    variance = float(np.sum(np.diff(floor.last, prepend=0) * (1 / floor.least - 1)))
    off = max(0.0, abs(estimate - n_items) - 1e-6 * n_items)
    p_value = min(1.0, 2 * math.exp(-off * off / (2 * (variance + off * largest / 3)))) if off else 1.0
    clause = f"the inverse probabilities sum to {estimate:,.0f}, where the list has {n_items:,} items"
    of_sum = Contradiction(clause, p_value)
    if not floor.items.size:
        return [of_sum] if p_value < SIGNIFICANCE else []
    n_drawn = probability.size
    clause = f"the probabilities of all items sum to {floor.total.sum():,.1f}, and {n_drawn:,} items were drawn"
    of_number = Contradiction(clause, number_drawn(n_drawn, floor))
    if of_number.p_value < SIGNIFICANCE * (1 - _OF_SUM):
        return [of_number]
    return [of_sum] if p_value < SIGNIFICANCE * _OF_SUM else []


def number_drawn(n_drawn: int, floor: Floor) -> float:
    """Two-sided p-value of the number of items that are drawn each by itself, from its characteristic function."""
    share = floor.total / floor.items
    deviation = math.sqrt(float(np.sum(floor.total * (1 - share))))
    size = 2 ** math.ceil(math.log2(24 * deviation + 64))  # beyond 12 standard deviations there is nothing to add up
    least = math.floor(float(floor.total.sum())) - size // 2
    if not least <= n_drawn < least + size:
        return 0.0
    turn = 2 * math.pi * np.arange(size) / size
    cosine, sine = np.cos(turn), np.sin(turn)
    log_size, angle = np.zeros(size), -turn * least
    for items, p in zip(floor.items.tolist(), share.tolist(), strict=True):
        log_size += items / 2 * np.log(np.maximum(1 - 2 * p * (1 - p) * (1 - cosine), 1e-300))
        angle += items * np.arctan2(p * sine, 1 - p + p * cosine)
    chance = np.fft.fft(np.exp(log_size + 1j * angle)).real / size
    at = n_drawn - least
    return float(np.clip(2 * min(chance[: at + 1].sum(), chance[at:].sum()), 0.0, 1.0))


def _tests(rank: Int64Array, start: int, width: int) -> list[_Finding]:
    """Tests of n of `width` ranks, from 1, behind rank `start`.

    - The distribution function of the ranks (Massart 1990, for draws with replacement, which spread wider).
    - Ranks next to one another: they are hypergeometric, as runs of a random arrangement are (Hoeffding 1963).
    - Of a thin sample, short gaps: gaps are negatively associated, as waiting times with a given sum (Joag-Dev and
      Proschan 1983), so that Hoeffding's inequality holds for the number of those below a fixed length.
    - Ranks before the first, and behind the last, of which none was drawn; ranks from the first on, which all were.
    """
    n = rank.size
    ranks = f"ranks {start + 1:,} to {start + width:,}"
    who = f"the {n:,} drawn of {ranks}"
    share, gaps = np.arange(1, n + 1) / n, np.diff(rank)
    off = max(np.max(np.abs(share - rank / width)), np.max(np.abs(share - 1 / n - (rank - 1) / width)))
    together, expected = int(np.sum(gaps == 1)) / n, (n - 1) / width
    unlikely = -n * _divergence(together, expected)
    before, behind = int(rank[0]) - 1, width - int(rank[-1])
    whole = int(np.argmin(np.append(rank == np.arange(1, n + 1), False)))
    apart = f"{who} keep their distance, as where every k-th is taken"
    findings = [
        (math.log(2) - 2 * n * max(0.0, off - 1 / width) ** 2, f"{who} crowd in one part"),
        (unlikely if together > expected else 0.0, f"{who} stand side by side, as where whole blocks are drawn"),
        (unlikely if together < expected else 0.0, apart),
        (n * math.log1p(-before / width), f"none of {who} is among the first {before:,} of these"),
        (n * math.log1p(-behind / width), f"none of {who} is among the last {behind:,} of these"),
        (
            whole * math.log(n / width),
            f"the first {whole:,} of {ranks} were all drawn",
        ),
    ]
    if n <= _THIN * width:
        short = float(np.mean(gaps < width / n / 4))
        findings.append((-2 * gaps.size * max(0.0, _SHORT - short) ** 2, apart))
    return findings


def _divergence(seen: float, expected: float) -> float:
    """Kullback and Leibler's, of two probabilities of one event: the exponent of a binomial tail (Hoeffding 1963)."""
    parts = [(seen, expected), (1 - seen, 1 - expected)]
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in parts if p > 0)
