"""How often intervals of a labelled list that is a sample hold the value of its population, on many shapes of lists.

    python -m benchmarks.sample_intervals [--draws 2000] [--readme]

Each cell draws samples of one population, whose values are those of a list of some millions of rows. `issued` is the
share of samples in which there is an interval at all, `covers` how many of these hold the value.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.readme import markdown, write_section
from streameval.counting.block_groups import TiedRows
from streameval.counting.block_sums import before_each
from streameval.counting.blocks import sum_range
from streameval.counting.influence import Clusters, bins_of, by_bin, hashes_of
from streameval.counting.labelled_rows import RowRange
from streameval.counting.lookups import Places
from streameval.counting.totals import fold
from streameval.metrics import cutoffs
from streameval.metrics.cases import Ranked, rank_cases
from streameval.metrics.exact import Counted
from streameval.metrics.intervals import AT_CUTOFF, SampledList, SampleInterval, interval
from streameval.metrics.sampled_rows import metrics_at_score
from streameval.metrics.tied import Tied
from streameval.typing import FloatArray, Int64Array

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
TENTHS = {
    "clef_tar2017_amc": 0.5364,
    "fivethirtyeight_all": 0.88,
    "nyt10_reside": -5_745.0,
    "ppdb_human": 3.36,
    "skin_logreg": 1.04,
}  # fmt: skip  (scores that about a tenth of a real list reaches)
_POPULATION = 2_000_000  # rows
METRICS = ("AP", "AUC", "R", *AT_CUTOFF)
AT_SCORE = tuple(f"{name}_at_score" for name in AT_CUTOFF)
Rows = tuple[FloatArray, Int64Array, Int64Array]  # scores, labels, and which cluster each row is of
Shape = Callable[[np.random.Generator, int], Rows]
Sizes = Callable[[np.random.Generator, int], Int64Array]


@dataclass(frozen=True)
class Cell:
    """A shape of list, how many clusters a sample has, and the cutoffs of its metrics: a rank, and a score."""

    draw: Shape
    clusters: int
    k: int = 100
    score: float = 1.5


def summed(rows: Rows, score: float = 1.5) -> SampledList:
    """Sum a sample, with the items of a score or a better one."""
    scores, labels, clusters = rows
    order = np.argsort(-scores, kind="stable")
    scores, labels = scores[order], labels[order]
    keys = np.cumsum(np.append(0, scores[1:] != scores[:-1])).astype(np.uint64)
    bins = bins_of(hashes_of(clusters[order].astype(np.uint64)))
    wanted, above = cutoffs(labels.size), max(1, int(np.count_nonzero(scores >= score)))
    rows_in_order = RowRange(0, labels.astype(np.uint8), keys, bins=bins)
    part, _ = sum_range(rows_in_order, wanted, [int(keys[above - 1])])
    totals = fold([part], wanted)
    sizes, positives = np.bincount(keys.astype(np.int64)), np.bincount(keys.astype(np.int64), labels).astype(np.int64)
    places = Places(totals, lambda _: TiedRows(before_each(sizes), before_each(positives)))
    assert totals.influence is not None
    rank = totals.positives
    return SampledList(Counted(places, 0), totals.influence.with_top(rank, by_bin(bins[:rank], labels[:rank])))


def intervals(sampled: SampledList, k: int, columns: tuple[str, ...] = ()) -> dict[str, SampleInterval]:
    """Give the interval of every metric that has one value."""
    derived = {"AP": sampled.average_precision(), "AUC": sampled.roc_auc()}
    positives = sampled.counted.totals.positives
    derived |= {} if sampled.is_tied(positives) else {"R": sampled.r_precision()}
    derived |= {} if sampled.is_tied(k) else {name: sampled.at_cutoff(name, k) for name in AT_CUTOFF}
    rows = metrics_at_score(sampled, Clusters(columns, ("",)), 0)
    at_score = {row[0]: found for row, (found, _) in rows if row[0] in AT_SCORE}
    return {name: interval(one) for name, one in derived.items()} | at_score


def independent(shift: float, share: float, values: int = 0, spread: float = 1.0) -> Shape:
    """Rows by themselves, normal in each class: in so many values a unit (0: all), and a spread of negatives."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        labels = (rng.random(n) < share).astype(np.int64)
        scores = rng.normal(size=n) * np.where(labels == 1, 1.0, spread) + shift * labels
        return np.round(scores * values) if values else scores, labels, np.arange(n)

    return draw


