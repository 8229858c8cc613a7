"""How often intervals of `exact --sample-of rows` hold the value of a real list, in samples of 2,000 of its rows.

    python -m benchmarks.sample_real [--draws 300] [--readme]

Rows are drawn with replacement from the lists of ../shared/data, so that each whole list is the population. The first
k items of a sample stand for the share k/2,000 of the list.
"""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streameval
from benchmarks.readme import markdown, write_section
from benchmarks.sample_intervals import REAL, TENTHS, Population, of_list

SIZE = 2_000
_NAMES = {"average_precision": "AP", "roc_auc": "AUC", "r_precision": "R"}  # here and in `Population.value`
_LOSSES = ("brier", "log_loss")
_MIRRORED = re.compile("^(e_measure|false_positive_rate)")  # one less F1, and one less specificity
_UNKNOWN = re.compile("^(none is known|the best of all)")  # of any list
Key = tuple[str, str]


@dataclass
class Counts:
    """Samples with an interval of a metric, those whose interval holds the value, the sum of their widths."""

    issued: int = 0
    holds: int = 0
    width: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, other: Counts) -> None:
        """Add those of other samples."""
        self.issued, self.holds = self.issued + other.issued, self.holds + other.holds
        self.width += other.width
        self.reasons += other.reasons


def rows_of(name: str, number: int) -> list[dict[str, Any]]:
    """Draw a sample of a list, and give the metrics that may have an interval."""
    scores, labels, _ = of_list(REAL / f"{name}.parquet")(np.random.default_rng([number, 10]), SIZE)
    table = pa.table({"score": scores, "label": labels.astype(np.int8)})
    result = streameval.exact(table, score="score", label="label", sample_of="rows", at=f"score:{TENTHS[name]}")
    return [row for row in result.metrics.to_pylist()
            if not _MIRRORED.match(row["metric"]) and not _UNKNOWN.match(row["no_interval"] or "")]  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """What a whole list has."""

    name: str
    ranked: Population
    losses: Mapping[str, float | None]

    @staticmethod
    def of(name: str) -> Truth:
        """Read it."""
        table = pq.read_table(REAL / f"{name}.parquet", columns=["score", "label"])
        rows = table["score"].to_numpy().astype(np.float64), table["label"].to_numpy().astype(np.int64)
        metrics = streameval.exact(table, score="score", label="label").metrics.to_pylist()
        means = {row["metric"]: row["estimate"] for row in metrics if row["metric"] in _LOSSES}
        return Truth(name, Population.ranked((*rows, np.arange(table.num_rows))), means)

    def value(self, metric: str, argument: str) -> float | None:
        """Give a metric; None where it is undefined."""
        if metric in _LOSSES:
            return self.losses.get(metric)
        share = int(argument) / SIZE if metric.endswith("_at") else 0.0
        return self.ranked.value(_NAMES.get(metric, metric.removesuffix("_at")), share, TENTHS[self.name])


def counts(name: str, first: int, last: int) -> dict[Key, Counts]:
    """Count over samples of a list."""
    truth, total, values = Truth.of(name), defaultdict[Key, Counts](Counts), dict[Key, float | None]()
    for number in range(first, last):
        for row in rows_of(name, number):
            key = row["metric"], "" if row["metric"].endswith("_at_score") else row["argument"]
            value = values[key] if key in values else values.setdefault(key, truth.value(*key))
            if value is None:
                continue
            of = total[key]
            if row["low"] is None:
                of.reasons[re.sub(r"\b(?![01]\b)\d[\d,]*", "n", row["no_interval"])] += 1
                continue
            of.issued += 1
            of.holds += row["low"] <= value <= row["high"]
            of.width += row["high"] - row["low"]
    return dict(total)


def gathered(draws: int) -> dict[str, dict[Key, Counts]]:
    """Count over samples of every list that is here."""
    workers = os.cpu_count() or 1
    edges, lists = [draws * one // workers for one in range(workers + 1)], dict[str, dict[Key, Counts]]()
    with ProcessPoolExecutor(workers) as pool:
        for name in (name for name in TENTHS if (REAL / f"{name}.parquet").exists()):
            total = lists.setdefault(name, defaultdict(Counts))
            for part in pool.map(partial(counts, name), edges[:-1], edges[1:]):
                for key, of in part.items():
                    total[key].add(of)
            issued, holds = (sum(getattr(of, what) for of in total.values()) for what in ("issued", "holds"))
            print(f"{name}: {issued:,} intervals, {holds:,} of them hold the value", flush=True)
    return lists


def tables(lists: Mapping[str, Mapping[Key, Counts]], draws: int) -> str:
    """Give how often intervals hold, and how often there are none for which reason."""
    keys = dict.fromkeys(key for of in lists.values() for key, each in of.items() if each.issued)
    lines = [[" ".join(key).strip(), *(_cell(of.get(key), draws) for of in lists.values())] for key in keys]
    whys = {name: sum((each.reasons for each in of.values()), Counter[str]()) for name, of in lists.items()}
    reasons = [[why, *(f"{each[why] / draws / len(lists[name]):.3f}" for name, each in whys.items())]
               for why in dict.fromkeys(why for each in whys.values() for why in each)]  # fmt: skip
    return "\n\n".join(
        [markdown(["metric", *lists], lines), markdown(["no interval, share of metrics", *lists], reasons)]
    )


def _cell(of: Counts | None, draws: int) -> str:
    if of is None or not of.issued:
        return "none"
    return f"{of.issued / draws:.2f}: {of.holds / of.issued:.3f}, {of.width / of.issued:.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args(arguments)
    text = tables(gathered(options.draws), options.draws)
    print(text)
    if options.readme:
        about = f"{options.draws:,} samples of each; samples with an interval: of these hold the value, mean width."
        write_section("sample_real", f"{text}\n\n{about}")


if __name__ == "__main__":
    main()
