"""How often a watch over a year names a change that is none, and how soon it names one that is: `monitor`, simulated.

Every day 20,000 items are ranked and cut at rank 5,000; labels are drawn as `loguniform` draws them, block by block. A
year of 365 days keeps its precision of .9, or loses 3 points on day 183. Beside it stands what people do instead: each
week's labels, pooled to a normal interval of 95 %, are held against the mean of the first four weeks.

Run: python -m benchmarks.monitor [--years 1000] [--budget 400] [--readme]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.readme import markdown, write_section
from streameval.curve.runs import STAKES, Days
from streameval.kernels.martingale import evidence
from streameval.methods import create
from streameval.methods.loguniform.design import Blocks
from streameval.methods.loguniform.method import LogUniform

N_ITEMS, CUTOFF, DAYS, DROP_ON = 20_000, 5_000, 365, 183
DELTA = 0.05
_BASE_WEEKS, _WEEK = 4, 7
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Year:
    """Days of a year as their labels tell them: what `monitor` keeps, and what an interval is made of.

    Attributes:
        days: Evidence of every day.
        mean, variance (float64 arrays, shape (days,)): The usual estimate of precision, and of its variance.
    """

    days: Days
    mean: Floats
    variance: Floats


def design(budget: int) -> Blocks:
    """Blocks up to the cutoff."""
    method = create("loguniform", {"budget": budget})
    assert isinstance(method, LogUniform)
    ends, rate = method.rates(N_ITEMS)
    kept = ends < CUTOFF
    return Blocks(np.append(ends[kept], CUTOFF), rate[: int(kept.sum()) + 1])


def year(blocks: Blocks, precision: Floats, rng: np.random.Generator) -> Year:
    """Draw the labels of every day; items whose label is positive are spread evenly, so that precision is as asked."""
    positive = np.diff(np.rint(np.outer(precision, blocks.ends)), axis=1, prepend=0).astype(np.int64)
    found = rng.binomial(positive, blocks.rate).astype(np.float64)
    drawn = found + rng.binomial(blocks.items - positive, blocks.rate)
    items, prior, mu = blocks.items[:, None].astype(np.float64), np.array([0.5]), STAKES / CUTOFF
    sides = [
        np.stack([evidence(blocks.phases, items, n[:, None], (k[:, None], k[:, None]), prior, mu)[-1]
                  for n, k in zip(drawn, side, strict=True)])
        for side in (found, drawn - found)
    ]  # fmt: skip
    none = np.zeros(precision.size)
    mean = (found / blocks.rate).sum(axis=1) / (drawn / blocks.rate).sum(axis=1)
    variance = (drawn * (1 - blocks.rate) / blocks.rate**2).sum(axis=1) * mean * (1 - mean) / CUTOFF**2
    return Year(Days(sides[0], sides[1], none, none), mean, variance)


def named(days: Days, delta: float = DELTA) -> Iterator[tuple[int, str]]:
    """Days on which a change is named, from 1, as a history names them: half of δ is for the levels of single days."""
    since = 1
    for today in range(1, days.most.size + 1):
        so_far = Days(*(part[:today] for part in (days.positives, days.negatives, days.most, days.fewest)))
        change = so_far.change(since, delta / 2)
        if change is not None:
            since = change.first
            yield today, change.direction


def weekly(found: Year) -> list[int]:
    """Days at the end of weeks whose interval does not hold the mean of the first weeks."""
    base = _BASE_WEEKS * _WEEK
    wanted = found.mean[:base].mean()
    ends = range(base + _WEEK, found.mean.size + 1, _WEEK)
    return [end for end in ends if abs(found.mean[end - _WEEK : end].mean() - wanted)
            > 1.96 * np.sqrt(found.variance[end - _WEEK : end].sum()) / _WEEK]  # fmt: skip


def trial(budget: int, years: int, drop: float, days: int = DAYS) -> dict[str, list[int | None]]:
    """First day of an alarm in each year, by `monitor` and weekly; None where there is none.

    With a drop, those from its day on, counted from it: 1 is the day of the drop. Earlier ones are None too.
    """
    blocks, rng = design(budget), np.random.default_rng(budget)
    begun = min(DROP_ON, days // 2)
    precision = np.where(np.arange(1, days + 1) >= begun, 0.9 - drop, 0.9)
    out: dict[str, list[int | None]] = {"monitor": [], "weekly": []}
    for _ in range(years):
        found = year(blocks, precision, rng)
        if drop:
            first = next((at for at, kind in named(found.days) if kind == "fall" and at >= begun), None)
            week = next((at for at in weekly(found) if at >= begun), None)
            out["monitor"].append(None if first is None else first - begun + 1)
            out["weekly"].append(None if week is None else week - begun + 1)
        else:
            out["monitor"].append(next((at for at, _ in named(found.days)), None))
            out["weekly"].append(next(iter(weekly(found)), None))
    return out


def _share(alarms: list[int | None]) -> str:
    return f"{sum(one is not None for one in alarms) / len(alarms):.1%}"


def _until(alarms: list[int | None]) -> str:
    days = np.array([np.inf if one is None else one for one in alarms])
    middle, late = np.quantile(days, [0.5, 0.9], method="higher")
    return f"{middle:.0f}, {late:.0f}"


def main() -> None:
    """Run, print, and write the README's table if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--years", type=int, default=1000)
    parser.add_argument("--budget", type=int, default=400, help="labels a day, on average, those beyond the cutoff too")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    rows, blocks = [], design(options.budget)
    labels = round(float(np.sum(blocks.items * blocks.rate)))
    calm, drop = trial(options.budget, options.years, 0.0), trial(options.budget, max(1, options.years // 5), 0.03)
    for how in ("monitor", "weekly"):
        rows.append([how, _share(calm[how]), _share(drop[how]), _until(drop[how])])
        print(*rows[-1], sep="  ", flush=True)
    head = ["", "calm years with an alarm", "drops of 3 points named", "days until then: median, 9 of 10"]
    text = f"{options.years:,} calm years, a fifth as many with a drop; {labels:,} labels a day to rank {CUTOFF:,}."
    if options.readme:
        write_section("monitor", f"{markdown(head, rows)}\n\n{text}")


if __name__ == "__main__":
    main()