def of_probability(alpha: float, beta: float) -> Shape:
    """Rows by themselves whose scores are the probabilities of their labels, of a beta distribution."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        scores = rng.beta(alpha, beta, n)
        return scores, (rng.random(n) < scores).astype(np.int64), np.arange(n)

    return draw


def half_without_skill(shift: float, share: float) -> Shape:
    """Rows by themselves; every other positive has a score as negatives have."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        labels = (rng.random(n) < share).astype(np.int64)
        return rng.normal(size=n) + shift * labels * (rng.random(n) < 0.5), labels, np.arange(n)

    return draw


def exponential(mean: float, share: float) -> Shape:
    """Rows by themselves, exponential in each class: of mean 1 the negatives."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        labels = (rng.random(n) < share).astype(np.int64)
        return rng.exponential(size=n) * np.where(labels == 1, mean, 1.0), labels, np.arange(n)

    return draw


def clustered(shift: float, share: float, sizes: Sizes, common: float = 0.3) -> Shape:
    """Clusters of rows, whose scores share a part of their variance, and whose labels have a base rate of their own."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        cluster = np.repeat(np.arange(n), sizes(rng, n))
        rates = rng.beta(share * (1 / common - 1), (1 - share) * (1 / common - 1), n)
        labels = (rng.random(cluster.size) < rates[cluster]).astype(np.int64)
        own, joint = rng.normal(size=cluster.size), rng.normal(size=n)
        scores = np.sqrt(1 - common) * own + np.sqrt(common) * joint[cluster] + shift * labels
        return scores, labels, cluster

    return draw


def even(most: int) -> Sizes:
    """Sizes from 1 to some number, each as likely."""
    return lambda rng, n: rng.integers(1, most + 1, n)


def pareto(power: float) -> Sizes:
    """Sizes with a heavy tail."""
    return lambda rng, n: np.minimum(np.floor(rng.random(n) ** (-1.0 / power)), 10_000).astype(np.int64)


def lognormal(spread: float) -> Sizes:
    """Sizes about 5, whose logarithms are normal."""
    return lambda rng, n: np.maximum(1, np.floor(5 * np.exp(spread * rng.normal(size=n)))).astype(np.int64)


def of_list(path: Path) -> Shape:
    """Rows of a real list, drawn with replacement."""

    def draw(rng: np.random.Generator, n: int) -> Rows:
        scores, labels = _read(path)
        drawn = rng.integers(0, labels.size, n)
        return scores[drawn], labels[drawn], np.arange(n)

    return draw


@cache
def _read(path: Path) -> tuple[FloatArray, Int64Array]:
    rows = pq.read_table(path, columns=["score", "label"])
    return rows["score"].to_numpy().astype(np.float64), rows["label"].to_numpy().astype(np.int64)


