"""A test that ends: where between two precisions either answer is right, so many labels always decide; derived here.

Two sides with their evidence share a level below the one that Ville's inequality asks for, and after the last label the
number of wins decides alone. Level and number are the least for which the recursion gives errors within the deltas at
the two boundaries: exact probabilities, no inequality and no approximation.

Theorem.  Whatever the list, it passes wrongly with probability at most the first delta, and fails wrongly with at most
the second.

Proof.  After each number of labels it passes at so many wins or more, and else may fail at so many or fewer. Turning a
loss into a win, in the same order, never turns a pass into anything else: P(pass) rises with the number of wins, and is
largest, of the lists where a pass is wrong, at the boundary. There it was computed. So is P(fail). ∎
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from streameval.errors import InputError
from streameval.sequential.deciding import Rule
from streameval.sequential.evidence import EProcess

_MOST = 100_000  # labels: the recursions take some seconds
_SPARE = 1e-9  # of a delta, against rounding
_BISECTIONS = 30


@dataclass(frozen=True)
class End:
    """The last label, after which it passes with `wins` or more and else fails."""

    labels: int
    wins: int


def rule(passing: EProcess, failing: EProcess, levels: tuple[float, float], last: int, end: End | None) -> Rule:
    """Bounds after 0..last labels, which is the end where there is one and it is reached."""
    up = passing.least_wins(levels[0], last)
    down = np.arange(last + 1) - failing.least_wins(levels[1], last)
    if end and end.labels == last:
        up[last], down[last] = end.wins, end.wins - 1
    return Rule(passing.items, up, np.minimum(down, up - 1))


def plan_levels(passing: EProcess, failing: EProcess, deltas: tuple[float, float]) -> tuple[tuple[float, float], End]:
    """Plan the levels of both sides and the end; an `InputError` where it would take too many labels."""
    labels = min(round(1.25 * _fixed_size(passing, failing, deltas)), passing.items)
    high = math.log(1 / min(deltas)) + 5
    while (best_end := _end(passing, failing, deltas, labels, high)) is None:
        labels = min(labels + labels // 8 + 1, passing.items)
    low = 0.0
    for _ in range(_BISECTIONS):
        level = (low + high) / 2
        end = _end(passing, failing, deltas, labels, level)
        low, high, best_end = (low, level, end) if end else (level, high, best_end)
    return _levels(deltas, high), best_end


def _levels(deltas: tuple[float, float], level: float) -> tuple[float, float]:
    return level, level + math.log(deltas[0] / deltas[1])


def _end(passing: EProcess, failing: EProcess, deltas: tuple[float, float], labels: int, level: float) -> End | None:
    """Fewest wins that pass at the end within the first delta; None where the second is not kept then."""
    if labels > _MOST:
        raise InputError(f"so narrow a zone takes up to {labels:,} labels", f"plan a wider one: {_MOST:,} at most")
    levels, items = _levels(deltas, level), passing.items
    bounds = rule(passing, failing, levels, labels, End(labels, labels + 1))
    bounds.down[labels] = -1  # undecided at the end: each number of wins is weighed
    bad, good = bounds.of_wins(passing.most), bounds.of_wins(items - failing.most)
    passes = bad.passed.sum() + np.append(np.cumsum(bad.left[::-1])[::-1], 0.0)  # at so many wins or more
    wins = int(np.argmax(passes <= deltas[0] * (1 - _SPARE)))
    fails = good.failed.sum() + good.left[:wins].sum()
    within = passes[wins] <= deltas[0] * (1 - _SPARE) and fails <= deltas[1] * (1 - _SPARE)
    return End(labels, wins) if within else None


def _fixed_size(passing: EProcess, failing: EProcess, deltas: tuple[float, float]) -> float:
    """Labels of a fixed sample with both errors, by the normal approximation."""
    low, high = passing.most / passing.items, 1 - failing.most / passing.items
    z = [NormalDist().inv_cdf(1 - delta) for delta in deltas]
    spread = z[0] * math.sqrt(low * (1 - low)) + z[1] * math.sqrt(high * (1 - high))
    return (spread / (high - low)) ** 2
