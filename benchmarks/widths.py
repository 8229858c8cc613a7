"""Labels of `loguniform` for PAULA's own guarantee, the half-width that simulated lists reach, and the time it takes.

    python -m benchmarks.widths [--runs 400] [--readme]

Lists are independent labels of one precision; a stratum's totals are drawn, so that any N is cheap.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from benchmarks.readme import markdown, write_section
from streameval.kernels.band import band
from streameval.methods import create
from streameval.methods.loguniform.design import allocation, half_widths, mixture, stratum_ends

ALPHA = 0.0812  # γ(1+ε) − 1 of PAULA at ε = .03, Δ = 100


def simulate(n_items: int, p: float, runs: int) -> tuple[int, float, int, float]:
    """Labels, median half-width, runs that missed the truth somewhere, median seconds of a band."""
    cost = create("loguniform", {"alpha": ALPHA, "min_precision": p}).cost(n_items)
    ends = stratum_ends(n_items, cost["density"])
    n = allocation(ends, cost["density"], cost["density"])
    weights, rest = mixture(ends, n, p), np.diff(ends, prepend=0) - n
    rng = np.random.default_rng(n_items)
    reached, seconds, missed = [], [], 0
    for _ in range(runs):
        found = rng.binomial(n, p)
        y = np.cumsum(found + rng.binomial(rest, p))
        started = time.perf_counter()
        low, high = band(ends, n, found, found, weights, 0.05)
        seconds.append(time.perf_counter() - started)
        missed += bool(np.any((y < low) | (y > high)))
        reached.append(half_widths(ends, n, low.astype(np.float64), high.astype(np.float64)).max())
    return cost["labels"], float(np.median(reached)), missed, float(np.median(seconds))


def main() -> None:
    """Print the table, and how a plan of 10¹² items fares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    rows = []
    for n_items in (10**7, 2 * 10**9):
        paula = create("paula").cost(n_items)["labels"]
        for p in (0.5, 0.7, 0.9):
            labels, reached, missed, seconds = simulate(n_items, p, options.runs)
            cells = [f"{n_items:,}", f"{p}", f"{paula:,}", f"{labels:,}", f"{paula / labels:.1f} ×"]
            rows.append([*cells, f"{reached:.2%}", f"{missed} of {options.runs}", f"{seconds * 1e3:.0f} ms"])
    head = ["items", "precision", "PAULA", "loguniform", "fewer", "median half-width", "missed", "band"]
    table = markdown(head, rows)
    started = time.perf_counter()
    plan = create("loguniform").plan(10**12)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    text = (
        f"Half-width {ALPHA:.2%} at 95 %, {options.runs} simulated lists each. A plan for 10¹² items "
        f"({plan.table.num_rows:,} labels) takes {seconds:.2f} s; the whole process peaked at {peak:.0f} MB."
    )
    print(f"{table}\n\n{text}")
    if options.readme:
        write_section("widths", f"{table}\n\n{text}")


if __name__ == "__main__":
    main()
