"""Log-uniform sampling with a simultaneous band: no assumption but the draw.

Labels are drawn with density about c/r, so that every e-fold of ranks gets as many, and the relative error is the same
at every scale. Every rank is drawn independently of all others, and the head is labelled whole. The band and the proof
of its coverage are in `streameval.kernels.martingale`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.curve.estimated import YieldEstimate
from streameval.curve.pooling import odds_of
from streameval.errors import StudyError
from streameval.judges.classes import agreement, judge_of, with_classes, without_judge
from streameval.judges.estimate import judged_estimate
from streameval.kernels.sorted_sets import isin, unique
from streameval.methods import Look, check_items
from streameval.methods.checks.monotonicity import assumptions
from streameval.methods.loguniform import LogUniformParameters, adaptive, draws
from streameval.methods.loguniform.counts import counts, labelled_head
from streameval.methods.loguniform.design import (
    Blocks,
    batch_share,
    blocks,
    judged_density,
    look_density,
    look_share,
    whole,
    with_judged,
)
from streameval.methods.loguniform.findings import findings, widths_without
from streameval.methods.loguniform.forecasts import Expected, affordable_c, expected_width, smallest_c
from streameval.methods.loguniform.one_rank import Evidence, evidence_at
from streameval.types import Claim, Labels, Plan
from streameval.typing import BoolArray, FloatArray, Int64Array

_GRID = 3  # the curve's table shows the end of every third block
_JUDGE_ACCURACY = 0.9  # of a judge of whom nothing is expected: it tunes the mu


@dataclass(frozen=True)
class LogUniform(LogUniformParameters):
    """Our own method: a band that holds at all ranks at once, whatever the list.

    What holds: with probability ≥ `confidence` over the draw, the true yield lies in the band at every rank at once,
    for any 0/1 list and any N, also where labels are missing for any reason. `alpha` is a forecast of the half-width,
    for lists whose precision stays above `min_precision`; the half-width that the labels reach is reported with the
    curve. A half-width is (hi − lo)/(hi + lo). The number of labels is random, with a standard deviation below the
    root of its mean: nine times in ten it stays within `budget`. Bounds of several `stages`, 1 to 64, hold together
    with `confidence`, so that what was seen may decide when to stop. The labels planned for come in as many batches;
    of a plan that is `growing`, they are those of the first stage, or look, and `enlarged` adds more, on a grid of
    densities fixed by it.
    """

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Draw the ranks to label.

        Returns:
            Plan: Columns of its own: `stratum_last` int64, the last rank of the block of ranks that are drawn alike
                (`stratum` numbers these), and `probability` float64, with which each of them is drawn. With several
                looks also `look` int32, the first look whose plan holds the rank, and `batch` int32, the plan by which
                it came in; with batches, `batch` alone: that of the tasks.
        """
        design = blocks(n_items, self._density(check_items(n_items)))
        density = None if self.judge_sample is None else judged_density(design, self.judge_sample)
        rank, judged = draws.draw(design if density is None else with_judged(design, density), seed)
        plan = self.drawn(n_items, seed, rank)
        if judged is None:
            return plan
        return replace(plan, judge_sample=pa.table({"rank": judged})).with_notes(judge_density=density)

    def rates(self, n_items: int) -> tuple[Int64Array, FloatArray]:
        """Last rank of each block, and the probability with which each rank of it is drawn."""
        design = blocks(n_items, self._density(check_items(n_items)))
        return design.ends, design.rate

    def drawn(self, n_items: int, seed: int, rank: Int64Array) -> Plan:
        """Make a plan of the ranks that were drawn at `rates`."""
        density = self._density(check_items(n_items))
        design = blocks(n_items, density)
        notes: dict[str, Any] = {"density": density, "strata": int(design.ends.size)}
        plan = Plan(self.name, self._parameters(), n_items, seed, draws.table(design, rank), notes=notes)
        if self.adaptive:
            first = self._at_look(plan, 1)
            return replace(plan, table=draws.table(first, rank[draws.belong_to(rank, seed, design, first)]))
        if self.looks > 1:
            ones = pa.array(np.ones(rank.size, dtype=np.int32))
            table = plan.table.append_column("look", ones).append_column("batch", ones)
            return replace(plan, table=table).with_notes(look=1)
        if self.batches > 1:
            nested = [self._at_look(plan, batch) for batch in range(1, self.batches + 1)]
            batch = pa.array(draws.batch_of(rank, seed, nested))
            return replace(plan, table=plan.table.append_column("batch", batch))
        return plan

    def _parameters(self) -> dict[str, Any]:
        """As a plan keeps them: those that say nothing are left out, for earlier plans have them not."""
        ours = {"stages": 1, "growing": False, "adaptive": False, "judge_sample": None, "judge_accuracy": None}
        return {key: value for key, value in self.__dict__.items() if ours.get(key, ...) != value}

    def weights(self, plan: Plan) -> FloatArray:
        """Inverse of the probability of each planned rank, at whatever look the plan has grown to."""
        if "probability" not in plan.table.column_names:
            raise StudyError("a plan of loguniform that no released version made", "plan the list anew")
        return np.asarray(1 / plan.table.column("probability").to_numpy())

    def forecasts(self, plan: Plan) -> list[Look]:
        """Give every look of `plan`, with labels (on average) and forecast half-width."""
        return [self._look(plan.n_items, float(plan.notes["density"]), look) for look in range(1, self.looks + 1)]

    def enlarged(self, plan: Plan, look: int) -> Plan:
        """Grow a plan to a later look: blocks and seed stay, and so does every rank."""
        design = self._at_look(plan, look)
        came = {rank: first for first in range(look, 0, -1) for rank in self._drawn_at(plan, first).tolist()}
        return replace(plan, table=draws.grown_table(plan.table, design, came)).with_notes(look=look)

    def reserve(self, plan: Plan) -> tuple[Int64Array, Int64Array]:
        """Ends of the blocks of a plan, and the ranks that it holds; of an adaptive one, all that it may hold."""
        design = blocks(plan.n_items, float(plan.notes["density"]))
        if not self.adaptive:
            return design.ends, plan.ranks
        if plan.judge_sample is None or "judge_density" not in plan.notes:
            return design.ends, draws.draw(design, plan.seed)[0]
        judged = plan.judge_sample.column("rank").to_numpy()
        chained = with_judged(design, float(plan.notes["judge_density"]))
        return design.ends, draws.labelled_of(chained, judged, plan.seed)

    def continued(self, plan: Plan, labels: Labels) -> Plan:
        """Add to the first batch of an adaptive plan what its labels say is needed (`adaptive.densities`)."""
        most, of = float(plan.notes["density"]), self._expected(plan)
        design = blocks(plan.n_items, most)
        (_, n, k, _), _ = counts(plan, labels, np.ones(plan.table.num_rows, bool), design.items, of.prior)
        plan = plan.with_notes(densities=adaptive.runs(design.ends, adaptive.densities(design.ends, most, n, k, of)))
        rank, now = self.reserve(plan)[1], self._at_look(plan, 1)
        rank = rank[draws.belong_to(rank, plan.seed, design, now)]
        batch = np.where(isin(rank, plan.ranks), 1, 2).astype(np.int32)
        return with_classes(replace(plan, table=draws.table(now, rank).append_column("batch", pa.array(batch))))

    def _drawn_at(self, plan: Plan, look: int) -> Int64Array:
        """Give what a look draws beside the earlier ones."""
        before = None if look == 1 else self._at_look(plan, look - 1)
        return draws.ranks_added(self._at_look(plan, look), before, plan.seed, look)

    def _at_look(self, plan: Plan, look: int) -> Blocks:
        """Give the same of a plan, or the design of the batches of an adaptive one."""
        first = float(plan.notes["density"])
        design = blocks(plan.n_items, first)
        if self.adaptive:
            kept = plan.notes.get("densities")
            each = adaptive.first(design.ends, first) if kept is None else adaptive.of_runs(design.ends, kept)
            now = blocks(plan.n_items, first, each)
        else:
            now = self._part(plan.n_items, first, look)
        if plan.judge_counts is None or "judge_density" not in plan.notes:
            return now
        return replace(now, judged=with_judged(design, float(plan.notes["judge_density"])).judged)

    def _part(self, n_items: int, first: float, look: int) -> Blocks:
        """The design at a look, or after a batch of the tasks."""
        return blocks(n_items, first, look_density(first, look) if self.batches == 1 else first * look / self.batches)

    def _look(self, n_items: int, first: float, look: int) -> Look:
        """Labels up to a look, or a batch, and the half-width that they are forecast to reach."""
        design = self._part(n_items, first, look)
        if design.labels == n_items:
            return Look(look, n_items, 0.0)
        setting = self.min_precision, self.judge_accuracy, self.judge_sample
        return Look(look, design.labels, expected_width(design, blocks(n_items, first), self._share(look), *setting))

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count labels on average, and forecast the half-width that the median list of `min_precision` reaches.

        Of several stages, `stages` has one entry each: `stage`, `labels` in all, `half_width`.
        """
        density = self._density(check_items(n_items))
        # a half-width that was asked for need not be forecast
        stages = range(0 if self.budget is None and self.stages == 1 else self.stages)
        looks = [self._look(n_items, density, look + 1) for look in stages]
        labels = blocks(n_items, density).labels
        reached = self.alpha if self.budget is None else looks[-1 if self.batches > 1 else 0].half_width
        by_stage = [{"stage": look.look, "labels": look.labels, "half_width": look.half_width} for look in looks]
        whole = labels == n_items
        return {
            **({"stages": by_stage} if self.stages > 1 else {}),
            "method": self.name,
            "labels": labels,
            "accuracy": 0.0 if whole else reached,
            "forecast": not whole,
            "claim": "exact" if whole else "simultaneous",
            "density": density,
        }

    def planned_half_width(self, n_items: int) -> float:
        """See `Method`; one that was asked for takes no forecast."""
        return self.alpha if self.budget is None else super().planned_half_width(n_items)

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into the band, at every rank.

        Bounds: "simultaneous" with probability `confidence`, assuming nothing but the draw. A missing label counts
        negative below and positive above.
        """
        points, grid = self._points(plan, labels)
        envelope = close(plan.n_items, points, labels.rank, labels.label)
        claim, head, judged = self.claim_of(plan, labels), labelled_head(plan), dict[str, Any]()
        if judge_of(plan) is not None:  # what the labels give without it is a figure, never a bound to choose
            without = self.curve(without_judge(plan), labels)
            judged = {"judge": {**agreement(plan, labels, self.weights(plan)), **widths_without(without)}}
        curve = Curve(
            n_items=plan.n_items,
            envelope=envelope,
            grid=unique(np.arange(1, head + 1), grid),
            claim=claim,
            diagnostics={
                "consistent": envelope.consistent,
                "labelled_head": head,
                "assumptions": assumptions(labels, head),
                **judged,
            },
            estimated=self.estimate(plan, labels),
        )
        return curve if claim.coverage == "exact" else curve.with_findings(findings(self, curve, labels.about))

    def estimate(self, plan: Plan, labels: Labels) -> YieldEstimate | None:
        """See `Method.estimate`; with a judge, class by class."""
        if judge_of(plan) is None or plan.labels_seen_by_model:
            return super().estimate(plan, labels)
        odds = odds_of(self.weights(plan), labels.known)
        return judged_estimate(plan, labels, odds, self._at_look(plan, plan.look).judged)

    def claim_of(self, plan: Plan, labels: Labels) -> Claim:
        """As ever, but that the first batch of an adaptive plan is no whole draw, and a look at it would cost one."""
        claim = super().claim_of(plan, labels)
        first = self.adaptive and "densities" not in plan.notes and claim.coverage != "exact"
        return replace(claim, coverage="none", confidence=None) if first else claim

    def evidence_at(self, plan: Plan, labels: Labels, rank: int, mu: FloatArray) -> Evidence | None:
        """See `Multiplies`; `one_rank` says of which plans there is such evidence."""
        in_parts = self.stages > 1 or self.adaptive or self.judge_sample is not None
        if in_parts or plan.marks is not None or plan.draw_by or plan.labels_seen_by_model:
            return None
        return evidence_at(self._at_look(plan, 1), labels, (rank, mu), Expected.from_accuracy(self.min_precision).prior)

    def _density(self, n_items: int) -> float:
        if self.budget is not None:
            return affordable_c(n_items, self.budget)
        share = self._share(1 if self.batches == 1 else self.batches)
        return smallest_c(n_items, self.alpha, share, self.min_precision, self.judge_accuracy, self.judge_sample)

    def _share(self, look: int) -> float:
        """Share of δ of a look, or of what is told after a batch."""
        delta = 1 - self.confidence
        return look_share(delta, look, self.looks) if self.batches == 1 else batch_share(delta, look, self.batches)

    def _points(self, plan: Plan, labels: Labels) -> tuple[Points, Int64Array]:
        """Bounds at ends of blocks, and the ranks that the curve's table shows.

        The bands of all looks so far are intersected, each from the ranks of its own plan and for its share of δ. So
        are those of batches of tasks; one of which there is no label yet would add nothing.
        """
        came, last = np.ones(plan.table.num_rows), plan.look
        if self.looks > 1:
            came = plan.table.column("look").to_numpy()
        if self.batches > 1:
            came = plan.table.column("batch").to_numpy()
            last = int(came[labels.known].max(initial=1))
        bands = [self._band(plan, labels, look, came <= look) for look in range(1, last + 1)]
        lower, upper = np.max([band.lower for band in bands], axis=0), np.min([band.upper for band in bands], axis=0)
        return Points(bands[0].rank, lower, upper), bands[0].rank[::-_GRID]

    def _band(self, plan: Plan, labels: Labels, look: int, drawn: BoolArray) -> Points:
        """The band of one look."""
        from streameval.kernels.martingale import bounds

        design, of = self._at_look(plan, look), self._expected(plan)
        (items, n, k_low, k_high), prior = counts(plan, labels, drawn, design.items, of.prior)
        mu = adaptive.mixture(plan.n_items, float(plan.notes["density"]), of) if self.adaptive else of.mixture(design)
        at_ends = bounds(design.phases, items, n, (k_low, k_high), prior, (mu, self._share(look)))
        return Points(design.ends, *whole(design, *at_ends))

    def _expected(self, plan: Plan) -> Expected:
        """The list that the plan was made for."""
        judge = judge_of(plan)
        return Expected.from_accuracy(
            self.min_precision, None if judge is None else self.judge_accuracy or _JUDGE_ACCURACY
        )


METHOD = LogUniform
