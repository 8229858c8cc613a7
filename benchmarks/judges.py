"""Judges that are wrong in every way, judges of real lists, and plans whose second batch looks at the first.

    python -m benchmarks.judges [--draws 200] [--real-draws 400] [--runs 40] [--readme]

Draws are of ranks, and the whole curve is compared with the truth at every rank; the adaptive plans are drawn by counts
of blocks, on lists of independent labels. Real lists are those of ../shared/data; their judges never saw the labels
that they are scored by: an annotator beside the mean of the others, and frequencies that were counted on other items.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.coverage import binomial_tail
from benchmarks.readme import markdown, write_section
from streameval.judges.classes import judged_in_order
from streameval.judges.values import Judge
from streameval.kernels.martingale import bounds
from streameval.methods import create
from streameval.methods.loguniform import adaptive
from streameval.methods.loguniform.design import blocks, half_width, whole
from streameval.methods.loguniform.forecasts import Expected, smallest_c
from streameval.types import Labels

REAL = Path(__file__).resolve().parents[2] / "shared" / "data"
N, LABELS, DELTA = 100_000, 560, 0.05  # c is about 60
Bits = npt.NDArray[np.int8]
Maker = Callable[[Bits, np.random.Generator], Bits]

LISTS: dict[str, Callable[[npt.NDArray[np.float64], np.random.Generator], npt.NDArray[Any]]] = {
    "independent": lambda x, rng: rng.random(x.size) < 0.5,
    "falling": lambda x, rng: rng.random(x.size) < 0.95 - 0.8 * x,
    "blocks of 500": lambda x, rng: (x * x.size).astype(int) // 500 % 2 == 0,
    "ones, then zeros": lambda x, rng: x < 0.5,
    "zeros, then ones": lambda x, rng: x >= 0.5,
    "all zeros": lambda x, rng: np.zeros(x.size),
}
JUDGES: dict[str, Maker] = {
    "right on 90 %": lambda v, rng: np.where(rng.random(v.size) < 0.9, v, 1 - v),
    "always wrong": lambda v, rng: 1 - v,
    "perfect": lambda v, rng: v,
    "constant": lambda v, rng: np.ones_like(v),
    "a coin": lambda v, rng: rng.integers(0, 2, v.size).astype(np.int8),
    "right, then inverted": lambda v, rng: np.where(np.arange(v.size) < v.size / 2, v, 1 - v),
    "right to N/20, then a coin": lambda v, rng: np.where(
        np.arange(v.size) < v.size / 20, v, rng.integers(0, 2, v.size)
    ),
    "perfect but for four blocks": lambda v, rng: np.where(np.arange(v.size) % (v.size // 4) < 300, 1, v),
    "errors rising with rank": lambda v, rng: np.where(rng.random(v.size) < np.linspace(0, 0.6, v.size), 1 - v, v),
}
PAIRS = [("independent", judge) for judge in JUDGES] + [(name, "right on 90 %") for name in list(LISTS)[1:]]
SETTINGS: dict[str, dict[str, Any]] = {
    "a column": {},
    "a sample of 15,000": {"judge_sample": 15_000},
    "a column, 5 % of positives missing": {},
    "a sample of 15,000, 5 % of positives missing": {"judge_sample": 15_000},
    "a column, four batches": {"stages": 4},
    "a column, adaptive": {"adaptive": True},
}


def adversarial(setting: str, draws: int, n_items: int = N, labels: int = LABELS, delta: float = DELTA) -> list[int]:
    """Draws of each pair of `PAIRS` whose bounds fail at some rank; a judge answers for about a sixth of a list."""
    rng, x, missed = np.random.default_rng(1), np.arange(1, n_items + 1) / n_items, []
    options = {**SETTINGS[setting], "budget": labels, "confidence": 1 - delta, "judge_accuracy": 0.9}
    if "judge_sample" in options:
        options["judge_sample"] = int(options["judge_sample"] * n_items / N)
    method = create("loguniform", options)
    ends = method.rates(n_items)[0]
    for shape, kind in PAIRS:
        truth = LISTS[shape](x, rng).astype(np.int8)
        codes = JUDGES[kind](truth, rng).astype(np.uint8)
        total, wrong = np.concatenate([[0], np.cumsum(truth, dtype=np.int64)]), 0
        for seed in range(draws):
            plan = judged_in_order(method.plan(n_items, seed), Judge("j"), ends, codes)
            if method.adaptive:
                plan = method.continued(plan, Labels.of(plan, truth[plan.ranks - 1]))
            label = truth[plan.ranks - 1].copy()
            if "missing" in setting:
                label[(label == 1) & (rng.random(label.size) < 0.05)] = -1
            envelope = method.curve(plan, Labels.of(plan, label)).envelope
            y = total[envelope.rank]
            wrong += bool(np.any((envelope.lower > y) | (y > envelope.upper)))
        missed.append(wrong)
    return missed


def real() -> Iterator[tuple[str, str, Bits, Judge, npt.NDArray[np.uint8]]]:
    """A list's name, its judge in words, its labels, the judge and what it says of each item."""
    rng = np.random.default_rng(3)
    one = pq.read_table(REAL / "ppdb_human.parquet")
    votes = [rng.permutation(np.array(said.split(","), float)) for said in one.column("judgments").to_pylist()]
    others = np.array([np.mean(said[1:]) >= 3 for said in votes], np.int8)
    first = np.array([said[0] >= 3 for said in votes], np.uint8)
    yield "ppdb_human", "one annotator, of the mean of the others", others, Judge("j"), first
    one = pq.read_table(REAL / "clef_tar2017_amc.parquet")
    topic = np.unique(one.column("topic").to_pylist(), return_inverse=True)[1]
    said = np.floor(50 * np.abs(one.column("score_uwaterloo").to_numpy())).astype(int)
    yield "clef_tar2017_amc", "frequencies by another system's score, of other topics", *_fitted(one, said, topic)
    one = pq.read_table(REAL / "fivethirtyeight_all.parquet")
    kind = np.unique(one.column("forecast").to_pylist(), return_inverse=True)[1]
    said = kind * 100 + np.floor(20 * one.column("score").to_numpy()).astype(int)
    item = one.column("item_id").to_numpy()
    yield "fivethirtyeight_all", "frequencies by kind and forecast, of other items", *_fitted(one, said, item)
    for name in ("nyt10_reside", "skin_logreg"):
        one = pq.read_table(REAL / f"{name}.parquet")
        said = np.arange(one.num_rows) * 100 // one.num_rows
        yield name, "frequencies by score, of other items", *_fitted(one, said, one.column("item_id").to_numpy())