TUNED = {
    "rows: base rate .1, AUC .75": Cell(independent(0.95, 0.1), 2_000),
    "rows: base rate .5, AUC .95": Cell(independent(2.33, 0.5), 500),
    "rows: base rate .98, AUC .8": Cell(independent(1.19, 0.98), 4_000),
    "rows: base rate .01, AUC .9": Cell(independent(1.81, 0.01), 10_000),
    "rows: base rate .003, AUC .98": Cell(independent(2.9, 0.003), 20_000, 100, 2.5),
    "rows: two scores a unit, base rate .2": Cell(independent(1.0, 0.2, 2), 2_000),
    "rows: wide negatives, base rate .05": Cell(independent(1.5, 0.05, 0, 2.0), 5_000, 1_000),
    "rows: base rate .02, no skill": Cell(independent(0.0, 0.02), 5_000),
    "200 clusters of 1 to 50, base rate .1": Cell(clustered(0.95, 0.1, even(50)), 200),
    "200 clusters of 1 to 50, base rate .5": Cell(clustered(2.33, 0.5, even(50)), 200, 1_000),
    "100 clusters of 1 to 20, base rate .5": Cell(clustered(0.95, 0.5, even(20)), 100),
    "1,000 clusters, Pareto 1.2, base rate .1": Cell(clustered(0.95, 0.1, pareto(1.2)), 1_000),
    "1,000 clusters, Pareto 1.6, base rate .3": Cell(clustered(1.5, 0.3, pareto(1.6)), 1_000),
    "3,000 clusters of 1 to 5, base rate .02": Cell(clustered(1.81, 0.02, even(5)), 3_000, 1_000, 2.5),
    "500 clusters alike within (.9), base rate .2": Cell(clustered(1.5, 0.2, even(10), 0.9), 500, 100, 0.5),
    "rows: base rate .02, AUC .95": Cell(independent(2.33, 0.02), 4_000, 100, 2.5),
    "rows: base rate .95, AUC .7": Cell(independent(0.74, 0.95), 1_500, 100, 0.5),
    "rows: base rate .9, AUC .9": Cell(independent(1.81, 0.9), 1_000, 100, 1.0),
    "80 clusters of 1 to 40, base rate .3": Cell(clustered(1.0, 0.3, even(40)), 80),
    "400 clusters, lognormal 1.5, base rate .2": Cell(clustered(1.5, 0.2, lognormal(1.5)), 400, 1_000),
    "600 clusters, lognormal 1.2, base rate .1": Cell(clustered(1.5, 0.1, lognormal(1.2)), 600, 1_000),
    "5,000 clusters, Pareto 1.4, base rate .02": Cell(clustered(2.0, 0.02, pareto(1.4)), 5_000, 100, 2.5),
    "400 clusters, Pareto 1.8, base rate .3": Cell(clustered(1.2, 0.3, pareto(1.8)), 400, 100, 1.0),
    **{
        f"2,000 rows of {name}": Cell(of_list(REAL / f"{name}.parquet"), 2_000, 100, score)
        for name, score in TENTHS.items()
        if (REAL / f"{name}.parquet").exists()
    },
}
# drawn for the first time when the rules of `streameval.metrics.intervals` stood
FRESH = {
    "rows: scores are probabilities, Beta(.5, 4.5)": Cell(of_probability(0.5, 4.5), 3_000, 100, 0.3),
    "rows: half of positives without skill, base rate .08": Cell(half_without_skill(2.5, 0.08), 3_000, 100, 2.0),
    "rows: exponential scores, base rate .3": Cell(exponential(3.0, 0.3), 1_000, 100, 3.0),
    "rows: base rate .6, AUC .65": Cell(independent(0.545, 0.6), 400, 100, 0.5),
    "rows: base rate .005, AUC .85": Cell(independent(1.466, 0.005), 30_000, 1_000, 2.5),
    "rows: base rate .15, AUC .9": Cell(independent(1.81, 0.15), 700, 100, 1.0),
    "rows: one score a unit, base rate .05": Cell(independent(1.5, 0.05, 1), 4_000),
    "rows: narrow negatives, base rate .3": Cell(independent(0.8, 0.3, 0, 0.5), 1_500, 100, 1.0),
    "rows: base rate .03, AUC .8": Cell(independent(1.19, 0.03), 10_000, 1_000, 2.0),
    "150 clusters of 1 to 10, base rate .2": Cell(clustered(1.2, 0.2, even(10)), 150, 100, 1.0),
    "300 clusters of 1 to 30, base rate .05": Cell(clustered(1.8, 0.05, even(30)), 300, 100, 2.0),
    "1,000 clusters of 1 to 3, base rate .3": Cell(clustered(1.0, 0.3, even(3)), 1_000),
    "250 clusters, lognormal 1, base rate .4": Cell(clustered(1.2, 0.4, lognormal(1.0)), 250, 100, 1.0),
    "2,000 clusters, Pareto 2, base rate .1": Cell(clustered(1.5, 0.1, pareto(2.0)), 2_000, 100, 2.0),
    "500 clusters alike within (.6), base rate .1": Cell(clustered(1.0, 0.1, even(8), 0.6), 500),
    "60 clusters of 1 to 10, base rate .5": Cell(clustered(1.0, 0.5, even(10)), 60, 100, 0.5),
}
CELLS = {**TUNED, **FRESH}


