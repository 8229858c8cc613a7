"""What samples that were drawn elsewhere are worth, and how often their bounds miss.

    python -m benchmarks.adopted [--draws 400] [--readme]

Widths: half-widths of precision at N, N/10, N/100 and N/1000 of a list of 10⁷ items of constant precision, with 10,007
labels by each design; medians of three draws. Misses: of draws from a list of 200,000 items, those in which the truth
leaves the bounds at any rank, at a confidence of 95 %; judged by exact binomial tests. Needs 1 GB, about 20 minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.readme import markdown, write_section
from streameval.methods import create
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Floor, Strata
from streameval.types import Labels, Plan

Truth = npt.NDArray[np.int8]
LONG, LABELS = 10_000_000, 10_007
SHORT, FEW = 200_000, 1_500
LISTS: dict[str, Callable[[np.random.Generator], Truth]] = {
    "half": lambda rng: (rng.random(SHORT) < 0.5).astype(np.int8),
    "nine of ten": lambda rng: (rng.random(SHORT) < 0.9).astype(np.int8),
    "falls .95 to .3": lambda rng: (rng.random(SHORT) < np.linspace(0.95, 0.3, SHORT)).astype(np.int8),
    "ones, zeros": lambda rng: (np.arange(SHORT) < SHORT // 3).astype(np.int8),
    "zeros, ones": lambda rng: (np.arange(SHORT) >= SHORT // 3).astype(np.int8),
    "blocks": lambda rng: (np.arange(SHORT) // 2_000 % 2 == 0).astype(np.int8),
    "every 7th 0": lambda rng: (np.arange(SHORT) % 7 != 0).astype(np.int8),
}


@dataclass(frozen=True)
class Design:
    """A way to draw from a list of `n_items`: gives the method, and a plan of one draw."""

    name: str
    plan: Callable[[int, int, np.random.Generator], Plan]


def uniform(n_items: int, labels: int, rng: np.random.Generator) -> Plan:
    """Draw uniformly."""
    return strata_plan("uniform", np.array([n_items]), np.array([labels]), rng)


def decades(n_items: int, labels: int, rng: np.random.Generator) -> Plan:
    """Label the first ranks whole, and as many of each decade beyond."""
    top = labels // 10
    last = np.append(top * (n_items / top) ** (np.arange(4) / 4), n_items).round().astype(np.int64)
    rest = labels - top
    return strata_plan("strata", last, np.array([top, *[rest // 4] * 3, rest - 3 * (rest // 4)]), rng)


def top_and_rest(n_items: int, labels: int, rng: np.random.Generator) -> Plan:
    """Label the top whole with half of the labels, and draw uniformly from the rest."""
    top = labels // 2
    return strata_plan("uniform", np.array([top, n_items]), np.array([top, labels - top]), rng)


def strata_plan(name: str, last: npt.NDArray[np.int64], drawn: npt.NDArray[np.int64], rng: np.random.Generator) -> Plan:
    """Plan of one draw by strata."""
    strata = Strata(last, drawn)
    starts = last - strata.width
    parts = [np.sort(rng.choice(int(w), int(n), replace=False, shuffle=False)) + s + 1
             for s, w, n in zip(starts, strata.width, drawn, strict=True)]  # fmt: skip
    return Adopted(drawn=name).adopt(int(last[-1]), 1, np.concatenate(parts), strata, None)


def poisson(n_items: int, labels: int, rng: np.random.Generator) -> Plan:
    """Draw each item by itself, at density c/(r + .75 c)."""
    c = float(labels)
    for _ in range(50):  # about so many labels are expected
        c = labels / (0.25 + math.log(n_items / c + 0.75))
    rank = np.arange(1, n_items + 1)
    probability = np.minimum(1.0, c / (rank + 0.75 * c))
    taken = np.flatnonzero(rng.random(n_items) < probability)
    last = np.unique(np.rint(np.geomspace(1, n_items, 600)).astype(np.int64))
    floor = Floor(last, np.minimum(1.0, c / (last + 0.75 * c)))
    return Adopted(drawn="poisson").adopt(n_items, 1, rank[taken], floor, probability[taken])


DESIGNS = (
    Design("uniform", uniform),
    Design("top tenth + four decades", decades),
    Design("top half + uniform rest", top_and_rest),
    Design("Poisson, c/(r + .75 c)", poisson),
)


def widths(precision: float) -> list[list[str]]:
    """Rows of half-widths of every design, and of a plan of ours."""
    rng, rows = np.random.default_rng(3), []
    ranks = [LONG // 10**k for k in range(4)]
    makers = [(one.name, lambda one=one: one.plan(LONG, LABELS, rng)) for one in DESIGNS]
    ours = create("loguniform", {"budget": LABELS})
    makers.append(("a plan of ours", lambda: ours.plan(LONG, int(rng.integers(2**40)))))
    for name, make in makers:
        found = []
        for _ in range(3):
            plan = make()
            label = (rng.random(plan.ranks.size) < precision).astype(np.int8)
            low, high = (
                create(plan.method, dict(plan.parameters)).curve(plan, Labels.of(plan, label)).envelope.at(ranks)
            )
            found.append((high - low) / 2 / ranks)
        rows.append([f"{precision:g}", name, *(f"{one:.4f}" for one in np.median(found, axis=0))])
    return rows


def misses(design: Design, name: str, draws: int) -> int:
    """Draws of a list of which the truth leaves the bounds at any rank."""
    seed = [one.name for one in DESIGNS].index(design.name) * 100 + list(LISTS).index(name)
    rng = np.random.default_rng(seed)
    truth = LISTS[name](rng)
    y, every = np.cumsum(truth), np.arange(1, SHORT + 1)
    missed = 0
    for _ in range(draws):
        plan = design.plan(SHORT, FEW, rng)
        curve = create(plan.method, dict(plan.parameters)).curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
        low, high = curve.envelope.at(every)
        missed += bool(np.any((low > y) | (high < y)))
    return missed


def tail(n: int, k: int, p: float) -> float:
    """Probability of k or more of n."""
    return float(sum(math.exp(math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p)
                              + (n - i) * math.log1p(-p)) for i in range(k, n + 1)))  # fmt: skip


def main() -> None:
    """Print both tables, and write them to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    head = ["precision", "design", "at N", "N/10", "N/100", "N/1000"]
    wide = markdown(head, widths(0.5) + widths(0.9))
    print(wide, flush=True)
    rows, smallest = [], 1.0
    for design in DESIGNS:
        counts = [misses(design, name, arguments.draws) for name in LISTS]
        smallest = min(smallest, *(tail(arguments.draws, one, 0.05) for one in counts))
        rows.append([design.name, *map(str, counts)])
    missed = markdown([f"misses of {arguments.draws} draws", *LISTS], rows)
    print(missed)
    said = f"Smallest binomial p-value of {len(DESIGNS) * len(LISTS)} tests against 5 %: {smallest:.3f}."
    print(said)
    if arguments.readme:
        write_section("adopted", f"{wide}\n\n{missed}\n\n{said}")


if __name__ == "__main__":
    main()
