"""Labels that were drawn elsewhere: a band at every rank from somebody else's sample, if its draw is known.

Nothing is planned here: `streameval adopt` finds the ranks of labelled items and makes the plan of them. The bands and
their proof are in `streameval.kernels.sequential_band`; designs and what they assume in `designs`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Envelope, Points, close
from streameval.curve.estimated import YieldEstimate
from streameval.curve.pooling import PooledLabels, odds_of, pool_labels
from streameval.errors import InputError
from streameval.kernels.sorted_sets import isin, unique
from streameval.methods import Look, Method, check_confidence, check_items, check_stages
from streameval.methods.adopted import growth
from streameval.methods.adopted.band import mixture, points
from streameval.methods.adopted.checks import Contradiction, in_words, of_strata, of_weights
from streameval.methods.adopted.designs import DESIGNS, RETIRED, Design
from streameval.methods.adopted.steps import Floor, Strata, joined_steps, poisson_steps, strata_steps
from streameval.methods.loguniform.design import look_share
from streameval.options import option
from streameval.types import Claim, Labels, Plan, Promise
from streameval.typing import FloatArray, Int64Array

_HARDLY = math.log(1e-6)


@dataclass(frozen=True)
class Adopted(Method):
    """A sample that somebody else drew, by a design that they name.

    What holds, if the labels were drawn as stated: with probability ≥ `confidence` over that draw, the true yield lies
    in the bounds at every rank at once, for any 0/1 list, also where labels are missing for any reason. Where the ranks
    contradict the draw, or it is unknown (and read as uniform), the bounds have coverage "none". With several `stages`
    the plan may grow by draws of our own after the bounds were seen, and `confidence` is that of all stages together.

    Raises:
        InputError: If a parameter is out of range.
    """

    name: ClassVar[str] = "adopted"
    summary: ClassVar[str] = "labels that were drawn elsewhere"
    planned: ClassVar[bool] = False

    confidence: float = option(0.95, "Probability of the claim.")
    drawn: str = option("uniform", f"How the labels were drawn: {', '.join(DESIGNS)}.")
    stages: int = option(1, "How often the bounds may be seen, and labels of our own added after.")

    def __post_init__(self) -> None:
        """Check every parameter."""
        check_confidence(self.confidence)
        if self.drawn in RETIRED:
            raise InputError(
                f"labels drawn as {self.drawn} have no bounds any more",
                "streameval adopt RANKING --drawn unknown has estimates of them, without bounds",
            )
        if self.drawn not in DESIGNS:
            *others, unknown = DESIGNS
            hint = f"there are: {', '.join(others)}; or {unknown}, for a draw that is none of these"
            raise InputError(f"--drawn is '{self.drawn}'", hint)
        check_stages(self.stages)
        if self.stages > 1 and (self.design.weighted or self.design.refused):
            raise InputError(
                f"a sample drawn as {self.drawn} takes no labels of ours", "leave out --stages; uniform and strata do"
            )

    @property
    def looks(self) -> int:
        """Stages of a sample are looks at it, between which it grows."""
        return self.stages

    @property
    def design(self) -> Design:
        """Give what is assumed of the draw."""
        return DESIGNS[self.drawn]

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Nothing is planned; an `InputError` names the verb that adopts."""
        raise InputError("labels that were drawn elsewhere are not planned", "streameval adopt RANKING --labels FILE")

    def adopt(
        self, n_items: int, seed: int, rank: Int64Array, ranges: Strata | Floor, weights: FloatArray | None
    ) -> Plan:
        """Make the plan of a sample.

        Args:
            rank (int64 array, shape (n,), strictly increasing): Every drawn rank, labelled or not.
            ranges: What was drawn of which ranks; of a design with probabilities, the smallest of each range.
            weights (float64 array, shape (n,)): With what probability each was drawn, of a design that needs it.

        Returns:
            Plan: Columns of its own: `stratum_last` int64; `probability` float64, of a design that needs it.
        """
        check_items(n_items)
        stratum = np.searchsorted(ranges.last, rank).astype(np.int32)
        table = pa.table({"rank": rank, "stratum": stratum, "stratum_last": ranges.last[stratum]})
        if weights is not None:
            table = table.append_column("probability", pa.array(weights))
        kept = {name: values.tolist() for name, values in vars(ranges).items()}
        return Plan(self.name, dict(self.__dict__), n_items, seed, table, notes=kept)

    def weights(self, plan: Plan) -> FloatArray:
        """Inverse of the probability with which each planned rank was drawn, by any draw; NaN of unknown draws."""
        if self.design.refused:
            return np.full(plan.ranks.size, np.nan)
        if self.design.weighted:
            return 1 / _probability(plan)
        last, rate = self._rates(plan)
        return np.asarray(1 / rate[np.searchsorted(last, plan.ranks)])

    def cost(self, n_items: int) -> dict[str, Any]:
        """Nothing is planned (InputError); what a sample is worth says `worth`."""
        raise InputError(
            "labels that were drawn elsewhere are not planned",
            "streameval cost --items N --drawn 'uniform(size=LABELS)'",
        )

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn labels into bounds at every rank.

        Bounds: "simultaneous" with probability `confidence`, if the labels were drawn as stated; "none" where that
        promises nothing, or the sample contradicts it.
        """
        against = self._contradictions(plan)
        alone = close(plan.n_items, Points.none(), labels.rank, labels.label)
        envelope = close(plan.n_items, self._points(plan, labels), labels.rank, labels.label)
        claim = self._claim(plan, labels, against)
        if claim.coverage == "none" and not envelope.consistent:
            envelope = alone  # bounds that cross are no picture either
        begins = _begins(envelope, alone)
        last, _ = self._rates(plan)
        diagnostics = {
            "consistent": envelope.consistent,
            "begins": begins,
            "draw": [vars(contradiction) for contradiction in against],
        }
        grid = unique(plan.ranks, last, [begins])
        curve = Curve(plan.n_items, envelope, grid, claim, diagnostics, estimated=self.estimate(plan, labels))
        return curve if claim.coverage == "exact" else curve.with_findings(self._findings(curve, plan, labels))

    def estimate(self, plan: Plan, labels: Labels) -> YieldEstimate | None:
        """See `Method.estimate`; by Beale's ratio where probabilities are given, of equal odds where none are known.

        Of cutoffs before the first label, and of items far below the last one, where a uniform sample would have had
        one, labels say nothing.
        """
        estimate = self._pool(plan, labels)
        return estimate and estimate.known_from(int(labels.rank[labels.known].min()))

    def _pool(self, plan: Plan, labels: Labels) -> YieldEstimate | None:
        is_labelled, ranks = labels.known, (labels.rank, labels.label)
        if self.design.refused:
            return pool_labels(_spread_over(plan.n_items, labels.rank[is_labelled]), *ranks, np.ones(is_labelled.size))
        if self.design.weighted:
            return pool_labels(plan.n_items, *ranks, odds_of(self.weights(plan), is_labelled), PooledLabels.beale_rates)
        if self.drawn == "uniform" and self._contradictions(plan) and not plan.labels_seen_by_model:
            return pool_labels(
                _spread_over(plan.n_items, labels.rank[is_labelled]), *ranks, odds_of(self.weights(plan), is_labelled)
            )
        return super().estimate(plan, labels)

    def forecasts(self, plan: Plan) -> list[Look]:
        """Give every look of `plan`: the first is the sample, the next add draws of ours where it is thin."""
        first, _ = _sample(plan)
        looks = []
        for look in range(1, self.looks + 1):
            second = growth.strata_of(first, plan, look)
            expected = growth.expected_labels(first, second)
            looks.append(
                Look(
                    look, expected, growth.half_width(first, second, look_share(1 - self.confidence, look, self.looks))
                )
            )
        return looks

    def enlarged(self, plan: Plan, look: int) -> Plan:
        """Grow a plan to a later look: every rank stays."""
        first, sample = _sample(plan)
        return growth.enlarge(plan, first, sample, look)

    def _points(self, plan: Plan, labels: Labels) -> Points:
        if plan.table.num_rows == plan.n_items:
            return Points.none()
        delta = 1 - self.confidence
        if self.design.weighted:
            return self._weighted_points(plan, labels, delta)
        first, sample = _sample(plan)
        inside = isin(plan.ranks, sample)
        share = look_share(delta, 1, self.looks)
        steps = strata_steps(first, sample, labels.label[inside])
        bounds = [points(steps, mixture(first.last, first.drawn / first.width), share)]
        for look in range(2, plan.look + 1):
            share = look_share(delta, look, self.looks)
            second, drawn_ranks = growth.second_draw(first, plan, look)
            both = isin(plan.ranks, unique(sample, drawn_ranks))
            steps = joined_steps([(first, sample), (second, drawn_ranks)], plan.ranks[both], labels.label[both])
            bounds.append(points(steps, mixture(*growth.joined_rates(first, second)), share))
        return growth.intersect(bounds)

    def _weighted_points(self, plan: Plan, labels: Labels, delta: float) -> Points:
        floor = _floor(plan)
        steps = poisson_steps(plan.ranks, labels.label, _probability(plan), floor)
        return points(steps, mixture(floor.last, floor.least), delta)

    def _rates(self, plan: Plan) -> tuple[Int64Array, FloatArray]:
        """Ranges of ranks, and at what rate each was drawn (at least)."""
        if self.design.weighted:
            return _floor(plan).last, _floor(plan).least
        first, _ = _sample(plan)
        if plan.look > 1:
            return growth.joined_rates(first, growth.strata_of(first, plan, plan.look))
        return first.last, first.drawn / first.width

    def _contradictions(self, plan: Plan) -> list[Contradiction]:
        if self.design.weighted:
            return of_weights(_probability(plan), _floor(plan))
        return of_strata(*_sample(plan))

    def _claim(self, plan: Plan, labels: Labels, against: list[Contradiction]) -> Claim:
        stated = f"that the labels were drawn as stated: {self.design.stated}"
        assumes = f"nothing, for nothing is promised: {self.design.stated}" if self.design.refused else stated
        if plan.table.num_rows == plan.n_items and bool(np.all(labels.known)):
            return Claim("exact", 1.0, "nothing")
        if self.design.refused or against:
            return Claim("none", None, assumes)
        return Claim("simultaneous", self.confidence, assumes)

    def _findings(self, curve: Curve, plan: Plan, labels: Labels) -> tuple[str, ...]:
        if self.design.refused:
            return (f"These bounds promise nothing: {self.design.refused}.",)
        if curve.diagnostics["draw"]:
            against = [Contradiction(**contradiction) for contradiction in curve.diagnostics["draw"]]
            return (f"These bounds promise nothing. {in_words(against)}.",)
        if not curve.envelope.consistent:
            return (
                "The bounds contradict themselves, which happens in fewer than "
                f"{1 - self.confidence:.1%} of draws as stated: check how these labels were drawn.",
            )
        sentences: list[str] = [
            Promise(
                self.confidence,
                f"if the labels were drawn as stated, {labels.about} lies inside the bounds at every rank at once"
                + (f" and after each of {self.stages} stages" if self.stages > 1 else "")
                + ", whatever the list.",
            )
        ]
        begins = curve.diagnostics["begins"]
        if begins - 1 > np.count_nonzero(labels.rank[labels.known] < begins):
            sentences.append(
                f"Before rank {begins:,} the bounds say no more than the labels there do: too few items were drawn."
            )
        distinct = unique(labels.label[labels.known])
        if distinct.size == 1 and np.count_nonzero(labels.known) >= 20:
            only, absent = ("positive", "negatives") if distinct[0] else ("negative", "positives")
            sentences.append(f"Every label is {only}: check that the table has not lost its {absent}.")
        return tuple(sentences)


def _begins(envelope: Envelope, alone: Envelope) -> int:
    """First rank at which bounds say more than the labels alone; the last where none do.

    Bounds run straight between kinks, so they part right after the last kink at which they are one.
    """
    ranks = unique(envelope.kinks, alone.kinks)
    (low, high), (least, most) = envelope.at(ranks), alone.at(ranks)
    more = np.flatnonzero((low > least) | (high < most))
    return int(ranks[more[0] - 1]) + 1 if more.size and more[0] else int(ranks[-1])


def _sample(plan: Plan) -> tuple[Strata, Int64Array]:
    """Give what was drawn of which ranks, and the ranks of the sample, without draws of ours that came after."""
    first = Strata(*(np.array(plan.notes[key], np.int64) for key in ("last", "drawn")))
    if plan.look == 1:
        return first, plan.ranks
    return first, plan.ranks[np.asarray(plan.table.column("adopted"))]


def _spread_over(n_items: int, rank: Int64Array) -> int:
    """N, or the last labelled rank where a uniform sample would hardly have ended so early."""
    last = int(rank.max(initial=0))
    return n_items if rank.size * math.log1p(-min(1 - last / n_items, 1 - 1e-9)) > _HARDLY else last


def _floor(plan: Plan) -> Floor:
    arrays = (np.array(plan.notes.get(name, ()), np.float64) for name in ("least", "items", "total"))
    return Floor(np.array(plan.notes["last"], np.int64), *arrays)


def _probability(plan: Plan) -> FloatArray:
    return np.asarray(plan.table.column("probability").to_numpy())


METHOD = Adopted
