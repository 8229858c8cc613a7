"""Does `loguniform` hold the whole true curve as often as it promises? 1,000 seeded draws per list and confidence.

    python -m benchmarks.coverage [--replicates 1000] [--readme]

Lists are shapes of N items (flat, declining, stepped, rising, adversarial …) and the real lists of ../shared/data where
they are. Counts of blocks are drawn, not ranks: the same law at a hundredth of the time (the tests draw ranks). Misses
are judged by binomial tests over all combinations together; beside them, where PAULA's own bracket holds the truth.
Pairs of orders of the same items are compared in the same way: how often is a bound on the difference of their
precisions false at any rank?
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.readme import markdown, write_section
from streameval.curve import Curve
from streameval.curve.envelope import Points, lift
from streameval.kernels.martingale import bounds
from streameval.kinds.curve.comparison import Side, sharing_positives, subtract
from streameval.methods import create
from streameval.methods.loguniform.design import Blocks, blocks, whole
from streameval.methods.loguniform.forecasts import Expected, smallest_c
from streameval.methods.replicates import replicate
from streameval.metrics import ROUNDING
from streameval.types import Claim

CONFIDENCES = (0.5, 0.9, 0.95, 0.999)
SIZES = (1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
ALPHA = 0.16  # a plan that leaves even short lists something to draw
Truth = npt.NDArray[np.int8]


def _random(share: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]) -> Callable[[int], Truth]:
    return lambda n: (np.random.default_rng(n).random(n) < share(np.arange(1, n + 1) / n)).astype(np.int8)


def _first_half_of_each_block(n: int) -> Truth:
    truth, start = np.zeros(n, np.int8), 0
    for end in _design(n, 0.95).ends.tolist():
        truth[start : start + (end - start + 1) // 2] = 1
        start = end
    return truth


PAIRED = ("flat, .5", "declining", "stepped")
PAIR_SIZES = (100, 1_000, 10_000)
SHAPES: dict[str, Callable[[int], Truth]] = {
    "flat, .5": _random(lambda x: 0 * x + 0.5),
    "flat, .9": _random(lambda x: 0 * x + 0.9),
    "rare, .02": _random(lambda x: 0 * x + 0.02),
    "declining": _random(lambda x: 0.95 - 0.8 * x),
    "stepped": _random(lambda x: np.where(x < 0.1, 0.9, 0.3)),
    "rising tail": _random(lambda x: np.where(x > 0.7, 0.8, 0.2)),
    "first half of each block": _first_half_of_each_block,
    "alternating": lambda n: (np.arange(n) % 2).astype(np.int8),
    "all 0": lambda n: np.zeros(n, np.int8),
    "all 1": lambda n: np.ones(n, np.int8),
}


def _design(n_items: int, confidence: float) -> Blocks:
    return blocks(n_items, smallest_c(n_items, ALPHA, 1 - confidence, 0.5))


def _positives(truth: Truth, design: Blocks) -> npt.NDArray[np.int64]:
    return np.add.reduceat(truth, np.concatenate([[0], design.ends[:-1]]), dtype=np.int64)


def _band(
    design: Blocks, positive: npt.NDArray[np.int64], delta: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Draw, and bound the yield at the end of each block."""
    found = rng.binomial(positive, design.rate).astype(np.float64)[:, None]
    drawn = found + rng.binomial(design.items - positive, design.rate)[:, None]
    of, items = Expected.from_accuracy(0.5), design.items.astype(np.float64)[:, None]
    return whole(design, *bounds(design.phases, items, drawn, (found, found), of.prior, (of.mixture(design), delta)))


def misses(truth: Truth, confidence: float, replicates: int) -> tuple[int, int]:
    """Draws whose band fails to hold the truth somewhere, and labels of each."""
    design, rng = _design(truth.size, confidence), np.random.default_rng(truth.size)
    positive = _positives(truth, design)
    y, missed = np.cumsum(positive), 0
    for _ in range(replicates):
        low, high = _band(design, positive, 1 - confidence, rng)
        missed += bool(np.any((y < low) | (y > high)))
    return missed, design.labels