def _fitted(table: pa.Table, cell: Any, fold: Any) -> tuple[Bits, Judge, npt.NDArray[np.uint8]]:
    """The items of odd folds, judged by how often those of even ones are positive in the same cell."""
    truth, odd = np.asarray(table.column("label").to_numpy(), np.int8), fold % 2 == 1
    many = np.bincount(cell[~odd], minlength=cell.max() + 1)
    said = (np.bincount(cell[~odd], truth[~odd], many.size) + truth.mean()) / (many + 1)
    judge = Judge("j", (0.01, 0.05, 0.25, 0.5, 0.75, 0.95))
    return (
        truth[odd],
        judge,
        np.searchsorted(np.array(judge.thresholds), said[cell[odd]], side="right").astype(np.uint8),
    )


def real_draws(truth: Bits, judge: Judge, codes: npt.NDArray[np.uint8], draws: int) -> list[tuple[float, float, int]]:
    """Without the judge and with it: median half-width where it is widest, and at the last rank; draws that missed."""
    method = create("loguniform", {"budget": 1_500, "judge_accuracy": 0.9})
    ends, total = method.rates(truth.size)[0], np.concatenate([[0], np.cumsum(truth, dtype=np.int64)])
    found: list[list[tuple[float, float, bool]]] = [[], []]
    for seed in range(draws):
        plan = method.plan(truth.size, seed)
        for rows, now in zip(found, (plan, judged_in_order(plan, judge, ends, codes)), strict=True):
            curve = method.curve(now, Labels.of(now, truth[now.ranks - 1]))
            (low,), (high,) = curve.envelope.at(np.array([truth.size]))
            envelope, y = curve.envelope, total[curve.envelope.rank]
            missed = bool(np.any((envelope.lower > y) | (y > envelope.upper)))
            rows.append((curve.half_width().alpha, (high - low) / (high + low), missed))
    return [(float(np.median([a for a, _, _ in rows])), float(np.median([n for _, n, _ in rows])),
             sum(miss for _, _, miss in rows)) for rows in found]  # fmt: skip


SHAPES: dict[str, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]] = {
    "constant .5": lambda x: 0 * x + 0.5,
    "constant .7": lambda x: 0 * x + 0.7,
    "constant .9": lambda x: 0 * x + 0.9,
    ".97 falling to .5 in ln r": lambda x: np.interp(np.log(x), [np.log(1e-7), 0], [0.97, 0.5]),
    ".95, from N/100 down to .5": lambda x: np.interp(np.log(x), [np.log(0.01), 0], [0.95, 0.5]),
    ".95, .5 beyond N/1000": lambda x: np.where(x < 1e-3, 0.95, 0.5),
}


