"""Log-uniform sampling with a simultaneous band: no assumption but the draw.

Labels are drawn at random with density about c/r, so that every e-fold of ranks gets as many, and the relative error is
the same at every scale. Every rank is drawn by itself, independently of all others, and the head is labelled whole. The
band and the proof of its coverage are in `streameval.kernels.martingale`. Plans that were made before draws were
independent are read as they were planned (`fixed_counts`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.errors import InputError
from streameval.methods import Look, Sampled, check_items
from streameval.methods.checks.monotonicity import assumptions, warnings
from streameval.methods.judge import agreement, judge_of, without_judge
from streameval.methods.loguniform import fixed_counts
from streameval.methods.loguniform.design import Blocks, blocks, look_density, look_share, whole
from streameval.methods.loguniform.forecasts import Expected, affordable_c, median, smallest_c
from streameval.options import option
from streameval.types import Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array

_GRID = 3  # the curve's table shows the end of every third block
_JUDGE_ACCURACY = 0.9  # of a judge of whom nothing is expected: it tunes the mu


@dataclass(frozen=True)
class LogUniform(Sampled):
    """Our own method: a band that holds at all ranks at once, whatever the list.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the band at every rank at once,
    for any 0/1 list and any N, also where labels are missing for any reason. `alpha` is a forecast of the half-width,
    for lists whose precision stays above `min_precision`; the half-width that the labels reach is reported with the
    curve. A half-width is (hi − lo)/(hi + lo). The number of labels is random: `budget` is its mean, and its standard
    deviation is below its square root. With several `looks`, 1 to 64, the first plan is made for a share of
    1 − `confidence`, and `enlarged` keeps to a grid of densities fixed by it, so that what was seen may decide when to
    stop: `confidence` is that of all looks together.
    """

    name: ClassVar[str] = "loguniform"
    summary: ClassVar[str] = "random ranks of density c/r, and a band that holds for every list"

    budget: int | None = option(None, "Labels to spend on average, instead of --alpha: how many are drawn is random.")
    looks: int = option(1, "How often the plan may be evaluated and enlarged.")
    judge_accuracy: float | None = option(None, "Share of items on which a judge is expected to be right.")

    def __post_init__(self) -> None:
        """Check every parameter."""
        super().__post_init__()
        if not 1 <= self.looks <= 64:
            raise InputError(f"looks is {self.looks}, outside 1..64", "one is enough unless labels decide about more")
        if self.judge_accuracy is not None:
            if not 0 <= self.judge_accuracy <= 1:
                raise InputError(f"judge-accuracy is {self.judge_accuracy}, outside [0, 1]", "0.9 is right on 90 %")
            if self.looks > 1:
                raise InputError("a judge does not go with looks", "leave out looks, or the judge")

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label.

        Returns:
            Plan: Columns of its own: `stratum_last` int64, the last rank of the block of ranks that are drawn alike
                (`stratum` numbers these), and `probability` float64, with which each of them is drawn. With several
                looks also `look` int32, the first look whose plan holds the rank, and `batch` int32, the plan by which
                it came in.
        """
        return self.drawn(n_items, seed, _draw(self._blocks(n_items), seed))

    def rates(self, n_items: int) -> tuple[Int64Array, FloatArray]:
        """Last rank of each block, and the probability with which each rank of it is drawn."""
        design = self._blocks(n_items)
        return design.ends, design.rate

    def drawn(self, n_items: int, seed: int, rank: Int64Array) -> Plan:
        """Make a plan of the ranks that were drawn at `rates`."""
        design = self._blocks(n_items)
        table = _table(design, rank)
        notes: dict[str, Any] = {"density": self._density(n_items), "strata": int(design.ends.size)}
        ours = {"looks": 1, "judge_accuracy": None}  # left out where they say nothing: earlier plans have them not
        parameters = {key: value for key, value in self.__dict__.items() if ours.get(key, ...) != value}
        if self.looks > 1:
            ones = pa.array(np.ones(table.num_rows, dtype=np.int32))
            table = table.append_column("look", ones).append_column("batch", ones)
            notes["look"] = 1
        return Plan(self.name, parameters, n_items, seed, table, notes=notes)

    def weights(self, plan: Plan) -> FloatArray:
        """Inverse of the probability of each planned rank, at whatever look the plan has grown to."""
        if fixed_counts.made(plan):
            return fixed_counts.weights(plan)
        return np.asarray(1 / plan.table.column("probability").to_numpy())

    def forecasts(self, plan: Plan) -> list[Look]:
        """Give every look of `plan`, with labels (on average) and forecast half-width."""
        if fixed_counts.made(plan):
            return []  # it was drawn in another way, in which nothing is drawn any more
        return [self._look(plan.n_items, float(plan.notes["density"]), look) for look in range(1, self.looks + 1)]

    def enlarged(self, plan: Plan, look: int) -> Plan:
        """Grow a plan to a later look: blocks and seed stay, and so does every rank."""
        design = self._at_look(plan, look)
        came = {rank: first for first in range(look, 0, -1) for rank in self._drawn_at(plan, first).tolist()}
        rank = np.array(sorted(came), np.int64)
        old = np.isin(rank, plan.ranks)
        batch = np.full(rank.size, 1, np.int32)
        batch[old] = plan.table.column("batch").to_numpy()
        batch[~old] = batch[old].max() + 1
        first = np.array([came[one] for one in rank.tolist()], np.int32)
        table = _table(design, rank).append_column("look", pa.array(first)).append_column("batch", pa.array(batch))
        return replace(plan, table=table).with_notes(look=look)

    def _drawn_at(self, plan: Plan, look: int) -> Int64Array:
        """What a look draws beside the earlier ones: the union of independent draws is one."""
        now = self._at_look(plan, look)
        if look == 1:
            return _draw(now, plan.seed)
        before = self._at_look(plan, look - 1).rate
        left = 1 - before
        more = np.divide(now.rate - before, left, out=np.zeros(left.size), where=left > 0)
        return _draw(Blocks(now.ends, more), plan.seed ^ (look << 48))

    def _at_look(self, plan: Plan, look: int) -> Blocks:
        first = float(plan.notes["density"])
        return blocks(plan.n_items, first, look_density(first, look))

    def _look(self, n_items: int, first: float, look: int) -> Look:
        design = blocks(n_items, first, look_density(first, look))
        if design.labels == n_items:
            return Look(look, n_items, 0.0)
        width = median(design, look_share(1 - self.confidence, look, self.looks), self.min_precision)
        return Look(look, design.labels, width)

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels on average, and forecast the half-width that the median list of `min_precision` reaches.

        With several looks `looks` has one entry each: `look`, `labels` in all, `half_width`.
        """
        density = self._density(check_items(n_items))
        asked = self.budget is None and self.looks == 1  # what was asked for need not be forecast
        looks = [] if asked else [self._look(n_items, density, look) for look in range(1, self.looks + 1)]
        labels = blocks(n_items, density).labels
        reached = self.alpha if self.budget is None else looks[0].half_width
        whole = labels == n_items
        return {
            **({"looks": [asdict(look) for look in looks]} if self.looks > 1 else {}),
            "method": self.name,
            "labels": labels,
            "accuracy": 0.0 if whole else reached,
            "forecast": not whole,
            "claim": "exact" if whole else "simultaneous",
            "density": density,
        }

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the band, at every rank.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw. A missing label counts
        negative below and positive above.
        """
        points, grid = self._points(plan, labels)
        envelope = close(plan.n_items, points, labels.rank, labels.label)
        claim = self.claim_of(plan, labels)
        head = _labelled_head(plan)
        contradictions = assumptions(labels, head)
        judged = self._judged(plan, labels)
        curve = Curve(
            n_items=plan.n_items,
            envelope=envelope,
            grid=np.unique(np.concatenate([np.arange(1, head + 1), grid])),
            claim=claim,
            diagnostics={
                "consistent": envelope.consistent,
                "labelled_head": head,
                "assumptions": contradictions,
                **judged,
            },
        )
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, labels.about))

    def _blocks(self, n_items: int) -> Blocks:
        return blocks(n_items, self._density(check_items(n_items)))

    def _density(self, n_items: int) -> float:
        if self.budget is not None:
            return affordable_c(n_items, self.budget)
        delta = look_share(1 - self.confidence, 1, self.looks)
        return smallest_c(n_items, self.alpha, delta, self.min_precision, self.judge_accuracy)

    def _points(self, plan: Plan, labels: Labels) -> tuple[Points, Int64Array]:
        """Bounds at ends of blocks, and the ranks that the curve's table shows.

        The bands of all looks so far are intersected, each from the ranks of its own plan and for its share of δ.
        """
        if fixed_counts.made(plan):
            return fixed_counts.points(plan, labels, self.confidence, self.min_precision, self.looks)
        came = plan.table.column("look").to_numpy() if self.looks > 1 else np.ones(plan.table.num_rows)
        found = [self._band(plan, labels, look, came <= look) for look in range(1, plan.look + 1)]
        ends = found[0].rank
        lower = np.max([one.lower for one in found], axis=0)
        upper = np.min([one.upper for one in found], axis=0)
        return Points(ends, lower, upper), ends[::-_GRID]

    def _band(self, plan: Plan, labels: Labels, look: int, drawn: BoolArray) -> Points:
        """The band of one look."""
        from streameval.kernels.martingale import bounds

        design, judge = self._at_look(plan, look), judge_of(plan)
        of = Expected.of(self.min_precision, None if judge is None else self.judge_accuracy or _JUDGE_ACCURACY)
        classes, prior, own = 1, of.prior, np.zeros(plan.table.num_rows, np.int64)
        items = design.items
        if judge is not None and plan.judge_counts is not None:
            classes, prior, own = judge.classes, judge.prior, plan.table.column("judge_class").to_numpy()
            items = plan.judge_counts.column("items").to_numpy()
        cell, shape = plan.table.column("stratum").to_numpy() * classes + own, (design.ends.size, classes)
        n, k_low, k_high = (
            np.bincount(cell[chosen], minlength=design.ends.size * classes).astype(np.float64).reshape(shape)
            for chosen in (drawn, drawn & (labels.label == 1), drawn & (labels.label != 0))
        )
        delta = look_share(1 - self.confidence, look, self.looks)
        counted = items.astype(np.float64).reshape(shape)
        found = bounds(design.rate, counted, n, (k_low, k_high), prior, (of.mixture(design), delta))
        return Points(design.ends, *whole(design, *found))

    def _judged(self, plan: Plan, labels: Labels) -> dict[str, Any]:
        """How a judge fared, and the half-width of the same labels without it: a figure, never a bound to choose."""
        if judge_of(plan) is None:
            return {}
        without = self.curve(without_judge(plan), labels).half_width().alpha
        return {"judge": {**agreement(plan, labels), "half_width_without": without}}

    def _findings(self, curve: Curve, about: str) -> tuple[str, ...]:
        if curve.claim.coverage == "none":
            return (
                "The ranking was made by a model that has seen labels reused here: where it put those items depends on "
                "their labels, so the draw is none of chance and the bounds promise nothing.",
            )
        if not curve.envelope.consistent:
            return self.contradicted("The band contradicts itself")
        return (
            f"With probability {self.confidence:g}, {about} lies inside the bounds at every rank at once"
            + (f" and at all {self.looks} looks" if self.looks > 1 else "")
            + ", whatever the list.",
            *_judge_sentence(curve),
            *warnings(curve.diagnostics["assumptions"]),
        )