def population_of(size: float) -> int:
    """Say how many clusters of some mean size make a population."""
    return int(_POPULATION / size)


@dataclass(frozen=True)
class Population:
    """Values of a population, from a list of millions of its rows."""

    items: Ranked

    @staticmethod
    @cache
    def of(name: str) -> Population:
        """Draw it."""
        cell, rng = CELLS[name], np.random.default_rng(1)
        some = cell.draw(rng, 2_000)[1].size / 2_000
        return Population.ranked(cell.draw(rng, population_of(some)))

    @staticmethod
    def ranked(rows: Rows) -> Population:
        """Rank its rows."""
        return Population(rank_cases(rows[1], rows[0]))

    def value(self, metric: str, share: float, score: float) -> float:
        """Give a metric, of a share of the list where it has a cutoff, or of all items of a score or a better one."""
        places, totals = self.items.places, self.items.places.totals
        if metric in AT_SCORE:
            last = -1 - int(np.searchsorted(self.items.score[::-1], score))  # from best to worst
            above = int(self.items.found[last]), int(self.items.ranks[last])
            return AT_CUTOFF[metric.removesuffix("_at_score")]((*above, totals.positives, totals.n_items))[0]
        k = totals.positives if metric == "R" else round(share * totals.n_items)
        if metric == "AP":
            return totals.precision_sum["grouped"] / totals.positives
        if metric == "AUC":
            return totals.roc_auc(0)["expected"]
        found = Tied(places, totals.positives).yield_at(k)
        return AT_CUTOFF["precision" if metric == "R" else metric]((found, k, totals.positives, totals.n_items))[0]


def coverage(name: str, first: int, last: int) -> dict[str, list[int]]:
    """Draw the samples of a cell: how many have an interval of each metric, and how many of these hold the value."""
    cell, whole, counts = CELLS[name], Population.of(name), dict[str, list[int]]()
    for number in range(first, last):
        rows = cell.draw(np.random.default_rng([number, 9]), cell.clusters)
        columns = ("cluster",) if rows[1].size > cell.clusters else ()
        for metric, found in intervals(summed(rows, cell.score), cell.k, columns).items():
            value = whole.value(metric, cell.k / rows[1].size, cell.score)
            issued, holds = counts.setdefault(metric, [0, 0])
            counts[metric] = [issued + (found.reason is None), holds + (found.low <= value <= found.high)]
    return counts


def table(draws: int) -> list[list[str]]:
    """Give a line for each cell: of each metric the share of samples with an interval, and how many hold the value."""
    workers = os.cpu_count() or 1
    lines = []
    with ProcessPoolExecutor(workers) as pool:
        edges = [draws * one // workers for one in range(workers + 1)]
        for name in CELLS:
            parts = list(pool.map(partial(coverage, name), edges[:-1], edges[1:]))
            every = (*METRICS, *AT_SCORE)
            total = {metric: np.sum([part.get(metric, [0, 0]) for part in parts], axis=0) for metric in every}
            lines.append([name, *(_cell(*counts.tolist(), draws) for counts in total.values())])
            print(" | ".join(lines[-1]), flush=True)
    return lines


def _cell(issued: int, holds: int, draws: int) -> str:
    return f"{issued / draws:.2f}: {holds / issued:.3f}, {(issued - holds) / draws:.3f}" if issued else "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--readme", action="store_true")
    asked = parser.parse_args(arguments)
    lines = table(asked.draws)
    if asked.readme:
        wide = len(METRICS) + 1
        tables = [markdown(["samples", *METRICS], [line[:wide] for line in lines]),
                  markdown(["samples", *AT_SCORE], [[line[0], *line[wide:]] for line in lines])]  # fmt: skip
        about = f"{asked.draws:,} samples a line; samples with an interval: of these hold the value, of all are wrong."
        write_section("sample_intervals", "\n\n".join([*tables, about]))


if __name__ == "__main__":
    main()