def second_batches(
    shape: str, runs: int, n_items: int = 10**7, alpha: float = 0.0812
) -> dict[str, tuple[float, float, int]]:
    """Of the fixed plan and of the adaptive one: median half-width, mean labels, runs that missed."""
    c, of, rng = smallest_c(n_items, alpha, DELTA, 0.5), Expected.from_accuracy(0.5), np.random.default_rng(2)
    design = blocks(n_items, c)
    first = blocks(n_items, c, adaptive.first(design.ends, c))
    p = SHAPES[shape]((design.ends - design.items / 2) / n_items)
    found: dict[str, list[tuple[float, int, bool]]] = {"fixed": [], "adaptive": []}
    for _ in range(runs):
        positive = rng.binomial(design.items, p)
        y, early = np.cumsum(positive), rng.binomial(positive, first.rate)
        drawn = early + rng.binomial(design.items - positive, first.rate)
        wanted = adaptive.densities(design.ends, c, drawn[:, None] * 1.0, early[:, None] * 1.0, of)
        for name, density in (("fixed", np.full(design.ends.size, c)), ("adaptive", wanted)):
            now = blocks(n_items, c, density)
            more = np.divide(now.rate - first.rate, 1 - first.rate, out=np.zeros(first.rate.size), where=first.rate < 1)
            k = early + rng.binomial(positive - early, more)
            n = k + drawn - early + rng.binomial(design.items - positive - (drawn - early), more)
            mu = adaptive.mixture(n_items, c, of) if name == "adaptive" else of.mixture(design)
            one = k[:, None] * 1.0
            low, high = whole(now, *bounds(now.phases, design.items[:, None] * 1.0, n[:, None] * 1.0, (one, one),
                                           of.prior, (mu, DELTA)))  # fmt: skip
            wide = half_width(now, (n * 1.0, k * 1.0), (low, high))
            found[name].append((wide, int(n.sum()), bool(np.any((y < low) | (y > high)))))
    return {name: (float(np.median([w for w, _, _ in rows])), float(np.mean([n for _, n, _ in rows])),
                   sum(miss for _, _, miss in rows)) for name, rows in found.items()}  # fmt: skip


_ADAPTIVE = ["list", "fixed", "labels", "adaptive", "labels", "missed"]
_REAL = ["list", "judge", "right", "widest, without", "with it", "at the end, without", "with it", "missed without",
         "with it"]  # fmt: skip
_WRONG = ["judge", "missed in all", "worst pair"]


def main() -> None:
    """Print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200, help="of each adversarial pair")
    parser.add_argument("--real-draws", type=int, default=400)
    parser.add_argument("--runs", type=int, default=40, help="of each list of adaptive plans")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    tables = []
    for title, head, rows in (
        ("Half-width 8.12 %, planned for .5, 10⁷ items:", _ADAPTIVE, _adaptive),
        ("Real lists, 1,500 labels on average:", _REAL, _real),
        (f"{len(PAIRS)} pairs of list and judge, {N:,} items, {LABELS} labels, every rank:", _WRONG, _adversarial),
    ):
        made = []
        for cells in rows(options):
            print("  ".join(f"{cell:>13}" for cell in cells), flush=True)
            made.append(cells)
        tables.append(f"{title}\n\n{markdown(head, made)}")
    if options.readme:
        write_section("judges", "\n\n".join(tables))


def _adaptive(options: argparse.Namespace) -> Iterator[list[str]]:
    for shape in SHAPES:
        found = second_batches(shape, options.runs)
        cells = [text for wide, labels, _ in found.values() for text in (f"{wide:.2%}", f"{labels:,.0f}")]
        yield [shape, *cells, f"{found['adaptive'][2]} of {options.runs}"]


def _real(options: argparse.Namespace) -> Iterator[list[str]]:
    for name, who, truth, judge, codes in real():
        without, with_one = real_draws(truth, judge, codes, options.real_draws)
        right = np.mean((judge.prior[codes] >= 0.5) == (truth == 1))
        widths = [f"{one[i]:.1%}" for i in (0, 1) for one in (without, with_one)]
        yield [
            name,
            who,
            f"{right:.1%}",
            *widths,
            *(f"{one[2]} of {options.real_draws}" for one in (without, with_one)),
        ]


def _adversarial(options: argparse.Namespace) -> Iterator[list[str]]:
    for setting in SETTINGS:
        missed = adversarial(setting, options.draws)
        worst = int(np.argmax(missed))
        tail = binomial_tail(options.draws, missed[worst], DELTA)
        said = f"{missed[worst]} of {options.draws} (p = {tail:.2g}): {', '.join(PAIRS[worst])}"
        yield [setting, f"{sum(missed)} of {options.draws * len(PAIRS):,}", said]


if __name__ == "__main__":
    main()