def _judge_sentence(curve: Curve) -> tuple[str, ...]:
    """How often the judge agrees with people, and what it saved."""
    found = curve.diagnostics.get("judge")
    if found is None or found["share"] is None:
        return ()
    reached, without = curve.half_width().alpha, found["half_width_without"]
    told = f"The judge '{found['column']}' agrees with {found['share']:.1%} of {found['labels']:,} labels."
    if not 0 < reached < without:
        return (f"{told} The bounds are no narrower for it.",)
    more = f"to reach that without it takes about {(without / reached) ** 2:.1f} times the labels"
    return (f"{told} Without it, these labels give a half-width of {without:.2%} instead of {reached:.2%}; {more}.",)


def _draw(design: Blocks, seed: int) -> Int64Array:
    from streameval.kernels.draw import draw_independent
    from streameval.kernels.jit import interpreted

    with interpreted(design.ends.size + design.labels):
        return draw_independent(design.ends, design.rate, np.uint64(seed % 2**64))


def _table(design: Blocks, rank: Int64Array) -> pa.Table:
    """`rank`, `stratum`, `stratum_last`, `probability`."""
    block = np.searchsorted(design.ends, rank).astype(np.int32)
    last, rate = design.ends[block], design.rate[block]
    return pa.table({"rank": rank, "stratum": block, "stratum_last": last, "probability": rate})


def _labelled_head(plan: Plan) -> int:
    """Last rank up to which every rank is planned."""
    gaps = np.flatnonzero(plan.ranks != np.arange(1, plan.ranks.size + 1))
    return int(gaps[0]) if gaps.size else plan.ranks.size


METHOD = LogUniform
