"""Labels of `loguniform` for PAULA's own guarantee, the half-width that simulated lists reach, and how often they miss.

    python -m benchmarks.widths [--runs 400] [--long-runs 200] [--judges 0.5,0.8,0.9,0.95,0.99] [--readme]

Lists are independent labels of one precision, and a judge of one accuracy; counts of blocks are drawn, so that any N is
cheap. The exact binomial test of each cell asks whether more runs missed than 1 in 20.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.coverage import binomial_tail
from benchmarks.readme import markdown, write_section
from streameval.methods import create
from streameval.methods.loguniform.design import blocks
from streameval.methods.loguniform.forecasts import Expected, simulate

ALPHA, DELTA = 0.0812, 0.05  # γ(1+ε) − 1 of PAULA at ε = .03, Δ = 100


def row(n_items: int, precision: float, accuracy: float | None, runs: int) -> tuple[list[str], int, float]:
    """A line of the table, runs that missed, and the p-value of their number."""
    parameters = {"alpha": ALPHA, "min_precision": precision, "judge_accuracy": accuracy}
    started = time.process_time()
    cost = create("loguniform", parameters).cost(n_items)
    planned = time.process_time() - started
    design, of = blocks(n_items, cost["density"]), Expected.from_accuracy(precision, accuracy)
    started = time.process_time()
    reached, missed = simulate(design, DELTA, of, runs, seed=n_items % 9973)
    band = (time.process_time() - started) / runs
    tail = binomial_tail(runs, missed, DELTA)
    who = "none" if accuracy is None else f"right on {accuracy:.0%}"
    cells = [f"{n_items:,}", f"{precision}", who, f"{cost['labels']:,}", f"{np.median(reached):.2%}"]
    return [*cells, f"{missed} of {runs}", f"{planned:.2f} s", f"{band * 1e3:.0f} ms"], missed, tail


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400, help="of 10⁷ items; 0 leaves them out")
    parser.add_argument("--long-runs", type=int, default=200, help="of 2·10⁹ items; 0 leaves them out")
    parser.add_argument("--judges", default="0.5,0.8,0.9,0.95,0.99")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    create("loguniform", {"judge_accuracy": 0.9}).cost(10**4)  # compiled before anything is timed
    judges = [None, *(float(one) for one in options.judges.split(",") if one)]
    rows, misses, runs, least = [], 0, 0, 1.0
    for n_items, many in ((10**7, options.runs), (2 * 10**9, options.long_runs)):
        for precision in (0.5, 0.7, 0.9) if many else ():
            for accuracy in judges:
                cells, missed, tail = row(n_items, precision, accuracy, many)
                print("  ".join(f"{cell:>13}" for cell in cells), flush=True)
                rows.append(cells)
                misses, runs, least = misses + missed, runs + many, min(least, tail)
    head = ["items", "precision", "judge", "labels", "median half-width", "missed", "plan, CPU", "a run"]
    paula = " and ".join(f"{create('paula').cost(n)['labels']:,}" for n in (10**7, 2 * 10**9))
    text = (
        f"Half-width {ALPHA:.2%} at 95 %; PAULA takes {paula} labels. In all {misses} of {runs} runs missed "
        f"({misses / runs:.1%}); smallest binomial p-value of {len(rows)} tests: {least:.3g}, times their number "
        f"{min(1, least * len(rows)):.3g}. A run is a simulated draw with its band."
    )
    print(text)
    if options.readme:
        write_section("widths", f"{markdown(head, rows)}\n\n{text}")


if __name__ == "__main__":
    main()
