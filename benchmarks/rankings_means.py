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


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--readme", action="store_true", help="put the table into benchmarks/README.md")
    options = parser.parse_args()
    lines = [_HEAD]
    for name, values in populations(np.random.default_rng(1)).items():
        for confidence in _CONFIDENCES:
            lines.append(row(name, values, confidence, options.draws, len(lines)))
            print(lines[-1], flush=True)
    if options.readme:
        write_section("rankings_means", "\n".join(lines))


if __name__ == "__main__":
    main()