def pair_misses(truth: Truth, confidence: float, replicates: int) -> tuple[int, int]:
    """Pairs of draws, one of either order, whose bounds on the difference of precision fail somewhere; their labels.

    The second order is the first with ranks disturbed; both bring their positives to bear, as in `compare`.
    """
    share, ranks = 1 - (1 - confidence) / 2, np.arange(1, truth.size + 1)
    rng = np.random.default_rng(truth.size)
    other = truth[np.argsort(ranks + truth.size / 4 * rng.standard_normal(truth.size), kind="stable")]
    design = _design(truth.size, share)
    counts = [_positives(one, design) for one in (truth, other)]
    gap = (np.cumsum(truth, dtype=np.int64) - np.cumsum(other, dtype=np.int64)) / ranks
    missed = 0
    for _ in range(replicates):
        sides = []
        for positive in counts:
            envelope = lift(truth.size, Points(design.ends, *_band(design, positive, 1 - share, rng)))
            curve = Curve(truth.size, envelope, ranks, Claim("simultaneous", share, "the draw"))
            sides.append(Side("", "loguniform", {}, design.labels, curve, "majority"))
        shared = sharing_positives(*sides) or tuple(sides)
        (low_a, high_a), (low_b, high_b) = (side.curve.envelope.at(ranks) for side in shared)
        low, high = subtract(low_a / ranks, high_b / ranks), subtract(high_a / ranks, low_b / ranks)
        missed += bool(np.any((gap < low - ROUNDING) | (gap > high + ROUNDING)))
    return missed, 2 * design.labels


def pairs() -> Iterator[tuple[str, Truth]]:
    """The lists of which two orders are compared."""
    for shape in PAIRED:
        for n in PAIR_SIZES:
            yield f"compare: {shape}", SHAPES[shape](n)


def lists() -> Iterator[tuple[str, Truth]]:
    """Every shape at every size, then the real lists."""
    for shape, make in SHAPES.items():
        for n in SIZES:
            yield shape, make(n)
    for path in sorted(REAL.glob("*.parquet")):
        yield path.stem, pq.read_table(path, columns=["label"]).column("label").to_numpy().astype(np.int8)


def binomial_tail(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) ≥ k)."""
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p)
            + (n - i) * math.log1p(-p) for i in range(k, n + 1)]  # fmt: skip
    return min(1.0, sum(map(math.exp, logs)))


def _bracket(inside: float) -> str:
    if math.isinf(inside):
        return "-"
    return "every item labelled" if math.isnan(inside) else f"{inside:.0%} of grid points"


def main() -> None:
    """Run, print, and write the README's table if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    worst: dict[str, list[float]] = {}
    bracket: dict[str, float] = {}
    least = 1.0
    asked = [*((misses, *one) for one in lists()), *((pair_misses, *one) for one in pairs())]
    for how, name, truth in asked:
        row = []
        for confidence in CONFIDENCES:
            missed, labels = how(truth, confidence, options.replicates)
            row.append(missed / options.replicates)
            least = min(least, binomial_tail(options.replicates, missed, 1 - confidence))
        worst[name] = [max(pair) for pair in zip(worst.get(name, row), row, strict=True)]
        # the last size stands; a comparison has no bracket of PAULA's
        bracket[name] = replicate(create("paula"), truth, 1).inside if how is misses else math.inf
        print(f"{name:28} N {truth.size:>9,}  labels {labels:>6,}  missed " + "  ".join(f"{x:.3f}" for x in row)
              + f"  PAULA inside {_bracket(bracket[name])}", flush=True)  # fmt: skip
    tests = len(CONFIDENCES) * len(asked)
    verdict = (
        f"Smallest binomial p-value of {tests} tests: {least:.3g}, times their number {min(1, tests * least):.3g}."
    )
    print(verdict)
    head = ["list", *(f"missed at {c:g}" for c in CONFIDENCES), "PAULA's bracket holds"]
    rows = [[name, *(f"{x:.1%}" for x in row), _bracket(bracket[name])] for name, row in worst.items()]
    if options.readme:
        text = f"{options.replicates:,} draws per list and confidence; of shapes, the worst N of 1 … 10⁶. {verdict}"
        write_section("coverage", f"{markdown(head, rows)}\n\n{text}")


if __name__ == "__main__":
    main()
