"""How often paired intervals of two models hold the difference of the population, and how often a test finds one.

    python -m benchmarks.sample_pairs [--draws 600] [--readme]

Each cell draws samples of one population that two models score, and has of each metric how many samples have an
interval and how many of these miss the difference: where that is 0, the level of the test.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from benchmarks.readme import markdown, write_section
from benchmarks.sample_intervals import (
    Cell,
    Population,
    Rows,
    Shape,
    clustered,
    even,
    independent,
    pareto,
    population_of,
    summed,
)
from streameval.metrics.intervals import CONFIDENCE, Derived, SampledList, refusal, widening
from streameval.metrics.paired_samples import PairedDifference, classes_of, paired_difference
from streameval.typing import FloatArray

METRICS = ("AP", "AUC", "R", "precision", "recall", "f1", "precision_at_score", "f1_at_score", "mcc_at_score")
Second = Callable[[np.random.Generator, Rows], FloatArray]


def as_good(likeness: float) -> Second:
    """A model that is as good, whose scores resemble those of the first within each class."""

    def score(rng: np.random.Generator, rows: Rows) -> FloatArray:
        scores, labels, _ = rows
        means = np.array([scores[labels == one].mean() for one in (0, 1)])[labels]
        spread = np.array([scores[labels == one].std() for one in (0, 1)])[labels]
        other = rng.normal(size=scores.size) * spread
        return means + likeness * (scores - means) + np.sqrt(1 - likeness**2) * other

    return score


def noisy(spread: float) -> Second:
    """A model that is worse by a little everywhere."""
    return lambda rng, rows: rows[0] + spread * rng.normal(size=rows[0].size)


def failing(share: float) -> Second:
    """A model that is the same but for a few items, where it knows nothing."""

    def score(rng: np.random.Generator, rows: Rows) -> FloatArray:
        scores = rows[0]
        return np.where(rng.random(scores.size) < share, rng.permutation(scores), scores)

    return score


@dataclass(frozen=True)
class Pair:
    """A shape of list, and its second model."""

    cell: Cell
    second: Second

    def rows(self, rng: np.random.Generator, clusters: int) -> tuple[Rows, Rows]:
        """Draw a sample, scored by each model."""
        rows = self.cell.draw(rng, clusters)
        return rows, (self.second(rng, rows), *rows[1:])


def pairs() -> dict[str, Pair]:
    """Name the cells."""
    shapes: dict[str, tuple[Shape, int, float]] = {
        "2,000 rows, base rate .1": (independent(0.95, 0.1), 2_000, 1.5),
        "500 rows, base rate .4, AUC .95": (independent(2.33, 0.4), 500, 1.5),
        "5,000 rows, base rate .012, AUC .98": (independent(2.9, 0.012), 5_000, 2.5),
        "20,000 rows, base rate .01": (independent(1.81, 0.01), 20_000, 2.0),
        "200 clusters of 1 to 50, base rate .2": (clustered(1.2, 0.2, even(50)), 200, 1.0),
        "150 clusters of 1 to 10, base rate .4": (clustered(1.2, 0.4, even(10)), 150, 0.5),
        "1,000 clusters, Pareto 1.6, base rate .2": (clustered(1.5, 0.2, pareto(1.6)), 1_000, 1.0),
    }
    others = {"as good, alike by .9": as_good(0.9), "worse by noise": noisy(0.3), "fails on 3 %": failing(0.03)}
    return {f"{name}; {how}": Pair(Cell(shape, size, 100, score), second)
            for name, (shape, size, score) in shapes.items() for how, second in others.items()}  # fmt: skip


PAIRS = pairs()


@cache
def populations(name: str) -> tuple[Population, Population]:
    """Draw the population of a cell, scored by each model."""
    pair = PAIRS[name]
    rng = np.random.default_rng(1)
    some = pair.cell.draw(rng, 2_000)[1].size / 2_000
    first, second = pair.rows(rng, population_of(some))
    return Population.ranked(first), Population.ranked(second)


def derived(sampled: SampledList, metric: str, k: int) -> Derived | None:
    """Derive a metric as `exact` does; None where ties leave it open."""
    if metric.endswith("_at_score"):
        return sampled.at_score(metric.removesuffix("_at_score"), 0)
    whole = {"AP": sampled.average_precision, "AUC": sampled.roc_auc, "R": sampled.r_precision}
    return whole[metric]() if metric in whole else sampled.at_cutoff(metric, k)


def difference(sides: Sequence[SampledList], metric: str, k: int) -> PairedDifference | None:
    """Give the difference of a metric as `compare` does; None where it has no interval."""
    a, b = (derived(side, metric, k) for side in sides)
    if a is None or b is None or refusal(a) or refusal(b):
        return None
    gap, rows = a.influence - b.influence, sides[0].influence
    found = paired_difference(a.value - b.value, gap, min(a.bins, b.bins), CONFIDENCE, wider=widening(rows.items),
                              classes=classes_of(metric, rows.items, rows.positives))  # fmt: skip
    return None if found.reason else found


def misses(name: str, first: int, last: int) -> dict[str, list[int]]:
    """Draw the samples of a cell: how many have an interval, miss the difference, and find one."""
    pair, whole = PAIRS[name], populations(name)
    counts = {metric: [0, 0, 0] for metric in METRICS}
    for number in range(first, last):
        both = pair.rows(np.random.default_rng([number, 13]), pair.cell.clusters)
        sides = [summed(rows, pair.cell.score) for rows in both]
        share = pair.cell.k / both[0][1].size
        for metric, count in counts.items():
            if (found := difference(sides, metric, pair.cell.k)) is None:
                continue
            true = (side.value(metric, share, pair.cell.score) for side in whole)
            value = next(true) - next(true)
            count[0] += 1
            count[1] += not found.low <= value <= found.high
            count[2] += found.p_value < 1 - CONFIDENCE
    return counts


def table(draws: int) -> list[list[str]]:
    """Give a line for each cell: of each metric the share of samples with an interval, that miss, and that find."""
    workers = os.cpu_count() or 1
    edges, lines = [draws * one // workers for one in range(workers + 1)], []
    with ProcessPoolExecutor(workers) as pool:
        for name in PAIRS:
            parts = list(pool.map(partial(misses, name), edges[:-1], edges[1:]))
            cells = [_cell(*np.sum([part[metric] for part in parts], axis=0).tolist(), draws) for metric in METRICS]
            lines.append([name, *cells])
            print(" | ".join(lines[-1]), flush=True)
    return lines


def _cell(issued: int, missed: int, found: int, draws: int) -> str:
    return f"{issued / draws:.2f}: {missed / issued:.3f}, {found / issued:.2f}" if issued else "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=600)
    parser.add_argument("--readme", action="store_true")
    asked = parser.parse_args(arguments)
    lines = table(asked.draws)
    if asked.readme:
        about = f"{asked.draws:,} samples a line; samples with an interval: of these miss the difference, and find one."
        write_section("sample_pairs", f"{markdown(['samples; second model', *METRICS], lines)}\n\n{about}")


if __name__ == "__main__":
    main()
