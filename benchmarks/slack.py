"""Where the band of `loguniform` is wider than its confidence asks for: what is left of δ, and what took it.

    python -m benchmarks.slack [--replicates 1000]

The band ends where a mixture of supermartingales M, started at 1, reaches 2/δ (streameval/kernels/band.py). Stopped
there, or at the end of the list, its mean says where the allowed misses of one side go:

    1 = P(crossed)·(2/δ)·overshoot + E(M; not crossed) + lost to inequalities

`crossed` of the nominal is what is used. Overshoot: M jumps past 2/δ by a whole stratum. Not crossed: evidence that is
still there when the list ends. Inequalities: the hypergeometric factor bounded by a binomial one, and the least
favourable number of positives a stratum in place of the true one. The first two follow from Ville's inequality in
finite time; the last is lost only because numbers of labels are fixed in advance.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from streameval.kernels.band import EXACT_RATIO, EXACT_WIDTH, _gain, _pmf_table
from streameval.kernels.jit import kernel
from streameval.methods.loguniform.design import allocation, mixture, smallest_c, stratum_ends
from streameval.typing import FloatArray, Int64Array

SIZES = (1_000, 10_000, 100_000, 1_000_000)
DELTA = 0.05


@kernel
def mixture_at_truth(
    ends: Int64Array, n: Int64Array, k: Int64Array, positive: Int64Array, mu: FloatArray
) -> FloatArray:
    """log of the mixture at the true yield, at every stratum end: the statistic that the band compares with log 2/δ."""
    total = np.full(mu.size, -math.log(mu.size))
    out = np.empty(ends.size)
    table, table_w, table_n = np.zeros((1, 1)), -1, -1
    weight = found = drawn = start = unknown = 0.0
    for j in range(ends.size):
        w = ends[j] - ends[j - 1] if j else ends[j]
        if n[j] < w:
            q = (found + 0.25 / (1 + drawn)) / (weight + 0.5 / (1 + drawn))
            small = w <= EXACT_WIDTH and w <= EXACT_RATIO * n[j]
            if small and (w != table_w or n[j] != table_n):
                table, table_w, table_n = _pmf_table(w, n[j]), w, n[j]
            unknown += positive[j]
            for m in range(mu.size):
                total[m] += _gain(table, small and mu[m] * w < 300, mu[m], w, n[j], k[j], q, k[j], w - n[j] + k[j])
        drawn += n[j]
        decay, share, start = (start / ends[j]) ** 2, w / ends[j], ends[j]
        weight, found = weight * decay + share, found * decay + share * k[j] / n[j]
        logs = mu * unknown + total
        out[j] = logs.max() + math.log(np.exp(logs - logs.max()).sum())
    return out


def account(n_items: int, precision: float, alpha: float, replicates: int) -> dict[str, float]:
    """Shares of the allowed misses of one side, over seeded draws of one list of constant precision."""
    c = smallest_c(n_items, alpha, DELTA, 0.5)[0]
    ends = stratum_ends(n_items, c)
    n, rng = allocation(ends, c, c), np.random.default_rng(n_items)
    mu = mixture(ends, n, 0.5)
    truth = rng.random(n_items) < precision
    positive = np.add.reduceat(truth, np.concatenate([[0], ends[:-1]]), dtype=np.int64)
    negative, threshold = np.diff(ends, prepend=0) - positive, math.log(2 / DELTA)
    overshoots, left = [], 0.0
    for _ in range(replicates):
        found = rng.hypergeometric(positive, negative, n)
        for k, of in ((found, positive), (n - found, negative)):
            logs = mixture_at_truth(ends, n, k, of, mu)
            crossed = np.flatnonzero(logs >= threshold)
            if crossed.size:
                overshoots.append(math.exp(logs[crossed[0]] - threshold))
            else:
                left += math.exp(logs[-1])
    used = len(overshoots) / (2 * replicates) / (DELTA / 2)
    jumps = used * (float(np.mean(overshoots)) - 1) if overshoots else 0.0
    left /= 2 * replicates
    return {"labels": int(n.sum()), "used": used, "overshoot": jumps, "not crossed": left,
            "inequalities": max(0.0, 1 - used - jumps - left)}  # fmt: skip


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    options = parser.parse_args()
    head = ("items", "precision", "labels", "crossed", "overshoot", "left", "inequal.")
    print("  ".join(f"{cell:>9}" for cell in head))
    for n_items in SIZES:
        for precision in (0.5, 0.9):
            for alpha in (0.08, 0.16):
                got = account(n_items, precision, alpha, options.replicates)
                labels = got.pop("labels")
                row = [f"{n_items:,}", f"{precision:g}", f"{labels:,}", *(f"{x:.0%}" for x in got.values())]
                print("  ".join(f"{cell:>9}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
