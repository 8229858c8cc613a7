"""Bounds on means over many rankings from a draw of them: how often they miss, and how wide they are.

Run `python -m benchmarks.rankings_means`, with `--readme` to keep the table.
"""

from __future__ import annotations

import argparse
import math
from statistics import NormalDist

import numpy as np

from benchmarks.adopted import tail
from benchmarks.readme import write_section
from streameval.kernels.predictions import METRICS, PRECISION, RECIPROCAL_RANK, SUCCESS, YES, predict
from streameval.kernels.tied_items import discounts
from streameval.kernels.without_replacement import lower_bound

_POPULATION = 100_000
_DRAWN = 500
_CONFIDENCES = (0.9, 0.95, 0.99, 0.999)
_HEAD = """\
| values of the rankings | confidence | missed | p-value | width | normal missed | normal width |
| --- | --: | --: | --: | --: | --: | --: |"""


def populations(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values such as precision at 10 and success have: most of them 0."""
    few = rng.random(_POPULATION)
    return {
        "success, 1 in 2": (few < 0.5).astype(float),
        "success, 1 in 20": (few < 0.05).astype(float),
        "success, 1 in 500": (few < 0.002).astype(float),
        "precision at 10, 9 of 10 rankings 0": np.where(few < 0.1, rng.binomial(10, 0.3, _POPULATION) / 10, 0.0),
        "reciprocal rank, 99 of 100 rankings 0": np.where(few < 0.01, 1 / rng.integers(1, 11, _POPULATION), 0.0),
    }


def row(name: str, values: np.ndarray, confidence: float, draws: int, seed: int) -> str:
    """Draw, bound and count."""
    rng, delta, mean = np.random.default_rng(seed), 1 - confidence, float(values.mean())
    z = NormalDist().inv_cdf(1 - delta / 2) * math.sqrt(1 - _DRAWN / _POPULATION)
    missed, normal, width, narrow = 0, 0, 0.0, 0.0
    for _ in range(draws):
        drawn = values[rng.choice(_POPULATION, _DRAWN, replace=False)]
        low = lower_bound(drawn, float(_POPULATION), delta / 2)
        high = 1 - lower_bound(1 - drawn, float(_POPULATION), delta / 2)
        half = z * float(drawn.std(ddof=1)) / math.sqrt(_DRAWN)
        missed += not low <= mean <= high
        normal += not abs(float(drawn.mean()) - mean) <= half
        width, narrow = width + (high - low) / draws, narrow + 2 * half / draws
    p = min(1.0, tail(draws, missed, delta))
    return f"| {name} | {confidence} | {missed} | {p:.3f} | {width:.4f} | {normal} | {narrow:.4f} |"


_JUDGED_HEAD = """\
| values of the rankings | judge | confidence | missed | p-value | width | without the judge |
| --- | --- | --: | --: | --: | --: | --: |"""
_ITEMS = 10


def judged_populations(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, int, int]]:
    """Whether each of the first ten items of each ranking is positive; the metric, and its cutoff."""
    spread = rng.random((_POPULATION, _ITEMS)) < rng.random((_POPULATION, 1))
    mostly = rng.random((_POPULATION, _ITEMS)) < np.where(rng.random((_POPULATION, 1)) < 0.1, 0.3, 0.0)
    return {
        "precision at 10, from 0 to 1": (spread, PRECISION, 10),
        "reciprocal rank at 10, from 0 to 1": (spread, RECIPROCAL_RANK, 10),
        "success at 1, 1 in 2": (spread, SUCCESS, 1),
        "precision at 10, 9 of 10 rankings 0": (mostly, PRECISION, 10),
    }


def judges(truth: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """What judges say of every item, from 0 to YES."""
    wrong = rng.random(truth.shape) < 0.1
    share = truth.mean(axis=1, keepdims=True)
    return {
        "right": truth * YES,
        "right on 90 % of items": (truth ^ wrong) * YES,
        "knows each ranking's share": np.rint(np.broadcast_to(share, truth.shape) * YES),
        "says the same of all": np.full(truth.shape, YES // 3),
        "at random": rng.integers(0, YES + 1, truth.shape),
        "always wrong": ~truth * YES,
    }


def predictions(answers: np.ndarray, metric: int, cutoff: int) -> np.ndarray:
    """What follows from a judge's answers for the metric of every ranking."""
    own = discounts(_ITEMS)
    tables, cuts = (own, np.cumsum(own)[[cutoff - 1]]), np.array([cutoff])
    out, size = np.empty((len(answers), METRICS)), answers.size
    keys, said = np.arange(size, dtype=np.uint64), answers.astype(np.uint8).ravel()
    predict(keys, said, np.arange(0, size + 1, _ITEMS), cuts, tables, out)
    return np.ascontiguousarray(out[:, metric])


def judged_row(
    names: tuple[str, str], values: np.ndarray, said: np.ndarray, confidence: float, draws: int, seed: int
) -> str:
    """Draw, bound with a judge and without, and count."""
    rng, delta, mean = np.random.default_rng(seed), 1 - confidence, float(values.mean())
    total, missed, width, alone = float(said.sum()), 0, 0.0, 0.0
    for _ in range(draws):
        at = rng.choice(_POPULATION, _DRAWN, replace=False)
        drawn, judge = values[at], (said[at], total, float(said.max()))
        other = (1 - said[at], _POPULATION - total, 1 - float(said.min()))
        low = lower_bound(drawn, _POPULATION, delta / 2, judge)
        high = 1 - lower_bound(1 - drawn, _POPULATION, delta / 2, other)
        missed += not low <= mean <= high
        width += (high - low) / draws
        alone += 1 - lower_bound(1 - drawn, _POPULATION, delta / 2) - lower_bound(drawn, _POPULATION, delta / 2)
    p = min(1.0, tail(draws, missed, delta))
    cells = (*names, confidence, missed, f"{p:.3f}", f"{width:.4f}", f"{alone / draws:.4f}")
    return f"| {' | '.join(map(str, cells))} |"


def judged_table(draws: int) -> list[str]:
    """Every population with every judge."""
    rng, lines = np.random.default_rng(2), [_JUDGED_HEAD]
    for name, (truth, metric, cutoff) in judged_populations(rng).items():
        values = predictions(truth * YES, metric, cutoff)
        for judge, answers in judges(truth, rng).items():
            said = predictions(answers, metric, cutoff)
            for confidence in (0.9, 0.99):
                lines.append(judged_row((name, judge), values, said, confidence, draws, len(lines)))
                print(lines[-1], flush=True)
    return lines


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--readme", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args()
    lines = [_HEAD]
    for name, values in populations(np.random.default_rng(1)).items():
        for confidence in _CONFIDENCES:
            lines.append(row(name, values, confidence, options.draws, len(lines)))
            print(lines[-1], flush=True)
    lines += ["", *judged_table(options.draws)]
    if options.readme:
        write_section("rankings_means", "\n".join(lines))


if __name__ == "__main__":
    main()
