"""How far estimates are from the truth: ours, the middle of the bounds that stood in their place, and weighted labels.

    python -m benchmarks.estimates [--draws 200] [--labels 500,2000,8000] [--processes 2] [--readme]

"Middle" is 2LU/(L + U) of each metric's bounds, which was printed as the estimate before; "weighted" puts the labels'
inverse probabilities into the formula of each metric (Horvitz and Thompson). Real lists are those of ../shared/data.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.machine import commit
from benchmarks.readme import markdown, write_section
from streameval.curve import Curve, areas, points, targets
from streameval.curve.at_cutoff import bounds_at
from streameval.judges.classes import judged_in_order
from streameval.judges.values import Judge
from streameval.methods import create
from streameval.methods.adopted.steps import Strata
from streameval.types import Labels, Plan

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
N = 100_000
SHAPES = {
    "flat .5": lambda x: 0 * x + 0.5,
    "flat .9": lambda x: 0 * x + 0.9,
    "falling": lambda x: 0.95 * np.exp(-x / 0.12),
    "rare": lambda x: np.minimum(0.6, 2e-5 / x**0.9),
}
LISTS = ("ppdb_human", "nyt10_reside", "clef_tar2017_amc", "skin_logreg", "fivethirtyeight_all", *SHAPES)
DESIGNS = ("loguniform", "judge", "adopted uniform")
CUTOFFS = (10, 100, 1_000, 10_000)
METRICS = ("p@10", "p@100", "p@1k", "p@10k", "N+", "recall N/10", "AP", "AUC", "max F1", "rank at .9")
NINE = Fraction(9, 10)
WAYS = ("middle", "ours", "weighted")
Floats = npt.NDArray[np.float64]


@cache
def truth_of(name: str) -> npt.NDArray[np.int8]:
    if name in SHAPES:
        rng = np.random.default_rng(1)
        return (rng.random(N) < SHAPES[name](np.arange(1, N + 1) / N)).astype(np.int8)
    return np.asarray(pq.read_table(REAL / f"{name}.parquet", columns=["label"]).column("label").to_numpy(), np.int8)


def drawn(design: str, truth: npt.NDArray[np.int8], labels: int, seed: int) -> Plan:
    """A plan of about so many labels; the judge is right on 90 % of the items."""
    n = truth.size
    if design == "adopted uniform":
        rank = np.sort(np.random.default_rng(seed).choice(n, labels, replace=False)) + 1
        strata = Strata(np.array([n]), np.array([labels]))
        return create("adopted", {"drawn": "uniform"}).adopt(n, seed, rank, strata, None)
    method = create("loguniform", {"budget": labels})
    plan = method.plan(n, seed)
    if design == "loguniform":
        return plan
    right = np.random.default_rng(seed + 10**6).random(n) < 0.9
    codes = np.where(right, truth, 1 - truth).astype(np.uint8)
    return judged_in_order(plan, Judge("says"), method.rates(n)[0], codes)


def true_values(truth: npt.NDArray[np.int8]) -> Floats:
    y, r = np.cumsum(truth, dtype=np.int64), np.arange(1, truth.size + 1)
    return of_labels(r, truth, np.ones(truth.size), truth.size, y[-1])


def of_labels(rank: Any, label: Any, weight: Floats, n: int, total: float) -> Floats:
    """Every metric of weighted labels, the formulas as they are."""
    found = np.cumsum(weight * label)
    at = np.concatenate([[0.0], found])[np.searchsorted(rank, [*CUTOFFS, n // 10], side="right")]
    pairs = np.cumsum(weight * (1 - label))
    wrong, below = float(np.sum(weight * label * pairs)), float(total * pairs[-1])
    kept = np.flatnonzero(found / rank >= 0.9)
    return np.array([
        *(at[:4] / CUTOFFS), total, at[4] / total if total else np.nan,
        float(np.sum(weight * label * found / rank)) / total if total else np.nan,
        1 - wrong / below if below else np.nan,
        float(np.max(2 * found / (rank + total))) if total else np.nan,
        float(rank[kept[-1]]) if kept.size else 0.0,
    ])  # fmt: skip


def middles(curve: Curve) -> Floats:
    (extremes,), n = curve.extremes, curve.n_items
    known = curve.known([*CUTOFFS, n, n // 10])
    low, high = bounds_at(known, "precision")
    recall = bounds_at(known, "recall")
    bounds = [*zip(low[:4], high[:4], strict=True), (low[4] * n, high[4] * n), (recall[0][5], recall[1][5]),
              areas.average_precision(extremes), areas.roc_auc(extremes), points.max_f(extremes),
              targets.rank_at_precision(extremes, NINE)]  # fmt: skip
    return np.array([2 * a * b / (a + b) if a + b > 0 else 0.0 for a, b in bounds])


def ours(curve: Curve) -> Floats:
    one, n = curve.plug_in, curve.n_items
    if one is None:
        return np.full(len(METRICS), np.nan)
    p = one.at("precision", [*CUTOFFS, n])
    return np.array([*p[:4], p[4] * n, float(one.at("recall", [n // 10])[0]), one.average_precision(0.0),
                     one.roc_auc(), one.max_f(1.0)[0], one.rank_at_precision(NINE)])  # fmt: skip


def draw(name: str, design: str, labels: int, seed: int) -> Floats:
    """Every metric by each way, shape (ways, metrics)."""
    truth = truth_of(name)
    plan = drawn(design, truth, labels, seed)
    label = truth[plan.ranks - 1]
    method = create(plan.method, dict(plan.parameters))
    curve = method.curve(plan, Labels.of(plan, label))
    weight = np.asarray(method.weights(plan), np.float64)  # type: ignore[attr-defined]
    return np.array([middles(curve), ours(curve), of_labels(plan.ranks, label, weight, truth.size, weight @ label)])


def measured(pool: ProcessPoolExecutor, name: str, design: str, labels: int, draws: int) -> Floats:
    """RMSE and bias of each way, shape (2, ways, metrics)."""
    rows = np.array(list(pool.map(partial(draw, name, design, labels), range(draws), chunksize=10)))
    error = rows - true_values(truth_of(name))
    return np.array([np.sqrt(np.nanmean(error**2, axis=0)), np.nanmean(error, axis=0)])


def _ratio(above: Floats, below: Floats) -> str:
    """Geometric mean over lists, of those that neither estimates exactly."""
    some = (above > 1e-12) & (below > 1e-12)
    return f"{np.exp(np.mean(np.log(above[some] / below[some]))):.2f}" if some.any() else "-"


def tables(found: dict[tuple[str, int], Floats], names: list[str]) -> Iterator[str]:
    """Of RMSE and bias, shape (lists, 2, ways, metrics), by design and labels."""
    truth = np.array([true_values(truth_of(name)) for name in names])
    rows, bias, picked = [], [], ["N+", "AP", "AUC", "max F1"]
    for (design, labels), each in found.items():
        rmse = each[:, 0]
        cells = [f"{_ratio(rmse[:, 1, m], rmse[:, 0, m])}, {_ratio(rmse[:, 1, m], rmse[:, 2, m])}"
                 for m in range(len(METRICS))]  # fmt: skip
        rows.append([f"{design}, {labels:,}", *cells])
        relative = np.abs(each[:, 1]) / np.maximum(np.abs(truth), 1e-12)[:, None, :]
        middle = np.nanmedian(np.where(truth[:, None, :] > 0, relative, np.nan), axis=0)
        shown = [", ".join(f"{100 * middle[way, m]:.2g}" for way in range(3)) for m in (1, 2, 4, 5, 6, 7, 8)]
        bias.append([f"{design}, {labels:,}", *shown])
    yield "RMSE of ours over that of the middle of the bounds, over that of weighted labels (geometric mean of lists):"
    yield markdown(["design, labels", *METRICS], rows)
    yield "Bias, % of the truth (median over lists of its size): middle of the bounds, ours, weighted labels:"
    yield markdown(["design, labels", *(METRICS[m] for m in (1, 2, 4, 5, 6, 7, 8))], bias)
    labels = 2_000 if any(key[1] == 2_000 for key in found) else next(iter(found))[1]
    columns = [("loguniform", m) for m in picked] + [("adopted uniform", m) for m in ("p@10", "p@100", "AP", "AUC")]
    columns = [(design, m) for design, m in columns if (design, labels) in found]
    each = [[name, *(" / ".join(f"{found[d, labels][at, 0, way, METRICS.index(m)]:.3g}" for way in range(3))
                     for d, m in columns)] for at, name in enumerate(names)]  # fmt: skip
    yield f"RMSE at {labels:,} labels: middle of the bounds / ours / weighted labels:"
    yield markdown(["list", *(f"{d}: {m}" for d, m in columns)], each)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--labels", default="500,2000,8000")
    parser.add_argument("--lists", default=",".join(LISTS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    names = [name for name in options.lists.split(",") if name in SHAPES or (REAL / f"{name}.parquet").exists()]
    found = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for design in DESIGNS:
            for labels in map(int, options.labels.split(",")):
                each = [measured(pool, name, design, labels, options.draws) for name in names]
                found[design, labels] = np.array(each)
                print(f"{design}, {labels:,}: measured", flush=True)
    text = "\n\n".join(tables(found, names))
    print(text)
    if options.readme:
        made = "five real lists and four of 100,000 items" if len(names) == len(LISTS) else ", ".join(names)
        write_section("estimates", f"{options.draws} draws a list, {made}, commit {commit()}.\n\n{text}")


if __name__ == "__main__":
    main()
