"""What tests of two models on one sample find: paired differences of `compare`, DeLong's test, and a paired bootstrap.

    python -m benchmarks.sample_power [--draws 400] [--readme]

Scores of two models are normal in each class, correlated, and of areas under the ROC curve that are known. Where both
are as good, the share of samples in which a test finds a difference is its level: these cells have more samples.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from statistics import NormalDist

import numba as nb
import numpy as np

from benchmarks.readme import markdown, write_section
from benchmarks.sample_intervals import Rows, summed
from benchmarks.sample_pairs import difference
from streameval.metrics.intervals import CONFIDENCE
from streameval.typing import FloatArray, Int64Array

TESTS = ("AUC: compare", "DeLong", "bootstrap", "AP: compare", "AP: bootstrap")
_AREA = 0.8  # under the curve of the first model
_GAPS = (0.0, 0.01, 0.02, 0.05)
_LIKENESS = 0.8  # correlation of both scores within a class
_REPLICATES = 500
_LEVEL_DRAWS = 2.5  # times as many where both models are as good
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Cell:
    """Samples of some rows and share of positives; by how much the area of the second model is larger."""

    rows: int
    share: float
    gap: float

    def draw(self, rng: np.random.Generator) -> tuple[Rows, Rows]:
        """Draw a sample, scored by each model."""
        labels = (rng.random(self.rows) < self.share).astype(np.int64)
        first, noise = rng.normal(size=self.rows), rng.normal(size=self.rows)
        second = _LIKENESS * first + math.sqrt(1 - _LIKENESS**2) * noise
        shifts = [math.sqrt(2) * _NORMAL.inv_cdf(area) for area in (_AREA, _AREA + self.gap)]
        rows = np.arange(self.rows)
        return (first + shifts[0] * labels, labels, rows), (second + shifts[1] * labels, labels, rows)


def delong(both: tuple[Rows, Rows]) -> tuple[float, float]:
    """Give the difference of the areas of two models, and its standard error by DeLong, DeLong and Clarke-Pearson."""
    parts = [_placements(*rows[:2]) for rows in both]
    positives, negatives = (first - second for first, second in zip(*parts, strict=True))
    variance = positives.var(ddof=1) / positives.size + negatives.var(ddof=1) / negatives.size
    return float(positives.mean()), math.sqrt(variance)


def _placements(scores: FloatArray, labels: Int64Array) -> tuple[FloatArray, FloatArray]:
    """Give the share of negatives below each positive, and of positives above each negative; half of ties."""
    sides = np.sort(scores[labels == 1]), np.sort(scores[labels == 0])
    of_positives, of_negatives = (
        (np.searchsorted(other, scores[labels == one], "left") + np.searchsorted(other, scores[labels == one], "right"))
        / (2 * other.size)
        for one, other in ((1, sides[1]), (0, sides[0]))
    )
    return of_positives, 1 - of_negatives


def bootstrap(both: tuple[Rows, Rows], seed: int, replicates: int = _REPLICATES) -> FloatArray:
    """Give differences of average precision, and of areas, in samples drawn again from a sample: (replicates, 2)."""
    orders = np.stack([np.argsort(-rows[0], kind="stable") for rows in both])
    return _replicates(seed, orders, both[0][1], np.empty((replicates, 2)))


@nb.njit(nogil=True, cache=True)
def _replicates(seed, orders, labels, differences):
    np.random.seed(seed)
    n = labels.size
    for row in differences:
        weights, positives = np.zeros(n, np.int64), 0
        for _ in range(n):
            item = np.random.randint(n)
            weights[item] += 1
            positives += labels[item]
        for model in range(2):
            items, above, precision, wins = 0, 0, 0.0, 0
            for item in orders[model]:
                weight = weights[item]
                items += weight
                if labels[item]:
                    above += weight
                    precision += weight * above / items if weight else 0.0
                else:
                    wins += weight * above
            values = precision / positives, wins / (positives * (n - positives))
            for metric in range(2):
                row[metric] = values[metric] if model == 0 else row[metric] - values[metric]
    return differences


def results(cell: Cell, first: int, last: int) -> Int64Array:
    """Count samples in which each of `TESTS` can be made, and in which it finds a difference: shape (tests, 2)."""
    counts = np.zeros((len(TESTS), 2), np.int64)
    z = _NORMAL.inv_cdf(0.5 + CONFIDENCE / 2)
    for number in range(first, last):
        rng = np.random.default_rng([number, cell.rows, round(100 * cell.share), round(100 * cell.gap)])
        both = cell.draw(rng)
        sides = [summed(rows) for rows in both]
        gap, error = delong(both)
        low, high = np.quantile(bootstrap(both, number), [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2], axis=0)
        again = (low > 0) | (high < 0)
        ours = [difference(sides, metric, 100) for metric in ("AUC", "AP")]
        finds = [found is not None and found.p_value < 1 - CONFIDENCE for found in ours]
        counts[:, 0] += [ours[0] is not None, True, True, ours[1] is not None, True]
        counts[:, 1] += [finds[0], abs(gap) > z * error, again[1], finds[1], again[0]]
    return counts


def table(draws: int) -> list[list[str]]:
    """Give a line for each cell."""
    workers, lines = os.cpu_count() or 1, []
    with ProcessPoolExecutor(workers) as pool:
        for cell in (Cell(*each) for each in product((500, 2_000, 10_000), (0.5, 0.05), _GAPS)):
            many = draws if cell.gap else round(_LEVEL_DRAWS * draws)
            edges = [many * one // workers for one in range(workers + 1)]
            counts = sum(pool.map(partial(results, cell), edges[:-1], edges[1:]))
            name = f"{cell.rows:,} rows, {100 * cell.share:g} % positive; {cell.gap:g}"
            lines.append([name, f"{many:,}", *(_share(*count, many) for count in np.asarray(counts).tolist())])
            print(" | ".join(lines[-1]), flush=True)
    return lines


def _share(made: int, finds: int, draws: int) -> str:
    if not made:
        return "none"
    share = finds / made
    text = f"{share:.3f} ± {math.sqrt(share * (1 - share) / made):.3f}"
    return text if made == draws else f"{made / draws:.2f}: {text}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args(arguments)
    lines = table(options.draws)
    if options.readme:
        write_section("sample_power", markdown(["rows; AUC apart", "samples", *TESTS], lines))


if __name__ == "__main__":
    main()
