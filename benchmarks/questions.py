"""Labels that a question takes, and how often its answer is wrong, on simulated lists.

    python -m benchmarks.questions [--parts forecasts,gates,points,positives,cuts,recalls] [--runs 200] [--readme]

Every run has a list and a draw of its own, goes through the designs that studies use, in rounds as large as theirs, and
stops where they stop. Gates take about 15 minutes on two cores, the rest five.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section
from benchmarks.shapes import SHAPES, N, Shape, shape_of
from benchmarks.simulated_lists import SimulatedList, ask
from streameval.kernels.hypergeometric import log_binomial
from streameval.kinds.question.cost import curve_as_sharp
from streameval.questions.asking import Asking
from streameval.sequential.deciding import WORTH

K, DELTA = 10**6, 0.05
T = TypeVar("T")
_log_binomial = log_binomial.plain()
_STOPS = (400, 700, 1000, 2000, 4000)
_LISTED, _PATIENCE, _LOOKS = 320_000, 5_000, 4  # items, labels and rounds of forecasts
CASES = ("precision", "recall", "positives", "precision, anywhere", "recall, anywhere")
_COUNTED = 10**8  # items: in longer lists the expected number of positives stands for theirs, which it is to 1 in 1,000


@dataclass(frozen=True)
class Found:
    """What one run came to.

    Attributes:
        asked, counted: Labels that were asked for, and those until it was decided.
        measures: What a table shows besides.
    """

    asked: int
    counted: int
    is_wrong: bool
    measures: tuple[float, ...] = ()
    refused: str = ""


def _seeds(name: str, run: int) -> tuple[int, int]:
    """Of a list and of its draw, others for every case."""
    start = int.from_bytes(name.encode(), "big") % 1_000_003
    return start * 10_000 + run, start * 10_000 + 5_000 + run


@dataclass(frozen=True)
class Runs:
    """How many runs a case has, and on how many processes."""

    number: int
    processes: int

    def of(self, run: Callable[[int], T], share: float = 1.0) -> list[T]:
        """All runs of a case, or a share of as many."""
        numbers = range(max(2, round(self.number * share)))
        if self.processes == 1:
            return [run(number) for number in numbers]
        with ProcessPoolExecutor(self.processes) as pool:
            return list(pool.map(run, numbers, chunksize=5))


def _wrong(what: str, found: Sequence[Found]) -> str:
    wrong = sum(one.is_wrong for one in found)
    return f"{what}: {wrong} wrong of {len(found):,}; {DELTA * len(found):,.0f} are allowed."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _quantiles(values: Sequence[float]) -> list[str]:
    """Mean, median and what nine in ten do not exceed."""
    return [_number(one) for one in (np.mean(values), *np.quantile(values, [0.5, 0.9], method="inverted_cdf"))]


def gate(case: tuple[str, float, str | None, bool], run: int) -> Found:
    """Ask whether the first 10⁶ have a precision: (threshold, what they have, zone, whether that is expected)."""
    threshold, precision, zone, expected = case
    terms = f"{f' zone {zone}' if zone else ''}{f' expect {precision}' if expected else ''}"
    asking = Asking(f"precision@{K} >= {threshold}{terms}")
    seeds = _seeds(f"gate {case}", run)
    of = Shape(N, lambda _: precision).list(seeds[0])
    done, positives = ask(asking, of, seeds[1]), of.positives([K])[0]
    lenient = float(threshold) - float(zone or 0)
    wrong = {"pass": positives < round(lenient * K), "fail": positives >= round(float(threshold) * K)}
    return Found(done.labels, done.answer.lines[0].labels, wrong.get(done.answer.outcome, False))


def gates(runs: Runs) -> str:
    """Labels of gates, without a zone, with what is expected, and with a zone."""
    rows, every = [], []
    cases = [("0.9", one) for one in (1.0, 0.97, 0.95, 0.93, 0.85, 0.8)] + [("0.5", 0.6)]
    for (threshold, precision), how in product(cases, ("", "expect", ".02", ".05")):
        zone = how if how.startswith(".") else None
        found = runs.of(partial(gate, (threshold, precision, zone, how == "expect")))
        null = float(threshold) - (float(zone or 0) if precision >= float(threshold) else 0)
        curve = curve_as_sharp(Asking(f"precision@{K} >= {null:g} expect {precision}"), N)
        floor, sample = wald_floor(null, precision, DELTA), fixed_sample(null, precision, DELTA)
        name = {"": "", "expect": "expected"}.get(how, f"zone {how}")
        rows.append(
            [f">= {threshold[1:]}", f"{precision:g}", name, *_quantiles([one.counted for one in found]),
             *_quantiles([one.asked for one in found]), *map(_number, (floor, sample, _labels(curve))),
             str(sum(one.is_wrong for one in found))]
        )  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
        every += found
    head = ["precision of the first 10⁶", "it is", "", "labels that decided: mean", "median", "nine in ten",
            "asked for: mean", "median", "nine in ten", "Wald's floor", "fixed sample", "whole curve",
            "wrong"]  # fmt: skip
    return f"{markdown(head, rows)}\n\n{_wrong('Gates', every)}"


def _labels(curve: tuple[float, int] | None) -> int | None:
    return None if curve is None else curve[1]


def point(case: tuple[float, str, tuple[int, ...]], run: int) -> Found:
    """Ask for the precision at some ranks: (what it is, half-width, ranks)."""
    precision, half, ranks = case
    seeds = _seeds(f"point {case}", run)
    of = Shape(N, lambda _: precision).list(seeds[0])
    done = ask(Asking(f"precision@{','.join(map(str, ranks))} within {half}"), of, seeds[1])
    lines = done.answer.lines
    truth = [positives / rank for positives, rank in zip(of.positives([*ranks]), ranks, strict=True)]
    missed = any(not one.lower <= true <= one.upper for one, true in zip(lines, truth, strict=True))
    widest = max((one.upper - one.lower) / 2 for one in lines)
    return Found(done.labels, done.labels, missed, (widest, float(max(done.state["looks"]) == 1)))


def points(runs: Runs) -> str:
    """Labels of precision at one rank and at five, and how wide the bounds became."""
    rows, every = [], []
    for (precision, half), ranks in product(
        ((0.5, "0.0406"), (0.9, "0.03")), ((K,), (10**3, 10**4, 10**5, 10**6, 10**7))
    ):
        found = runs.of(partial(point, (precision, half, ranks)), 0.5)
        curve = curve_as_sharp(Asking(f"precision@{K} within {half} expect {precision}"), N)
        widths = [one.measures[0] for one in found]
        name = "10⁶" if len(ranks) == 1 else "10³, 10⁴ ... 10⁷"
        rows.append(
            [name, f"{precision:g} ± {half[1:]}", *_quantiles([one.asked for one in found]),
             f"{np.median(widths):.4f}", f"{max(widths):.4f}", _enough(found), _number(_labels(curve)), _missed(found)]
        )  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
        every += found
    head = ["at ranks", "precision", "labels: mean", "median", "nine in ten", "widest half-width: median", "largest",
            "first plan sufficed", "whole curve", "missed"]  # fmt: skip
    return f"{markdown(head, rows)}\n\n{_wrong('Precision at ranks', every)} {_sufficed(every)}"


def wald_floor(threshold: float, precision: float, delta: float) -> float:
    """Least mean number of labels of any test that may be looked at after each: ln(1/δ) / KL(precision, threshold)."""
    terms = [(precision, threshold), (1 - precision, 1 - threshold)]
    return math.log(1 / delta) / sum(p * math.log(p / t) for p, t in terms if p > 0)


def fixed_sample(threshold: float, precision: float, delta: float, power: float = 0.9) -> int:
    """Labels of the one-sided exact binomial test that reaches a power, of a size fixed by who knows the precision."""
    if precision < threshold:
        threshold, precision = 1 - threshold, 1 - precision
    n, needed, false, true = 0, 0, 1.0, 1.0  # P(Bin(n, t) >= needed), P(Bin(n, p) >= needed)
    while false > delta or true < power:
        false += threshold * math.exp(_log_binomial(needed - 1.0, float(n), threshold))
        true += precision * math.exp(_log_binomial(needed - 1.0, float(n), precision))
        n += 1
        while false > delta:
            false -= math.exp(_log_binomial(float(needed), float(n), threshold))
            true -= math.exp(_log_binomial(float(needed), float(n), precision))
            needed += 1
    return n


def _enough(found: Sequence[Found]) -> str:
    return f"{sum(one.measures[1] for one in found):.0f} of {len(found)}"


def _sufficed(found: Sequence[Found]) -> str:
    return f"The first plan sufficed in {np.mean([one.measures[1] for one in found]):.0%}."


def _missed(found: Sequence[Found]) -> str:
    return f"{sum(one.is_wrong for one in found)} of {len(found)}"


def total(case: tuple[str, int], run: int) -> Found:
    """Ask how many positives there are: (shape of the list, percent)."""
    shape, percent = case
    seeds = _seeds(f"total {case}", run)
    of = shape_of(shape).list(seeds[0])
    done = ask(Asking(f"positives within {percent}%"), of, seeds[1])
    (line,) = done.answer.lines
    counted = of.n_items <= _COUNTED
    truth = of.positives([of.n_items])[0] if counted else of.expected_positives(of.n_items)
    fixed, forecast = done.state.get("chosen") == "fixed", done.state.get("forecasts", {"blocks": 0})
    enough = done.state["looks"] == 1 if fixed else done.labels - done.first <= 2 * forecast["blocks"]
    measures = (line.upper - line.lower) / 2 / line.estimate, float(enough), float(fixed)
    return Found(done.labels, line.labels, not line.lower <= truth <= line.upper, measures, done.refused)


def totals(runs: Runs) -> str:
    """Labels of the number of positives, of lists that fall slowly and steeply."""
    rows, every = [], []
    for shape, percent in product(SHAPES, (20, 10)):
        found = runs.of(partial(total, (shape, percent)), 0.2)
        positives = shape_of(shape).list(0).expected_positives(shape_of(shape).n_items)
        floor = math.log(2 / DELTA) * shape_of(shape).n_items / (percent / 100 * positives)
        done, refused = [one for one in found if not one.refused], sum(bool(one.refused) for one in found)
        widths = [one.measures[0] for one in done]
        samples = sum(one.measures[2] for one in done)
        shown = (
            [
                *_quantiles([one.asked for one in done]),
                f"{np.median(widths):.1%}",
                f"{max(widths):.1%}",
                _enough(done),
                f"{samples:.0f}",
            ]
            if done
            else [""] * 7
        )
        rows.append(
            [f"{shape}: {positives:,.0f}", f"{percent} %", *shown, _number(floor), str(refused),
             _missed(done) if done else ""]
        )  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
        every += done
    head = ["list: positives", "within", "labels: mean", "median", "nine in ten", "half-width: median", "largest",
            "first plan sufficed", "by a fixed sample", "floor", "refused", "missed"]  # fmt: skip
    return f"{markdown(head, rows)}\n\n{_wrong('Numbers of positives', every)} {_sufficed(every)}"


def cut(case: tuple[str, str], run: int) -> Found:
    """Ask where to cut: (shape of the list, precision)."""
    shape, precision = case
    seeds = _seeds(f"cut {case}", run)
    of = shape_of(shape).list(seeds[0])
    done = ask(Asking(f"cut precision {precision}"), of, seeds[1], _STOPS)
    fronts = [(labels, int(answer.lines[0].lower)) for labels, answer in done.rounds]
    ranks = [rank for _, rank in fronts if rank]
    false = any(y < float(precision) * rank - 1e-6 for y, rank in zip(of.positives(ranks), ranks, strict=True))
    deepest = of.deepest(precision)
    reached = [max(rank for labels, rank in fronts if labels <= stop) / deepest for stop in _STOPS]
    return Found(done.labels, done.labels, false, tuple(reached))


def cuts(runs: Runs) -> str:
    """How deep a cut is proven, by the labels so far."""
    rows, every = [], []
    for shape, precision in zip(list(SHAPES)[5:], ("0.7", "0.9", "0.9"), strict=True):
        found = runs.of(partial(cut, (shape, precision)), 0.3)
        reached = np.array([one.measures for one in found])
        half = shape_of(shape).list(0).deepest(precision) // 2
        at_half = shape_of(shape).list(0).expected_positives(half) / half
        middle, low = np.median(reached, axis=0), np.quantile(reached, 0.1, axis=0)
        cells = [f"{one:.2f} ({two:.2f})" for one, two in zip(middle, low, strict=True)]
        floor = wald_floor(float(precision), at_half, DELTA)
        rows.append([shape, precision[1:], *cells, _number(floor), _missed(found)])
        print(*rows[-1], sep="  ", flush=True)
        every += found
    head = ["list", "precision", *(f"{one:,} labels" for one in _STOPS), "Wald's floor for .50", "false"]
    return f"{markdown(head, rows)}\n\n{_wrong('Cuts', every)}"


def recall(case: tuple[int, str], run: int) -> Found:
    """Ask whether a cutoff has a recall: (cutoff, recall that is demanded)."""
    rank, demanded = case
    seeds = _seeds(f"recall {case}", run)
    of = shape_of(".95/(1+(r/3·10⁵)²)").list(seeds[0])
    done = ask(Asking(f"recall@{rank} >= {demanded}"), of, seeds[1])
    inside, positives = of.positives([rank, N])
    wrong = {"pass": inside < float(demanded) * positives, "fail": inside >= float(demanded) * positives}
    answer = done.answer
    return Found(done.labels, answer.lines[0].labels, wrong.get(answer.outcome, False), (inside / positives,))


def recalls(runs: Runs) -> str:
    """Labels of gates of recall."""
    rows, every = [], []
    for rank, demanded in ((10**6, "0.7"), (3 * 10**5, "0.3"), (10**6, "0.9"), (3 * 10**5, "0.7")):
        found = runs.of(partial(recall, (rank, demanded)), 0.5)
        true = np.mean([one.measures[0] for one in found])
        rows.append(
            [f"recall@{rank:,} >= {demanded[1:]}", f"{true:.2f}", *_quantiles([one.counted for one in found]),
             *_quantiles([one.asked for one in found]), _missed(found)]
        )  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
        every += found
    head = ["gate", "it is", "labels that decided: mean", "median", "nine in ten", "asked for: mean", "median",
            "nine in ten", "wrong"]  # fmt: skip
    return f"{markdown(head, rows)}\n\n{_wrong('Gates of recall', every)}"


def asked_of(case: str, rng: np.random.Generator, run: int) -> tuple[SimulatedList, str]:
    """Draw a list, and what is asked of it: of a prior that forecasts state, or (`…, anywhere`) far from it."""
    if case.startswith("precision"):
        demanded = float(rng.choice([0.5, 0.7, 0.8, 0.9, 0.95]))
        near = demanded * WORTH + 0.5, (1 - demanded) * WORTH + 0.5
        share = rng.beta(*near) if case == "precision" else rng.random()
        return Shape(_LISTED, lambda _: share).list(run), f"precision@{_LISTED // 4} >= {demanded}"
    top, scale, power = rng.uniform(0.6, 0.98), 10 ** rng.uniform(3.5, 5), rng.choice([1.0, 2.0, 3.0])
    of = Shape(_LISTED, lambda rank: top / (1 + (rank / scale) ** power)).list(run)
    if case == "positives":
        return of, f"positives within {rng.integers(10, 31)}%"
    rank = min(int(scale * rng.uniform(0.5, 3)), _LISTED // 2)
    inside, positives = of.positives([rank, _LISTED])
    near = inside / positives + rng.normal(0, 0.15) if case == "recall" else rng.random()
    return of, f"recall@{rank} >= {np.clip(round(near, 2), 0.05, 0.97):.2f}"


def foreseen(case: str, run: int) -> list[tuple[float, float, float]]:
    """Ask, and say of each of the first rounds after which it is open what was forecast, and what it took.

    Returns:
        Labels that the forecast said half of the time, and nine times in ten, infinite where all that are left; and
        those that it took, infinite where it is open at `_PATIENCE`: so only forecasts of fewer can be judged.
    """
    of, question = asked_of(case, np.random.default_rng(run), run)
    asked = ask(Asking(question), of, run, (_PATIENCE,), _LOOKS)
    answer = asked.answer
    needed = asked.labels if case == "positives" else answer.lines[0].labels
    took = math.inf if answer.outcome == "open" else needed
    return [
        (*(math.inf if one is None else labels + one for one in (then.more.median, then.more.nine_in_ten)), took)
        for labels, then in asked.rounds[:_LOOKS]
        if then.outcome == "open" and then.more.left is not None
    ]


def held(said: Sequence[tuple[float, float]]) -> str:
    """How often a question was decided by the labels said, of forecasts of no more than are labelled."""
    judged = [took <= labels for labels, took in said if labels <= _PATIENCE]
    return f"{np.mean(judged):.0%} of {len(judged):,}" if judged else ""


def forecasts(runs: Runs) -> str:
    """How often forecasts hold, of each kind of question, after the first round and after later ones."""
    rows = []
    for case in CASES:
        found = runs.of(partial(foreseen, case))
        for name, part in (("first", slice(0, 1)), ("later", slice(1, None))):
            each = [one for of_run in found for one in of_run[part]]
            said = [[(one[at], one[2]) for one in each] for at in (0, 1)]
            rows.append([case, name, f"{len(each):,}", *map(held, said)])
            print(*rows[-1], sep="  ", flush=True)
    head = ["question", "rounds", "forecasts", "decided by the median", "by nine in ten"]
    return markdown(head, rows)


PARTS = {
    "forecasts": forecasts,
    "gates": gates,
    "points": points,
    "positives": totals,
    "cuts": cuts,
    "recalls": recalls,
}


def main() -> None:
    """Run the parts, print their tables, and write them to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--runs", type=int, default=200, help="of each gate; fewer of what takes longer")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    for name in options.parts.split(","):
        text = f"{PARTS[name](Runs(options.runs, options.processes))}\n\n{description()}."
        print(text, flush=True)
        if options.readme:
            write_section(f"questions_{name}", text)


if __name__ == "__main__":
    main()
